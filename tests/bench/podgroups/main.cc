// podgroups_bench: the figures of pod groups. scripts/bench podgroups builds and calls it.
// Exit code: 0 when everything could be measured, whether or not the goals are met; 1 otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/obs/log.h"
#include "common/shell/signals.h"
#include "tests/bench/podgroups/group_figures.h"

ABSL_FLAG(bool, real, false, "on a real API server instead of kubesim");
ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work, less patience: rough figures");
ABSL_FLAG(std::vector<std::string>, only, {}, "bare, sets, gangs, others; empty: all");

namespace basalt::bench {
namespace {

struct Part {
  std::string_view name;
  absl::StatusOr<std::vector<Figure>> (*measure)(const GroupBenchOptions&, const GroupProgress&);
};
constexpr Part kParts[] = {
    {"bare", &MeasureBarePods}, {"sets", &MeasureSets}, {"gangs", &MeasureGangs}, {"others", &MeasureOthers}};

GroupBenchOptions Options() {
  GroupBenchOptions options;
  options.bed.bin_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  options.bed.real = absl::GetFlag(FLAGS_real);
  if (options.bed.real) {
    // What a real server bears beside everything else on two cores.
    options.bare_pods = {2'000};
    options.per_second = 100;
    options.sets = 100;
    options.others = 5'000;
    options.others_per_second = 200;
  }
  if (absl::GetFlag(FLAGS_quick)) {
    options.bed.quiet = absl::Seconds(3);
    options.bare_pods = {1'000};
    options.sets = 50;
    options.gangs = 20;
    options.others = 3'000;
  }
  return options;
}

int Run() {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  for (const std::string& name : only) {
    if (std::none_of(std::begin(kParts), std::end(kParts), [&](const Part& part) { return part.name == name; })) {
      fmt::print(stderr, "podgroups_bench: --only={} is no part of it\n", name);
      return 2;
    }
  }
  const GroupBenchOptions options = Options();
  std::vector<Figure> figures;
  for (const Part& part : kParts) {
    if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
    absl::StatusOr<std::vector<Figure>> measured =
        part.measure(options, [](const std::string& what) { fmt::print(stderr, "podgroups_bench: {}\n", what); });
    if (!measured.ok()) {
      fmt::print(stderr, "podgroups_bench: {}: {}\n", part.name, measured.status().ToString());
      return 1;
    }
    std::move(measured->begin(), measured->end(), std::back_inserter(figures));
  }
  const unsigned cores = std::thread::hardware_concurrency();
  const std::string_view server = options.bed.real ? "real" : "kubesim";
  if (absl::GetFlag(FLAGS_json)) {
    fmt::print("{}\n", ToText(json::object{{"cores", cores}, {"api_server", server}, {"figures", ToJson(figures)}}));
  } else {
    fmt::print("{}{} cores; API server: {}\n", Table(figures), cores, server);
  }
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  absl::SetProgramUsageMessage("podgroups_bench: the figures of pod groups.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "podgroups_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("podgroups_bench", basalt::obs::Level::kError);
  return basalt::bench::Run();
}
