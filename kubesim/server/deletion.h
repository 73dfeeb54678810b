#pragma once

// Deletion as the API server does it: preconditions, grace periods of pods, finalizers, and the propagation policy that
// the garbage collector then carries out.
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kubesim/server/core.h"
#include "kubesim/server/request_info.h"
#include "kubesim/server/selectors.h"

namespace basalt::kubesim {

struct DeleteOptions {
  std::optional<int64_t> grace_seconds;
  std::string propagation;  // Foreground, Background, Orphan, or empty: the kind's default.
  std::string uid;
  std::string resource_version;
  bool dry_run = false;
};

struct Deleted {
  RevisionPtr object;  // The last state; with its deletion marks if it still waits for something.
  bool gone = false;
};

class Deleter {
 public:
  explicit Deleter(Core& core) : core_(core) {}

  absl::StatusOr<Answer> Delete(const RequestInfo& info, std::string_view body);
  absl::StatusOr<Answer> DeleteCollection(const RequestInfo& info, std::string_view body);

  absl::StatusOr<Deleted> DeleteOne(const TypeInfo& type, const ObjectKey& key, DeleteOptions options);
  // Deletes what is in the namespace; objects that go on waiting stay. True when nothing was left.
  bool DeleteAllIn(const TypeInfo& type, std::string_view ns);

 private:
  absl::StatusOr<Deleted> Finish(const TypeInfo& type, const ObjectKey& key, const RevisionPtr& live, json::value next,
                                 bool remove, bool dry_run);

  Core& core_;
};

// From the body (a DeleteOptions object) or, without one, from the query.
absl::StatusOr<DeleteOptions> ReadDeleteOptions(const RequestInfo& info, std::string_view body);
absl::StatusOr<DeleteOptions> DeleteOptionsFrom(const json::value& object);

}  // namespace basalt::kubesim
