#include "tests/bench/frame.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"
#include "common/obs/log.h"

ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work, less patience: rough figures");

namespace basalt::bench {
namespace {

std::string MachineLoad() {
  std::ifstream file("/proc/loadavg");
  std::string one, five, fifteen;
  file >> one >> five >> fifteen;
  return fmt::format("{} {} {}", one, five, fifteen);
}

std::string ReportOf(const Plan& plan, const std::vector<Figure>& figures, const std::string& load_before,
                     bool as_json) {
  if (plan.report) return plan.report(as_json);
  const unsigned cores = std::thread::hardware_concurrency();
  json::object report{{"cores", cores}};
  std::string end = fmt::format("{} cores", cores);
  if (!plan.api_server.empty()) {
    report["api_server"] = plan.api_server;
    end += fmt::format("; API server: {}", plan.api_server);
  }
  if (plan.shows_load) {
    const std::string load_after = MachineLoad();
    report["load_before"] = load_before;
    report["load_after"] = load_after;
    end += fmt::format("; load before {}, after {} (1, 5, 15 min; this program adds about 2)", load_before, load_after);
  }
  if (!as_json) return Table(figures) + end;
  report["figures"] = ToJson(figures);
  return ToText(report);
}

int Measure(std::string_view program, const Plan& plan) {
  const std::vector<std::string>& only = plan.only;
  for (const std::string& name : only) {
    const bool known =
        std::any_of(plan.parts.begin(), plan.parts.end(), [&](const Part& part) { return part.name == name; });
    if (known || plan.ignores_unknown) continue;
    fmt::print(stderr, "{}: --only={} is no part of it\n", program, name);
    return 2;
  }
  const std::string load_before = MachineLoad();
  std::vector<Figure> figures;
  for (const Part& part : plan.parts) {
    if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
    absl::StatusOr<std::vector<Figure>> measured =
        part.measure([&](const std::string& what) { fmt::print(stderr, "{}: {}\n", program, what); });
    if (!measured.ok()) {
      fmt::print(stderr, "{}: {}: {}\n", program, part.name, measured.status().ToString());
      return 1;
    }
    std::move(measured->begin(), measured->end(), std::back_inserter(figures));
  }
  fmt::print("{}\n", ReportOf(plan, figures, load_before, absl::GetFlag(FLAGS_json)));
  return 0;
}

}  // namespace

void PrepareBench() {
  signal(SIGPIPE, SIG_IGN);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

std::string OwnPath() { return std::filesystem::read_symlink("/proc/self/exe").string(); }
std::string OwnDir() { return std::filesystem::path(OwnPath()).parent_path().string(); }

int Main(int argc, char** argv, const Program& program) {
  program.prepare();
  absl::SetProgramUsageMessage(fmt::format("{}: {}", program.name, program.about));
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "{}: unexpected argument '{}'\n", program.name, rest[1]);
    return 2;
  }
  if (program.role) {
    if (const std::optional<int> code = program.role()) return *code;
  }
  obs::SetUpLogging(program.name, obs::Level::kError);
  return Measure(program.name, program.plan(absl::GetFlag(FLAGS_quick)));
}

}  // namespace basalt::bench
