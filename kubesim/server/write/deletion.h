#pragma once

// Deletion as in the API server: preconditions, grace periods of pods, finalizers, and the propagation policy, which
// the garbage collector then carries out.
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

struct DeleteOptions {
  std::optional<int64_t> grace_seconds;
  std::string propagation;  // Foreground, Background, Orphan, or empty for the kind's default.
  std::string uid;
  std::string resource_version;
  bool dry_run = false;
};

struct Deleted {
  RevisionPtr object;  // The last state. If the object is not gone yet, it has deletion marks.
  bool gone = false;
};

class Deleter {
 public:
  explicit Deleter(Core& core) : core_(core) {}

  absl::StatusOr<Answer> Delete(const RequestInfo& info, std::string_view body);

  absl::StatusOr<Deleted> DeleteOne(const TypeInfo& type, const ObjectKey& key, DeleteOptions options);
  // Visits and deletes objects of the namespace, or of all namespaces if `ns` is empty. Begins behind `after`, or at
  // the start if `after` is nullopt, and visits at most `budget` objects. Sets `after` to the last one and lowers
  // `budget`. Returns true if the end was reached. Objects that wait for finalizers or a grace period stay.
  bool DeleteNext(const TypeInfo& type, std::string_view ns, std::optional<ObjectKey>& after, int& budget);

 private:
  absl::StatusOr<Deleted> Finish(const TypeInfo& type, const ObjectKey& key, const RevisionPtr& live, json::value next,
                                 bool remove, bool dry_run);

  Core& core_;
};

// Reads the options from the body (a DeleteOptions object) or, without a body, from the query.
absl::StatusOr<DeleteOptions> ReadDeleteOptions(const RequestInfo& info, std::string_view body);
absl::StatusOr<DeleteOptions> DeleteOptionsFrom(const json::value& object);

}  // namespace basalt::kubesim
