// pgsvc: owns pod groups, of jobs and of plain pods.
#include "services/pgsvc/main/program.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/rule_config.h"
#include "services/pgsvc/main/parts.h"

ABSL_DECLARE_FLAG(uint32_t, max_watches);

ABSL_FLAG(std::string, grouping_config, "",
          "file of rules of grouping for further kinds, and of defaults by kind; docs/pod-groups.md says what it has");

ABSL_FLAG(bool, inherit_owner_annotations, true,
          "whether pod groups of Volcano's inherit annotations of the owner of their pods, in the profile compat");
ABSL_FLAG(bool, follow_workloads, true,
          "whether pod groups of Volcano's change with the workload that owns their pods, in the profile compat");

namespace basalt::pgsvc {
namespace {

// Returns the rules that the file configures. If the file cannot be read or is wrong, the process states why and ends.
RuleOptions RulesOf(const std::string& file) {
  if (file.empty()) return {};
  std::ifstream input(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  absl::StatusOr<RuleOptions> rules = absl::NotFoundError("cannot be read");
  if (input.good()) rules = ParseRuleConfig(text);
  if (rules.ok()) return *std::move(rules);
  std::fprintf(stderr, "error: --grouping_config: %s: %s\n", file.c_str(),
               std::string(rules.status().message()).c_str());
  std::exit(2);
}

}  // namespace

int Main(int argc, char** argv) {
  const auto make_parts = [](obs::Metrics& metrics, obs::Health&) {
    const GroupingOptions options = {.inherit_owner_annotations = absl::GetFlag(FLAGS_inherit_owner_annotations),
                                     .follow_workloads = absl::GetFlag(FLAGS_follow_workloads)};
    return MakePartsWith(metrics, options, absl::GetFlag(FLAGS_max_watches),
                         RulesOf(absl::GetFlag(FLAGS_grouping_config)));
  };
  return shell::RunService(argc, argv, "pgsvc", gateway::v1::SERVICE_KIND_POD_GROUP, make_parts);
}

}  // namespace basalt::pgsvc
