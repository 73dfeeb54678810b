#pragma once

// Defines the keys, groups and strings of the wire, each once. Sources: job spec 1.9 and 1.10, podgroup spec 2.
#include <string_view>

namespace basalt::kube {

// The comment of each annotation and label stands in docs/reference/annotations.md, too: scripts/reference copies it.

// This label and annotation of a job's pod names the task of the pod.
inline constexpr std::string_view kTaskSpecKey = "volcano.sh/task-spec";
// This label and annotation of a job's pod has the index of the pod in its task.
inline constexpr std::string_view kTaskIndexKey = "volcano.sh/task-index";
// This label and annotation of a job's pod names the job. The gateway watches the pods of jobs by the label.
inline constexpr std::string_view kJobNameKey = "volcano.sh/job-name";
// This label of a job's pod names the namespace of the job.
inline constexpr std::string_view kJobNamespaceKey = "volcano.sh/job-namespace";
// This label and annotation of a job's pod names the queue of the job. As an annotation of a plain pod or of its owner
// it names the queue of the pod's group where scheduling.volcano.sh/queue-name is absent.
inline constexpr std::string_view kQueueNameKey = "volcano.sh/queue-name";
// This annotation of a job's pod has the status.version that the job had when the pod was made.
inline constexpr std::string_view kJobVersionKey = "volcano.sh/job-version";
// This annotation of a job's pod has the status.retryCount that the job had when the pod was made.
inline constexpr std::string_view kJobRetryCountKey = "volcano.sh/job-retry-count";
// This annotation of a job's pod has the names of the job and of the task, joined by a hyphen.
inline constexpr std::string_view kTemplateUidKey = "volcano.sh/template-uid";
// This label of a job's pod has the partition of its task that the pod belongs to, if the task has partitions.
inline constexpr std::string_view kPartitionIdKey = "volcano.sh/partition-id";
// This annotation of a pod names its pod group. Volcano's scheduler reads it.
inline constexpr std::string_view kGroupNameKey = "scheduling.k8s.io/group-name";
// This annotation of a job's pod also names its pod group.
inline constexpr std::string_view kVolcanoGroupNameKey = "scheduling.volcano.sh/group-name";
// This annotation marks a pod that jobsvc is about to delete. The end of a marked pod raises OutOfSync, not PodEvicted.
inline constexpr std::string_view kOutOfSyncKey = "volcano.sh/controller-out-of-sync";
// This annotation of a job's pod has the topologyPolicy of its task.
inline constexpr std::string_view kNumaTopologyPolicyKey = "volcano.sh/numa-topology-policy";
// This annotation and label of a job, a plain pod or an owner of plain pods says whether the scheduler may preempt the
// pods. It is copied to the pods of the job, or to the group of the plain pods.
inline constexpr std::string_view kPreemptableKey = "volcano.sh/preemptable";
// This annotation and label says for how long a pod is safe from preemption after its start. It is copied as
// volcano.sh/preemptable is.
inline constexpr std::string_view kCooldownTimeKey = "volcano.sh/cooldown-time";
// This annotation says in which revocable zone pods may run. It is copied as volcano.sh/preemptable is.
inline constexpr std::string_view kRevocableZoneKey = "volcano.sh/revocable-zone";
// This annotation has the disruption budget of a job, as the number of pods that stay. It is copied as
// volcano.sh/preemptable is.
inline constexpr std::string_view kJdbMinAvailableKey = "volcano.sh/jdb-min-available";
// This annotation has the disruption budget of a job, as the number of pods that may go. It is copied if
// volcano.sh/jdb-min-available is absent.
inline constexpr std::string_view kJdbMaxUnavailableKey = "volcano.sh/jdb-max-unavailable";
// This annotation is "true" on a job whose queue has extendClusters, and this annotation and label on its pods.
inline constexpr std::string_view kJobForwardingKey = "volcano.sh/job-forwarding";
// This annotation of a plain pod, or of its owner, names the queue of the pod's group.
inline constexpr std::string_view kSchedulingQueueNameKey = "scheduling.volcano.sh/queue-name";
// This annotation of the owner of plain pods has the minMember of their group.
inline constexpr std::string_view kGroupMinMemberKey = "scheduling.volcano.sh/group-min-member";
// This annotation of a job's pod has the same value as volcano.sh/template-uid (job spec 14, S2).
inline constexpr std::string_view kPodTemplateKeyKey = "volcano.sh/pod-template-key";
// This label of a job's pod has the same value as volcano.sh/partition-id (job spec 14, S3).
inline constexpr std::string_view kTaskPartitionIdKey = "volcano.sh/task-partition-id";

// This label of a job's pod, and annotation of its pod group, has the UID of the job.
inline constexpr std::string_view kJobUidKey = "basalt.dev/job-uid";
// This label of a job's pod, and annotation of its pod group, has the version of the job for which the object was made.
inline constexpr std::string_view kBasaltVersionKey = "basalt.dev/job-version";
// This annotation of a pod group lists the keys of the annotations that the group inherited from a pod or from the
// owner of the pods, separated by commas.
inline constexpr std::string_view kInheritedKey = "basalt.dev/inherited-annotations";
// This annotation of a Command has the part of the job that the Command is for, as JSON: task, partition, pod and UID
// of the pod.
inline constexpr std::string_view kCommandTargetKey = "basalt.dev/target";
inline constexpr std::string_view kControlledStateKey = "basalt";  // Key in status.controlledResources.
inline constexpr std::string_view kFieldManager = "basalt";

// This annotation of a pod group lists the optional fields of spec that the rules of grouping set, separated by commas.
// Only groups by the rules of all kinds have it.
inline constexpr std::string_view kGroupedFieldsKey = "basalt.dev/grouped-fields";

// This annotation of a pod of KAI's scheduler names its pod group (pod-grouper 8).
inline constexpr std::string_view kKaiGroupNameKey = "pod-group-name";
// This label of a pod names its subgroup in the pod group (pod-grouper 8).
inline constexpr std::string_view kKaiSubGroupNameKey = "kai.scheduler/subgroup-name";
// This annotation of a pod group names the owner of the group's pods, as YAML (pod-grouper 5.1).
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
