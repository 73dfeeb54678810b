#pragma once

// Deletion as the API server does it: preconditions, grace periods of pods, finalizers, and the propagation policy that
// the garbage collector then carries out.
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"

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

  absl::StatusOr<Deleted> DeleteOne(const TypeInfo& type, const ObjectKey& key, DeleteOptions options);
  // Deletes objects of the namespace (empty: of all) behind `after` (none: from the start), as many as `budget` has for
  // those looked at, and moves both on. True: it came to the end. Objects that have to wait for something stay.
  bool DeleteNext(const TypeInfo& type, std::string_view ns, std::optional<ObjectKey>& after, int& budget);

 private:
  absl::StatusOr<Deleted> Finish(const TypeInfo& type, const ObjectKey& key, const RevisionPtr& live, json::value next,
                                 bool remove, bool dry_run);

  Core& core_;
};

// From the body (a DeleteOptions object) or, without one, from the query.
absl::StatusOr<DeleteOptions> ReadDeleteOptions(const RequestInfo& info, std::string_view body);
absl::StatusOr<DeleteOptions> DeleteOptionsFrom(const json::value& object);

}  // namespace basalt::kubesim
