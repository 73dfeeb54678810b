#pragma once

// The list of identities that are denied: a file with one URI of a certificate on each line, as
// spiffe://basalt.local/cluster/default/role/jobsvc/jobsvc-0, or of a user of Kubernetes (UriOfUser, user_token.h). A
// line may be empty, or begin with "#".
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"

namespace basalt::identity {

using DeniedUris = std::set<std::string, std::less<>>;

// INVALID_ARGUMENT names the line and the rule. Pure.
absl::StatusOr<DeniedUris> ParseDenied(std::string_view text);

// The list in force in a process. Any thread.
class DeniedList {
 public:
  void Set(DeniedUris uris) BASALT_EXCLUDES(mutex_);
  // Returns whether one of the URIs of a certificate is denied.
  bool Has(const std::vector<std::string>& uris) const BASALT_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  DeniedUris uris_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::identity
