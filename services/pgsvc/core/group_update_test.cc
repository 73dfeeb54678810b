#include "services/pgsvc/core/group_update.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/kube/names.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using testing::OwnedPod;

void Put(google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& pairs, std::string_view key, std::string_view value) {
  for (kube::v1::KeyValue& pair : pairs) {
    if (pair.key() == key) return pair.set_value(std::string(value));
  }
  kube::v1::KeyValue& pair = *pairs.Add();
  pair.set_key(std::string(key));
  pair.set_value(std::string(value));
}

WantedGroup Wanted(const kube::v1::Pod& pod, const Annotations& owner) {
  absl::StatusOr<WantedGroup> wanted = WantedGroupOf(pod, owner, {});
  EXPECT_TRUE(wanted.ok()) << wanted.status();
  return wanted.ok() ? *std::move(wanted) : WantedGroup();
}

// Returns the group that is made from `wanted`, as the API server has it.
kube::v1::PodGroup Made(const WantedGroup& wanted) {
  kube::v1::PodGroup group;
  *group.mutable_spec() = wanted.spec;
  if (wanted.spec.queue().empty()) group.mutable_spec()->set_queue("default");
  for (const auto& [key, value] : wanted.annotations) Put(*group.mutable_meta()->mutable_annotations(), key, value);
  for (const auto& [key, value] : wanted.labels) Put(*group.mutable_meta()->mutable_labels(), key, value);
  return group;
}

using Fields = std::vector<std::string>;

struct Change {
  const char* what;
  Annotations before;
  Annotations after;
  Fields fields;
  const char* patch;
};

TEST(GroupUpdateTest, AnEditOfTheOwnerChangesWhatItSaysAndNothingElse) {
  const std::string min_member(kube::kGroupMinMemberKey);
  const Change changes[] = {
      {"nothing", {{min_member, "2"}}, {{min_member, "2"}}, {}, nullptr},
      {"a minimum of nothing", {}, {{min_member, "0"}}, {"minMember", "minResources"}, nullptr},
      {"a queue", {}, {{"scheduling.volcano.sh/queue-name", "q"}}, {"queue"}, R"({"spec":{"queue":"q"}})"},
      {"no queue any more", {{"scheduling.volcano.sh/queue-name", "q"}}, {}, {}, nullptr},
      {"an annotation",
       {},
       {{"volcano.sh/a", "1"}},
       {"annotations"},
       R"({"metadata":{"annotations":{"basalt.dev/inherited-annotations":"volcano.sh/a","volcano.sh/a":"1"}}})"},
      {"another value",
       {{"volcano.sh/a", "1"}},
       {{"volcano.sh/a", "2"}},
       {"annotations"},
       R"({"metadata":{"annotations":{"volcano.sh/a":"2"}}})"},
      {"one annotation less",
       {{"volcano.sh/a", "1"}, {"volcano.sh/b", "2"}},
       {{"volcano.sh/b", "2"}},
       {"annotations"},
       R"({"metadata":{"annotations":{"basalt.dev/inherited-annotations":"volcano.sh/b","volcano.sh/a":null}}})"},
      {"none any more",
       {{"volcano.sh/a", "1"}},
       {},
       {"annotations"},
       R"({"metadata":{"annotations":{"volcano.sh/a":null,"basalt.dev/inherited-annotations":null}}})"},
      {"nothing of Volcano's", {}, {{"example.com/a", "1"}}, {}, nullptr},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(change.what);
    const auto update = UpdateOf(Made(Wanted(OwnedPod(), change.before)), Wanted(OwnedPod(), change.after));
    ASSERT_EQ(update.has_value(), !change.fields.empty());
    if (!update) continue;
    EXPECT_EQ(update->fields, change.fields);
    if (change.patch != nullptr) {
      EXPECT_EQ(update->patch, change.patch);
    }
  }
}

// podgroup spec 13, case 7.
TEST(GroupUpdateTest, MinimumAndResourcesFollowOwnerAndPod) {
  kube::v1::PodGroup group = Made(Wanted(OwnedPod(), {{std::string(kube::kGroupMinMemberKey), "3"}}));
  Put(*group.mutable_spec()->mutable_min_resources(), "nvidia.com/gpu", "10");
  const auto update = UpdateOf(group, Wanted(OwnedPod(), {{std::string(kube::kGroupMinMemberKey), "2"}}));
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->fields, (Fields{"minMember", "minResources"}));
  EXPECT_NE(update->patch.find(R"("minMember":2)"), std::string::npos) << update->patch;
  EXPECT_NE(update->patch.find(R"("nvidia.com/gpu":"2")"), std::string::npos) << update->patch;
}

TEST(GroupUpdateTest, QuantitiesAreComparedByValue) {
  const WantedGroup wanted = Wanted(OwnedPod(), {});
  kube::v1::PodGroup group = Made(wanted);
  Put(*group.mutable_spec()->mutable_min_resources(), "cpu", "1000m");
  Put(*group.mutable_spec()->mutable_min_resources(), "memory", "2048Mi");
  EXPECT_FALSE(UpdateOf(group, wanted).has_value());
}

// Weakness W5.
TEST(GroupUpdateTest, FieldsOfOthersStayInTheGroup) {
  const WantedGroup wanted = Wanted(OwnedPod(), {{"volcano.sh/a", "1"}});
  kube::v1::PodGroup group = Made(wanted);
  group.mutable_spec()->set_queue("chosen-by-admission");
  group.mutable_spec()->set_priority_class_name("high");
  group.mutable_spec()->mutable_network_topology()->set_mode("soft");
  Put(*group.mutable_meta()->mutable_annotations(), "volcano.sh/job-allocated-hypernode", "rack-1");
  Put(*group.mutable_meta()->mutable_annotations(), "volcano.sh/mine", "1");
  Put(*group.mutable_meta()->mutable_labels(), "team", "ml");
  const std::string before = group.SerializeAsString();
  EXPECT_FALSE(UpdateOf(group, wanted).has_value());
  const auto update = UpdateOf(group, Wanted(OwnedPod(), {}));
  EXPECT_EQ(group.SerializeAsString(), before) << "what is seen is shared";
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->patch,
            R"({"metadata":{"annotations":{"volcano.sh/a":null,"basalt.dev/inherited-annotations":null}}})");
}

TEST(GroupUpdateTest, ALabelThatThePodHasLostGoesWhereItCameFromThePod) {
  kube::v1::Pod pod = OwnedPod();
  Put(*pod.mutable_grouping()->mutable_labels(), kube::kPreemptableKey, "true");
  Put(*pod.mutable_grouping()->mutable_labels(), kube::kCooldownTimeKey, "5m");
  kube::v1::PodGroup group = Made(Wanted(pod, {}));
  Put(*group.mutable_meta()->mutable_labels(), "team", "ml");
  EXPECT_FALSE(UpdateOf(group, Wanted(pod, {})).has_value());
  kube::v1::Pod less = OwnedPod();
  Put(*less.mutable_grouping()->mutable_labels(), kube::kCooldownTimeKey, "6m");
  const auto one_less = UpdateOf(group, Wanted(less, {}));
  ASSERT_TRUE(one_less.has_value());
  EXPECT_EQ(one_less->fields, (Fields{"annotations", "labels"}));
  EXPECT_EQ(one_less->patch, R"({"metadata":{"annotations":{"basalt.dev/inherited-labels":"volcano.sh/cooldown-time"},)"
                             R"("labels":{"volcano.sh/cooldown-time":"6m","volcano.sh/preemptable":null}}})");
  const auto none = UpdateOf(group, Wanted(OwnedPod(), {}));
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->patch, R"({"metadata":{"annotations":{"basalt.dev/inherited-labels":null},)"
                         R"("labels":{"volcano.sh/preemptable":null,"volcano.sh/cooldown-time":null}}})");
  // A person has set the label.
  kube::v1::PodGroup edited = Made(Wanted(OwnedPod(), {}));
  Put(*edited.mutable_meta()->mutable_labels(), kube::kPreemptableKey, "true");
  EXPECT_FALSE(UpdateOf(edited, Wanted(OwnedPod(), {})).has_value());
}

TEST(GroupUpdateTest, PodsOfOneTemplateAskForTheSame) {
  const kube::v1::Pod pod = OwnedPod();
  kube::v1::Pod bound = pod;
  Put(*bound.mutable_grouping()->mutable_annotations(), kube::kGroupNameKey, "podgroup-rs-uid");
  Put(*bound.mutable_grouping()->mutable_labels(), "statefulset.kubernetes.io/pod-name", "web-1");
  EXPECT_TRUE(AskForTheSame(pod, bound));
  EXPECT_TRUE(AskForTheSame(bound, pod));
  kube::v1::Pod other = pod;
  other.mutable_grouping()->set_spec_json("{}");
  EXPECT_FALSE(AskForTheSame(pod, other));
  other = pod;
  other.set_priority_class_name("high");
  EXPECT_FALSE(AskForTheSame(pod, other));
  other = pod;
  Put(*other.mutable_grouping()->mutable_annotations(), kube::kPreemptableKey, "true");
  EXPECT_FALSE(AskForTheSame(pod, other));
  EXPECT_FALSE(AskForTheSame(other, pod));
  other = pod;
  Put(*other.mutable_grouping()->mutable_labels(), kube::kPreemptableKey, "true");
  EXPECT_FALSE(AskForTheSame(pod, other));
}

TEST(GroupUpdateTest, AnOwnerWantsNoPodsWhereItSaysSo) {
  struct Case {
    const char* what;
    std::optional<int32_t> replicas;
    std::optional<int32_t> parallelism;
    bool is_suspended;
    bool wants_none;
  };
  const Case cases[] = {{"a DaemonSet", std::nullopt, std::nullopt, false, false},
                        {"a set", 1, std::nullopt, false, false},
                        {"a set without replicas", 0, std::nullopt, false, true},
                        {"a job", std::nullopt, 3, false, false},
                        {"a job of no pods at once", std::nullopt, 0, false, true},
                        {"a job that is suspended", std::nullopt, 3, true, true}};
  for (const Case& test : cases) {
    kube::v1::Workload owner;
    if (test.replicas) owner.set_replicas(*test.replicas);
    if (test.parallelism) owner.set_parallelism(*test.parallelism);
    owner.set_suspended(test.is_suspended);
    EXPECT_EQ(WantsNoPods(owner), test.wants_none) << test.what;
  }
}

TEST(GroupUpdateTest, AMinimumAboveTheReplicasIsNeverPlaced) {
  kube::v1::Workload owner;
  owner.set_kind("StatefulSet");
  owner.mutable_meta()->set_name("db");
  const WantedGroup three = Wanted(OwnedPod(), {{std::string(kube::kGroupMinMemberKey), "3"}});
  EXPECT_EQ(WhyNeverPlaced(three, owner), "") << "a kind without replicas";
  struct Case {
    int32_t replicas;
    bool is_never_placed;
  };
  for (const Case& test : {Case{0, false}, Case{2, true}, Case{3, false}, Case{4, false}}) {
    owner.set_replicas(test.replicas);
    EXPECT_EQ(WhyNeverPlaced(three, owner).empty(), !test.is_never_placed) << test.replicas;
  }
  owner.set_replicas(2);
  EXPECT_EQ(
      WhyNeverPlaced(three, owner),
      "scheduling.volcano.sh/group-min-member of StatefulSet db asks for 3 pods together, and it has 2: they will "
      "never be placed");
}

}  // namespace
}  // namespace basalt::pgsvc
