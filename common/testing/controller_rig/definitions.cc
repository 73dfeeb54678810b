#include "common/testing/controller_rig/definitions.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "common/kube/kinds.h"

namespace basalt::testing {
namespace {

json::value Definition(const kube::Kind& kind, std::string_view scope, bool has_status) {
  const json::object open{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  json::object version{
      {"name", kind.version}, {"served", true}, {"storage", true}, {"schema", json::object{{"openAPIV3Schema", open}}}};
  if (has_status) version["subresources"] = json::object{{"status", json::object()}};
  const json::object names{{"kind", kind.name},
                           {"listKind", fmt::format("{}List", kind.name)},
                           {"plural", kind.plural},
                           {"singular", fmt::format("{}", kind.plural.substr(0, kind.plural.size() - 1))}};
  return json::object{
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", json::object{{"name", fmt::format("{}.{}", kind.plural, kind.group)}}},
      {"spec",
       json::object{
           {"group", kind.group}, {"scope", scope}, {"names", names}, {"versions", json::array{std::move(version)}}}},
  };
}

}  // namespace

std::vector<json::value> OpenDefinitions() {
  return {Definition(kube::kJobs, "Namespaced", true),         Definition(kube::kCommands, "Namespaced", false),
          Definition(kube::kPodGroups, "Namespaced", false),   Definition(kube::kQueues, "Cluster", true),
          Definition(kube::kKaiPodGroups, "Namespaced", true), Definition(kube::kKaiQueues, "Cluster", true)};
}

}  // namespace basalt::testing
