// The fields that are ours in an existing group of Volcano's form.
#include "services/pgsvc/core/form/volcano_emitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/yaml.h"
#include "services/pgsvc/core/grouping/object_set.h"

namespace basalt::pgsvc {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

kube::v1::Pod PodOf(const std::string& cpu) {
  kube::v1::Pod pod;
  pod.set_name("p");
  pod.set_namespace_("default");
  pod.mutable_grouping()->set_spec_json(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                                        R"("}}}]})");
  return pod;
}

class VolcanoEmitterTest : public ::testing::Test {
 protected:
  VolcanoEmitterTest() {
    plan_.grouping.name = "pg";
    plan_.grouping.ns = "default";
    plan_.grouping.owner = {.api_version = "batch/v1", .kind = "Job", .name = "j", .uid = "u0"};
    plan_.grouping.minimum = {.count = 2};
    plan_.pod = &pod_;
  }

  RenderedGroup Render(SpecSchema schema = {}) { return VolcanoEmitter(std::move(schema)).Render(plan_, objects_); }
  // Returns the patch of the group with that spec and our owner.
  std::string Patch(const kube::v1::PodGroupSpec& spec, const std::string& grouped = "",
                    const std::string& inherited = "") {
    ObservedGroup observed;
    *observed.object.mutable_spec() = spec;
    kube::v1::OwnerReference& owner = *observed.object.mutable_meta()->add_owner_references();
    owner.set_api_version("batch/v1");
    owner.set_kind("Job");
    owner.set_name("j");
    owner.set_uid("u0");
    owner.set_controller(true);
    const auto annotate = [&observed](const char* key, const std::string& value) {
      kube::v1::KeyValue& pair = *observed.object.mutable_meta()->add_annotations();
      pair.set_key(key);
      pair.set_value(value);
    };
    annotate("basalt.dev/grouped-fields", grouped);
    if (!inherited.empty()) {
      annotate("basalt.dev/inherited-annotations", inherited);
      annotate(inherited.c_str(), "true");
    }
    EXPECT_TRUE(VolcanoEmitter().IsOurs(observed, plan_.grouping));
    const auto update = VolcanoEmitter().UpdateOf(observed, plan_.grouping, Render());
    return update ? update->patch : "";
  }
  // Returns spec as `plan_` wants it.
  static kube::v1::PodGroupSpec Spec() {
    kube::v1::PodGroupSpec spec;
    spec.set_min_member(2);
    spec.set_queue("default");
    spec.set_has_min_resources(true);
    for (const auto& [key, value] :
         {std::pair("count/pods", "2"), {"cpu", "2"}, {"pods", "2"}, {"requests.cpu", "2"}}) {
      kube::v1::KeyValue& resource = *spec.add_min_resources();
      resource.set_key(key);
      resource.set_value(value);
    }
    return spec;
  }

  kube::v1::Pod pod_ = PodOf("1");
  GroupPlanOfPods plan_;
  ObjectSet objects_;
};

TEST_F(VolcanoEmitterTest, AGroupAsWantedIsLeftAlone) { EXPECT_EQ(Patch(Spec()), ""); }

TEST_F(VolcanoEmitterTest, FieldsOfOthersStay) {
  kube::v1::PodGroupSpec spec = Spec();
  spec.set_queue("research");
  spec.set_priority_class_name("high");
  spec.mutable_network_topology()->set_mode("hard");
  kube::v1::TaskMinimum& minimum = *spec.add_min_task_member();
  minimum.set_task("w");
  minimum.set_min_member(1);
  EXPECT_EQ(Patch(spec), "");
}

TEST_F(VolcanoEmitterTest, AResourceThatNoPodAsksForAnyMoreGoes) {
  kube::v1::PodGroupSpec spec = Spec();
  kube::v1::KeyValue& resource = *spec.add_min_resources();
  resource.set_key("zzz");
  resource.set_value("1");
  EXPECT_THAT(Patch(spec), HasSubstr(R"("zzz":null)"));
}

TEST_F(VolcanoEmitterTest, TheQueueFollowsWhereSomebodyNamesOne) {
  plan_.grouping.annotations["scheduling.volcano.sh/queue-name"] = "research";
  EXPECT_EQ(Patch(Spec()), R"({"spec":{"queue":"research"}})");
}

TEST_F(VolcanoEmitterTest, FieldsThatGroupingHasSetAreRemoved) {
  kube::v1::PodGroupSpec spec = Spec();
  spec.set_priority_class_name("high");
  EXPECT_EQ(Patch(spec, "priorityClassName"),
            R"({"spec":{"priorityClassName":null},"metadata":{"annotations":{"basalt.dev/grouped-fields":""}}})");
}

TEST_F(VolcanoEmitterTest, AnAnnotationThatOwnersHaveLostGoes) {
  EXPECT_EQ(Patch(Spec(), "", "volcano.sh/preemptable"),
            R"({"metadata":{"annotations":{"volcano.sh/preemptable":null,"basalt.dev/inherited-annotations":null}}})");
  plan_.grouping.preemptibility = "non-preemptible";
  EXPECT_EQ(Patch(Spec(), "", "volcano.sh/preemptable"),
            R"({"metadata":{"annotations":{"volcano.sh/preemptable":"false"}}})");
}

TEST_F(VolcanoEmitterTest, AGroupThatAUserHasMadeIsTheirs) {
  ObservedGroup observed;
  observed.object.mutable_meta()->add_owner_references()->set_uid("u0");
  EXPECT_FALSE(VolcanoEmitter().IsOurs(observed, plan_.grouping));
}

TEST_F(VolcanoEmitterTest, ResourcesThatCannotBeReadAreALoss) {
  pod_ = PodOf("many");
  const RenderedGroup rendered = Render();
  ASSERT_EQ(rendered.losses.size(), 1u);
  EXPECT_THAT(rendered.losses.front(), HasSubstr("minResources"));
}

// A release that knows tiers by number alone takes a topology without one for the lowest tier.
TEST_F(VolcanoEmitterTest, ATopologyWhoseTierCannotBeNamedIsALoss) {
  const std::string topology = "networkTopology: {properties: {mode: {}, highestTierAllowed: {}}}";
  const auto definition = ParseYamlDocuments(
      "spec: {versions: [{name: v1beta1, schema: {openAPIV3Schema: {properties: {spec: {properties: {minMember: {}, "
      "minResources: {}, " +
      topology + ", subGroupPolicy: {items: {properties: {name: {}, subGroupSize: {}, " + topology + "}}}}}}}}}]}");
  ASSERT_TRUE(definition.ok()) << definition.status();
  const SpecSchema schema = SpecSchema::Of(definition->front(), "v1beta1");
  plan_.grouping.topology = {.name = "t", .required = "zone"};
  plan_.grouping.sub_groups = {{.name = "a", .topology = {.name = "t", .preferred = "rack"}}, {.name = "b"}};
  const RenderedGroup rendered = Render(schema);
  EXPECT_EQ(ToText(rendered.object.at("spec").at("subGroupPolicy")),
            R"([{"name":"a","subGroupSize":1},{"name":"b","subGroupSize":1}])");
  EXPECT_FALSE(rendered.object.at("spec").as_object().contains("networkTopology"));
  EXPECT_THAT(rendered.losses, IsSupersetOf({HasSubstr("the group: networkTopology.highestTierName is not known"),
                                             HasSubstr("subgroup a: networkTopology.highestTierName is not known"),
                                             HasSubstr("subgroup b: labelSelector is not known")}));

  // A tier can be given by its number.
  pod_.mutable_grouping()->add_annotations()->set_key("volcano.sh/network-topology-mode");
  pod_.mutable_grouping()->mutable_annotations(0)->set_value("hard");
  pod_.mutable_grouping()->add_annotations()->set_key("volcano.sh/network-topology-highest-tier");
  pod_.mutable_grouping()->mutable_annotations(1)->set_value("2");
  EXPECT_EQ(ToText(Render(schema).object.at("spec").at("networkTopology")),
            R"({"mode":"hard","highestTierAllowed":2})");
}

}  // namespace
}  // namespace basalt::pgsvc
