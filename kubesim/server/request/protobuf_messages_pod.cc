#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim::protobuf {
namespace {

constexpr MessageRow kPodRows[] = {
    {"ContainerPort", "1 name text, 2 hostPort int, 3 containerPort int!, 4 protocol text, 5 hostIP text"},
    {"ConfigMapEnvSource", "1 . LocalObjectReference, 2 optional flag?"},
    {"SecretEnvSource", "1 . LocalObjectReference, 2 optional flag?"},
    {"EnvFromSource", "1 prefix text, 2 configMapRef ConfigMapEnvSource?, 3 secretRef SecretEnvSource?"},
    {"ConfigMapKeySelector", "1 . LocalObjectReference, 2 key text!, 3 optional flag?"},
    {"SecretKeySelector", "1 . LocalObjectReference, 2 key text!, 3 optional flag?"},
    {"FileKeySelector", "1 volumeName text!, 2 path text!, 3 key text!, 4 optional flag?"},
    {"EnvVarSource",
     "1 fieldRef ObjectFieldSelector?, 2 resourceFieldRef ResourceFieldSelector?, "
     "3 configMapKeyRef ConfigMapKeySelector?, 4 secretKeyRef SecretKeySelector?, 5 fileKeyRef FileKeySelector?"},
    {"EnvVar", "1 name text!, 2 value text, 3 valueFrom EnvVarSource?"},
    {"ResourceClaim", "1 name text!, 2 request text"},
    {"ResourceRequirements", "1 limits Quantity{}, 2 requests Quantity{}, 3 claims ResourceClaim*"},
    {"ContainerResizePolicy", "1 resourceName text!, 2 restartPolicy text!"},
    {"ContainerRestartRuleOnExitCodes", "1 operator text, 2 values int*"},
    {"ContainerRestartRule", "1 action text, 2 exitCodes ContainerRestartRuleOnExitCodes?"},
    {"VolumeMount",
     "1 name text!, 2 readOnly flag, 3 mountPath text!, 4 subPath text, 5 mountPropagation text?, "
     "6 subPathExpr text, 7 recursiveReadOnly text?"},
    {"VolumeDevice", "1 name text!, 2 devicePath text!"},
    {"ExecAction", "1 command text*"},
    {"HTTPHeader", "1 name text!, 2 value text!"},
    {"HTTPGetAction", "1 path text, 2 port IntOrString, 3 host text, 4 scheme text, 5 httpHeaders HTTPHeader*"},
    {"TCPSocketAction", "1 port IntOrString, 2 host text"},
    {"GRPCAction", "1 port int!, 2 service text?"},
    {"ProbeHandler", "1 exec ExecAction?, 2 httpGet HTTPGetAction?, 3 tcpSocket TCPSocketAction?, 4 grpc GRPCAction?"},
    {"Probe",
     "1 . ProbeHandler, 2 initialDelaySeconds int, 3 timeoutSeconds int, 4 periodSeconds int, "
     "5 successThreshold int, 6 failureThreshold int, 7 terminationGracePeriodSeconds int?"},
    {"SleepAction", "1 seconds int!"},
    {"LifecycleHandler",
     "1 exec ExecAction?, 2 httpGet HTTPGetAction?, 3 tcpSocket TCPSocketAction?, 4 sleep SleepAction?"},
    {"Lifecycle", "1 postStart LifecycleHandler?, 2 preStop LifecycleHandler?, 3 stopSignal text?"},
    {"Capabilities", "1 add text*, 2 drop text*"},
    {"SELinuxOptions", "1 user text, 2 role text, 3 type text, 4 level text"},
    {"WindowsSecurityContextOptions",
     "1 gmsaCredentialSpecName text?, 2 gmsaCredentialSpec text?, 3 runAsUserName text?, 4 hostProcess flag?"},
    {"SeccompProfile", "1 type text!, 2 localhostProfile text?"},
    {"AppArmorProfile", "1 type text!, 2 localhostProfile text?"},
    {"SecurityContext",
     "1 capabilities Capabilities?, 2 privileged flag?, 3 seLinuxOptions SELinuxOptions?, 4 runAsUser int?, "
     "5 runAsNonRoot flag?, 6 readOnlyRootFilesystem flag?, 7 allowPrivilegeEscalation flag?, 8 runAsGroup int?, "
     "9 procMount text?, 10 windowsOptions WindowsSecurityContextOptions?, 11 seccompProfile SeccompProfile?, "
     "12 appArmorProfile AppArmorProfile?"},
    {"Container",
     "1 name text!, 2 image text, 3 command text*, 4 args text*, 5 workingDir text, 6 ports ContainerPort*, "
     "7 env EnvVar*, 8 resources ResourceRequirements, 9 volumeMounts VolumeMount*, 10 livenessProbe Probe?, "
     "11 readinessProbe Probe?, 12 lifecycle Lifecycle?, 13 terminationMessagePath text, 14 imagePullPolicy text, "
     "15 securityContext SecurityContext?, 16 stdin flag, 17 stdinOnce flag, 18 tty flag, 19 envFrom EnvFromSource*, "
     "20 terminationMessagePolicy text, 21 volumeDevices VolumeDevice*, 22 startupProbe Probe?, "
     "23 resizePolicy ContainerResizePolicy*, 24 restartPolicy text?, 25 restartPolicyRules ContainerRestartRule*"},
    {"EphemeralContainer", "1 . Container, 2 targetContainerName text"},
    {"Sysctl", "1 name text!, 2 value text!"},
    {"PodSecurityContext",
     "1 seLinuxOptions SELinuxOptions?, 2 runAsUser int?, 3 runAsNonRoot flag?, 4 supplementalGroups int*, "
     "5 fsGroup int?, 6 runAsGroup int?, 7 sysctls Sysctl*, 8 windowsOptions WindowsSecurityContextOptions?, "
     "9 fsGroupChangePolicy text?, 10 seccompProfile SeccompProfile?, 11 appArmorProfile AppArmorProfile?, "
     "12 supplementalGroupsPolicy text?, 13 seLinuxChangePolicy text?"},
    {"PreferredSchedulingTerm", "1 weight int!, 2 preference NodeSelectorTerm"},
    {"NodeAffinity",
     "1 requiredDuringSchedulingIgnoredDuringExecution NodeSelector?, "
     "2 preferredDuringSchedulingIgnoredDuringExecution PreferredSchedulingTerm*"},
    {"PodAffinityTerm",
     "1 labelSelector LabelSelector?, 2 namespaces text*, 3 topologyKey text!, 4 namespaceSelector LabelSelector?, "
     "5 matchLabelKeys text*, 6 mismatchLabelKeys text*"},
    {"WeightedPodAffinityTerm", "1 weight int!, 2 podAffinityTerm PodAffinityTerm"},
    {"PodAffinity",
     "1 requiredDuringSchedulingIgnoredDuringExecution PodAffinityTerm*, "
     "2 preferredDuringSchedulingIgnoredDuringExecution WeightedPodAffinityTerm*"},
    {"PodAntiAffinity",
     "1 requiredDuringSchedulingIgnoredDuringExecution PodAffinityTerm*, "
     "2 preferredDuringSchedulingIgnoredDuringExecution WeightedPodAffinityTerm*"},
    {"Affinity", "1 nodeAffinity NodeAffinity?, 2 podAffinity PodAffinity?, 3 podAntiAffinity PodAntiAffinity?"},
    {"Toleration", "1 key text, 2 operator text, 3 value text, 4 effect text, 5 tolerationSeconds int?"},
    {"HostAlias", "1 ip text!, 2 hostnames text*"},
    {"PodDNSConfigOption", "1 name text, 2 value text?"},
    {"PodDNSConfig", "1 nameservers text*, 2 searches text*, 3 options PodDNSConfigOption*"},
    {"PodReadinessGate", "1 conditionType text!"},
    {"TopologySpreadConstraint",
     "1 maxSkew int!, 2 topologyKey text!, 3 whenUnsatisfiable text!, 4 labelSelector LabelSelector?, "
     "5 minDomains int?, 6 nodeAffinityPolicy text?, 7 nodeTaintsPolicy text?, 8 matchLabelKeys text*"},
    {"PodOS", "1 name text!"},
    {"PodSchedulingGate", "1 name text!"},
    {"PodResourceClaim", "1 name text!, 3 resourceClaimName text?, 4 resourceClaimTemplateName text?"},
    {"PodSchedulingGroup", "1 podGroupName text?"},
    {"PodSpec",
     "1 volumes Volume*, 2 containers Container*, 3 restartPolicy text, 4 terminationGracePeriodSeconds int?, "
     "5 activeDeadlineSeconds int?, 6 dnsPolicy text, 7 nodeSelector text{}, 8 serviceAccountName text, "
     "9 serviceAccount text, 10 nodeName text, 11 hostNetwork flag, 12 hostPID flag, 13 hostIPC flag, "
     "14 securityContext PodSecurityContext?, 15 imagePullSecrets LocalObjectReference*, 16 hostname text, "
     "17 subdomain text, 18 affinity Affinity?, 19 schedulerName text, 20 initContainers Container*, "
     "21 automountServiceAccountToken flag?, 22 tolerations Toleration*, 23 hostAliases HostAlias*, "
     "24 priorityClassName text, 25 priority int?, 26 dnsConfig PodDNSConfig?, 27 shareProcessNamespace flag?, "
     "28 readinessGates PodReadinessGate*, 29 runtimeClassName text?, 30 enableServiceLinks flag?, "
     "31 preemptionPolicy text?, 32 overhead Quantity{}, 33 topologySpreadConstraints TopologySpreadConstraint*, "
     "34 ephemeralContainers EphemeralContainer*, 35 setHostnameAsFQDN flag?, 36 os PodOS?, 37 hostUsers flag?, "
     "38 schedulingGates PodSchedulingGate*, 39 resourceClaims PodResourceClaim*, "
     "40 resources ResourceRequirements?, 41 hostnameOverride text?, 43 schedulingGroup PodSchedulingGroup?"},
    {"PodCondition",
     "1 type text!, 2 status text!, 3 lastProbeTime Time, 4 lastTransitionTime Time, 5 reason text, 6 message text, "
     "7 observedGeneration int"},
    {"HostIP", "1 ip text!"},
    {"PodIP", "1 ip text!"},
    {"ContainerStateWaiting", "1 reason text, 2 message text"},
    {"ContainerStateRunning", "1 startedAt Time"},
    {"ContainerStateTerminated",
     "1 exitCode int!, 2 signal int, 3 reason text, 4 message text, 5 startedAt Time, 6 finishedAt Time, "
     "7 containerID text"},
    {"ContainerState",
     "1 waiting ContainerStateWaiting?, 2 running ContainerStateRunning?, 3 terminated ContainerStateTerminated?"},
    {"ImageVolumeStatus", "1 imageRef text"},
    {"VolumeStatus", "1 image ImageVolumeStatus?"},
    {"VolumeMountStatus",
     "1 name text!, 2 mountPath text!, 3 readOnly flag, 4 recursiveReadOnly text?, 5 volumeStatus VolumeStatus?"},
    {"LinuxContainerUser", "1 uid int!, 2 gid int!, 3 supplementalGroups int*"},
    {"ContainerUser", "1 linux LinuxContainerUser?"},
    {"ResourceHealth", "1 resourceID text!, 2 health text, 6 message text?"},
    {"ResourceStatus", "1 name text!, 2 resources ResourceHealth*"},
    {"ContainerStatus",
     "1 name text!, 2 state ContainerState, 3 lastState ContainerState, 4 ready flag!, 5 restartCount int!, "
     "6 image text!, 7 imageID text!, 8 containerID text, 9 started flag?, 10 allocatedResources Quantity{}, "
     "11 resources ResourceRequirements?, 12 volumeMounts VolumeMountStatus*, 13 user ContainerUser?, "
     "14 allocatedResourcesStatus ResourceStatus*, 15 stopSignal text?"},
    {"PodResourceClaimStatus", "1 name text!, 2 resourceClaimName text?"},
    {"ContainerExtendedResourceRequest", "1 containerName text!, 2 resourceName text!, 3 requestName text!"},
    {"PodExtendedResourceClaimStatus",
     "1 requestMappings ContainerExtendedResourceRequest*, 2 resourceClaimName text!"},
    {"NodeAllocatableResourceClaimStatus", "1 resourceClaimName text!, 2 containers text*, 3 resources Quantity{}"},
    {"PodStatus",
     "1 phase text, 2 conditions PodCondition*, 3 message text, 4 reason text, 5 hostIP text, 6 podIP text, "
     "7 startTime Time?, 8 containerStatuses ContainerStatus*, 9 qosClass text, "
     "10 initContainerStatuses ContainerStatus*, 11 nominatedNodeName text, 12 podIPs PodIP*, "
     "13 ephemeralContainerStatuses ContainerStatus*, 14 resize text, "
     "15 resourceClaimStatuses PodResourceClaimStatus*, 16 hostIPs HostIP*, 17 observedGeneration int, "
     "18 extendedResourceClaimStatus PodExtendedResourceClaimStatus?, 19 allocatedResources Quantity{}, "
     "20 resources ResourceRequirements?, 21 nodeAllocatableResourceClaimStatuses NodeAllocatableResourceClaimStatus*"},
    {"Pod", "1 metadata ObjectMeta, 2 spec PodSpec, 3 status PodStatus"},
    {"PodTemplateSpec", "1 metadata ObjectMeta, 2 spec PodSpec"},
};

}  // namespace

std::span<const MessageRow> PodMessages() { return kPodRows; }

}  // namespace basalt::kubesim::protobuf
