#include "kubesim/schema/table/pod_cells.h"

#include <fmt/format.h>

#include "kubesim/schema/core/json_members.h"
#include "kubesim/schema/table/cell_values.h"
#include "kubesim/schema/table/table.h"

namespace basalt::kubesim {

json::value PodReady(const json::value& pod, absl::Time) {
  int64_t ready = 0;
  for (const json::value& status : ListAt(pod, {"status", "containerStatuses"})) {
    if (IsTrue(status, "ready")) ++ready;
  }
  return json::value(fmt::format("{}/{}", ready, ListAt(pod, {"spec", "containers"}).size()));
}

json::value PodRestarts(const json::value& pod, absl::Time) {
  int64_t restarts = 0;
  for (const json::value& status : ListAt(pod, {"status", "containerStatuses"}))
    restarts += FindInt(status, "restartCount");
  return json::value(fmt::to_string(restarts));
}

std::string PodStatusWord(const json::value& pod) {
  const json::value* status = Find(pod, "status");
  const json::value none = json::object();
  if (status == nullptr) status = &none;
  std::string word(FindString(*status, "phase"));
  if (const std::string_view reason = FindString(*status, "reason"); !reason.empty()) word = reason;
  if (!ListAt(pod, {"spec", "schedulingGates"}).empty() && word == "Pending") word = "SchedulingGated";

  const json::array& init = ListAt(*status, {"initContainerStatuses"});
  for (size_t i = 0; i < init.size(); ++i) {
    const json::value* ended = FindPath(init[i], {"state", "terminated"});
    if (ended != nullptr && FindInt(*ended, "exitCode") == 0) continue;
    const json::value* waiting = FindPath(init[i], {"state", "waiting"});
    if (ended != nullptr) {
      const std::string_view reason = FindString(*ended, "reason");
      word = reason.empty() ? fmt::format("Init:ExitCode:{}", FindInt(*ended, "exitCode"))
                            : fmt::format("Init:{}", reason);
    } else if (waiting != nullptr && !FindString(*waiting, "reason").empty() &&
               FindString(*waiting, "reason") != "PodInitializing") {
      word = fmt::format("Init:{}", FindString(*waiting, "reason"));
    } else {
      word = fmt::format("Init:{}/{}", i, ListAt(pod, {"spec", "initContainers"}).size());
    }
    return FindPath(pod, {"metadata", "deletionTimestamp"}) == nullptr ? word : "Terminating";
  }

  const json::array& containers = ListAt(*status, {"containerStatuses"});
  for (auto container = containers.rbegin(); container != containers.rend(); ++container) {
    const json::value* waiting = FindPath(*container, {"state", "waiting"});
    const json::value* ended = FindPath(*container, {"state", "terminated"});
    if (waiting != nullptr && !FindString(*waiting, "reason").empty()) {
      word = FindString(*waiting, "reason");
    } else if (ended != nullptr && !FindString(*ended, "reason").empty()) {
      word = FindString(*ended, "reason");
    } else if (ended != nullptr) {
      const int64_t signal = FindInt(*ended, "signal");
      word = signal != 0 ? fmt::format("Signal:{}", signal) : fmt::format("ExitCode:{}", FindInt(*ended, "exitCode"));
    }
  }
  if (FindPath(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
    return FindString(*status, "reason") == "NodeLost" ? "Unknown" : "Terminating";
  }
  return word;
}

}  // namespace basalt::kubesim
