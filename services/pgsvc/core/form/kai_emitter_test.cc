// Who wins for each field of an existing group of KAI's.
#include "services/pgsvc/core/form/kai_emitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "common/kube/names.h"
#include "services/pgsvc/core/grouping/object_set.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Pairs = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

void Put(Pairs& pairs, std::string_view key, std::string_view value) {
  kube::v1::KeyValue& pair = *pairs.Add();
  pair.set_key(std::string(key));
  pair.set_value(std::string(value));
}

Grouping Wanted() {
  Grouping wanted;
  wanted.name = "pg-j-u0";
  wanted.ns = "default";
  wanted.owner = {.api_version = "batch/v1", .kind = "Job", .name = "j", .uid = "u0"};
  wanted.annotations = {{"kai.scheduler/top-owner-metadata", "name: j\n"}};
  wanted.labels = {{"app", "j"}};
  wanted.queue = "q";
  wanted.priority_class = "train";
  wanted.minimum = {.count = 2};
  return wanted;
}

// Returns the group as it is stored after its creation.
ObservedGroup Stored(const Grouping& wanted) {
  const json::object object = KaiEmitter({}).Render(wanted).object;
  ObservedGroup stored;
  kube::v1::PodGroup& group = stored.object;
  const json::value& metadata = object.at("metadata");
  group.mutable_meta()->set_name(wanted.name);
  const auto put = [&metadata](std::string_view name, Pairs& pairs) {
    if (const json::value* const texts = Find(metadata, name)) {
      for (const auto& [key, value] : texts->as_object()) Put(pairs, key, value.as_string());
    }
  };
  put("labels", *group.mutable_meta()->mutable_labels());
  put("annotations", *group.mutable_meta()->mutable_annotations());
  kube::v1::OwnerReference& owner = *group.mutable_meta()->add_owner_references();
  owner.set_api_version(wanted.owner.api_version);
  owner.set_kind(wanted.owner.kind);
  owner.set_name(wanted.owner.name);
  owner.set_uid(wanted.owner.uid);
  stored.spec_json = ToText(object.at("spec"));
  return stored;
}

std::optional<GroupUpdate> Update(const ObservedGroup& observed, const Grouping& wanted, RuleOptions options = {}) {
  const KaiEmitter emitter(std::move(options));
  return emitter.UpdateOf(observed, wanted, emitter.Render(wanted));
}

std::string Patch(const ObservedGroup& observed, const Grouping& wanted) {
  const auto update = Update(observed, wanted);
  return update ? update->patch : "";
}

// Returns the group with that member of spec set, or removed if the text is empty.
ObservedGroup With(ObservedGroup group, std::string_view field, std::string_view json_text) {
  json::value spec = ParseJson(group.spec_json).value();
  if (json_text.empty()) {
    spec.as_object().erase(field);
  } else {
    spec.as_object()[field] = ParseJson(json_text).value();
  }
  group.spec_json = ToText(spec);
  return group;
}

TEST(KaiGroupPatchTest, AMadeGroupNeedsNoPatch) {
  Grouping wanted = Wanted();
  EXPECT_EQ(Patch(Stored(wanted), wanted), "");
  wanted.preemptibility = "preemptible";
  wanted.preemption_delay = "5m0s";
  wanted.staleness_grace_period = "-10s";
  wanted.topology = {.name = "t", .required = "zone"};
  wanted.minimum = {.count = 1, .of_sub_groups = true};
  wanted.sub_groups = {{.name = "a", .minimum = {.count = 0}}};
  EXPECT_EQ(Patch(Stored(wanted), wanted), "");
}

TEST(KaiGroupPatchTest, AnUpdateChangesWhatDiffersAndNamesIt) {
  Grouping wanted = Wanted();
  const ObservedGroup stored = Stored(wanted);
  wanted.minimum = {.count = 3};
  wanted.priority_class = "build";
  wanted.labels["team"] = "a";
  const auto update = Update(stored, wanted);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->patch,
            R"({"spec":{"minMember":3,"priorityClassName":"build"},"metadata":{"labels":{"team":"a"}}})");
  EXPECT_EQ(update->fields, (std::vector<std::string>{"labels", "minMember", "priorityClassName"}));
}

TEST(KaiGroupPatchTest, OneMinimumTakesThePlaceOfTheOther) {
  const Grouping before = Wanted();
  Grouping wanted = Wanted();
  wanted.minimum = {.count = 1, .of_sub_groups = true};
  EXPECT_EQ(Patch(Stored(before), wanted), R"({"spec":{"minMember":null,"minSubGroup":1}})");
}

TEST(KaiGroupPatchTest, AMinimumOfNothingIsNoMissingMinimum) {
  Grouping wanted = Wanted();
  wanted.minimum = {.count = 0};
  EXPECT_EQ(Patch(Stored(wanted), wanted), "");
  EXPECT_EQ(Patch(With(Stored(wanted), "minMember", ""), wanted), R"({"spec":{"minMember":0}})");
}

TEST(KaiGroupPatchTest, FieldsOfOthersStay) {
  const Grouping wanted = Wanted();
  ObservedGroup stored = Stored(wanted);
  for (const auto& [field, value] : {std::pair{"queue", R"("other")"},
                                     {"markUnschedulable", "true"},
                                     {"schedulingBackoff", "1"},
                                     {"preemptionDelay", R"("5m")"},
                                     {"stalenessGracePeriod", R"("1m")"},
                                     {"preemptibility", R"("preemptible")"},
                                     {"newer", R"({"a":1})"},
                                     {"topologyConstraint", R"({"topology":"ext","requiredTopologyLevel":"zone"})"}}) {
    stored = With(stored, field, value);
  }
  Put(*stored.object.mutable_meta()->mutable_labels(), "kai.scheduler/node-pool", "a");
  Put(*stored.object.mutable_meta()->mutable_labels(), "foreign", "x");
  Put(*stored.object.mutable_meta()->mutable_annotations(), "kai.scheduler/last-start-timestamp", "x");
  EXPECT_EQ(Patch(stored, wanted), "");
}

TEST(KaiGroupPatchTest, NodePoolAndQueueLabelAreFixedWhenTheGroupIsMade) {
  Grouping wanted = Wanted();
  wanted.labels["kai.scheduler/queue"] = "q";
  wanted.labels["kai.scheduler/node-pool"] = "a";
  ObservedGroup stored = Stored(wanted);
  wanted.labels["kai.scheduler/queue"] = "q2";
  wanted.labels["kai.scheduler/node-pool"] = "b";
  EXPECT_EQ(Patch(stored, wanted), "");
  stored.object.mutable_meta()->clear_labels();
  EXPECT_EQ(Patch(stored, wanted), R"({"metadata":{"labels":{"app":"j","kai.scheduler/queue":"q2"}}})")
      << "the pool stays absent, the queue's label does not";
}

TEST(KaiGroupPatchTest, AQueueIsSetWhereThereIsNone) {
  const Grouping wanted = Wanted();
  EXPECT_EQ(Patch(With(Stored(wanted), "queue", ""), wanted), R"({"spec":{"queue":"q"}})");
}

TEST(KaiGroupPatchTest, TheQueueFollowsItsLabelWhereThatIsConfigured) {
  const RuleOptions follows{.follows_queue = true};
  Grouping wanted = Wanted();
  wanted.labels["kai.scheduler/queue"] = "q";
  const ObservedGroup stored = Stored(wanted);
  wanted.queue = wanted.labels["kai.scheduler/queue"] = "q2";
  EXPECT_EQ(Patch(stored, wanted), "") << "it is fixed else";
  const auto update = Update(stored, wanted, follows);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->patch, R"({"spec":{"queue":"q2"},"metadata":{"labels":{"kai.scheduler/queue":"q2"}}})");
  wanted.has_default_queue = true;
  wanted.labels.clear();
  EXPECT_FALSE(Update(stored, wanted, follows)) << "nobody names one any more";
}

TEST(KaiGroupPatchTest, TopologyIsReplacedAsAWholeByOneWithAName) {
  Grouping wanted = Wanted();
  ObservedGroup stored =
      With(Stored(wanted), "topologyConstraint", R"({"topology":"ext","requiredTopologyLevel":"zone"})");
  wanted.topology = {.preferred = "node"};
  EXPECT_EQ(Patch(stored, wanted), "") << "a level without a name is dropped";
  wanted.topology = {.name = "w", .preferred = "rack"};
  EXPECT_EQ(
      Patch(stored, wanted),
      R"({"spec":{"topologyConstraint":{"preferredTopologyLevel":"rack","topology":"w","requiredTopologyLevel":null}},)"
      R"("metadata":{"annotations":{"basalt.dev/grouped-fields":"topologyConstraint"}}})");
}

TEST(KaiGroupPatchTest, FieldsThatGroupingHasSetAreRemoved) {
  Grouping wanted = Wanted();
  wanted.topology = {.name = "w", .required = "rack"};
  wanted.preemption_delay = "5m0s";
  wanted.sub_groups = {{.name = "a", .minimum = {.count = 2}}};
  const ObservedGroup stored = Stored(wanted);
  const Grouping less = Wanted();
  EXPECT_EQ(Patch(stored, less), R"({"spec":{"preemptionDelay":null,"subGroups":null,"topologyConstraint":null},)"
                                 R"("metadata":{"annotations":{"basalt.dev/grouped-fields":null}}})");
}

TEST(KaiGroupPatchTest, TheOwnerIsTheOneOfTheGrouping) {
  const Grouping wanted = Wanted();
  ObservedGroup stored = Stored(wanted);
  stored.object.mutable_meta()->mutable_owner_references(0)->set_controller(true);
  EXPECT_EQ(Patch(stored, wanted),
            R"({"metadata":{"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u0"}]}})");
}

TEST(KaiGroupTest, AClassOfTheRulesOwnThatDoesNotExistIsALoss) {
  GroupPlanOfPods plan{.grouping = Wanted(), .pod = nullptr};
  const auto losses = [&plan](bool has_classes) { return KaiEmitter({}).Render(plan, ObjectSet(has_classes)).losses; };
  EXPECT_THAT(losses(false), IsEmpty()) << "a class that somebody names was looked at before";
  plan.grouping.has_default_priority = true;
  EXPECT_THAT(losses(true), IsEmpty());
  EXPECT_THAT(losses(false), ElementsAre(HasSubstr("there is no PriorityClass train")));
}

TEST(KaiGroupPatchTest, SomebodyElsesGroupIsToldFromOurs) {
  const Grouping wanted = Wanted();
  ObservedGroup stored = Stored(wanted);
  EXPECT_TRUE(KaiEmitter({}).IsOurs(stored, wanted));
  stored.object.mutable_meta()->clear_annotations();
  EXPECT_TRUE(KaiEmitter({}).IsOurs(stored, wanted)) << "it has the same owner";
  stored.object.mutable_meta()->mutable_owner_references(0)->set_uid("other");
  EXPECT_FALSE(KaiEmitter({}).IsOurs(stored, wanted));
  stored.object.mutable_meta()->clear_owner_references();
  EXPECT_TRUE(KaiEmitter({}).IsOurs(stored, wanted)) << "nobody owns it, and its name holds the UID of the owner";
  stored.object.mutable_meta()->set_name("pg-j-of-another");
  EXPECT_FALSE(KaiEmitter({}).IsOurs(stored, wanted));
}

TEST(LinkPatchTest, NamesGroupAndSubgroupOnce) {
  kube::v1::Pod pod;
  EXPECT_EQ(LinkPatchOf(pod, kube::kKaiGroupNameKey, "pg", ""),
            R"({"metadata":{"annotations":{"pod-group-name":"pg"}}})");
  EXPECT_EQ(LinkPatchOf(pod, kube::kKaiGroupNameKey, "pg", "a"),
            R"({"metadata":{"annotations":{"pod-group-name":"pg"},)"
            R"("labels":{"kai.scheduler/subgroup-name":"a"}}})");
  Put(*pod.mutable_grouping()->mutable_annotations(), "pod-group-name", "pg");
  EXPECT_EQ(LinkPatchOf(pod, kube::kKaiGroupNameKey, "pg", ""), std::nullopt);
  EXPECT_EQ(LinkPatchOf(pod, kube::kKaiGroupNameKey, "other", ""),
            R"({"metadata":{"annotations":{"pod-group-name":"other"}}})");
  Put(*pod.mutable_grouping()->mutable_labels(), "kai.scheduler/subgroup-name", "a");
  EXPECT_EQ(LinkPatchOf(pod, kube::kKaiGroupNameKey, "pg", "a"), std::nullopt);
  EXPECT_EQ(LinkPatchOf(pod, kube::kKaiGroupNameKey, "pg", ""),
            R"({"metadata":{"labels":{"kai.scheduler/subgroup-name":null}}})");
}

}  // namespace
}  // namespace basalt::pgsvc
