#pragma once

// A Job manifest as JSON, from a client: read strictly, defaulted (job spec 2.1) and validated (2.2-2.7) before
// anything reaches Kubernetes. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

struct Manifest {
  kube::v1::Job job;  // Defaulted.
  std::string json;   // The same, to be created: what the message does not know has survived.
  std::vector<std::string> warnings;
};

// INVALID_ARGUMENT: every violation in one line each, "<field>: <rule>". `ns` is used where the manifest names none.
absl::StatusOr<Manifest> ReadManifest(std::string_view text, std::string_view ns, const DefaultOptions& defaults = {});

// INVALID_ARGUMENT with all of them. Requires: one at least.
absl::Status InvalidSpec(const std::vector<Violation>& violations);

}  // namespace basalt::jobsvc
