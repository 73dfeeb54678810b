#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim::protobuf {
namespace {

constexpr MessageRow kWorkloadRows[] = {
    {"PriorityClass",
     "1 metadata ObjectMeta, 2 value int!, 3 globalDefault flag, 4 description text, 5 preemptionPolicy text?"},
    {"PodDisruptionBudgetSpec",
     "1 minAvailable IntOrString?, 2 selector LabelSelector?, 3 maxUnavailable IntOrString?, "
     "4 unhealthyPodEvictionPolicy text?"},
    {"PodDisruptionBudgetStatus",
     "1 observedGeneration int, 2 disruptedPods Time{}, 3 disruptionsAllowed int!, 4 currentHealthy int!, "
     "5 desiredHealthy int!, 6 expectedPods int!, 7 conditions Condition*"},
    {"PodDisruptionBudget",
     "1 metadata ObjectMeta, 2 spec PodDisruptionBudgetSpec, 3 status PodDisruptionBudgetStatus"},
    {"ReplicaSetSpec", "1 replicas int?, 2 selector LabelSelector?, 3 template PodTemplateSpec, 4 minReadySeconds int"},
    {"ReplicaSetCondition", "1 type text!, 2 status text!, 3 lastTransitionTime Time, 4 reason text, 5 message text"},
    {"ReplicaSetStatus",
     "1 replicas int!, 2 fullyLabeledReplicas int, 3 observedGeneration int, 4 readyReplicas int, "
     "5 availableReplicas int, 6 conditions ReplicaSetCondition*, 7 terminatingReplicas int?"},
    {"ReplicaSet", "1 metadata ObjectMeta, 2 spec ReplicaSetSpec, 3 status ReplicaSetStatus"},
    {"RollingUpdateStatefulSetStrategy", "1 partition int?, 2 maxUnavailable IntOrString?"},
    {"StatefulSetUpdateStrategy", "1 type text, 2 rollingUpdate RollingUpdateStatefulSetStrategy?"},
    {"StatefulSetPersistentVolumeClaimRetentionPolicy", "1 whenDeleted text, 2 whenScaled text"},
    {"StatefulSetOrdinals", "1 start int!"},
    {"StatefulSetSpec",
     "1 replicas int?, 2 selector LabelSelector?, 3 template PodTemplateSpec, "
     "4 volumeClaimTemplates PersistentVolumeClaim*, 5 serviceName text!, 6 podManagementPolicy text, "
     "7 updateStrategy StatefulSetUpdateStrategy, 8 revisionHistoryLimit int?, 9 minReadySeconds int, "
     "10 persistentVolumeClaimRetentionPolicy StatefulSetPersistentVolumeClaimRetentionPolicy?, "
     "11 ordinals StatefulSetOrdinals?"},
    {"StatefulSetCondition", "1 type text!, 2 status text!, 3 lastTransitionTime Time, 4 reason text, 5 message text"},
    {"StatefulSetStatus",
     "1 observedGeneration int, 2 replicas int!, 3 readyReplicas int, 4 currentReplicas int, 5 updatedReplicas int, "
     "6 currentRevision text, 7 updateRevision text, 9 collisionCount int?, 10 conditions StatefulSetCondition*, "
     "11 availableReplicas int!"},
    {"StatefulSet", "1 metadata ObjectMeta, 2 spec StatefulSetSpec, 3 status StatefulSetStatus"},
    {"RollingUpdateDaemonSet", "1 maxUnavailable IntOrString?, 2 maxSurge IntOrString?"},
    {"DaemonSetUpdateStrategy", "1 type text, 2 rollingUpdate RollingUpdateDaemonSet?"},
    {"DaemonSetSpec",
     "1 selector LabelSelector?, 2 template PodTemplateSpec, 3 updateStrategy DaemonSetUpdateStrategy, "
     "4 minReadySeconds int, 6 revisionHistoryLimit int?"},
    {"DaemonSetCondition", "1 type text!, 2 status text!, 3 lastTransitionTime Time, 4 reason text, 5 message text"},
    {"DaemonSetStatus",
     "1 currentNumberScheduled int!, 2 numberMisscheduled int!, 3 desiredNumberScheduled int!, 4 numberReady int!, "
     "5 observedGeneration int, 6 updatedNumberScheduled int, 7 numberAvailable int, 8 numberUnavailable int, "
     "9 collisionCount int?, 10 conditions DaemonSetCondition*"},
    {"DaemonSet", "1 metadata ObjectMeta, 2 spec DaemonSetSpec, 3 status DaemonSetStatus"},
    {"RollingUpdateDeployment", "1 maxUnavailable IntOrString?, 2 maxSurge IntOrString?"},
    {"DeploymentStrategy", "1 type text, 2 rollingUpdate RollingUpdateDeployment?"},
    {"DeploymentSpec",
     "1 replicas int?, 2 selector LabelSelector?, 3 template PodTemplateSpec, 4 strategy DeploymentStrategy, "
     "5 minReadySeconds int, 6 revisionHistoryLimit int?, 7 paused flag, 9 progressDeadlineSeconds int?"},
    {"DeploymentCondition",
     "1 type text!, 2 status text!, 4 reason text, 5 message text, 6 lastUpdateTime Time, 7 lastTransitionTime Time"},
    {"DeploymentStatus",
     "1 observedGeneration int, 2 replicas int, 3 updatedReplicas int, 4 availableReplicas int, "
     "5 unavailableReplicas int, 6 conditions DeploymentCondition*, 7 readyReplicas int, 8 collisionCount int?, "
     "9 terminatingReplicas int?"},
    {"Deployment", "1 metadata ObjectMeta, 2 spec DeploymentSpec, 3 status DeploymentStatus"},
    {"ControllerRevision", "1 metadata ObjectMeta, 2 data RawExtension, 3 revision int!"},
    {"PodFailurePolicyOnExitCodesRequirement", "1 containerName text?, 2 operator text!, 3 values int*"},
    {"PodFailurePolicyOnPodConditionsPattern", "1 type text!, 2 status text!"},
    {"PodFailurePolicyRule",
     "1 action text!, 2 onExitCodes PodFailurePolicyOnExitCodesRequirement?, "
     "3 onPodConditions PodFailurePolicyOnPodConditionsPattern*"},
    {"PodFailurePolicy", "1 rules PodFailurePolicyRule*"},
    {"SuccessPolicyRule", "1 succeededIndexes text?, 2 succeededCount int?"},
    {"SuccessPolicy", "1 rules SuccessPolicyRule*"},
    {"JobSpec",
     "1 parallelism int?, 2 completions int?, 3 activeDeadlineSeconds int?, 4 selector LabelSelector?, "
     "5 manualSelector flag?, 6 template PodTemplateSpec, 7 backoffLimit int?, 8 ttlSecondsAfterFinished int?, "
     "9 completionMode text?, 10 suspend flag?, 11 podFailurePolicy PodFailurePolicy?, 12 backoffLimitPerIndex int?, "
     "13 maxFailedIndexes int?, 14 podReplacementPolicy text?, 15 managedBy text?, 16 successPolicy SuccessPolicy?"},
    {"JobCondition",
     "1 type text!, 2 status text!, 3 lastProbeTime Time, 4 lastTransitionTime Time, 5 reason text, 6 message text"},
    {"UncountedTerminatedPods", "1 succeeded text*, 2 failed text*"},
    {"JobStatus",
     "1 conditions JobCondition*, 2 startTime Time?, 3 completionTime Time?, 4 active int, 5 succeeded int, "
     "6 failed int, 7 completedIndexes text, 8 uncountedTerminatedPods UncountedTerminatedPods?, 9 ready int?, "
     "10 failedIndexes text?, 11 terminating int?"},
    {"Job", "1 metadata ObjectMeta, 2 spec JobSpec, 3 status JobStatus"},
    {"JobTemplateSpec", "1 metadata ObjectMeta, 2 spec JobSpec"},
    {"CronJobSpec",
     "1 schedule text!, 2 startingDeadlineSeconds int?, 3 concurrencyPolicy text, 4 suspend flag?, "
     "5 jobTemplate JobTemplateSpec, 6 successfulJobsHistoryLimit int?, 7 failedJobsHistoryLimit int?, "
     "8 timeZone text?"},
    {"CronJobStatus", "1 active ObjectReference*, 4 lastScheduleTime Time?, 5 lastSuccessfulTime Time?"},
    {"CronJob", "1 metadata ObjectMeta, 2 spec CronJobSpec, 3 status CronJobStatus"},
};

}  // namespace

std::span<const MessageRow> WorkloadMessages() { return kWorkloadRows; }

}  // namespace basalt::kubesim::protobuf
