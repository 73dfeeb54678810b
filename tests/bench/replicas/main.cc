// replicas_bench measures the figures of several replicas and gateways. scripts/bench replicas builds and calls the
// program. The exit code is 0 if everything could be measured, whether or not the goals are met, and 1 otherwise.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"
#include "common/obs/log.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/replicas/moves.h"
#include "tests/bench/replicas/readers.h"
#include "tests/bench/replicas/restart.h"
#include "tests/bench/replicas/share.h"
#include "tests/bench/replicas/tls.h"

ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work: rough figures");
ABSL_FLAG(std::vector<std::string>, only, {}, "share, moves, restart, fanout, burst, tls; empty: all");
ABSL_FLAG(std::string, role, "", "readers: another process of a run; started by replicas_bench itself");
ABSL_FLAG(std::string, gateway, "", "with --role: address of the gateway");
ABSL_FLAG(std::vector<std::string>, names, {}, "with --role: replicas to attach");

namespace basalt::bench {
namespace {

struct Part {
  std::string_view name;
  std::function<absl::StatusOr<std::vector<Figure>>(const Progress&)> measure;
};

std::vector<Part> Parts() {
  const bool quick = absl::GetFlag(FLAGS_quick);
  const std::string binary = std::filesystem::read_symlink("/proc/self/exe").string();
  GatewayLoadOptions load;
  load.binary = binary;
  load.shape = {.jobs = quick ? 100 : 1000, .pods_per_job = 100};
  if (quick) load.laps = 3;
  const std::string bin_dir = std::filesystem::path(binary).parent_path().string();
  ShareOptions share;
  share.bin_dir = bin_dir;
  MoveOptions moves;
  moves.bin_dir = bin_dir;
  if (quick) {
    share.jobs = 1000;
    share.replicas = {1, 3};
    moves.jobs = 200;
    moves.rounds = 2;
    moves.upgrades = 1;
    moves.crashes = 1;
    moves.take_overs = 1;
  }
  RestartOptions restart;
  restart.bin_dir = bin_dir;
  restart.shape = load.shape;
  if (quick) restart.runs = 2;
  TlsOptions tls;
  tls.bin_dir = bin_dir;
  if (quick) {
    tls.jobs = 300;
    tls.rounds = 3;
    tls.storms = 3;
  }
  return {{"share", [=](const Progress& progress) { return MeasureShare(share, progress); }},
          {"moves", [=](const Progress& progress) { return MeasureMoves(moves, progress); }},
          {"restart", [=](const Progress& progress) { return MeasureRestart(restart, progress); }},
          {"fanout", [=](const Progress& progress) { return MeasureFanOut(load, progress); }},
          {"burst", [=](const Progress& progress) { return MeasureBurst(load, progress); }},
          {"tls", [=](const Progress& progress) { return MeasureTls(tls, progress); }}};
}

int Run() {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  const std::vector<Part> parts = Parts();
  for (const std::string& name : only) {
    if (std::none_of(parts.begin(), parts.end(), [&](const Part& part) { return part.name == name; })) {
      fmt::print(stderr, "replicas_bench: --only={} is no part of it\n", name);
      return 2;
    }
  }
  std::vector<Figure> figures;
  for (const Part& part : parts) {
    if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
    absl::StatusOr<std::vector<Figure>> measured =
        part.measure([](const std::string& what) { fmt::print(stderr, "replicas_bench: {}\n", what); });
    if (!measured.ok()) {
      fmt::print(stderr, "replicas_bench: {}: {}\n", part.name, measured.status().ToString());
      return 1;
    }
    std::move(measured->begin(), measured->end(), std::back_inserter(figures));
  }
  const unsigned cores = std::thread::hardware_concurrency();
  if (absl::GetFlag(FLAGS_json)) {
    fmt::print("{}\n", ToText(json::object{{"cores", cores}, {"figures", ToJson(figures)}}));
  } else {
    fmt::print("{}{} cores\n", Table(figures), cores);
  }
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  absl::SetProgramUsageMessage("replicas_bench: what several replicas and gateways are judged by.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "replicas_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  if (absl::GetFlag(FLAGS_role) == "readers") {
    return basalt::bench::RunReaders(absl::GetFlag(FLAGS_gateway), absl::GetFlag(FLAGS_names));
  }
  basalt::obs::SetUpLogging("replicas_bench", basalt::obs::Level::kError);
  return basalt::bench::Run();
}
