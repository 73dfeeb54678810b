#pragma once

// The suite as processes on loopback ports of their own choosing: gateway, jobsvc, pgsvc, queuesvc, and beside them
// kubesim, or kube-actors (the gang scheduler) where there is a Kubernetes already. For scripts/run and for the
// end-to-end tests, which kill them one by one. Of the gateway and of each service there may be several.
#include <sys/types.h>

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

// A Kubernetes that is there already. Its pods are run by others, unless the actors bring nodes along.
struct ExternalKube {
  std::string server;
  std::string admin_kubeconfig;                   // For kubectl.
  std::string gateway_kubeconfig;                 // Who the gateway is.
  std::string actors_kubeconfig;                  // Who the scheduler is; empty: no kube-actors.
  std::string lease_namespace = "basalt-system";  // Where gateways settle who leads: deploy/rbac allows it there.
  std::vector<std::string> actors_flags;
};

struct ProcessSuiteOptions {
  std::string bin_dir;        // Where the programs are.
  std::string suite_bin_dir;  // Where those of gateways and services are; empty: the same.
  std::string dir;            // Data, logs and port files; made if it is not there.
  int replicas = 1;           // Of each service.
  int gateways = 1;
  std::vector<std::string> kubesim_flags;
  std::optional<ExternalKube> kube;  // Instead of kubesim.
  std::vector<std::string> gateway_flags;
  std::vector<std::string> jobsvc_flags;
  std::vector<std::string> suite_flags;  // Of gateways and services.
  // With certificates of its own; clients of this process (cli/connect) are then an operator of the suite.
  bool tls = true;
  std::string certificates_dir;  // Certificates that are there already, as basaltctl certs has them; empty: its own.
  std::string identity_mapping;  // As --identity_mapping takes it, for all programs.
};

// Processes are named gateway-0, jobsvc-2 and so on, as their replicas are; kubesim and kube-actors as the programs.
// Wherever a name is taken, that of a program alone means its first. Not thread-safe. The destructor ends every process
// that it started: the services first, then the gateways, then what is Kubernetes (SIGTERM, after five seconds
// SIGKILL).
class ProcessSuite {
 public:
  static constexpr std::string_view kOurs[] = {"gateway", "jobsvc", "pgsvc", "queuesvc"};

  // Starts them all and waits until each serves and the services are attached. An error names the process and its log
  // file.
  static absl::StatusOr<std::unique_ptr<ProcessSuite>> Start(ProcessSuiteOptions options);
  ~ProcessSuite();

  // Waits until the topology shows every replica of the services attached.
  absl::Status WaitAttached(absl::Duration limit);

  absl::Status Kill(std::string_view name);  // kill -9, and reaped; also one that is stopped.
  // On the same data, gateways and kubesim on the same port, too. It serves then.
  absl::Status Restart(std::string_view name);
  absl::Status Stop(std::string_view name);      // SIGSTOP.
  absl::Status Continue(std::string_view name);  // SIGCONT.
  absl::Status Leave(std::string_view name);     // SIGTERM; Ended tells the rest.
  // Of one that was told to leave. Nothing: it still runs. An error: it did not end well.
  std::optional<absl::Status> Ended(std::string_view name);
  // Where its program is from its next start on.
  void SetBinDir(std::string_view name, std::string bin_dir);
  absl::Status RemoveDisk(std::string_view name);  // Of a service that does not run.
  // Those that ended without having been told to, with how.
  std::vector<std::string> Casualties();

  std::vector<std::string> names() const;     // In the order in which they are started.
  pid_t pid(std::string_view name) const;     // 0: it does not run.
  bool stopped(std::string_view name) const;  // By Stop().

  std::string kube_server() const;                       // http://127.0.0.1:port, or the server of `kube`.
  std::string gateway() const;                           // As --gateway takes it: 127.0.0.1:port, comma separated.
  std::string address(std::string_view name) const;      // 127.0.0.1:port
  http::CurlOptions pages(std::string_view name) const;  // For a client of /metrics and /readyz of ours.
  std::vector<std::string> ctl_flags() const;            // Of basaltctl, for an operator of the suite.
  std::string certificates_dir() const;                  // As basaltctl certs has it; empty: without TLS.
  // Of another process of that program and name; none without TLS.
  std::vector<std::string> tls_flags(std::string_view program, std::string_view name) const;
  std::string kubeconfig() const;  // A file for kubectl.
  std::string log_file(std::string_view name) const;
  std::string data_dir(std::string_view name) const;  // Of a service.

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
  std::unique_ptr<Certificates> certificates_;  // Null: without TLS.
  std::vector<Process> processes_;              // In the order in which they are started.
};

}  // namespace basalt::dev
