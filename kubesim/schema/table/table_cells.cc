#include "kubesim/schema/table/table_cells.h"

#include <fmt/format.h>

#include <map>

#include "common/base/status.h"
#include "kubesim/schema/core/json_members.h"
#include "kubesim/schema/table/cell_values.h"
#include "kubesim/schema/table/pod_cells.h"
#include "kubesim/schema/table/table.h"

namespace basalt::kubesim {
namespace {

using Value = json::value;
using Columns = std::vector<CoreColumn>;

Value NameCell(const Value& object, absl::Time) { return TextAt(object, {"metadata", "name"}); }
Value AgeOf(const Value& object, absl::Time now) {
  return AgeCell(FindPath(object, {"metadata", "creationTimestamp"}), now);
}
Value NodeStatus(const Value& node, absl::Time) {
  std::string status = "Unknown";
  for (const Value& condition : ListAt(node, {"status", "conditions"})) {
    if (FindString(condition, "type") != "Ready") continue;
    status = FindString(condition, "status") == "True" ? "Ready" : "NotReady";
  }
  const Value* spec = Find(node, "spec");
  if (spec != nullptr && IsTrue(*spec, "unschedulable")) status += ",SchedulingDisabled";
  return Value(status);
}

Value EventObject(const Value& event, absl::Time) {
  const Value* object = Find(event, "involvedObject");
  if (object == nullptr) return "";
  std::string kind(FindString(*object, "kind"));
  for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return Value(fmt::format("{}/{}", kind, FindString(*object, "name")));
}

Value EventAge(const Value& event, absl::Time now) {
  for (const std::string_view name : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    const Value* found = Find(event, name);
    if (found != nullptr && found->is_string()) return AgeCell(found, now);
  }
  return AgeCell(nullptr, now);
}

Value DeploymentReady(const Value& deployment, absl::Time) {
  return Value(fmt::format("{}/{}", ToText(NumberAt(deployment, {"status", "readyReplicas"})),
                           ToText(NumberAt(deployment, {"spec", "replicas"}))));
}

// Captureless lambdas convert to plain function pointers. The macros keep one column on one line.
#define BASALT_TEXT(...) [](const Value& o, absl::Time) -> Value { return TextAt(o, __VA_ARGS__); }
#define BASALT_NUMBER(...) [](const Value& o, absl::Time) -> Value { return NumberAt(o, __VA_ARGS__); }

// The kinds that people look at. README.md of tests/conformance says that others have NAME and AGE.
const std::map<std::string_view, Columns>& AllColumns() {
  const CoreColumn name = {"Name", "string", 0, NameCell};
  const CoreColumn age = {"Age", "string", 0, AgeOf};
  static const auto& table = *new std::map<std::string_view, Columns>{
      {"", {name, age}},
      {"Pod",
       {name,
        {"Ready", "string", 0, PodReady},
        {"Status", "string", 0, [](const Value& o, absl::Time) -> Value { return Value(PodStatusWord(o)); }},
        {"Restarts", "string", 0, PodRestarts},
        age,
        {"IP", "string", 1, BASALT_TEXT({"status", "podIP"}, "<none>")},
        {"Node", "string", 1, BASALT_TEXT({"spec", "nodeName"}, "<none>")},
        {"Nominated Node", "string", 1, BASALT_TEXT({"status", "nominatedNodeName"}, "<none>")},
        {"Readiness Gates", "string", 1, [](const Value&, absl::Time) -> Value { return "<none>"; }}}},
      {"Node", {name, {"Status", "string", 0, NodeStatus}, age}},
      {"Namespace", {name, {"Status", "string", 0, BASALT_TEXT({"status", "phase"})}, age}},
      {"Event",
       {{"Last Seen", "string", 0, EventAge},
        {"Type", "string", 0, BASALT_TEXT({"type"})},
        {"Reason", "string", 0, BASALT_TEXT({"reason"})},
        {"Object", "string", 0, EventObject},
        {"Message", "string", 0, BASALT_TEXT({"message"})},
        {"Name", "string", 1, NameCell}}},
      {"Deployment",
       {name,
        {"Ready", "string", 0, DeploymentReady},
        {"Up-to-date", "string", 0, BASALT_NUMBER({"status", "updatedReplicas"})},
        {"Available", "string", 0, BASALT_NUMBER({"status", "availableReplicas"})},
        age}},
  };
  return table;
}

#undef BASALT_TEXT
#undef BASALT_NUMBER

}  // namespace

const std::vector<CoreColumn>& CoreColumns(std::string_view kind) {
  const auto found = AllColumns().find(kind);
  return found == AllColumns().end() ? AllColumns().at("") : found->second;
}

}  // namespace basalt::kubesim
