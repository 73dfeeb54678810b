// kube-actors: the gang scheduler, and simulated nodes if requested, as clients of any API server.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/obs/log.h"
#include "common/shell/help.h"
#include "common/shell/log_level.h"
#include "common/shell/signals.h"
#include "kubesim/actors/cluster.h"

ABSL_FLAG(std::string, kubeconfig, "", "file that says where the API server is and who we are");
ABSL_FLAG(bool, scheduler, true, "run the gang scheduler");
ABSL_FLAG(std::vector<std::string>, scheduler_name, {"volcano"}, "schedulers whose pods are bound in gangs");
ABSL_FLAG(std::vector<std::string>, kai_scheduler_name, {},
          "KAI's schedulers: their pods are bound once their groups, of KAI's kind, have as many pods as they need");
ABSL_FLAG(std::vector<std::string>, plain_scheduler_name, {"default-scheduler"},
          "schedulers whose pods are bound one by one");
ABSL_FLAG(bool, create_queues, false, "create the root and default queues");
ABSL_FLAG(absl::Duration, cycle, absl::Seconds(1), "period of the gang scheduler");
ABSL_FLAG(int, nodes, 0, "simulated nodes to bring along and run pods on; 0: others run the pods");
ABSL_FLAG(absl::Duration, default_duration, absl::Seconds(2), "how long a container runs whose command says nothing");
ABSL_FLAG(std::string, log_level, "info", "debug, info, warning or error");

namespace basalt::kubesim {
namespace {

std::set<std::string> SetOf(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

actors::ClusterOptions ClusterFromFlags() {
  actors::ClusterOptions options;
  options.run_nodes = absl::GetFlag(FLAGS_nodes) > 0;
  options.run_scheduler = absl::GetFlag(FLAGS_scheduler);
  options.run_workloads = false;  // The cluster's own controllers make pods.
  options.nodes.nodes = absl::GetFlag(FLAGS_nodes);
  options.nodes.default_duration = absl::GetFlag(FLAGS_default_duration);
  options.nodes.api.user_agent = "kube-actors-node";
  options.scheduler.scheduler_names = SetOf(absl::GetFlag(FLAGS_scheduler_name));
  options.scheduler.kai_scheduler_names = SetOf(absl::GetFlag(FLAGS_kai_scheduler_name));
  options.scheduler.plain_scheduler_names = SetOf(absl::GetFlag(FLAGS_plain_scheduler_name));
  options.scheduler.create_queues = absl::GetFlag(FLAGS_create_queues);
  options.scheduler.period = absl::GetFlag(FLAGS_cycle);
  options.scheduler.api.user_agent = "kube-actors-scheduler";
  return options;
}

absl::Status Serve() {
  BASALT_ASSIGN_OR_RETURN(http::CurlOptions kube, http::ReadKubeconfig(absl::GetFlag(FLAGS_kubeconfig)));
  kube.user_agent = "kube-actors";
  SystemRandom random;
  const std::unique_ptr<Loop> loop = MakeThreadLoop("actors");
  std::unique_ptr<http::Client> client;
  std::unique_ptr<actors::Cluster> cluster;
  RunOn(*loop, [&] {
    client = http::MakeCurlClient(*loop, kube);
    cluster = std::make_unique<actors::Cluster>(*loop, *client, random, ClusterFromFlags());
  });
  obs::LogInfo("running", {{"kube", kube.base_url}});
  shell::WaitForEnd();
  obs::LogInfo("stopping");
  RunOn(*loop, [&] {
    cluster.reset();
    client.reset();
  });
  return absl::OkStatus();
}

}  // namespace
}  // namespace basalt::kubesim

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  basalt::shell::SetUpHelp("kube-actors");
  absl::SetProgramUsageMessage("kube-actors: a gang scheduler and simulated nodes for an API server.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "kube-actors: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("kube-actors", basalt::shell::LevelOf(absl::GetFlag(FLAGS_log_level)));
  const absl::Status status = basalt::kubesim::Serve();
  if (status.ok()) return 0;
  basalt::obs::LogError("ending", {{"error", std::string(basalt::ToStd(status.message()))}});
  return 1;
}
