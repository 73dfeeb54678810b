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
Value ContainersCell(const Value& object, absl::Time) { return Value(ContainerTexts(object, "name")); }
Value ImagesCell(const Value& object, absl::Time) { return Value(ContainerTexts(object, "image")); }
Value SelectorCell(const Value& object, absl::Time) {
  return Value(Labels(FindPath(object, {"spec", "selector", "matchLabels"})));
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

Value NodeRoles(const Value& node, absl::Time) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::map<std::string, int> roles;
  const Value* labels = FindPath(node, {"metadata", "labels"});
  if (labels != nullptr && labels->is_object()) {
    for (const auto& entry : labels->get_object()) {
      const std::string_view key(entry.key().data(), entry.key().size());
      if (key.substr(0, kPrefix.size()) == kPrefix) roles[std::string(key.substr(kPrefix.size()))] = 1;
    }
  }
  std::string out;
  for (const auto& [role, count] : roles) out += (out.empty() ? "" : ",") + role;
  return out.empty() ? Value("<none>") : Value(out);
}

Value NodeAddress(const Value& node, std::string_view type) {
  for (const Value& address : ListAt(node, {"status", "addresses"})) {
    if (FindString(address, "type") == type) return TextAt(address, {"address"});
  }
  return "<none>";
}

Value ServicePorts(const Value& service, absl::Time) {
  std::string out;
  for (const Value& port : ListAt(service, {"spec", "ports"})) {
    const int64_t node_port = FindInt(port, "nodePort");
    out += fmt::format("{}{}{}/{}", out.empty() ? "" : ",", FindInt(port, "port"),
                       node_port > 0 ? fmt::format(":{}", node_port) : "", FindString(port, "protocol"));
  }
  return out.empty() ? Value("<none>") : Value(out);
}

Value AccessModes(const Value& claim, absl::Time) {
  std::string out;
  for (const Value& mode : ListAt(claim, {"status", "accessModes"})) {
    const std::string_view name =
        mode.is_string() ? std::string_view(mode.get_string().data(), mode.get_string().size()) : std::string_view();
    const std::string_view shown = name == "ReadWriteOnce"      ? "RWO"
                                   : name == "ReadOnlyMany"     ? "ROX"
                                   : name == "ReadWriteMany"    ? "RWX"
                                   : name == "ReadWriteOncePod" ? "RWOP"
                                                                : name;
    out += fmt::format("{}{}", out.empty() ? "" : ",", shown);
  }
  return Value(out);
}

Value EventObject(const Value& event, absl::Time) {
  const Value* object = Find(event, "involvedObject");
  if (object == nullptr) return "";
  std::string kind(FindString(*object, "kind"));
  for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return Value(fmt::format("{}/{}", kind, FindString(*object, "name")));
}

const Value* EventTime(const Value& event, std::string_view first) {
  for (const std::string_view name : {first, std::string_view("eventTime"), std::string_view("firstTimestamp")}) {
    const Value* found = Find(event, name);
    if (found != nullptr && found->is_string()) return found;
  }
  return nullptr;
}

Value EventSource(const Value& event, absl::Time) {
  Value source = TextAt(event, {"source", "component"});
  if (source.get_string().empty()) source = TextAt(event, {"reportingComponent"});
  return source;
}

Value JobStatus(const Value& job, absl::Time) {
  for (const Value& condition : ListAt(job, {"status", "conditions"})) {
    if (FindString(condition, "status") != "True") continue;
    const std::string_view type = FindString(condition, "type");
    if (type == "Complete" || type == "Failed" || type == "Suspended") return TextAt(condition, {"type"});
  }
  return FindPath(job, {"metadata", "deletionTimestamp"}) != nullptr ? "Terminating" : "Running";
}

Value JobDuration(const Value& job, absl::Time now) {
  const Value* start = FindPath(job, {"status", "startTime"});
  if (start == nullptr) return "";
  const Value* end = FindPath(job, {"status", "completionTime"});
  absl::Time ended = now;
  if (end != nullptr && end->is_string()) {
    absl::ParseTime(absl::RFC3339_full, ToAbsl({end->get_string().data(), end->get_string().size()}), &ended, nullptr);
  }
  return AgeCell(start, ended);
}

Value JobCompletions(const Value& job, absl::Time) {
  const Value* wanted = FindPath(job, {"spec", "completions"});
  return Ratio(job, "succeeded", wanted == nullptr ? Value(1) : *wanted);
}

// Returns "pods: 2/10, …" for the entries of a quota, ordered by name: for its limits if `limits`, else for all others.
Value QuotaUse(const Value& quota, bool limits) {
  const Value* hard = FindPath(quota, {"status", "hard"});
  std::map<std::string, std::string> parts;
  if (hard != nullptr && hard->is_object()) {
    for (const auto& entry : hard->get_object()) {
      const std::string name = entry.key();
      if (name.starts_with("limits.") != limits) continue;
      const Value used = TextAt(quota, {"status", "used", name}, "0");
      parts[name] = fmt::format("{}: {}/{}", name, used.get_string().c_str(),
                                TextAt(quota, {"status", "hard", name}).get_string().c_str());
    }
  }
  std::string out;
  for (const auto& [name, part] : parts) out += (out.empty() ? "" : ", ") + part;
  return Value(out);
}
Value QuotaRequests(const Value& quota, absl::Time) { return QuotaUse(quota, false); }
Value QuotaLimits(const Value& quota, absl::Time) { return QuotaUse(quota, true); }

// Captureless lambdas convert to plain function pointers. The macros keep one column on one line.
#define BASALT_TEXT(...) [](const Value& o, absl::Time) -> Value { return TextAt(o, __VA_ARGS__); }
#define BASALT_NUMBER(...) [](const Value& o, absl::Time) -> Value { return NumberAt(o, __VA_ARGS__); }

const std::map<std::string_view, Columns>& AllColumns() {
  const CoreColumn name = {"Name", "string", 0, NameCell};
  const CoreColumn age = {"Age", "string", 0, AgeOf};
  const CoreColumn containers = {"Containers", "string", 1, ContainersCell};
  const CoreColumn images = {"Images", "string", 1, ImagesCell};
  const CoreColumn selector = {"Selector", "string", 1, SelectorCell};
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
      {"Node",
       {name,
        {"Status", "string", 0, NodeStatus},
        {"Roles", "string", 0, NodeRoles},
        age,
        {"Version", "string", 0, BASALT_TEXT({"status", "nodeInfo", "kubeletVersion"})},
        {"Internal-IP", "string", 1, [](const Value& o, absl::Time) -> Value { return NodeAddress(o, "InternalIP"); }},
        {"External-IP", "string", 1, [](const Value& o, absl::Time) -> Value { return NodeAddress(o, "ExternalIP"); }},
        {"OS-Image", "string", 1, BASALT_TEXT({"status", "nodeInfo", "osImage"}, "<unknown>")},
        {"Kernel-Version", "string", 1, BASALT_TEXT({"status", "nodeInfo", "kernelVersion"}, "<unknown>")},
        {"Container-Runtime", "string", 1,
         BASALT_TEXT({"status", "nodeInfo", "containerRuntimeVersion"}, "<unknown>")}}},
      {"Namespace", {name, {"Status", "string", 0, BASALT_TEXT({"status", "phase"})}, age}},
      {"Service",
       {name,
        {"Type", "string", 0, BASALT_TEXT({"spec", "type"})},
        {"Cluster-IP", "string", 0, BASALT_TEXT({"spec", "clusterIP"}, "<none>")},
        {"External-IP", "string", 0, BASALT_TEXT({"spec", "externalName"}, "<none>")},
        {"Port(s)", "string", 0, ServicePorts},
        age,
        {"Selector", "string", 1,
         [](const Value& o, absl::Time) -> Value {
           return Value(Labels(FindPath(o, {"spec", "selector"})));
         }}}},
      {"ConfigMap",
       {name,
        {"Data", "string", 0,
         [](const Value& o, absl::Time) -> Value { return CountOf(o, "data") + CountOf(o, "binaryData"); }},
        age}},
      {"Secret",
       {name,
        {"Type", "string", 0, BASALT_TEXT({"type"})},
        {"Data", "string", 0, [](const Value& o, absl::Time) -> Value { return CountOf(o, "data"); }},
        age}},
      {"LimitRange", {name, {"Created At", "date", 0, BASALT_TEXT({"metadata", "creationTimestamp"})}}},
      {"ResourceQuota", {name, {"Request", "string", 0, QuotaRequests}, {"Limit", "string", 0, QuotaLimits}, age}},
      {"PodDisruptionBudget",
       {name,
        {"Min Available", "string", 0, BASALT_TEXT({"spec", "minAvailable"}, "N/A")},
        {"Max Unavailable", "string", 0, BASALT_TEXT({"spec", "maxUnavailable"}, "N/A")},
        {"Allowed Disruptions", "integer", 0, BASALT_NUMBER({"status", "disruptionsAllowed"})},
        age}},
      {"Event",
       {{"Last Seen", "string", 0,
         [](const Value& o, absl::Time now) -> Value { return AgeCell(EventTime(o, "lastTimestamp"), now); }},
        {"Type", "string", 0, BASALT_TEXT({"type"})},
        {"Reason", "string", 0, BASALT_TEXT({"reason"})},
        {"Object", "string", 0, EventObject},
        {"Subobject", "string", 1, BASALT_TEXT({"involvedObject", "fieldPath"})},
        {"Source", "string", 1, EventSource},
        {"Message", "string", 0, BASALT_TEXT({"message"})},
        {"First Seen", "string", 1,
         [](const Value& o, absl::Time now) -> Value { return AgeCell(EventTime(o, "firstTimestamp"), now); }},
        {"Count", "string", 1, BASALT_NUMBER({"count"})},
        {"Name", "string", 1, NameCell}}},
      {"PersistentVolumeClaim",
       {name,
        {"Status", "string", 0, BASALT_TEXT({"status", "phase"})},
        {"Volume", "string", 0, BASALT_TEXT({"spec", "volumeName"})},
        {"Capacity", "string", 0, BASALT_TEXT({"status", "capacity", "storage"})},
        {"Access Modes", "string", 0, AccessModes},
        {"StorageClass", "string", 0, BASALT_TEXT({"spec", "storageClassName"})},
        {"VolumeAttributesClass", "string", 0, BASALT_TEXT({"spec", "volumeAttributesClassName"}, "<unset>")},
        age,
        {"VolumeMode", "string", 1, BASALT_TEXT({"spec", "volumeMode"})}}},
      {"Deployment",
       {name,
        {"Ready", "string", 0,
         [](const Value& o, absl::Time) -> Value {
           return Ratio(o, "readyReplicas", NumberAt(o, {"spec", "replicas"}));
         }},
        {"Up-to-date", "string", 0, BASALT_NUMBER({"status", "updatedReplicas"})},
        {"Available", "string", 0, BASALT_NUMBER({"status", "availableReplicas"})},
        age,
        containers,
        images,
        selector}},
      {"ReplicaSet",
       {name,
        {"Desired", "integer", 0, BASALT_NUMBER({"spec", "replicas"})},
        {"Current", "integer", 0, BASALT_NUMBER({"status", "replicas"})},
        {"Ready", "integer", 0, BASALT_NUMBER({"status", "readyReplicas"})},
        age,
        containers,
        images,
        selector}},
      {"StatefulSet",
       {name,
        {"Ready", "string", 0,
         [](const Value& o, absl::Time) -> Value {
           return Ratio(o, "readyReplicas", NumberAt(o, {"spec", "replicas"}));
         }},
        age,
        containers,
        images}},
      {"DaemonSet",
       {name,
        {"Desired", "integer", 0, BASALT_NUMBER({"status", "desiredNumberScheduled"})},
        {"Current", "integer", 0, BASALT_NUMBER({"status", "currentNumberScheduled"})},
        {"Ready", "integer", 0, BASALT_NUMBER({"status", "numberReady"})},
        {"Up-to-date", "integer", 0, BASALT_NUMBER({"status", "updatedNumberScheduled"})},
        {"Available", "integer", 0, BASALT_NUMBER({"status", "numberAvailable"})},
        {"Node Selector", "string", 0,
         [](const Value& o,
            absl::Time) -> Value { return Value(Labels(FindPath(o, {"spec", "template", "spec", "nodeSelector"}))); }},
        age,
        containers,
        images,
        selector}},
      {"Job",
       {name,
        {"Status", "string", 0, JobStatus},
        {"Completions", "string", 0, JobCompletions},
        {"Duration", "string", 0, JobDuration},
        age,
        containers,
        images,
        selector}},
      {"Lease", {name, {"Holder", "string", 0, BASALT_TEXT({"spec", "holderIdentity"})}, age}},
      {"PriorityClass",
       {name,
        {"Value", "integer", 0, BASALT_NUMBER({"value"})},
        {"Global-Default", "boolean", 0,
         [](const Value& o, absl::Time) -> Value { return IsTrue(o, "globalDefault"); }},
        age,
        {"PreemptionPolicy", "string", 0, BASALT_TEXT({"preemptionPolicy"})}}},
      {"NetworkPolicy",
       {name,
        {"Pod-Selector", "string", 0,
         [](const Value& o,
            absl::Time) -> Value { return Value(Labels(FindPath(o, {"spec", "podSelector", "matchLabels"}))); }},
        age}},
      {"CustomResourceDefinition", {name, {"Created At", "date", 0, BASALT_TEXT({"metadata", "creationTimestamp"})}}},
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
