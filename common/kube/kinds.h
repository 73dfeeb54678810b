#pragma once

// The kinds of Kubernetes objects that services and the gateway's caches use, and their addresses at the API server.
// Services, permissions and decoders take group, version and plural from the row of the kind. Sources: job spec 1,
// podgroup spec 2, queue spec 1; the others are Kubernetes' own.
#include <string_view>

namespace basalt::kube {

struct Kind {
  std::string_view group;  // Empty means the core group.
  std::string_view version;
  std::string_view name;
  std::string_view plural;

  // Returns whether group and plural name this kind, in any version.
  constexpr bool Is(std::string_view its_group, std::string_view its_plural) const {
    return group == its_group && plural == its_plural;
  }
};

// These kinds are Volcano's.
inline constexpr Kind kJobs{"batch.volcano.sh", "v1alpha1", "Job", "jobs"};
inline constexpr Kind kCommands{"bus.volcano.sh", "v1alpha1", "Command", "commands"};
inline constexpr Kind kPodGroups{"scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"};
inline constexpr Kind kQueues{"scheduling.volcano.sh", "v1beta1", "Queue", "queues"};

// These kinds are KAI's.
inline constexpr Kind kKaiPodGroups{"scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"};
inline constexpr Kind kKaiQueues{"scheduling.run.ai", "v2", "Queue", "queues"};

inline constexpr Kind kPods{"", "v1", "Pod", "pods"};
inline constexpr Kind kEvents{"", "v1", "Event", "events"};
inline constexpr Kind kPersistentVolumeClaims{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"};
inline constexpr Kind kServices{"", "v1", "Service", "services"};
inline constexpr Kind kConfigMaps{"", "v1", "ConfigMap", "configmaps"};
inline constexpr Kind kSecrets{"", "v1", "Secret", "secrets"};
inline constexpr Kind kNetworkPolicies{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"};
inline constexpr Kind kPriorityClasses{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"};
// The pods of these kinds get their own group, which inherits annotations of the owner (podgroup spec 6.2).
inline constexpr Kind kReplicaSets{"apps", "v1", "ReplicaSet", "replicasets"};
inline constexpr Kind kDaemonSets{"apps", "v1", "DaemonSet", "daemonsets"};
inline constexpr Kind kStatefulSets{"apps", "v1", "StatefulSet", "statefulsets"};
inline constexpr Kind kBatchJobs{"batch", "v1", "Job", "jobs"};
inline constexpr Kind kWorkloadKinds[] = {kReplicaSets, kStatefulSets, kDaemonSets, kBatchJobs};

// Returns the kind of kWorkloadKinds with this apiVersion and name ("apps/v1", "ReplicaSet"). Null for any other kind.
// The API group counts as well as the name, since other groups have a Job or a StatefulSet, too (weakness W10).
constexpr const Kind* FindWorkloadKind(std::string_view api_version, std::string_view name) {
  for (const Kind& kind : kWorkloadKinds) {
    const bool has_version = api_version.size() == kind.group.size() + 1 + kind.version.size() &&
                             api_version.substr(0, kind.group.size()) == kind.group &&
                             api_version[kind.group.size()] == '/' &&
                             api_version.substr(kind.group.size() + 1) == kind.version;
    if (has_version && kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace basalt::kube
