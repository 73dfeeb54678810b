#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/testing/proto_text.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {
namespace {

Decoded Decode(ObjectKind kind, const std::string& members) {
  const std::string text = R"({"metadata":{"name":"x","uid":"u","resourceVersion":"1"},)" + members + "}";
  absl::StatusOr<Decoded> decoded = Decoder(kind).DecodeObject(text);
  EXPECT_TRUE(decoded.ok()) << decoded.status() << "\n" << text;
  return decoded.ok() ? *std::move(decoded) : Decoded();
}

TEST(PodGroupTest, ReadsSpecAndStatus) {
  Decoded decoded = Decode(
      ObjectKind::kPodGroup,
      R"("spec":{"minMember":4,"minTaskMember":{"w":3,"m":1},"queue":"q","priorityClassName":"pc",)"
      R"("minResources":{"memory":"1024Mi","cpu":1.5,"count/pods":"4"},"networkTopology":{"mode":"hard"},)"
      R"("subGroupPolicy":[{"name":"s","subGroupSize":2,"minSubGroups":0,"labelSelector":{"matchLabels":{"a":"b"}},)"
      R"("matchLabelKeys":["k"],"networkTopology":{"highestTierName":"rack"}}]},)"
      R"("status":{"phase":"Inqueue","running":1,"succeeded":2,"failed":3,"conditions":[{"type":"Unschedulable",)"
      R"("status":"True","reason":"NotEnoughResources","message":"2/4","transitionID":"t",)"
      R"("lastTransitionTime":"1970-01-01T00:00:05Z"}]})");
  EXPECT_EQ(decoded.error, "");
  kube::v1::PodGroup& group = *decoded.object.mutable_pod_group();
  group.clear_meta();
  EXPECT_EQ(testing::TextOf(group), R"(spec {
  min_member: 4
  min_task_member {
    task: "m"
    min_member: 1
  }
  min_task_member {
    task: "w"
    min_member: 3
  }
  queue: "q"
  priority_class_name: "pc"
  has_min_resources: true
  min_resources {
    key: "count/pods"
    value: "4"
  }
  min_resources {
    key: "cpu"
    value: "1500m"
  }
  min_resources {
    key: "memory"
    value: "1Gi"
  }
  network_topology {
    mode: "hard"
  }
  sub_group_policy {
    name: "s"
    network_topology {
      highest_tier_name: "rack"
    }
    sub_group_size: 2
    min_sub_groups: 0
    match_labels {
      key: "a"
      value: "b"
    }
    match_label_keys: "k"
  }
}
phase: "Inqueue"
conditions {
  type: "Unschedulable"
  status: "True"
  reason: "NotEnoughResources"
  message: "2/4"
  last_transition_ms: 5000
}
counts {
  running: 1
  succeeded: 2
  failed: 3
}
)");
}

TEST(PodGroupTest, AbsentAndEmptyMinResourcesDiffer) {
  EXPECT_FALSE(Decode(ObjectKind::kPodGroup, R"("spec":{})").object.pod_group().spec().has_min_resources());
  EXPECT_FALSE(
      Decode(ObjectKind::kPodGroup, R"("spec":{"minResources":null})").object.pod_group().spec().has_min_resources());
  EXPECT_TRUE(
      Decode(ObjectKind::kPodGroup, R"("spec":{"minResources":{}})").object.pod_group().spec().has_min_resources());
}

TEST(PodGroupTest, ABadQuantityIsNamedAndTheOthersStay) {
  const Decoded decoded =
      Decode(ObjectKind::kPodGroup, R"("spec":{"minResources":{"cpu":"lots","nvidia.com/gpu":true,"memory":"1Gi"}})");
  EXPECT_EQ(decoded.object.pod_group().spec().min_resources_size(), 1);
  EXPECT_NE(decoded.error.find("spec.minResources.cpu: 'lots' is not a quantity"), std::string::npos) << decoded.error;
  EXPECT_NE(decoded.error.find("spec.minResources[nvidia.com/gpu]"), std::string::npos) << decoded.error;
}

TEST(QueueTest, ReadsSpecAndStatus) {
  Decoded decoded =
      Decode(ObjectKind::kQueue, R"("spec":{"parent":"root","weight":3,"extendClusters":[{"name":"c"}],)"
                                 R"("capability":{"memory":"2048Mi","cpu":8},"deserved":{"cpu":"4000m"},)"
                                 R"("guarantee":{"resource":{"cpu":2}}},)"
                                 R"("status":{"state":"Closing","pending":1,"running":2,"inqueue":3,"completed":4,)"
                                 R"("unknown":5,"allocated":{"cpu":"1"}})");
  EXPECT_EQ(decoded.error, "");
  decoded.object.mutable_queue()->clear_meta();
  EXPECT_EQ(testing::TextOf(decoded.object.queue()), R"(parent: "root"
weight: 3
has_extend_clusters: true
state: "Closing"
pending: 1
running: 2
inqueue: 3
completed: 4
unknown: 5
capability {
  key: "cpu"
  value: "8"
}
capability {
  key: "memory"
  value: "2Gi"
}
deserved {
  key: "cpu"
  value: "4"
}
guarantee {
  key: "cpu"
  value: "2"
}
allocated {
  key: "cpu"
  value: "1"
}
)");
  EXPECT_FALSE(Decode(ObjectKind::kQueue, R"("spec":{"extendClusters":[]})").object.queue().has_extend_clusters());
  EXPECT_TRUE(Decode(ObjectKind::kQueue, R"("status":{"state":"Open"})").object.queue().lacks_counts());
  EXPECT_FALSE(Decode(ObjectKind::kQueue, R"("status":{"running":0})").object.queue().lacks_counts());
}

TEST(CommandTest, ReadsItsTopLevelFields) {
  Decoded decoded = Decode(ObjectKind::kCommand,
                           R"("action":"AbortJob","reason":"r","message":"m","target":{"apiVersion":)"
                           R"("batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"7","controller":true})");
  EXPECT_EQ(decoded.error, "");
  decoded.object.mutable_command()->clear_meta();
  EXPECT_EQ(testing::TextOf(decoded.object.command()), R"(action: "AbortJob"
target {
  api_version: "batch.volcano.sh/v1alpha1"
  kind: "Job"
  name: "j"
  uid: "7"
  controller: true
}
reason: "r"
message: "m"
)");
  EXPECT_FALSE(Decode(ObjectKind::kCommand, R"("target":null)").object.command().has_target());
}

TEST(PodGroupTest, ReadsExpressionsOfASelector) {
  const Decoded decoded =
      Decode(ObjectKind::kPodGroup,
             R"("spec":{"subGroupPolicy":[{"name":"s","labelSelector":{"matchExpressions":[{"key":"k","operator":"In",)"
             R"("values":["x","y"]},{"key":"l","operator":"Exists"}]}}]})");
  EXPECT_EQ(decoded.error, "");
  const kube::v1::SubGroupPolicy& policy = decoded.object.pod_group().spec().sub_group_policy(0);
  ASSERT_EQ(policy.match_expressions_size(), 2);
  EXPECT_EQ(testing::LineOf(policy.match_expressions(0)), R"(key: "k" operator: "In" values: "x" values: "y")");
  EXPECT_EQ(testing::LineOf(policy.match_expressions(1)), R"(key: "l" operator: "Exists")");
}

TEST(WorkloadTest, ReadsReplicasSchedulerAndTheAnnotationsOfVolcano) {
  const std::string text =
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":"ns","uid":"u",)"
      R"("resourceVersion":"7","labels":{"app":"web"},"annotations":{"scheduling.volcano.sh/group-min-member":"2",)"
      R"("volcano.sh/preemptable":"true","kubectl.kubernetes.io/last-applied-configuration":"{}",)"
      R"("notvolcano.sh":"x"}},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},)"
      R"("template":{"metadata":{"labels":{"app":"web"}},"spec":{"schedulerName":"volcano","containers":[]}}},)"
      R"("status":{"replicas":3}})";
  const absl::StatusOr<Decoded> decoded = Decoder(ObjectKind::kWorkload).DecodeObject(text);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->error, "");
  EXPECT_EQ(testing::TextOf(decoded->object.workload()), R"(meta {
  namespace: "ns"
  name: "web"
  uid: "u"
  resource_version: 7
  annotations {
    key: "scheduling.volcano.sh/group-min-member"
    value: "2"
  }
  annotations {
    key: "volcano.sh/preemptable"
    value: "true"
  }
}
api_version: "apps/v1"
kind: "ReplicaSet"
replicas: 0
scheduler_name: "volcano"
)");
  EXPECT_FALSE(Decode(ObjectKind::kWorkload, R"("spec":{"template":null})").object.workload().has_replicas());
  const kube::v1::Workload job =
      Decode(ObjectKind::kWorkload, R"("spec":{"parallelism":0,"suspend":true},"status":{"active":1})")
          .object.workload();
  EXPECT_TRUE(job.has_parallelism());
  EXPECT_TRUE(job.suspended());
  const kube::v1::Workload set =
      Decode(ObjectKind::kWorkload, R"("spec":{"suspend":null},"status":{"updateRevision":"db-5d"})").object.workload();
  EXPECT_FALSE(set.has_parallelism() || set.suspended());
  EXPECT_EQ(set.update_revision(), "db-5d");
  const auto is_finished = [](std::string_view type, std::string_view status) {
    return Decode(ObjectKind::kWorkload,
                  fmt::format(R"("status":{{"conditions":[{{"type":"{}","status":"{}"}},{{}}]}})", type, status))
        .object.workload()
        .finished();
  };
  EXPECT_TRUE(is_finished("Complete", "True") && is_finished("Failed", "True"));
  EXPECT_FALSE(is_finished("Complete", "False") || is_finished("Suspended", "True"));
  EXPECT_EQ(Decode(ObjectKind::kWorkload, R"("spec":{"suspend":"yes"})").error,
            "spec.suspend: expected a boolean, found a string");
  EXPECT_EQ(Decode(ObjectKind::kWorkload, R"("spec":{"replicas":"two"})").error,
            "spec.replicas: expected a number, found a string");
}

TEST(PriorityClassTest, ReadsItsValue) {
  EXPECT_EQ(Decode(ObjectKind::kPriorityClass, R"("value":-10,"globalDefault":false)").object.priority_class().value(),
            -10);
  EXPECT_EQ(Decode(ObjectKind::kPriorityClass, R"("value":"high")").error, "value: expected a number, found a string");
}

}  // namespace
}  // namespace basalt::gateway
