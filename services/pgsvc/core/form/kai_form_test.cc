// Groups for clusters with an older definition of KAI's groups (pod-grouper 9.4).
#include "services/pgsvc/core/form/kai_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/pgsvc/core/form/kai_emitter.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a definition with these fields of spec and of a subgroup. A minimum of 0 is left out.
SpecSchema Form(std::initializer_list<const char*> fields, std::initializer_list<const char*> sub_group_fields,
                int64_t least, int64_t least_of_leaf) {
  const auto schema = [](std::initializer_list<const char*> names, int64_t minimum) {
    json::object properties;
    for (const char* name : names) properties[name] = json::object();
    if (minimum > 0) properties["minMember"] = json::object{{"type", "integer"}, {"minimum", minimum}};
    return json::object{{"type", "object"}, {"properties", std::move(properties)}};
  };
  json::object spec = schema(fields, least);
  spec["properties"].as_object()["subGroups"] =
      json::object{{"type", "array"}, {"items", schema(sub_group_fields, least_of_leaf)}};
  const json::object version{
      {"name", "v2alpha2"},
      {"schema",
       json::object{{"openAPIV3Schema", json::object{{"properties", json::object{{"spec", std::move(spec)}}}}}}}};
  return SpecSchema::Of(
      json::object{{"spec", json::object{{"versions", json::array{json::object{{"name", "v1"}}, version}}}}},
      "v2alpha2");
}

SpecSchema FormOfV13() {
  return Form({"minMember", "queue", "priorityClassName", "preemptibility", "topologyConstraint"},
              {"name", "parent", "minMember"}, 1, 1);
}

// Returns spec of the group that is made for the pod.
std::string SpecIn(const SpecSchema& form, Objects& objects, std::string_view pod = "") {
  objects.options.form = GroupFormOf(form);
  GroupPlan plan;
  plan.Add("p", objects.Of(pod));
  return ToText(KaiEmitter({}, form).Render(plan.Group(objects.options.form)).object.at("spec"));
}

std::string JobSet(std::string_view policy) {
  std::string text = ObjectOf("jobset.x-k8s.io/v1alpha2", "JobSet", "js",
                              fmt::format("spec:\n{}"
                                          "  replicatedJobs:\n"
                                          "  - {{name: leader, replicas: 1, template: {{spec: {{parallelism: 1}}}}}}\n"
                                          "  - {{name: worker, replicas: 2, template: {{spec: {{parallelism: 4}}}}}}\n",
                                          policy));
  for (const char* job : {"leader", "worker"}) {
    text += PodOf(job, "jobset.x-k8s.io/v1alpha2", "JobSet", "js",
                  fmt::format("  labels: {{jobset.sigs.k8s.io/replicatedjob-name: {}, "
                              "jobset.sigs.k8s.io/job-index: '0'}}\n",
                              job));
  }
  return text;
}

TEST(GroupFormTest, AJobSetIsFlatWhereSubgroupsHaveNoMinimum) {
  for (const char* policy : {"", "  startupPolicy: {startupPolicyOrder: InOrder}\n"}) {
    Objects objects(JobSet(policy));
    objects.options.form = GroupFormOf(FormOfV13());
    EXPECT_EQ(objects.Text("leader"), "pg-js-jobset-js-leader 1") << policy;
    EXPECT_EQ(objects.Text("worker"), "pg-js-jobset-js-worker 8") << policy;
    EXPECT_THAT(SpecIn(FormOfV13(), objects, "worker"), HasSubstr(R"("minMember":8)"));
  }
  Objects any(JobSet("  startupPolicy: {startupPolicyOrder: AnyOrder}\n"));
  any.options.form = GroupFormOf(FormOfV13());
  EXPECT_EQ(any.Text("leader"), "pg-js-jobset-js 9");
  EXPECT_EQ(any.Text("worker"), "pg-js-jobset-js 9");
}

TEST(GroupFormTest, AFlatJobSetCountsWhatCanRunAtOnce) {
  Objects objects(ObjectOf("jobset.x-k8s.io/v1alpha2", "JobSet", "js",
                           "spec:\n"
                           "  replicatedJobs:\n"
                           "  - {name: a, replicas: 0, template: {spec: {parallelism: 4, completions: 2}}}\n"
                           "  - {name: b, template: {spec: {parallelism: 0, completions: 0}}}\n"
                           "  startupPolicy: {startupPolicyOrder: AnyOrder}\n") +
                  PodOf("p", "jobset.x-k8s.io/v1alpha2", "JobSet", "js"));
  objects.options.form.has_sub_group_minimum = false;
  EXPECT_EQ(objects.Text(), "pg-js-jobset-js 3");
}

std::string Workers() {
  return ObjectOf("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l",
                  "  annotations: {leaderworkerset.sigs.k8s.io/subgroup-size: '2'}\n"
                  "spec:\n"
                  "  startupPolicy: LeaderCreated\n"
                  "  leaderWorkerTemplate: {size: 5, subGroupPolicy: {subGroupSize: 2}}\n") +
         PodOf("p", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l",
               "  labels: {leaderworkerset.sigs.k8s.io/group-index: '0', "
               "leaderworkerset.sigs.k8s.io/worker-index: '0'}\n"
               "  annotations: {leaderworkerset.sigs.k8s.io/size: '5', "
               "leaderworkerset.sigs.k8s.io/subgroup-size: '2'}\n");
}

TEST(GroupFormTest, AParentHasNoMinimumWhereTheDefinitionKnowsNone) {
  Objects objects(Workers());
  const std::string spec = SpecIn(FormOfV13(), objects);
  EXPECT_THAT(spec, HasSubstr(R"({"name":"segment-0"})")) << spec;
  EXPECT_THAT(spec, ::testing::Not(HasSubstr("minSubGroup")));
  EXPECT_THAT(SpecIn({}, objects), HasSubstr("minSubGroup"));
}

TEST(GroupFormTest, AMinimumThatIsRefusedIsLeftOutAndTold) {
  Grouping grouping{.name = "pg", .queue = "q", .minimum = {.count = 0}};
  grouping.sub_groups = {{.name = "a", .minimum = {.count = 0}}, {.name = "b", .minimum = {.count = 1}}};
  EXPECT_EQ(ToText(KaiEmitter({}, FormOfV13()).Render(grouping).object.at("spec")),
            R"({"queue":"q","topologyConstraint":{},"subGroups":[{"name":"a"},{"name":"b","minMember":1}]})");
  EXPECT_THAT(
      KaiEmitter({}, FormOfV13()).Render(grouping).losses,
      ElementsAre(HasSubstr("the group: minMember 0 is refused"), HasSubstr("subgroup a: minMember 0 is refused")));
  EXPECT_THAT(KaiEmitter({}).Render(grouping).losses, IsEmpty());
}

TEST(GroupFormTest, FewerChildrenThanAllAreTold) {
  Grouping grouping{.name = "pg", .minimum = {.count = 1, .of_sub_groups = true}};
  grouping.sub_groups = {{.name = "a", .minimum = {.count = 2, .of_sub_groups = true}},
                         {.name = "a-0", .parent = "a"},
                         {.name = "a-1", .parent = "a"},
                         {.name = "b"}};
  EXPECT_THAT(KaiEmitter({}, FormOfV13()).Render(grouping).losses,
              ElementsAre(HasSubstr("the group: minSubGroup 1 is not known to this cluster's definition of pod groups: "
                                    "all 2 subgroups are needed at once")));
}

TEST(GroupFormTest, AFieldThatTheDefinitionLacksIsLeftOutAndTold) {
  Grouping grouping{.name = "pg", .queue = "q"};
  grouping.preemption_delay = "5m0s";
  grouping.topology = {.name = "t", .required = "zone"};
  const SpecSchema form = Form({"minMember", "queue"}, {"name", "minMember"}, 0, 0);
  EXPECT_EQ(ToText(KaiEmitter({}, form).Render(grouping).object.at("spec")), R"({"minMember":1,"queue":"q"})");
  EXPECT_THAT(KaiEmitter({}, form).Render(grouping).losses,
              ElementsAre(HasSubstr("preemptionDelay"), HasSubstr("topologyConstraint")));
}

TEST(GroupFormTest, AStoredGroupNeedsNoSecondWrite) {
  Objects objects(Workers());
  for (const SpecSchema& form : {FormOfV13(), Form({"minMember"}, {"name"}, 1, 1), SpecSchema()}) {
    objects.options.form = GroupFormOf(form);
    const Grouping wanted = objects.Of();
    const KaiEmitter emitter(objects.options, form);
    const RenderedGroup rendered = emitter.Render(wanted);
    const json::object& made = rendered.object;
    ObservedGroup stored{.object = {}, .spec_json = ToText(made.at("spec"))};
    for (const auto& [key, value] : made.at("metadata").at("annotations").as_object()) {
      kube::v1::KeyValue& pair = *stored.object.mutable_meta()->add_annotations();
      pair.set_key(std::string(key));
      pair.set_value(std::string(value.as_string()));
    }
    kube::v1::OwnerReference& owner = *stored.object.mutable_meta()->add_owner_references();
    owner.set_api_version(wanted.owner.api_version);
    owner.set_kind(wanted.owner.kind);
    owner.set_name(wanted.owner.name);
    owner.set_uid(wanted.owner.uid);
    const auto update = emitter.UpdateOf(stored, wanted, rendered);
    EXPECT_FALSE(update) << update->patch;
  }
}

TEST(GroupFormTest, APodWithoutASubgroupIsToldWhereNoneCanBeOptional) {
  Objects objects(ObjectOf("ray.io/v1", "RayCluster", "r",
                           "spec:\n  headGroupSpec: {}\n  workerGroupSpecs: [{groupName: w, replicas: 1}]\n") +
                  PodOf("p", "ray.io/v1", "RayCluster", "r"));
  EXPECT_THAT(objects.Text(), HasSubstr("default{0}"));
  objects.options.form = GroupFormOf(FormOfV13());
  EXPECT_THAT(objects.Text(), ::testing::Not(HasSubstr("default{0}")));
  EXPECT_THAT(objects.Of().warnings, ElementsAre(HasSubstr("belongs to no subgroup")));
  GroupPlan plan;
  plan.Add("p", objects.Of());
  EXPECT_EQ(plan.Group(objects.options.form).sub_groups.size(), objects.Of().sub_groups.size());
}

TEST(GroupFormTest, WithoutASchemaEverythingIsKnown) {
  EXPECT_EQ(SpecSchema::Of(json::object(), "v2alpha2"), SpecSchema());
  EXPECT_EQ(SpecSchema::Of(*ParseJson(R"({"spec":{"versions":[{"name":"v2alpha2","schema":{"openAPIV3Schema":
    {"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})"),
                           "v2alpha2"),
            SpecSchema());
}

}  // namespace
}  // namespace basalt::pgsvc::testing
