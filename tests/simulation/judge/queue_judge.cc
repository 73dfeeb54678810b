// Checks the queues once the suite is quiet: their state fits their pod groups and their parent, their counts equal a
// recount, and all Commands are carried out.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/kube/names.h"
#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"
#include "tests/simulation/queue_forest.h"

namespace basalt::simulation {
namespace {

constexpr char kQueues[] = "queues.scheduling.volcano.sh";

bool IsShut(std::string_view state) { return state == "Closed" || state == "Closing"; }

std::string_view TextAt(const json::value& object, std::initializer_list<std::string_view> path,
                        std::string_view name) {
  const json::value* const at = FindPath(object, path);
  return at == nullptr ? std::string_view() : FindString(*at, name);
}

// Returns the number of pod groups of each queue, by phase.
std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>> CountGroups(
    const kubesim::ApiServer& api) {
  std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>> counts;
  for (const auto& group : ForestGroups(api)) {
    ++counts[std::string(TextAt(*group, {"spec"}, "queue"))][std::string(TextAt(*group, {"status"}, "phase"))];
  }
  return counts;
}

class QueueChecker {
 public:
  QueueChecker(const kubesim::ApiServer& api, std::vector<std::string>& violations)
      : api_(api), groups_(CountGroups(api)), violations_(violations) {}

  void Check(const std::string& name) {
    const auto queue = api_.Get(kQueues, "", name);
    if (queue == nullptr) return;
    const std::string_view state = TextAt(*queue, {"status"}, "state");
    const auto& counts = groups_[name];
    const json::value* const status = Find(*queue, "status");
    if (state.empty() || status == nullptr) return Say(name, "has no state");
    if (state == "Closing" && counts.empty()) Say(name, "is Closing, and holds no pod group");
    const auto parent = api_.Get(kQueues, "", TextAt(*queue, {"spec"}, "parent"));
    const bool is_below_shut = parent != nullptr && !IsInCycle(name) && IsShut(TextAt(*parent, {"status"}, "state"));
    if (is_below_shut && state == "Open") Say(name, "is Open below a queue that is not");
    const bool is_marked = TextAt(*queue, {"metadata", "annotations"}, kube::kClosedByParentKey) == "true";
    if (is_marked && IsShut(state) && parent != nullptr && !IsInCycle(name) &&
        TextAt(*parent, {"status"}, "state") == "Open") {
      Say(name, "was closed by its parent, which is Open");
    }
    for (const auto& [field, phase] :
         {std::pair("pending", "Pending"), std::pair("inqueue", "Inqueue"), std::pair("running", "Running"),
          std::pair("unknown", "Unknown"), std::pair("completed", "Completed")}) {
      const auto counted = counts.find(phase);
      const int64_t there = counted == counts.end() ? 0 : counted->second;
      const int64_t reported = FindInt(*status, field);
      if (there != reported)
        Say(name, fmt::format("tells of {} pod groups that are {}, there are {}", reported, phase, there));
    }
  }

 private:
  void Say(const std::string& name, std::string_view what) {
    violations_.push_back(fmt::format("queue {} {}", name, what));
  }
  bool IsInCycle(const std::string& name) const {
    std::set<std::string> seen;
    std::string at = name;
    while (true) {
      const auto queue = api_.Get(kQueues, "", at);
      if (queue == nullptr) return false;
      at = TextAt(*queue, {"spec"}, "parent");
      if (at == name) return true;
      if (!seen.insert(at).second) return false;
    }
  }

  const kubesim::ApiServer& api_;
  std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>> groups_;
  std::vector<std::string>& violations_;
};

}  // namespace

void JudgeQueues(SimSuite& suite, absl::Time quiet, std::vector<std::string>& violations) {
  QueueChecker checker(suite.api(), violations);
  for (const std::string& name : ForestQueues()) checker.Check(name);
  for (const auto& command : ForestCommands(suite.api())) {
    violations.push_back(fmt::format("command {} is there still", TextAt(*command, {"metadata"}, "name")));
  }
  for (const kubesim::LoggedRequest& request : suite.api().log()) {
    const std::optional<e2e::Writer> writer = e2e::WriterOf(request.user_agent);
    if (!writer || !writer->replica.starts_with("queuesvc") || request.resource == "events") continue;
    if (request.time <= quiet) continue;
    violations.push_back(
        fmt::format("{} {}s {} {} though all is quiet", writer->replica, request.verb, request.resource, request.name));
  }
}

}  // namespace basalt::simulation
