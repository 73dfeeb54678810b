#include "services/queuesvc/core/check_queue_spec.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace basalt::queuesvc {
namespace {

using Map = std::map<std::string, std::string>;

struct Row {
  std::string what;
  Map capability = {}, deserved = {}, guarantee = {}, annotations = {};
  std::string expected = "";
};

void Put(const Map& map, google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& pairs) {
  for (const auto& [key, value] : map) {
    kube::v1::KeyValue& pair = *pairs.Add();
    pair.set_key(key);
    pair.set_value(value);
  }
}

TEST(CheckQueueSpecTest, ASpecIsHeldAgainstEachRule) {
  const std::string path = "volcano.sh/hierarchy";
  const std::string weights = "volcano.sh/hierarchy-weights";
  const Row rows[] = {
      {.what = "nothing"},
      {.what = "what fits",
       .capability = {{"cpu", "8"}},
       .deserved = {{"cpu", "4"}, {"memory", "1Gi"}},
       .guarantee = {{"cpu", "4000m"}}},
      {.what = "a negative capability",
       .capability = {{"cpu", "-1"}},
       .expected = "spec.capability: cpu: -1 is negative; use 0 or more"},
      {.what = "of each field",
       .deserved = {{"memory", "-1Gi"}},
       .guarantee = {{"memory", "-2Gi"}},
       .expected = "spec.deserved: memory: -1Gi is negative; use 0 or more; "
                   "spec.guarantee.resource: memory: -2Gi is negative; use 0 or more"},
      {.what = "half a pod",
       .capability = {{"pods", "1500m"}},
       .expected = "spec.capability: pods: 1500m has a part of something that is counted; use a whole number"},
      {.what = "half a device",
       .capability = {{"nvidia.com/gpu", "500m"}},
       .expected = "spec.capability: nvidia.com/gpu: 500m has a part of something that is counted; use a whole number"},
      {.what = "whole ones in another form", .capability = {{"pods", "2000m"}, {"nvidia.com/gpu", "1k"}}},
      {.what = "half of what has halves", .capability = {{"cpu", "500m"}, {"example.kubernetes.io/x", "500m"}}},
      {.what = "more reserved than deserved",
       .deserved = {{"cpu", "1"}},
       .guarantee = {{"cpu", "2"}},
       .expected = "spec.guarantee.resource: cpu: 2 is more than is deserved, 1; lower it, or raise deserved"},
      {.what = "reserved, and not deserved",
       .guarantee = {{"cpu", "0"}},
       .expected = "spec.guarantee.resource: cpu: spec.deserved does not name it; add it there"},
      {.what = "more deserved than it may take",
       .capability = {{"cpu", "1"}},
       .deserved = {{"cpu", "1001m"}},
       .expected = "spec.deserved: cpu: 1001m is more than the capability, 1; lower it, or raise capability"},
      {.what = "deserved, and not limited", .capability = {{"memory", "1Gi"}}, .deserved = {{"cpu", "1"}}},
      {.what = "a hierarchy", .annotations = {{path, "root/a"}, {weights, "1/2.5"}}},
      {.what = "with fewer weights",
       .annotations = {{path, "root/a"}, {weights, "1"}},
       .expected = "metadata.annotations: volcano.sh/hierarchy \"root/a\" and volcano.sh/hierarchy-weights \"1\" must "
                   "have as many parts"},
      {.what = "with one that is nothing",
       .annotations = {{path, "root/a"}, {weights, "1/0"}},
       .expected = "metadata.annotations: volcano.sh/hierarchy-weights \"1/0\": each part must be a number above 0"},
      {.what = "with one that is no number",
       .annotations = {{path, "root/a"}, {weights, "1/2x"}},
       .expected = "metadata.annotations: volcano.sh/hierarchy-weights \"1/2x\": each part must be a number above 0"},
      {.what = "weights alone",
       .annotations = {{weights, "1/"}},
       .expected = "metadata.annotations: volcano.sh/hierarchy \"\" and volcano.sh/hierarchy-weights \"1/\" must have "
                   "as many parts"},
  };
  for (const Row& row : rows) {
    kube::v1::Queue queue;
    queue.mutable_meta()->set_name("q");
    Put(row.capability, *queue.mutable_capability());
    Put(row.deserved, *queue.mutable_deserved());
    Put(row.guarantee, *queue.mutable_guarantee());
    Put(row.annotations, *queue.mutable_meta()->mutable_annotations());
    EXPECT_EQ(QueueSpecWarning(queue), row.expected) << row.what;
  }
}

TEST(CheckQueueSpecTest, AQueueIsNotItsOwnParent) {
  kube::v1::Queue queue;
  EXPECT_EQ(QueueSpecWarning(queue), "") << "a queue without a name has no parent";
  queue.mutable_meta()->set_name("q");
  queue.set_parent("q");
  EXPECT_EQ(QueueSpecWarning(queue), "spec.parent: is the queue itself; name another queue");
}

TEST(CircleTextTest, IsTheSameFromEveryQueueInIt) {
  const std::string expected =
      "the parents of 3 queues are a circle, a -> c -> b -> a: none of them counts as having a parent; name another "
      "parent for one of them";
  EXPECT_EQ(CircleText({"a", "c", "b"}), expected);
  EXPECT_EQ(CircleText({"c", "b", "a"}), expected);
  EXPECT_EQ(CircleText({"b", "a", "c"}), expected);
  EXPECT_EQ(CircleText({"a"}), "");
  EXPECT_EQ(CircleText({}), "");
  std::vector<std::string> names;
  for (int i = 10; i < 30; ++i) names.push_back("q" + std::to_string(i));
  EXPECT_NE(CircleText({names.begin(), names.end()}).find("q17 -> ... (12 more) -> q10:"), std::string::npos);
}

TEST(CircleTextTest, IsAWarningBesideThoseOfTheQueueItself) {
  kube::v1::Queue queue;
  queue.mutable_meta()->set_name("q");
  EXPECT_EQ(QueueSpecWarning(queue, "a circle"), "spec.parent: a circle");
  Put({{"cpu", "-1"}}, *queue.mutable_capability());
  EXPECT_EQ(QueueSpecWarning(queue, "a circle"),
            "spec.capability: cpu: -1 is negative; use 0 or more; spec.parent: a circle");
}

}  // namespace
}  // namespace basalt::queuesvc
