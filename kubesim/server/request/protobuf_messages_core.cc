#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim::protobuf {
namespace {

constexpr MessageRow kCoreRows[] = {
    {"NamespaceSpec", "1 finalizers text*"},
    {"NamespaceCondition", "1 type text!, 2 status text!, 4 lastTransitionTime Time, 5 reason text, 6 message text"},
    {"NamespaceStatus", "1 phase text, 2 conditions NamespaceCondition*"},
    {"Namespace", "1 metadata ObjectMeta, 2 spec NamespaceSpec, 3 status NamespaceStatus"},
    {"Taint", "1 key text!, 2 value text, 3 effect text!, 4 timeAdded Time?"},
    {"ConfigMapNodeConfigSource",
     "1 namespace text!, 2 name text!, 3 uid text, 4 resourceVersion text, 5 kubeletConfigKey text!"},
    {"NodeConfigSource", "2 configMap ConfigMapNodeConfigSource?"},
    {"NodeSpec",
     "1 podCIDR text, 2 externalID text, 3 providerID text, 4 unschedulable flag, 5 taints Taint*, "
     "6 configSource NodeConfigSource?, 7 podCIDRs text*"},
    {"NodeCondition",
     "1 type text!, 2 status text!, 3 lastHeartbeatTime Time, 4 lastTransitionTime Time, 5 reason text, "
     "6 message text"},
    {"NodeAddress", "1 type text!, 2 address text!"},
    {"DaemonEndpoint", "1 Port int!"},
    {"NodeDaemonEndpoints", "1 kubeletEndpoint DaemonEndpoint"},
    {"NodeSwapStatus", "1 capacity int?"},
    {"NodeSystemInfo",
     "1 machineID text!, 2 systemUUID text!, 3 bootID text!, 4 kernelVersion text!, 5 osImage text!, "
     "6 containerRuntimeVersion text!, 7 kubeletVersion text!, 8 kubeProxyVersion text!, 9 operatingSystem text!, "
     "10 architecture text!, 11 swap NodeSwapStatus?"},
    {"ContainerImage", "1 names text*, 2 sizeBytes int"},
    {"AttachedVolume", "1 name text!, 2 devicePath text!"},
    {"NodeConfigStatus",
     "1 assigned NodeConfigSource?, 2 active NodeConfigSource?, 3 lastKnownGood NodeConfigSource?, 4 error text"},
    {"NodeRuntimeHandlerFeatures", "1 recursiveReadOnlyMounts flag?, 2 userNamespaces flag?"},
    {"NodeRuntimeHandler", "1 name text!, 2 features NodeRuntimeHandlerFeatures?"},
    {"NodeFeatures", "1 supplementalGroupsPolicy flag?"},
    {"NodeStatus",
     "1 capacity Quantity{}, 2 allocatable Quantity{}, 3 phase text, 4 conditions NodeCondition*, "
     "5 addresses NodeAddress*, 6 daemonEndpoints NodeDaemonEndpoints, 7 nodeInfo NodeSystemInfo, "
     "8 images ContainerImage*, 9 volumesInUse text*, 10 volumesAttached AttachedVolume*, "
     "11 config NodeConfigStatus?, 12 runtimeHandlers NodeRuntimeHandler*, 13 features NodeFeatures?, "
     "14 declaredFeatures text*"},
    {"Node", "1 metadata ObjectMeta, 2 spec NodeSpec, 3 status NodeStatus"},
    {"ServicePort",
     "1 name text, 2 protocol text, 3 port int!, 4 targetPort IntOrString, 5 nodePort int, 6 appProtocol text?"},
    {"ClientIPConfig", "1 timeoutSeconds int?"},
    {"SessionAffinityConfig", "1 clientIP ClientIPConfig?"},
    {"ServiceSpec",
     "1 ports ServicePort*, 2 selector text{}, 3 clusterIP text, 4 type text, 5 externalIPs text*, "
     "7 sessionAffinity text, 8 loadBalancerIP text, 9 loadBalancerSourceRanges text*, 10 externalName text, "
     "11 externalTrafficPolicy text, 12 healthCheckNodePort int, 13 publishNotReadyAddresses flag, "
     "14 sessionAffinityConfig SessionAffinityConfig?, 17 ipFamilyPolicy text?, 18 clusterIPs text*, "
     "19 ipFamilies text*, 20 allocateLoadBalancerNodePorts flag?, 21 loadBalancerClass text?, "
     "22 internalTrafficPolicy text?, 23 trafficDistribution text?"},
    {"PortStatus", "1 port int!, 2 protocol text!, 3 error text?"},
    {"LoadBalancerIngress", "1 ip text, 2 hostname text, 3 ipMode text?, 4 ports PortStatus*"},
    {"LoadBalancerStatus", "1 ingress LoadBalancerIngress*"},
    {"ServiceStatus", "1 loadBalancer LoadBalancerStatus, 2 conditions Condition*"},
    {"Service", "1 metadata ObjectMeta, 2 spec ServiceSpec, 3 status ServiceStatus"},
    {"EndpointAddress", "1 ip text!, 2 targetRef ObjectReference?, 3 hostname text, 4 nodeName text?"},
    {"EndpointPort", "1 name text, 2 port int!, 3 protocol text, 4 appProtocol text?"},
    {"EndpointSubset", "1 addresses EndpointAddress*, 2 notReadyAddresses EndpointAddress*, 3 ports EndpointPort*"},
    {"Endpoints", "1 metadata ObjectMeta, 2 subsets EndpointSubset*"},
    {"ConfigMap", "1 metadata ObjectMeta, 2 data text{}, 3 binaryData bytes{}, 4 immutable flag?"},
    {"Secret", "1 metadata ObjectMeta, 2 data bytes{}, 3 type text, 4 stringData text{}, 5 immutable flag?"},
    {"EventSource", "1 component text, 2 host text"},
    {"EventSeries", "1 count int, 2 lastObservedTime MicroTime"},
    {"Event",
     "1 metadata ObjectMeta, 2 involvedObject ObjectReference, 3 reason text, 4 message text, 5 source EventSource, "
     "6 firstTimestamp Time, 7 lastTimestamp Time, 8 count int, 9 type text, 10 eventTime MicroTime, "
     "11 series EventSeries?, 12 action text, 13 related ObjectReference?, 14 reportingComponent text!, "
     "15 reportingInstance text!"},
    {"ServiceAccount",
     "1 metadata ObjectMeta, 2 secrets ObjectReference*, 3 imagePullSecrets LocalObjectReference*, "
     "4 automountServiceAccountToken flag?"},
    {"LimitRangeItem",
     "1 type text!, 2 max Quantity{}, 3 min Quantity{}, 4 default Quantity{}, 5 defaultRequest Quantity{}, "
     "6 maxLimitRequestRatio Quantity{}"},
    {"LimitRangeSpec", "1 limits LimitRangeItem*"},
    {"LimitRange", "1 metadata ObjectMeta, 2 spec LimitRangeSpec"},
    {"ScopedResourceSelectorRequirement", "1 scopeName text!, 2 operator text!, 3 values text*"},
    {"ScopeSelector", "1 matchExpressions ScopedResourceSelectorRequirement*"},
    {"ResourceQuotaSpec", "1 hard Quantity{}, 2 scopes text*, 3 scopeSelector ScopeSelector?"},
    {"ResourceQuotaStatus", "1 hard Quantity{}, 2 used Quantity{}"},
    {"ResourceQuota", "1 metadata ObjectMeta, 2 spec ResourceQuotaSpec, 3 status ResourceQuotaStatus"},
    {"LeaseSpec",
     "1 holderIdentity text?, 2 leaseDurationSeconds int?, 3 acquireTime MicroTime?, 4 renewTime MicroTime?, "
     "5 leaseTransitions int?, 6 strategy text?, 7 preferredHolder text?"},
    {"Lease", "1 metadata ObjectMeta, 2 spec LeaseSpec"},
    {"NetworkPolicyPort", "1 protocol text?, 2 port IntOrString?, 3 endPort int?"},
    {"IPBlock", "1 cidr text!, 2 except text*"},
    {"NetworkPolicyPeer", "1 podSelector LabelSelector?, 2 namespaceSelector LabelSelector?, 3 ipBlock IPBlock?"},
    {"NetworkPolicyIngressRule", "1 ports NetworkPolicyPort*, 2 from NetworkPolicyPeer*"},
    {"NetworkPolicyEgressRule", "1 ports NetworkPolicyPort*, 2 to NetworkPolicyPeer*"},
    {"NetworkPolicySpec",
     "1 podSelector LabelSelector, 2 ingress NetworkPolicyIngressRule*, 3 egress NetworkPolicyEgressRule*, "
     "4 policyTypes text*"},
    {"NetworkPolicy", "1 metadata ObjectMeta, 2 spec NetworkPolicySpec"},
};

}  // namespace

std::span<const MessageRow> CoreMessages() { return kCoreRows; }

}  // namespace basalt::kubesim::protobuf
