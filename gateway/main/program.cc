// The gateway is the only process of the suite that talks to Kubernetes.
#include "gateway/main/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "absl/flags/flag.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/http/proxy.h"
#include "common/kube/namespace_rules.h"
#include "common/obs/log.h"
#include "common/shell/cluster_flags.h"
#include "common/shell/listen.h"
#include "common/shell/log_level.h"
#include "common/shell/port_flags.h"
#include "common/shell/process_flags.h"
#include "common/shell/signals.h"
#include "common/shell/tls_flags.h"
#include "gateway/main/members.h"
#include "gateway/main/process.h"

ABSL_FLAG(std::string, kube_server, "", "URL of the API server, http or https; overrides the kubeconfig's");
ABSL_FLAG(std::string, kubeconfig, "",
          "file with the address of the API server and the gateway's identity; empty: the files of $KUBECONFIG, else "
          "the pod's account");
ABSL_FLAG(std::string, context, "", "context of the kubeconfig; empty: the current one");
ABSL_FLAG(
    std::string, lease_name, "basalt-gateway",
    "Lease by which the gateways elect their leader; the assignment of slots is saved in the ConfigMap of that name "
    "with '-assignment'. A single gateway needs both, too: without them a restarted gateway would know no epoch");
ABSL_FLAG(std::string, lease_namespace, "",
          "namespace of the Lease and of the ConfigMap; empty: the pod's own namespace, else 'default'");
ABSL_FLAG(absl::Duration, lease_duration, absl::Seconds(15),
          "a leader that is gone is followed by another after so long, and a quarter more before it writes");
ABSL_FLAG(std::vector<std::string>, members, {},
          "how many replicas share the slots from the beginning, for example jobsvc=3,pgsvc=3,queuesvc=3: they are "
          "waited for as long as --grace, and counted in readiness; empty: whoever comes within --formation");
ABSL_FLAG(
    std::vector<std::string>, kai_scheduler_name, {},
    "KAI's schedulers whose pods are grouped, for example kai-scheduler; KAI's own pod grouper must not run then");
ABSL_FLAG(
    std::string, volcano_profile, "compat",
    "how pods of the schedulers of --scheduler_name are grouped: compat (the pods of each controller are a group, "
    "as Volcano's own controller has it) or rich (by the rules of all kinds, as KAI's pods are)");
ABSL_FLAG(absl::Duration, grace, absl::Seconds(5), "how long the slots of a replica that went away wait for it");
ABSL_FLAG(absl::Duration, formation, absl::Milliseconds(500),
          "how long the first replica of a service waits for others to share its slots with");
ABSL_FLAG(bool, streaming_lists, true, "use streaming lists where the API server has them");
ABSL_FLAG(absl::Duration, slow_retry, absl::Seconds(30),
          "how often a kind that is not served, or forbidden, is looked for again; give or take a half");
ABSL_FLAG(double, kube_qps, 0, "reads and writes of single objects per second, for all replicas together; 0: no limit");
ABSL_FLAG(double, kube_burst, 0,
          "how many reads and writes may follow each other at once after a pause; 0: twice --kube_qps");
ABSL_FLAG(double, kube_wakeups, 25,
          "how many times a second the gateway handles answers and events of the API server while they keep coming; it "
          "also handles them with each request that goes out. A higher number costs CPU, a lower one time; 0: handles "
          "each as it comes");

namespace basalt::gateway {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);  // How soon a failure of the process is noticed.
constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

absl::StatusOr<http::CurlOptions> KubeOptions() {
  absl::StatusOr<http::CurlOptions> options = http::CurlOptions();
  const std::string server = absl::GetFlag(FLAGS_kube_server);
  if (const std::string path = absl::GetFlag(FLAGS_kubeconfig); !path.empty()) {
    options = http::ReadKubeconfig(path, absl::GetFlag(FLAGS_context));
  } else if (const std::string paths = Environment("KUBECONFIG"); server.empty() && !paths.empty()) {
    options = http::ReadKubeconfigs(paths, absl::GetFlag(FLAGS_context));
  } else if (server.empty()) {
    options = http::InClusterOptions(Environment("KUBERNETES_SERVICE_HOST"), Environment("KUBERNETES_SERVICE_PORT"),
                                     kServiceAccount);
  }
  if (!options.ok()) return options;
  if (!server.empty()) options->base_url = server;
  if (!options->base_url.starts_with("http://") && !options->base_url.starts_with("https://")) {
    return Invalid(fmt::format("--kube_server '{}' is no http or https URL", http::WithoutUser(options->base_url)));
  }
  while (options->base_url.ends_with('/')) options->base_url.pop_back();
  if (options->proxy_url.empty()) options->proxy_url = http::ProxyFor(options->base_url, Environment);
  options->wakeups = {.per_second = absl::GetFlag(FLAGS_kube_wakeups), .burst = absl::GetFlag(FLAGS_kube_wakeups)};
  options->user_agent = fmt::format("basalt-gateway/{}", Version());
  return options;
}

// Returns the namespace of the pod; "default" if the process does not run in a pod.
std::string OwnNamespace() {
  std::ifstream file(std::string(kServiceAccount) + "/namespace");
  std::string ns;
  file >> ns;
  return ns.empty() ? "default" : ns;
}

absl::StatusOr<LeadOptions> LeadFromFlags() {
  LeadOptions lead;
  lead.lease_name = absl::GetFlag(FLAGS_lease_name);
  if (lead.lease_name.empty()) {
    return Invalid(
        "--lease_name is empty, and needs a name, also for a single gateway: without one nothing of what "
        "is assigned would be saved");
  }
  lead.lease_namespace = absl::GetFlag(FLAGS_lease_namespace);
  if (lead.lease_namespace.empty()) lead.lease_namespace = OwnNamespace();
  lead.lease_duration = absl::GetFlag(FLAGS_lease_duration);
  if (lead.lease_duration < absl::Seconds(1) || lead.lease_duration > absl::Hours(1)) {
    return Invalid(fmt::format("--lease_duration is {}, and has to be between 1s and 1h",
                               absl::FormatDuration(lead.lease_duration)));
  }
  SystemRandom random;
  lead.incarnation = MakeUuid(random);
  lead.version = std::string(Version());
  return lead;
}

absl::Status WritePort(const std::string& path, int port) {
  return path.empty() ? absl::OkStatus() : shell::WriteFileWhole(path, fmt::format("{}\n", port));
}

ProcessOptions OptionsFromFlags() {
  ProcessOptions options;
  options.listen = absl::GetFlag(FLAGS_listen);
  options.advertise = absl::GetFlag(FLAGS_advertise);
  options.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  options.gateway.scheduler_names = absl::GetFlag(FLAGS_scheduler_name);
  options.gateway.kai_scheduler_names = absl::GetFlag(FLAGS_kai_scheduler_name);
  options.gateway.is_rich = absl::GetFlag(FLAGS_volcano_profile) == "rich";
  options.gateway.streaming_lists = absl::GetFlag(FLAGS_streaming_lists);
  options.gateway.slow_retry = absl::GetFlag(FLAGS_slow_retry);
  options.gateway.writer.rate = {absl::GetFlag(FLAGS_kube_qps), absl::GetFlag(FLAGS_kube_burst)};
  HubOptions& hub = options.gateway.hub;
  hub.cluster = absl::GetFlag(FLAGS_cluster);
  hub.version = std::string(Version());
  hub.ownership.grace = absl::GetFlag(FLAGS_grace);
  hub.ownership.formation = absl::GetFlag(FLAGS_formation);
  return options;
}

// Checks the schedulers: a group has the form of one scheduler.
absl::Status CheckSchedulers(const GatewayOptions& options) {
  if (const std::string profile = absl::GetFlag(FLAGS_volcano_profile); profile != "compat" && profile != "rich") {
    return Invalid(fmt::format("--volcano_profile: '{}' is neither compat nor rich", profile));
  }
  for (const std::string& name : options.kai_scheduler_names) {
    const auto& others = options.scheduler_names;
    if (std::find(others.begin(), others.end(), name) == others.end()) continue;
    return Invalid(fmt::format("--kai_scheduler_name: '{}' is one of --scheduler_name, too", name));
  }
  return absl::OkStatus();
}

absl::Status Serve() {
  const absl::StatusOr<http::CurlOptions> kube = KubeOptions();
  if (!kube.ok()) return kube.status();
  absl::StatusOr<LeadOptions> lead = LeadFromFlags();
  if (!lead.ok()) return lead.status();
  const absl::StatusOr<MemberCounts> members = ParseMembers(absl::GetFlag(FLAGS_members));
  if (!members.ok()) return members.status();
  ProcessOptions options = OptionsFromFlags();
  BASALT_RETURN_IF_ERROR(CheckSchedulers(options.gateway));
  const std::string own = lead->lease_namespace == "default" ? "" : lead->lease_namespace;
  options.gateway.hub.namespaces = kube::NamespaceRules(absl::GetFlag(FLAGS_namespaces), own);
  options.gateway.lead = *std::move(lead);
  const absl::StatusOr<rpc::GrpcBounds> grpc_bounds = shell::GrpcBoundsFromFlags();
  if (!grpc_bounds.ok()) return grpc_bounds.status();
  options.grpc_bounds = *grpc_bounds;
  const absl::StatusOr<http::PageServerBounds> metrics_bounds = shell::PageServerBoundsFromFlags();
  if (!metrics_bounds.ok()) return metrics_bounds.status();
  options.metrics_bounds = *metrics_bounds;
  std::string replica = absl::GetFlag(FLAGS_replica);
  BASALT_ASSIGN_OR_RETURN(options.credentials,
                          shell::CredentialsFromFlags(absl::GetFlag(FLAGS_cluster), identity::Role::kGateway, replica));
  BASALT_ASSIGN_OR_RETURN(const shell::UserOptions users, shell::UsersFromFlags(options.credentials));
  if (users.takes_users) options.user_rate = users.limits.user;
  if (replica.empty()) replica = "gateway-0";
  options.gateway.hub.replica = replica;
  options.gateway.lead->replica = replica;
  const bool has_tls = options.credentials != nullptr;
  BASALT_RETURN_IF_ERROR(shell::CheckListenByFlag("listen", options.listen, has_tls));
  if (!options.metrics_listen.empty()) {
    BASALT_RETURN_IF_ERROR(shell::CheckListenByFlag("metrics_listen", options.metrics_listen, has_tls));
  }
  BASALT_ASSIGN_OR_RETURN(options.metrics_token, shell::MetricsTokenFromFlags());
  for (const auto& [service, count] : *members) options.gateway.hub.ownership.expected[service] = count;
  absl::StatusOr<std::unique_ptr<Process>> process =
      Process::Start(std::move(options), [&](Loop& loop) { return http::MakeCurlClient(loop, *kube); });
  if (!process.ok()) return process.status();
  absl::Status status = WritePort(absl::GetFlag(FLAGS_metrics_port_file), (*process)->metrics_port());
  if (status.ok()) status = WritePort(absl::GetFlag(FLAGS_port_file), (*process)->port());
  if (!status.ok()) return status;
  obs::LogInfo("serving", {{"port", fmt::to_string((*process)->port())},
                           {"metrics_port", fmt::to_string((*process)->metrics_port())},
                           {"kube", http::WithoutUser(kube->base_url)},
                           {"cluster", absl::GetFlag(FLAGS_cluster)},
                           {"version", std::string(Version())}});
  while (!shell::WaitForEnd(kLook)) {
    if (absl::Status failure = (*process)->failure(); !failure.ok()) return failure;
  }
  obs::LogInfo("stopping");
  return absl::OkStatus();
}

}  // namespace

int Main(int argc, char** argv) {
  shell::PrepareProcess();
  shell::ParseFlags(argc, argv, "gateway",
                    "watches Kubernetes, shows each replica what it owns, and carries its writes.");
  obs::SetUpLogging("gateway", shell::LevelOf(absl::GetFlag(FLAGS_log_level)));
  const absl::Status status = Serve();
  if (status.ok()) return 0;
  obs::LogError("ending", {{"error", std::string(ToStd(status.message()))}});
  return 1;
}

}  // namespace basalt::gateway
