// kubesim: the embedded Kubernetes as a process, with an API server over HTTP, simulated nodes and the gang scheduler.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/direct_client.h"
#include "common/http/server/beast_server.h"
#include "common/obs/log.h"
#include "common/shell/help.h"
#include "common/shell/listen.h"
#include "common/shell/log_level.h"
#include "common/shell/signals.h"
#include "kubesim/actors/cluster.h"
#include "kubesim/main/crds.h"
#include "kubesim/server/api_server.h"

ABSL_FLAG(std::string, address, "127.0.0.1", "address to listen on");
ABSL_FLAG(int, port, 0, "port to listen on; 0: any free one");
ABSL_FLAG(std::string, port_file, "", "the port is written to this file once requests are served");
ABSL_FLAG(std::string, kubeconfig_out, "", "a kubeconfig for kubectl is written to this file");
ABSL_FLAG(std::vector<std::string>, kai_scheduler_name, {},
          "KAI's schedulers: their pods are bound once their groups, of KAI's kind, have as many pods as they need");
ABSL_FLAG(std::vector<std::string>, crds, {}, "folders or files of CustomResourceDefinitions to serve from the start");
ABSL_FLAG(int, nodes, 4, "simulated nodes");
ABSL_FLAG(std::string, node_cpu, "64", "allocatable cpu of a node");
ABSL_FLAG(std::string, node_memory, "256Gi", "allocatable memory of a node");
ABSL_FLAG(std::string, node_pods, "1000", "allocatable pods of a node");
ABSL_FLAG(absl::Duration, default_duration, absl::Seconds(2), "how long a container runs whose command says nothing");
ABSL_FLAG(bool, no_node, false, "do not run the nodes");
ABSL_FLAG(bool, no_scheduler, false, "do not run the gang scheduler");
ABSL_FLAG(bool, no_workloads, false, "make no pods for ReplicaSets, Deployments, StatefulSets and Jobs");
ABSL_FLAG(bool, no_queues, false, "do not create the root and default queues");
ABSL_FLAG(absl::Duration, cycle, absl::Seconds(1), "period of the gang scheduler");
ABSL_FLAG(std::string, log_level, "info", "debug, info, warning or error");

namespace basalt::kubesim {
namespace {

std::string Kubeconfig(const std::string& url) {
  const json::object cluster{{"server", json::string(url)}};
  return ToYaml(json::object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "kubesim"},
      {"clusters", json::array{json::object{{"name", "kubesim"}, {"cluster", cluster}}}},
      {"users", json::array{json::object{{"name", "kubesim"}, {"user", json::object()}}}},
      {"contexts", json::array{json::object{{"name", "kubesim"},
                                            {"context", json::object{{"cluster", "kubesim"}, {"user", "kubesim"}}}}}}});
}

actors::ClusterOptions ClusterFromFlags() {
  actors::ClusterOptions options;
  options.run_nodes = !absl::GetFlag(FLAGS_no_node);
  options.run_scheduler = !absl::GetFlag(FLAGS_no_scheduler);
  options.run_workloads = !absl::GetFlag(FLAGS_no_workloads);
  options.nodes.nodes = absl::GetFlag(FLAGS_nodes);
  options.nodes.cpu = absl::GetFlag(FLAGS_node_cpu);
  options.nodes.memory = absl::GetFlag(FLAGS_node_memory);
  options.nodes.pods = absl::GetFlag(FLAGS_node_pods);
  options.nodes.default_duration = absl::GetFlag(FLAGS_default_duration);
  options.nodes.api.user_agent = "kubesim-node";
  options.scheduler.period = absl::GetFlag(FLAGS_cycle);
  options.scheduler.create_queues = !absl::GetFlag(FLAGS_no_queues);
  // kubesim has no other scheduler for the pods of Kubernetes' default scheduler.
  options.scheduler.plain_scheduler_names = {"default-scheduler"};
  const std::vector<std::string> kai = absl::GetFlag(FLAGS_kai_scheduler_name);
  options.scheduler.kai_scheduler_names = {kai.begin(), kai.end()};
  options.scheduler.api.user_agent = "kubesim-scheduler";
  options.workloads.api.user_agent = "kubesim-workloads";
  return options;
}

// The objects that live on the loop, in the order in which they are made.
struct World {
  World(Loop& loop, std::vector<json::value> crds) {
    ApiServerOptions options;
    options.crds = std::move(crds);
    server = std::make_unique<ApiServer>(loop, random, std::move(options));
    client = std::make_unique<http::DirectClient>(loop, loop, *server);
  }
  SystemRandom random;
  std::unique_ptr<ApiServer> server;
  std::unique_ptr<http::DirectClient> client;
  std::unique_ptr<actors::Cluster> cluster;
};

absl::Status Serve() {
  const std::string address = absl::GetFlag(FLAGS_address);
  const std::string host = address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
  BASALT_RETURN_IF_ERROR(
      shell::CheckListenByFlag("address", fmt::format("{}:{}", host, absl::GetFlag(FLAGS_port)), /*has_tls=*/false));
  absl::StatusOr<std::vector<json::value>> crds = LoadCrds(absl::GetFlag(FLAGS_crds));
  if (!crds.ok()) return crds.status();
  const std::unique_ptr<Loop> loop = MakeThreadLoop("kubesim");
  std::unique_ptr<World> world;
  absl::Status status;
  RunOn(*loop, [&] {
    world = std::make_unique<World>(*loop, *std::move(crds));
    status = world->server->startup_status();
  });

  std::unique_ptr<http::Server> port;
  if (status.ok()) {
    http::ServerOptions options;
    options.address = absl::GetFlag(FLAGS_address);
    options.port = static_cast<uint16_t>(absl::GetFlag(FLAGS_port));
    absl::StatusOr<std::unique_ptr<http::Server>> started = http::StartServer(*loop, *world->server, options);
    if (started.ok()) {
      port = *std::move(started);
    } else {
      status = started.status();
    }
  }
  if (status.ok()) {
    RunOn(*loop, [&] {
      world->cluster = std::make_unique<actors::Cluster>(*loop, *world->client, world->random, ClusterFromFlags());
    });
    const std::string url = fmt::format("http://{}:{}", absl::GetFlag(FLAGS_address), port->port());
    if (const std::string path = absl::GetFlag(FLAGS_kubeconfig_out); !path.empty()) {
      status = shell::WriteFileWhole(path, Kubeconfig(url));
    }
    // The port file comes last: a program that waits for it finds everything else done.
    if (const std::string path = absl::GetFlag(FLAGS_port_file); status.ok() && !path.empty()) {
      status = shell::WriteFileWhole(path, fmt::format("{}\n", port->port()));
    }
    if (status.ok()) {
      obs::LogInfo(kRulesNotice);
      obs::LogInfo("serving", {{"url", url}, {"nodes", fmt::format("{}", absl::GetFlag(FLAGS_nodes))}});
      shell::WaitForEnd();
      obs::LogInfo("stopping");
    }
  }
  port.reset();
  RunOn(*loop, [&] {
    world->cluster.reset();
    world->client.reset();
    world.reset();
  });
  return status;
}

}  // namespace
}  // namespace basalt::kubesim

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  basalt::shell::SetUpHelp("kubesim");
  absl::SetProgramUsageMessage("kubesim: an embedded Kubernetes API server with simulated nodes and a gang scheduler.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "kubesim: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("kubesim", basalt::shell::LevelOf(absl::GetFlag(FLAGS_log_level)));
  const absl::Status status = basalt::kubesim::Serve();
  if (status.ok()) return 0;
  basalt::obs::LogError("ending", {{"error", std::string(basalt::ToStd(status.message()))}});
  return 1;
}
