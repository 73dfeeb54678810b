#pragma once

// Defines the keys, groups and strings of the wire, each once. Sources: job spec 1.9 and 1.10, podgroup spec 2.
#include <string_view>

namespace basalt::kube {

// These are annotations and labels of Volcano.
inline constexpr std::string_view kTaskSpecKey = "volcano.sh/task-spec";
inline constexpr std::string_view kTaskIndexKey = "volcano.sh/task-index";
inline constexpr std::string_view kJobNameKey = "volcano.sh/job-name";
inline constexpr std::string_view kJobNamespaceKey = "volcano.sh/job-namespace";
inline constexpr std::string_view kQueueNameKey = "volcano.sh/queue-name";
inline constexpr std::string_view kJobVersionKey = "volcano.sh/job-version";
inline constexpr std::string_view kJobRetryCountKey = "volcano.sh/job-retry-count";
inline constexpr std::string_view kTemplateUidKey = "volcano.sh/template-uid";
inline constexpr std::string_view kPartitionIdKey = "volcano.sh/partition-id";
inline constexpr std::string_view kGroupNameKey = "scheduling.k8s.io/group-name";
inline constexpr std::string_view kVolcanoGroupNameKey = "scheduling.volcano.sh/group-name";
inline constexpr std::string_view kOutOfSyncKey = "volcano.sh/controller-out-of-sync";
inline constexpr std::string_view kNumaTopologyPolicyKey = "volcano.sh/numa-topology-policy";
inline constexpr std::string_view kPreemptableKey = "volcano.sh/preemptable";
inline constexpr std::string_view kCooldownTimeKey = "volcano.sh/cooldown-time";
inline constexpr std::string_view kRevocableZoneKey = "volcano.sh/revocable-zone";
inline constexpr std::string_view kJdbMinAvailableKey = "volcano.sh/jdb-min-available";
inline constexpr std::string_view kJdbMaxUnavailableKey = "volcano.sh/jdb-max-unavailable";
inline constexpr std::string_view kJobForwardingKey = "volcano.sh/job-forwarding";
inline constexpr std::string_view kSchedulingQueueNameKey = "scheduling.volcano.sh/queue-name";
inline constexpr std::string_view kGroupMinMemberKey = "scheduling.volcano.sh/group-min-member";
// The alternative keys of the seed (job spec 14, S2 and S3) are written beside upstream's.
inline constexpr std::string_view kPodTemplateKeyKey = "volcano.sh/pod-template-key";
inline constexpr std::string_view kTaskPartitionIdKey = "volcano.sh/task-partition-id";

// The following keys are our own.
inline constexpr std::string_view kJobUidKey = "basalt.dev/job-uid";             // Pod label, PodGroup annotation.
inline constexpr std::string_view kBasaltVersionKey = "basalt.dev/job-version";  // Pod label, PodGroup annotation.
// This PodGroup annotation lists the keys of the annotations that the group inherited from a pod or from the owner of
// the pods, separated by commas.
inline constexpr std::string_view kInheritedKey = "basalt.dev/inherited-annotations";
inline constexpr std::string_view kCommandTargetKey = "basalt.dev/target";  // Command annotation.
inline constexpr std::string_view kControlledStateKey = "basalt";           // Key in status.controlledResources.
inline constexpr std::string_view kFieldManager = "basalt";

// This PodGroup annotation lists the optional fields of spec that the rules of grouping set, separated by commas. Only
// groups by the rules of all kinds have it.
inline constexpr std::string_view kGroupedFieldsKey = "basalt.dev/grouped-fields";

// KAI's annotation and label on a pod name the group and the subgroup that the pod belongs to (pod-grouper 8).
inline constexpr std::string_view kKaiGroupNameKey = "pod-group-name";
inline constexpr std::string_view kKaiSubGroupNameKey = "kai.scheduler/subgroup-name";
// This annotation of a KAI PodGroup names the owner of the group's pods (pod-grouper 5.1).
inline constexpr std::string_view kKaiTopOwnerKey = "kai.scheduler/top-owner-metadata";

// These are API groups with their versions.
inline constexpr std::string_view kJobApiVersion = "batch.volcano.sh/v1alpha1";
inline constexpr std::string_view kCommandApiVersion = "bus.volcano.sh/v1alpha1";
inline constexpr std::string_view kSchedulingApiVersion = "scheduling.volcano.sh/v1beta1";

inline constexpr std::string_view kDefaultScheduler = "volcano";
inline constexpr std::string_view kKaiScheduler = "kai-scheduler";
inline constexpr std::string_view kDefaultQueue = "default";
// This annotation marks a queue that was closed because its parent was: "true" until the queue is opened again, "false"
// afterwards (queue spec 1.4).
inline constexpr std::string_view kClosedByParentKey = "volcano.sh/closed-by-parent";
inline constexpr std::string_view kRootQueue = "root";

// The ids of the gateway's watches, which ObjectState.watch contains.
inline constexpr std::string_view kWatchJobs = "jobs.batch.volcano.sh";
inline constexpr std::string_view kWatchCommands = "commands.bus.volcano.sh";
inline constexpr std::string_view kWatchPodGroups = "podgroups.scheduling.volcano.sh";
inline constexpr std::string_view kWatchKaiPodGroups = "podgroups.scheduling.run.ai";
// These watches observe one CustomResourceDefinition of pod groups each, which states the fields that the cluster's
// release knows.
inline constexpr std::string_view kWatchPodGroupDefinition =
    "customresourcedefinitions/podgroups.scheduling.volcano.sh";
inline constexpr std::string_view kWatchKaiDefinition = "customresourcedefinitions/podgroups.scheduling.run.ai";
inline constexpr std::string_view kWatchKartas = "kartas.run.ai";
// Returns whether the watch serves groups by the rules of all kinds. Only pgsvc gets such watches.
constexpr bool IsGroupingWatch(std::string_view watch) {
  return watch == kWatchKaiPodGroups || watch == kWatchKaiDefinition || watch == kWatchPodGroupDefinition ||
         watch == kWatchKartas;
}
inline constexpr std::string_view kWatchQueues = "queues.scheduling.volcano.sh";
inline constexpr std::string_view kWatchKaiQueues = "queues.scheduling.run.ai";
inline constexpr std::string_view kWatchPriorityClasses = "priorityclasses.scheduling.k8s.io";
// This prefix stands before the plural of a kind of kWorkloadKinds, as in "workloads/replicasets".
inline constexpr std::string_view kWatchWorkloadsPrefix = "workloads/";
// This prefix stands before apiVersion and kind of objects that are requested by name, as in
// "objects/apps/v1/ReplicaSet".
inline constexpr std::string_view kWatchObjectsPrefix = "objects/";
inline constexpr std::string_view kWatchJobPods = "pods/job";
inline constexpr std::string_view kWatchSchedulerPodsPrefix = "pods/scheduler=";

}  // namespace basalt::kube
