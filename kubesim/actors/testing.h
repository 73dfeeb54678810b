#pragma once

// Helpers for tests of actors: definitions of the kinds that the gang scheduler watches.
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "common/base/yaml.h"

namespace basalt::actors {

// Returns a definition whose schema keeps every field.
inline json::value Crd(std::string_view kind, std::string_view plural, std::string_view scope,
                       std::string_view subresources) {
  constexpr std::string_view kGroup = "scheduling.volcano.sh";
  return ParseYamlDocuments(fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {1}.{2}}}
spec:
  group: {2}
  scope: {3}
  names: {{kind: {0}, plural: {1}}}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
    subresources: {4}
)",
                                        kind, plural, kGroup, scope, subresources))
      ->front();
}

inline std::vector<json::value> SchedulingCrds() {
  return {Crd("PodGroup", "podgroups", "Namespaced", "{}"), Crd("Queue", "queues", "Cluster", "{status: {}}")};
}

}  // namespace basalt::actors
