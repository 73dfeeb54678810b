#pragma once

// The suite in one process: embedded Kubernetes with its nodes and scheduler, gateway, jobsvc, pgsvc and queuesvc, each
// on its own threads, meeting over loopback ports of their own choosing exactly as they do as processes.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/main/process.h"

namespace basalt::shell {
class ServiceProcess;
}  // namespace basalt::shell

namespace basalt::dev {

class Certificates;
class EmbeddedKube;

struct InProcessOptions {
  std::string dir;                // Folder of the stores and the kubeconfig; created if it does not exist.
  std::vector<std::string> crds;  // Folders of the custom resource definitions.
  int replicas = 1;               // Number of replicas of each service.
  int gateways = 1;
  int nodes = 4;
  bool is_rich = false;  // See gateway::GatewayOptions.
  absl::Duration default_duration = absl::Seconds(2);
  bool tls = false;  // The suite makes certificates of its own, as with ProcessSuiteOptions.
};

// Used by one thread.
class InProcessSuite {
 public:
  // Starts everything and waits until every replica of the services is attached.
  static absl::StatusOr<std::unique_ptr<InProcessSuite>> Start(InProcessOptions options);
  ~InProcessSuite();  // Ends the services first, then the gateways, then Kubernetes.

  std::string kube_server() const;             // http://127.0.0.1:port
  std::string gateway() const;                 // The value of --gateway: 127.0.0.1:port, comma separated.
  std::string kubeconfig() const;              // A file for kubectl.
  std::vector<std::string> ctl_flags() const;  // The flags of basaltctl, for an operator of the suite.
  absl::Status Failure() const;                // Why a gateway or a service cannot go on; OK if all can.

 private:
  explicit InProcessSuite(InProcessOptions options);
  absl::Status StartAll();
  absl::StatusOr<std::shared_ptr<const rpc::Credentials>> CredentialsOf(const std::string& program,
                                                                        const std::string& replica) const;
  absl::Status StartGateways();
  absl::Status StartServices();

  const InProcessOptions options_;
  std::unique_ptr<Certificates> certificates_;  // Null without TLS.
  std::unique_ptr<EmbeddedKube> kube_;
  std::vector<std::unique_ptr<gateway::Process>> gateways_;
  std::vector<std::unique_ptr<shell::ServiceProcess>> services_;
};

}  // namespace basalt::dev
