#include "kubesim/server/discovery/discovery.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace basalt::kubesim {
namespace {

struct SubResource {
  std::string name;
  std::string group;
  std::string version;
  std::string kind;
  std::vector<std::string> verbs;
};

std::vector<SubResource> SubResources(const TypeInfo& type) {
  std::vector<SubResource> all;
  const std::vector<std::string> change = {"get", "patch", "update"};
  if (type.has_status) all.push_back({"status", type.group, type.version, type.kind, change});
  if (type.has_scale) all.push_back({"scale", "autoscaling", "v1", "Scale", change});
  if (type.group.empty() && type.plural == "pods") {
    all.push_back({"binding", "", "v1", "Binding", {"create"}});
    all.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
    all.push_back({"log", "", "v1", "Pod", {"get"}});
  }
  return all;
}

json::array Strings(const std::vector<std::string>& values) {
  json::array out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

std::string GroupVersion(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

json::object VersionEntry(std::string_view group, const std::string& version) {
  return {{"groupVersion", GroupVersion(group, version)}, {"version", version}};
}

json::object GroupEntry(const Registry& types, const std::string& group) {
  json::array versions;
  const std::vector<std::string> names = types.Versions(group);
  for (const std::string& version : names) versions.push_back(VersionEntry(group, version));
  return {{"name", group}, {"versions", std::move(versions)}, {"preferredVersion", VersionEntry(group, names.front())}};
}

// Kubernetes' own groups come first, in the order in which clients look for a short name.
std::vector<std::string> OrderedGroups(const Registry& types) {
  constexpr std::array<std::string_view, 9> kFirst = {"",
                                                      "apps",
                                                      "batch",
                                                      "networking.k8s.io",
                                                      "policy",
                                                      "storage.k8s.io",
                                                      "apiextensions.k8s.io",
                                                      "scheduling.k8s.io",
                                                      "coordination.k8s.io"};
  std::vector<std::string> groups = types.Groups();
  const auto rank = [&](const std::string& group) { return std::find(kFirst.begin(), kFirst.end(), group); };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return groups;
}

}  // namespace

json::value ApiVersionsDocument() {
  return json::object{
      {"kind", "APIVersions"}, {"versions", json::array{"v1"}}, {"serverAddressByClientCIDRs", json::array{}}};
}

json::value ApiGroupListDocument(const Registry& types) {
  json::array groups;
  for (const std::string& group : OrderedGroups(types)) {
    if (!group.empty()) groups.push_back(GroupEntry(types, group));
  }
  return json::object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<json::value> ApiGroupDocument(const Registry& types, std::string_view group) {
  if (group.empty() || types.Versions(group).empty()) return std::nullopt;
  json::object entry = GroupEntry(types, std::string(group));
  json::object out = {{"kind", "APIGroup"}, {"apiVersion", "v1"}};
  for (auto& [key, value] : entry) out[key] = value;
  return out;
}

std::optional<json::value> ApiResourceListDocument(const Registry& types, std::string_view group,
                                                   std::string_view version) {
  json::array resources;
  for (const TypeInfoPtr& type : types.All()) {
    if (type->group != group || type->version != version) continue;
    json::object one = {{"name", type->plural},
                        {"singularName", type->singular},
                        {"namespaced", type->namespaced},
                        {"kind", type->kind},
                        {"verbs", Strings(type->verbs)}};
    if (!type->short_names.empty()) one["shortNames"] = Strings(type->short_names);
    if (!type->categories.empty()) one["categories"] = Strings(type->categories);
    resources.push_back(std::move(one));
    for (const SubResource& sub : SubResources(*type)) {
      json::object entry = {{"name", type->plural + "/" + sub.name},
                            {"singularName", ""},
                            {"namespaced", type->namespaced},
                            {"kind", sub.kind},
                            {"verbs", Strings(sub.verbs)}};
      if (sub.group != type->group || sub.version != type->version) {
        entry["group"] = sub.group;
        entry["version"] = sub.version;
      }
      resources.push_back(std::move(entry));
    }
  }
  if (resources.empty()) return std::nullopt;
  return json::object{{"kind", "APIResourceList"},
                      {"apiVersion", "v1"},
                      {"groupVersion", GroupVersion(group, version)},
                      {"resources", std::move(resources)}};
}

json::value VersionDocument() {
  return json::object{{"major", "1"},
                      {"minor", "36"},
                      {"gitVersion", "v1.36.0+kubesim"},
                      {"gitCommit", "0000000000000000000000000000000000000000"},
                      {"gitTreeState", "clean"},
                      {"buildDate", "2025-01-01T00:00:00Z"},
                      {"goVersion", "none"},
                      {"compiler", "gcc"},
                      {"platform", "linux/amd64"}};
}

}  // namespace basalt::kubesim
