#include "services/pgsvc/core/form/pod_object.h"

#include <gtest/gtest.h>

#include <string_view>

#include "common/kube/names.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kKey = kube::kKaiGroupNameKey;

kube::v1::Pod Pod() {
  kube::v1::Pod pod;
  pod.set_namespace_("default");
  pod.set_name("a-0");
  pod.set_uid("u1");
  pod.set_scheduler_name("kai-scheduler");
  pod.set_phase(kube::v1::POD_PHASE_PENDING);
  kube::v1::KeyValue& label = *pod.mutable_grouping()->add_labels();
  label.set_key("app");
  label.set_value("a");
  kube::v1::OwnerReference& owner = *pod.mutable_grouping()->add_owner_references();
  owner.set_api_version("apps/v1");
  owner.set_kind("StatefulSet");
  owner.set_name("a");
  owner.set_uid("u0");
  owner.set_controller(true);
  return pod;
}

TEST(PodObjectTest, HasWhatRulesRead) {
  kube::v1::Pod pod = Pod();
  pod.set_node_name("n1");
  pod.set_priority_class_name("train");
  EXPECT_EQ(PodObject(pod, kKey), ParseJson(R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"a-0","namespace":"default","uid":"u1","labels":{"app":"a"},
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"a","uid":"u0","controller":true}]},
    "spec":{"schedulerName":"kai-scheduler","nodeName":"n1","priorityClassName":"train"}})")
                                      .value());
  pod.set_deletion_ms(1000);
  EXPECT_EQ(FindString(PodObject(pod, kKey).at("metadata"), "deletionTimestamp"), "1970-01-01T00:00:01Z");
}

TEST(PodObjectTest, TheStatusOfAPodChangesNothingForRules) {
  const kube::v1::Pod before = Pod();
  kube::v1::Pod pod = before;
  pod.set_resource_version(9);
  pod.set_phase(kube::v1::POD_PHASE_RUNNING);
  pod.mutable_grouping()->set_spec_json("{\"overhead\":{}}");
  EXPECT_TRUE(LooksTheSame(before, pod, kKey));
  pod.set_node_name("n1");
  EXPECT_FALSE(LooksTheSame(before, pod, kKey)) << "a leader's node counts";
  pod = before;
  pod.set_deletion_ms(1);
  EXPECT_FALSE(LooksTheSame(before, pod, kKey));
  pod = before;
  pod.mutable_grouping()->mutable_labels(0)->set_value("b");
  EXPECT_FALSE(LooksTheSame(before, pod, kKey));
}

TEST(PodObjectTest, TheGroupThatAPodNamesIsLookedAtByItself) {
  const auto put = [](auto* pairs, const char* key, const char* value) {
    kube::v1::KeyValue& pair = *pairs->Add();
    pair.set_key(key);
    pair.set_value(value);
  };
  const kube::v1::Pod before = Pod();
  kube::v1::Pod pod = before;
  EXPECT_TRUE(NamesTheSame(before, pod, kKey));
  put(pod.mutable_grouping()->mutable_annotations(), "pod-group-name", "pg");
  EXPECT_FALSE(NamesTheSame(before, pod, kKey));
  EXPECT_TRUE(LooksTheSame(before, pod, kKey));
  kube::v1::Pod with_leaf = pod;
  put(with_leaf.mutable_grouping()->mutable_labels(), "kai.scheduler/subgroup-name", "worker");
  EXPECT_FALSE(NamesTheSame(pod, with_leaf, kKey));
  EXPECT_TRUE(LooksTheSame(pod, with_leaf, kKey));
  EXPECT_TRUE(LooksTheSame(with_leaf, pod, kKey));
  put(with_leaf.mutable_grouping()->mutable_labels(), "zone", "a");
  EXPECT_FALSE(LooksTheSame(pod, with_leaf, kKey));
  EXPECT_FALSE(LooksTheSame(with_leaf, pod, kKey));
}

TEST(PodObjectTest, AGroupHasMetadataAndSpec) {
  ObservedGroup group;
  group.object.mutable_meta()->set_name("pg");
  group.object.mutable_meta()->set_namespace_("default");
  group.object.mutable_meta()->set_uid("u1");
  EXPECT_EQ(GroupObject(group), ParseJson(R"({"apiVersion":"scheduling.run.ai/v2alpha2","kind":"PodGroup",
    "metadata":{"name":"pg","namespace":"default","uid":"u1"},"spec":{}})")
                                    .value());
  group.spec_json = R"({"minMember":2})";
  EXPECT_EQ(*FindPath(GroupObject(group), {"spec"}), json::value(json::object{{"minMember", 2}}));
}

TEST(PodObjectTest, GroupsOfVolcanoAreToldInTheTermsOfKai) {
  kube::v1::Pod pod = Pod();
  const auto put = [&pod](std::string_view key, const char* value) {
    kube::v1::KeyValue& pair = *pod.mutable_grouping()->add_annotations();
    pair.set_key(std::string(key));
    pair.set_value(value);
  };
  put(kube::kKaiGroupNameKey, "of another scheduler");
  put(kube::kGroupNameKey, "pg");
  const json::value object = PodObject(pod, kube::kGroupNameKey);
  EXPECT_EQ(FindString(*FindPath(object, {"metadata", "annotations"}), kube::kKaiGroupNameKey), "pg");
  ObservedGroup group;
  EXPECT_FALSE(FindPath(GroupObject(group), {"spec", "subGroups"}));
  group.object.mutable_spec()->add_sub_group_policy()->set_name("worker");
  EXPECT_TRUE(FindPath(GroupObject(group), {"spec", "subGroups"}));
}

}  // namespace
}  // namespace basalt::pgsvc
