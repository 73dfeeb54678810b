#pragma once

// The suite as processes on loopback ports of their own choosing: gateway, jobsvc, pgsvc, queuesvc, and beside them
// kubesim, or kube-actors (the gang scheduler) where there is a Kubernetes already. For scripts/run and for the
// end-to-end tests, which kill them one by one. There may be several gateways, and several replicas of each service.
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/curl/curl_client.h"

namespace basalt::dev {

class Certificates;

// A Kubernetes that runs already. The cluster's own nodes run its pods, unless the actors bring nodes along.
struct ExternalKube {
  std::string server;
  std::string admin_kubeconfig;                   // For kubectl.
  std::string gateway_kubeconfig;                 // The identity of the gateway.
  std::string actors_kubeconfig;                  // The identity of the scheduler; empty if no kube-actors is to run.
  std::string lease_namespace = "basalt-system";  // Namespace of the gateways' Lease: deploy/rbac allows it there.
  std::vector<std::string> actors_flags;
};

struct ProcessSuiteOptions {
  std::string bin_dir;        // Folder of the programs.
  std::string suite_bin_dir;  // Folder of the programs of gateways and services; `bin_dir` if empty.
  std::string dir;            // Folder of data, logs and port files; created if it does not exist.
  int replicas = 1;           // Number of replicas of each service.
  int gateways = 1;
  std::vector<std::string> kubesim_flags;
  std::optional<ExternalKube> kube;  // Used instead of kubesim.
  std::vector<std::string> gateway_flags;
  std::map<std::string, std::vector<std::string>> service_flags;  // Flags of the services, by program.
  std::vector<std::string> suite_flags;                           // Flags of all gateways and services.
  // The suite uses mutual TLS. Clients of this process (cli/connect) are then an operator of the suite.
  bool tls = true;
  // Folder of existing certificates in the layout of basaltctl certs. If empty, the suite makes its own.
  std::string certificates_dir;
  std::string identity_mapping;  // The value of --identity_mapping for all programs; used with `certificates_dir`.
};

// Processes are named gateway-0, jobsvc-2 and so on, like their replicas; kubesim and kube-actors are named like the
// programs. Where a function takes a process's name, the name of a program means its first process. Not thread-safe.
// The destructor ends every process that the suite started: the services first, then the gateways, then kubesim or
// kube-actors (SIGTERM, after five seconds SIGKILL).
class ProcessSuite {
 public:
  static constexpr std::string_view kOurs[] = {"gateway", "jobsvc", "pgsvc", "queuesvc"};

  // Starts all processes and waits until each serves and the services are attached. An error names the process and its
  // log file.
  static absl::StatusOr<std::unique_ptr<ProcessSuite>> Start(ProcessSuiteOptions options);
  ~ProcessSuite();

  // Waits until the topology shows every replica of the services attached.
  absl::Status WaitAttached(absl::Duration limit);

  absl::Status Kill(std::string_view name);  // Sends SIGKILL, also to a stopped process, and reaps the process.
  // Starts the process on its old data and waits until it serves. Gateways and kubesim keep their ports.
  absl::Status Restart(std::string_view name);
  absl::Status Stop(std::string_view name);      // Sends SIGSTOP.
  absl::Status Continue(std::string_view name);  // Sends SIGCONT.
  absl::Status Leave(std::string_view name);     // Sends SIGTERM; Ended() returns how the process ended.
  // Returns how a process ended after Leave(). Nullopt while the process still runs; an error if it failed.
  std::optional<absl::Status> Ended(std::string_view name);
  // Sets the folder from which the process's next start takes its program.
  void SetBinDir(std::string_view name, std::string bin_dir);
  absl::Status RemoveDisk(std::string_view name);  // Removes the data of a service's process that does not run.
  // Returns the processes that ended without Kill() or Leave(), each with its exit code or signal.
  std::vector<std::string> Casualties();

  std::vector<std::string> names() const;     // In the order in which the processes are started.
  pid_t pid(std::string_view name) const;     // 0 if the process does not run.
  bool stopped(std::string_view name) const;  // True after Stop(), until the process continues, leaves or is killed.

  std::string kube_server() const;                       // http://127.0.0.1:port, or the server of `kube`.
  std::string gateway() const;                           // The value of --gateway: 127.0.0.1:port, comma separated.
  std::string address(std::string_view name) const;      // 127.0.0.1:port
  http::CurlOptions pages(std::string_view name) const;  // For a client of a process's /metrics and /readyz.
  std::vector<std::string> ctl_flags() const;            // The flags of basaltctl, for an operator of the suite.
  std::string certificates_dir() const;                  // Has the layout of basaltctl certs. Empty without TLS.
  // Returns the TLS flags of a process of this program and name. Empty without TLS.
  std::vector<std::string> tls_flags(std::string_view program, std::string_view name) const;
  std::string kubeconfig() const;  // A file for kubectl.
  std::string log_file(std::string_view name) const;
  std::string data_dir(std::string_view name) const;  // The data folder of a service's process.

 private:
  struct Process {
    std::string name;
    std::string program;
    pid_t pid = 0;
    std::string bin_dir;
    int port = 0;
    bool stopped = false;
    bool leaves = false;
  };

  explicit ProcessSuite(ProcessSuiteOptions options);
  const Process* Find(std::string_view name) const;
  absl::StatusOr<Process*> Running(std::string_view name);
  absl::Status StartAll();
  absl::Status Launch(Process& process);
  absl::Status Await(Process& process);
  void End(absl::FunctionRef<bool(const Process&)> which);
  std::vector<std::string> Command(const Process& process) const;
  std::string PortFile(std::string_view name) const;
  std::string MetricsPortFile(std::string_view name) const;

  const ProcessSuiteOptions options_;
  std::unique_ptr<Certificates> certificates_;  // Null without TLS.
  std::vector<Process> processes_;              // In the order in which the processes are started.
};

}  // namespace basalt::dev
