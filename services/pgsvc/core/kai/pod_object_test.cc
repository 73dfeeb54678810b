#include "services/pgsvc/core/kai/pod_object.h"

#include <gtest/gtest.h>

namespace basalt::pgsvc {
namespace {

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
  EXPECT_EQ(PodObject(pod), ParseJson(R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"a-0","namespace":"default","uid":"u1","labels":{"app":"a"},
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"a","uid":"u0","controller":true}]},
    "spec":{"schedulerName":"kai-scheduler","nodeName":"n1","priorityClassName":"train"}})")
                                .value());
  pod.set_deletion_ms(1000);
  EXPECT_EQ(FindString(PodObject(pod).at("metadata"), "deletionTimestamp"), "1970-01-01T00:00:01Z");
}

TEST(PodObjectTest, WhatThePodDoesChangesNothingForRules) {
  const kube::v1::Pod before = Pod();
  kube::v1::Pod pod = before;
  pod.set_resource_version(9);
  pod.set_phase(kube::v1::POD_PHASE_RUNNING);
  pod.mutable_grouping()->set_spec_json("{\"overhead\":{}}");
  EXPECT_TRUE(LooksTheSame(before, pod));
  pod.set_node_name("n1");
  EXPECT_FALSE(LooksTheSame(before, pod)) << "a leader's node counts";
  pod = before;
  pod.set_deletion_ms(1);
  EXPECT_FALSE(LooksTheSame(before, pod));
  pod = before;
  pod.mutable_grouping()->mutable_labels(0)->set_value("b");
  EXPECT_FALSE(LooksTheSame(before, pod));
}

TEST(PodObjectTest, TheGroupThatAPodNamesIsLookedAtByItself) {
  const auto put = [](auto* pairs, const char* key, const char* value) {
    kube::v1::KeyValue& pair = *pairs->Add();
    pair.set_key(key);
    pair.set_value(value);
  };
  const kube::v1::Pod before = Pod();
  kube::v1::Pod pod = before;
  EXPECT_TRUE(NamesTheSame(before, pod));
  put(pod.mutable_grouping()->mutable_annotations(), "pod-group-name", "pg");
  EXPECT_FALSE(NamesTheSame(before, pod));
  EXPECT_TRUE(LooksTheSame(before, pod));
  kube::v1::Pod with_leaf = pod;
  put(with_leaf.mutable_grouping()->mutable_labels(), "kai.scheduler/subgroup-name", "worker");
  EXPECT_FALSE(NamesTheSame(pod, with_leaf));
  EXPECT_TRUE(LooksTheSame(pod, with_leaf));
  EXPECT_TRUE(LooksTheSame(with_leaf, pod));
  put(with_leaf.mutable_grouping()->mutable_labels(), "zone", "a");
  EXPECT_FALSE(LooksTheSame(pod, with_leaf));
  EXPECT_FALSE(LooksTheSame(with_leaf, pod));
}

TEST(PodObjectTest, AGroupHasMetadataAndSpec) {
  kube::v1::KaiPodGroup group;
  group.mutable_meta()->set_name("pg");
  group.mutable_meta()->set_namespace_("default");
  group.mutable_meta()->set_uid("u1");
  EXPECT_EQ(KaiGroupObject(group), ParseJson(R"({"apiVersion":"scheduling.run.ai/v2alpha2","kind":"PodGroup",
    "metadata":{"name":"pg","namespace":"default","uid":"u1"},"spec":{}})")
                                       .value());
  group.set_spec_json(R"({"minMember":2})");
  EXPECT_EQ(*FindPath(KaiGroupObject(group), {"spec"}), json::value(json::object{{"minMember", 2}}));
}

}  // namespace
}  // namespace basalt::pgsvc
