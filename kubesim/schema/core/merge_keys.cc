#include "kubesim/schema/core/merge_keys.h"

namespace basalt::kubesim {
namespace {

struct Row {
  std::string_view field;
  std::string_view key;
};

constexpr Row kByKey[] = {{"containers", "name"},
                          {"initContainers", "name"},
                          {"ephemeralContainers", "name"},
                          {"volumes", "name"},
                          {"env", "name"},
                          {"volumeMounts", "mountPath"},
                          {"volumeDevices", "devicePath"},
                          {"imagePullSecrets", "name"},
                          {"hostAliases", "ip"},
                          {"topologySpreadConstraints", "topologyKey"},
                          {"resourceClaims", "name"},
                          {"schedulingGates", "name"},
                          {"ownerReferences", "uid"},
                          {"conditions", "type"},
                          {"podIPs", "ip"},
                          {"addresses", "type"},
                          {"secrets", "name"},
                          {"shortNames", ""},
                          {"finalizers", ""},
                          {"podCIDRs", ""}};

bool IsMetadata(std::string_view parent) { return parent == "metadata"; }

}  // namespace

MergeRule StrategicRule(std::string_view kind, std::string_view parent, std::string_view field) {
  if (field == "ports") {
    if (kind == "Service" || kind == "Endpoints") return {ListType::kMap, {"port"}};
    if (kind == "NetworkPolicy") return {};
    return {ListType::kMap, {"containerPort"}};
  }
  if ((field == "ownerReferences" || field == "finalizers") && !IsMetadata(parent) && kind != "Namespace") return {};
  if (field == "addresses" && kind != "Node") return {};
  if (field == "secrets" && kind != "ServiceAccount") return {};
  if (field == "shortNames") return {};
  // Lists without a row, such as a secret volume's items or a projected volume's sources, are replaced as a whole.
  for (const Row& row : kByKey) {
    if (row.field != field) continue;
    if (row.key.empty()) return {ListType::kSet, {}};
    return {ListType::kMap, {std::string(row.key)}};
  }
  return {};
}

MergeRule ApplyRule(std::string_view kind, std::string_view parent, std::string_view field) {
  if (field == "ports") {
    if (kind == "Service") return {ListType::kMap, {"port", "protocol"}};
    if (kind == "NetworkPolicy" || kind == "Endpoints") return {};
    return {ListType::kMap, {"containerPort", "protocol"}};
  }
  if (field == "topologySpreadConstraints") return {ListType::kMap, {"topologyKey", "whenUnsatisfiable"}};
  return StrategicRule(kind, parent, field);
}

}  // namespace basalt::kubesim
