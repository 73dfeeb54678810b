#pragma once

// Kubernetes in this process: the embedded API server behind a loopback port, simulated nodes and the gang scheduler.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::dev {

struct EmbeddedKubeOptions {
  std::vector<std::string> crds;  // Folders of the custom resource definitions.
  int nodes = 4;
  absl::Duration default_duration = absl::Seconds(2);  // How long a container runs whose command does not state it.
};

// Made and destroyed by one thread.
class EmbeddedKube {
 public:
  static absl::StatusOr<std::unique_ptr<EmbeddedKube>> Start(const EmbeddedKubeOptions& options);
  virtual ~EmbeddedKube() = default;
  virtual std::string url() const = 0;  // http://127.0.0.1:port
};

// Returns the text of a kubeconfig for the URL of an API server.
std::string KubeconfigFor(const std::string& url);

}  // namespace basalt::dev
