#pragma once

// The frame of every bench program: the command line, the parts that it selects, and the report. A program names its
// parts; Main measures them, prints their figures and returns the exit code.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/report.h"

namespace basalt::bench {

// Reports on standard error what the bench is doing.
using Progress = std::function<void(const std::string&)>;

struct Part {
  std::string_view name;
  std::function<absl::StatusOr<std::vector<Figure>>(const Progress&)> measure;
};

template <typename Options>
Part PartOf(std::string_view name,
            absl::StatusOr<std::vector<Figure>> (*measure)(const Options& options, const Progress& progress),
            const std::type_identity_t<Options>& options) {
  return {name, [measure, options](const Progress& progress) { return measure(options, progress); }};
}

struct Plan {
  std::vector<Part> parts;
  std::vector<std::string> only;       // Names of the parts to run. Empty if all parts run.
  bool ignores_unknown = false;        // A name in `only` that no part has is not refused.
  std::string api_server = "kubesim";  // The report names it. Empty if the report does not.
  bool shows_load = false;             // The report shows the load of the machine before and after.
  // Returns the report where it is not the table of the figures. Null if it is.
  std::function<std::string(bool as_json)> report;
};

struct Program {
  std::string_view name;   // The program's name in messages, as "jobs_bench".
  std::string_view about;  // What the program measures, for --help.
  std::function<Plan(bool quick)> plan;
  // Called first.
  std::function<void()> prepare;
  // Does the work of another process of a run and returns its exit code, or nullopt if this process is the bench
  // itself. Null if there is no other process.
  std::function<std::optional<int>()> role;
};

// Ignores SIGPIPE and Abseil's detection of deadlocks, which gRPC's locks would trip.
void PrepareBench();
// Returns the path of the running program, and its directory.
std::string OwnPath();
std::string OwnDir();

// The exit code is 0 if everything could be measured, whether or not the goals are met; 1 if something could not be
// measured; 2 if an argument is not known.
int Main(int argc, char** argv, const Program& program);

}  // namespace basalt::bench
