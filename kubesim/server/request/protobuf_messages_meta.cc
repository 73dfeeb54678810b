#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim::protobuf {
namespace {

constexpr MessageRow kMetaRows[] = {
    {"OwnerReference",
     "1 kind text!, 3 name text!, 4 uid text!, 5 apiVersion text!, 6 controller flag?, 7 blockOwnerDeletion flag?"},
    {"ManagedFieldsEntry",
     "1 manager text, 2 operation text, 3 apiVersion text, 4 time Time?, 6 fieldsType text, 7 fieldsV1 FieldsV1?, "
     "8 subresource text"},
    {"ObjectMeta",
     "1 name text, 2 generateName text, 3 namespace text, 4 selfLink text, 5 uid text, 6 resourceVersion text, "
     "7 generation int, 8 creationTimestamp Time, 9 deletionTimestamp Time?, 10 deletionGracePeriodSeconds int?, "
     "11 labels text{}, 12 annotations text{}, 13 ownerReferences OwnerReference*, 14 finalizers text*, "
     "15 clusterName gone, 17 managedFields ManagedFieldsEntry*"},
    {"Preconditions", "1 uid text?, 2 resourceVersion text?"},
    {"DeleteOptions",
     "1 gracePeriodSeconds int?, 2 preconditions Preconditions?, 3 orphanDependents flag?, "
     "4 propagationPolicy text?, 5 dryRun text*, 6 ignoreStoreReadErrorWithClusterBreakingPotential flag?"},
    {"LocalObjectReference", "1 name text"},
    {"LabelSelectorRequirement", "1 key text!, 2 operator text!, 3 values text*"},
    {"LabelSelector", "1 matchLabels text{}, 2 matchExpressions LabelSelectorRequirement*"},
    {"TypedLocalObjectReference", "1 apiGroup text?, 2 kind text!, 3 name text!"},
    {"TypedObjectReference", "1 apiGroup text?, 2 kind text!, 3 name text!, 4 namespace text?"},
    {"Condition",
     "1 type text!, 2 status text!, 3 observedGeneration int, 4 lastTransitionTime Time, 5 reason text!, "
     "6 message text!"},
    {"ObjectReference",
     "1 kind text, 2 namespace text, 3 name text, 4 uid text, 5 apiVersion text, 6 resourceVersion text, "
     "7 fieldPath text"},
    {"SecretReference", "1 name text, 2 namespace text"},
    {"Binding", "1 metadata ObjectMeta, 2 target ObjectReference"},
    {"Eviction", "1 metadata ObjectMeta, 2 deleteOptions DeleteOptions?"},
    {"ScaleSpec", "1 replicas int"},
    {"ScaleStatus", "1 replicas int!, 2 selector text"},
    {"Scale", "1 metadata ObjectMeta, 2 spec ScaleSpec, 3 status ScaleStatus"},
};

}  // namespace

std::span<const MessageRow> MetaMessages() { return kMetaRows; }

}  // namespace basalt::kubesim::protobuf
