#pragma once

// The suite as processes on loopback ports of their own choosing: gateway, jobsvc, pgsvc, queuesvc, and beside them
// kubesim, or kube-actors (the gang scheduler) where there is a Kubernetes already. For scripts/run and for the
// end-to-end tests, which kill them one by one.
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::dev {

// A Kubernetes that is there already. Its pods are run by others, unless the actors bring nodes along.
struct ExternalKube {
  std::string server;
  std::string admin_kubeconfig;    // For kubectl.
  std::string gateway_kubeconfig;  // Who the gateway is.
  std::string actors_kubeconfig;   // Who the scheduler is; empty: no kube-actors.
  std::vector<std::string> actors_flags;
};

struct ProcessSuiteOptions {
  std::string bin_dir;  // Where the programs are.
  std::string dir;      // Data, logs and port files; made if it is not there.
  std::vector<std::string> kubesim_flags;
  std::optional<ExternalKube> kube;  // Instead of kubesim.
  std::vector<std::string> gateway_flags;
  std::vector<std::string> jobsvc_flags;
};

// Not thread-safe. The destructor ends every process it started (SIGTERM, after five seconds SIGKILL).
class ProcessSuite {
 public:
  static constexpr std::string_view kOurs[] = {"gateway", "jobsvc", "pgsvc", "queuesvc"};

  // Starts them all and waits until each serves and the services are attached. An error names the program and its log
  // file.
  static absl::StatusOr<std::unique_ptr<ProcessSuite>> Start(ProcessSuiteOptions options);
  ~ProcessSuite();

  // Waits until the gateway's topology shows all three services attached.
  absl::Status WaitAttached(absl::Duration limit);

  absl::Status Kill(std::string_view program);     // kill -9, and reaped.
  absl::Status Restart(std::string_view program);  // On the same port and data.
  // Names of programs that ended without having been killed by us, with how.
  std::vector<std::string> Casualties();

  std::vector<std::string_view> programs() const;  // In the order in which they are started.
  pid_t pid(std::string_view program) const;       // 0: it does not run.

  std::string kube_server() const;  // http://127.0.0.1:port, or the server of `kube`.
  std::string gateway() const;      // 127.0.0.1:port
  std::string kubeconfig() const;   // A file for kubectl.
  std::string log_file(std::string_view program) const;
  std::string data_dir(std::string_view program) const;  // Of a service.

 private:
  struct Process {
    pid_t pid = 0;
    int port = 0;
    int metrics_port = 0;
  };

  explicit ProcessSuite(ProcessSuiteOptions options) : options_(std::move(options)) {}
  absl::Status Launch(std::string_view program);
  std::vector<std::string> Command(std::string_view program) const;
  absl::StatusOr<int> WaitForPort(std::string_view program);
  std::string PortFile(std::string_view program) const;

  const ProcessSuiteOptions options_;
  std::map<std::string, Process, std::less<>> processes_;
};

}  // namespace basalt::dev
