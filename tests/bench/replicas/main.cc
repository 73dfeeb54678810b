// replicas_bench measures the figures of several replicas and gateways. scripts/bench replicas builds and calls the
// program.
#include "absl/flags/flag.h"
#include "tests/bench/frame.h"
#include "tests/bench/replicas/readers.h"
#include "tests/bench/replicas/replica_figures.h"

ABSL_FLAG(std::vector<std::string>, only, {}, "share, moves, restart, fanout, burst, tls; empty: all");
ABSL_FLAG(std::string, role, "", "readers: another process of a run; started by replicas_bench itself");
ABSL_FLAG(std::string, gateway, "", "with --role: address of the gateway");
ABSL_FLAG(std::vector<std::string>, names, {}, "with --role: replicas to attach");

namespace basalt::bench {
namespace {

Plan PlanOf(bool quick) {
  GatewayLoadOptions load;
  load.binary = OwnPath();
  load.shape = {.jobs = quick ? 100 : 1000, .pods_per_job = 100};
  ShareOptions share;
  MoveOptions moves;
  RestartOptions restart;
  restart.shape = load.shape;
  TlsOptions tls;
  share.bin_dir = moves.bin_dir = restart.bin_dir = tls.bin_dir = OwnDir();
  if (quick) {
    load.laps = 3;
    share.jobs = 1000;
    share.replicas = {1, 3};
    moves.jobs = 200;
    moves.rounds = 2;
    moves.upgrades = 1;
    moves.crashes = 1;
    moves.take_overs = 1;
    restart.runs = 2;
    tls.jobs = 300;
    tls.rounds = 3;
    tls.storms = 3;
  }
  return {.parts = {PartOf("share", &MeasureShare, share), PartOf("moves", &MeasureMoves, moves),
                    PartOf("restart", &MeasureReplicaRestart, restart), PartOf("fanout", &MeasureFanOut, load),
                    PartOf("burst", &MeasureBurst, load), PartOf("tls", &MeasureTls, tls)},
          .only = absl::GetFlag(FLAGS_only),
          .api_server = ""};
}

std::optional<int> Role() {
  if (absl::GetFlag(FLAGS_role) != "readers") return std::nullopt;
  return RunReaders(absl::GetFlag(FLAGS_gateway), absl::GetFlag(FLAGS_names));
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "replicas_bench",
                              .about = "the figures of several replicas and gateways.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::bench::PrepareBench,
                              .role = &basalt::bench::Role});
}
