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
  std::string json;   // The same, to be created. Members that the message does not know have survived.
  std::vector<std::string> warnings;
};

// INVALID_ARGUMENT has a line for each violation, "<field>: <rule>". `ns` is used if the manifest names no namespace.
absl::StatusOr<Manifest> ReadManifest(std::string_view text, std::string_view ns, const DefaultOptions& defaults = {});

// Returns INVALID_ARGUMENT with all violations. Requires at least one.
absl::Status InvalidSpec(const std::vector<Violation>& violations);

}  // namespace basalt::jobsvc
