#include "common/kube/resources/pod_group.h"

#include <gtest/gtest.h>

namespace basalt::kube {
namespace {

v1::PodGroupSpec Spec() {
  v1::PodGroupSpec spec;
  spec.set_min_member(3);
  spec.set_queue("default");
  spec.set_has_min_resources(true);
  v1::KeyValue& cpu = *spec.add_min_resources();
  cpu.set_key("cpu");
  cpu.set_value("1");
  v1::TaskMinimum& task = *spec.add_min_task_member();
  task.set_task("a");
  task.set_min_member(3);
  return spec;
}

TEST(PodGroupJsonTest, EqualByValueIsNoDifferenceAndQueueIsNeverOne) {
  v1::PodGroupSpec other = Spec();
  other.mutable_min_resources(0)->set_value("1000m");
  other.set_queue("elsewhere");
  EXPECT_FALSE(PodGroupDiffers(Spec(), other));
}

TEST(PodGroupJsonTest, PatchNamesOnlyWhatDiffersAndRemovesWithNull) {
  v1::PodGroupSpec wanted = Spec();
  wanted.mutable_min_task_member(0)->set_task("b");
  wanted.set_min_member(2);
  EXPECT_TRUE(PodGroupDiffers(Spec(), wanted));
  EXPECT_EQ(PodGroupPatch(Spec(), wanted), R"({"spec":{"minMember":2,"minTaskMember":{"b":3,"a":null}}})");
}

TEST(PodGroupJsonTest, EachOfItsFieldsIsADifferenceAndIsPatched) {
  struct Row {
    const char* what;
    void (*edit)(v1::PodGroupSpec& wanted);
    const char* patch;
  };
  const Row rows[] = {
      {"priorityClassName", [](v1::PodGroupSpec& wanted) { wanted.set_priority_class_name("high"); },
       R"({"spec":{"priorityClassName":"high"}})"},
      {"minMember", [](v1::PodGroupSpec& wanted) { wanted.set_min_member(1); }, R"({"spec":{"minMember":1}})"},
      {"minResources", [](v1::PodGroupSpec& wanted) { wanted.mutable_min_resources(0)->set_value("2"); },
       R"({"spec":{"minResources":{"cpu":"2"}}})"},
      {"minTaskMember", [](v1::PodGroupSpec& wanted) { wanted.mutable_min_task_member(0)->set_min_member(2); },
       R"({"spec":{"minTaskMember":{"a":2}}})"},
      {"subGroupPolicy", [](v1::PodGroupSpec& wanted) { wanted.add_sub_group_policy()->set_name("a"); },
       R"({"spec":{"subGroupPolicy":[{"name":"a","labelSelector":{"matchLabels":{}},"matchLabelKeys":[]}]}})"},
      {"networkTopology", [](v1::PodGroupSpec& wanted) { wanted.mutable_network_topology()->set_mode("soft"); },
       R"({"spec":{"networkTopology":{"mode":"soft"}}})"},
  };
  for (const Row& row : rows) {
    v1::PodGroupSpec wanted = Spec();
    row.edit(wanted);
    EXPECT_TRUE(PodGroupDiffers(Spec(), wanted)) << row.what;
    EXPECT_EQ(PodGroupPatch(Spec(), wanted), row.patch);
  }
  v1::PodGroupSpec partitioned = Spec();
  partitioned.add_sub_group_policy()->set_name("a");
  EXPECT_EQ(PodGroupPatch(partitioned, Spec()), R"({"spec":{"subGroupPolicy":null}})")
      << "of a task without partitions";
}

// Groups that select pods of several leaves have such expressions.
TEST(PodGroupJsonTest, ExpressionsOfASelectorAreKeptAndCompared) {
  v1::PodGroupSpec spec = Spec();
  v1::SubGroupPolicy& policy = *spec.add_sub_group_policy();
  policy.set_name("a");
  v1::LabelRequirement& requirement = *policy.add_match_expressions();
  requirement.set_key("k");
  requirement.set_operator_("In");
  for (const char* value : {"x", "y"}) requirement.add_values(value);
  EXPECT_EQ(PodGroupPatch(Spec(), spec),
            R"({"spec":{"subGroupPolicy":[{"name":"a","labelSelector":{"matchExpressions":[{"key":"k","operator":"In",)"
            R"("values":["x","y"]}]},"matchLabelKeys":[]}]}})");
  EXPECT_FALSE(PodGroupDiffers(spec, spec));
  v1::PodGroupSpec other = spec;
  other.mutable_sub_group_policy(0)->mutable_match_expressions(0)->set_values(1, "z");
  EXPECT_TRUE(PodGroupDiffers(spec, other));
}

TEST(PodGroupJsonTest, BodyCarriesOwnerUidAndVersion) {
  podgroup::v1::EnsurePodGroupRequest request;
  request.set_namespace_("ns");
  request.set_name("j-u");
  request.set_job_name("j");
  request.set_job_uid("u");
  request.set_version(4);
  *request.mutable_spec() = Spec();
  EXPECT_EQ(
      PodGroupBody(request),
      R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":"j-u","namespace":"ns",)"
      R"("annotations":{"basalt.dev/job-uid":"u","basalt.dev/job-version":"4"},"ownerReferences":[{"apiVersion":)"
      R"("batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"u","controller":true,"blockOwnerDeletion":true}]},)"
      R"("spec":{"minMember":3,"minTaskMember":{"a":3},"queue":"default","minResources":{"cpu":"1"}}})");
}

}  // namespace
}  // namespace basalt::kube
