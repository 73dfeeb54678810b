#include "services/pgsvc/core/pod_grouping.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/base/json.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using testing::BarePod;
using testing::OwnedPod;

void Annotate(kube::v1::Pod& pod, std::string_view key, std::string_view value) {
  kube::v1::KeyValue& annotation = *pod.mutable_grouping()->add_annotations();
  annotation.set_key(std::string(key));
  annotation.set_value(std::string(value));
}

json::value Body(const kube::v1::Pod& pod, const Annotations& owner = {}, GroupingOptions options = {}) {
  const auto body = GroupBody(pod, owner, options);
  EXPECT_TRUE(body.ok()) << body.status();
  return body.ok() ? *ParseJson(*body) : json::value();
}

TEST(PodGroupingTest, ABarePodHasAGroupOfItsOwnWithItselfAsOwner) {
  const json::value body = Body(BarePod());
  EXPECT_EQ(FindString(*FindPath(body, {"metadata"}), "name"), "podgroup-u");
  const json::value& owner = FindPath(body, {"metadata", "ownerReferences"})->as_array()[0];
  EXPECT_EQ(FindString(owner, "kind"), "Pod");
  EXPECT_EQ(FindString(owner, "uid"), "u");
  EXPECT_TRUE(Find(owner, "controller")->as_bool());
  EXPECT_TRUE(Find(owner, "blockOwnerDeletion")->as_bool());
  EXPECT_EQ(FindInt(*FindPath(body, {"spec"}), "minMember"), 1);
  EXPECT_EQ(FindString(*FindPath(body, {"status"}), "phase"), "Pending");
}

TEST(PodGroupingTest, AnOwnedPodsGroupHasTheControllersNameAndOwners) {
  const json::value body = Body(OwnedPod());
  EXPECT_EQ(FindString(*FindPath(body, {"metadata"}), "name"), "podgroup-rs-uid");
  EXPECT_EQ(FindString(FindPath(body, {"metadata", "ownerReferences"})->as_array()[0], "kind"), "ReplicaSet");
}

TEST(PodGroupingTest, MinResourcesAreThoseOfTheSpecsWorkedExample) {
  const json::value body = Body(OwnedPod(), {{"scheduling.volcano.sh/group-min-member", "2"}});
  const json::value& resources = *FindPath(body, {"spec", "minResources"});
  const std::pair<std::string_view, std::string_view> wanted[] = {
      {"count/pods", "2"},        {"pods", "2"},           {"cpu", "2"},
      {"requests.cpu", "2"},      {"limits.cpu", "4"},     {"memory", "4Gi"},
      {"requests.memory", "4Gi"}, {"nvidia.com/gpu", "2"}, {"requests.nvidia.com/gpu", "2"}};
  for (const auto& [name, quantity] : wanted) EXPECT_EQ(FindString(resources, name), quantity) << name;
  EXPECT_EQ(resources.as_object().size(), std::size(wanted));
}

TEST(PodGroupingTest, MinMemberComesFromTheOwnerAloneAndIsOneWhereMalformed) {
  const std::pair<std::string_view, int32_t> cases[] = {{"3", 3}, {"+3", 3}, {"0", 0},   {"-1", 1},
                                                        {"", 1},  {" 3", 1}, {"2.5", 1}, {"99999999999", 1}};
  for (const auto& [text, wanted] : cases) {
    EXPECT_EQ(MinMember({{"scheduling.volcano.sh/group-min-member", std::string(text)}}), wanted) << text;
  }
  EXPECT_EQ(MinMember({}), 1);
}

TEST(PodGroupingTest, TheSeedsKeyOfTheMinimumCountsBehindUpstreams) {
  EXPECT_EQ(MinMember({{"volcano.sh/group-min-member", "4"}}), 4);
  EXPECT_EQ(MinMember({{"volcano.sh/group-min-member", "4"}, {"scheduling.volcano.sh/group-min-member", "2"}}), 2);
}

// podgroup spec 13, cases 3, 5 and 6.
TEST(PodGroupingTest, SettingsOfTheOwnerAreInheritedByItsPods) {
  const Annotations owner{{"scheduling.volcano.sh/group-min-member", "3"},
                          {"volcano.sh/custom-key", "x"},
                          {"volcano.sh/jdb-max-unavailable", "20%"}};
  const json::value body = Body(OwnedPod(), owner);
  const json::value& spec = *FindPath(body, {"spec"});
  EXPECT_EQ(FindInt(spec, "minMember"), 3);
  EXPECT_EQ(FindString(spec.at("minResources"), "cpu"), "3");
  EXPECT_EQ(FindString(spec.at("minResources"), "nvidia.com/gpu"), "3");
  const json::value& annotations = *FindPath(body, {"metadata", "annotations"});
  EXPECT_EQ(FindString(annotations, "volcano.sh/custom-key"), "x");
  EXPECT_EQ(FindString(annotations, "volcano.sh/jdb-max-unavailable"), "20%");
  EXPECT_EQ(Find(annotations, "volcano.sh/jdb-min-available"), nullptr);
  EXPECT_EQ(FindString(annotations, "basalt.dev/inherited-annotations"),
            "volcano.sh/custom-key,volcano.sh/jdb-max-unavailable");
}

TEST(PodGroupingTest, ItIsToldWhereEachFieldComesFrom) {
  using Sources = std::map<std::string, std::string>;
  constexpr char kWeb[] = "ReplicaSet ns/web";
  kube::v1::Pod pod = OwnedPod();
  const std::string resources = "what Pod ns/p asks for, times minMember";
  EXPECT_EQ(SourcesOf(pod, {}, kWeb, {}), (Sources{{"minMember", "default"}, {"minResources", resources}}));
  const Annotations owner{{"scheduling.volcano.sh/group-min-member", "3"},
                          {"volcano.sh/group-min-member", "4"},
                          {"volcano.sh/queue-name", "q"}};
  EXPECT_EQ(SourcesOf(pod, owner, kWeb, {}),
            (Sources{{"minMember", "annotation scheduling.volcano.sh/group-min-member of ReplicaSet ns/web"},
                     {"minResources", resources},
                     {"queue", "annotation volcano.sh/queue-name of ReplicaSet ns/web"}}));
  EXPECT_EQ(SourcesOf(pod, owner, kWeb, {.inherit_owner_annotations = false}).at("minMember"), "default");
  EXPECT_FALSE(SourcesOf(pod, owner, kWeb, {.alternative_queue_keys = false}).contains("queue"));
  Annotate(pod, "volcano.sh/queue-name", "mine");
  Annotate(pod, "volcano.sh/network-topology-mode", "hard");
  pod.set_priority_class_name("high");
  const Sources sources = SourcesOf(pod, owner, kWeb, {});
  EXPECT_EQ(sources.at("queue"), "annotation volcano.sh/queue-name of Pod ns/p");
  EXPECT_EQ(sources.at("networkTopology"), "annotation volcano.sh/network-topology-mode of Pod ns/p");
  EXPECT_EQ(sources.at("priorityClassName"), "spec of Pod ns/p");
}

// podgroup spec 13, case 4.
TEST(PodGroupingTest, WithoutInheritanceOnlyThePodSaysHowItsGroupIs) {
  kube::v1::Pod pod = OwnedPod();
  Annotate(pod, "scheduling.volcano.sh/queue-name", "q");
  Annotate(pod, "volcano.sh/preemptable", "true");
  kube::v1::KeyValue& label = *pod.mutable_grouping()->add_labels();
  label.set_key("volcano.sh/cooldown-time");
  label.set_value("600s");
  const json::value body = Body(pod, {{"scheduling.volcano.sh/group-min-member", "3"}, {"volcano.sh/custom", "x"}},
                                {.inherit_owner_annotations = false});
  EXPECT_EQ(FindInt(body.at("spec"), "minMember"), 1);
  EXPECT_EQ(FindString(body.at("spec"), "queue"), "q");
  EXPECT_EQ(FindString(body.at("metadata").at("annotations"), "volcano.sh/preemptable"), "true");
  EXPECT_EQ(Find(body.at("metadata").at("annotations"), "volcano.sh/custom"), nullptr);
  EXPECT_EQ(body.at("metadata").at("labels"), (json::value{{"volcano.sh/cooldown-time", "600s"}}));
}

TEST(PodGroupingTest, QueuePrecedenceIsPodThenOwnerUpstreamsKeyFirst) {
  kube::v1::Pod pod = OwnedPod();
  Annotations owner = {{"volcano.sh/queue-name", "d"}};
  const auto queue = [&] { return std::string(FindString(*FindPath(Body(pod, owner), {"spec"}), "queue")); };
  EXPECT_EQ(queue(), "d");
  owner["scheduling.volcano.sh/queue-name"] = "c";
  EXPECT_EQ(queue(), "c");
  Annotate(pod, "volcano.sh/queue-name", "b");
  EXPECT_EQ(queue(), "b");
  Annotate(pod, "scheduling.volcano.sh/queue-name", "a");
  EXPECT_EQ(queue(), "a");
}

TEST(PodGroupingTest, KeysOfThePodComeBeforeThoseOfTheOwnerAndTwoOfThemAreLabelsToo) {
  struct Case {
    const char* key;
    const char* inherited;
    const char* own;
    bool is_label;
  };
  const Case cases[] = {{"volcano.sh/preemptable", "false", "true", true},
                        {"volcano.sh/cooldown-time", "10m", "600s", true},
                        {"volcano.sh/revocable-zone", "", "*", false}};
  for (const Case& test : cases) {
    SCOPED_TRACE(test.key);
    const Annotations owner{{test.key, test.inherited}};
    const auto annotation = [&test](const json::value& body) {
      return std::string(FindString(body.at("metadata").at("annotations"), test.key));
    };
    EXPECT_EQ(annotation(Body(OwnedPod(), owner)), test.inherited);
    kube::v1::Pod pod = OwnedPod();
    Annotate(pod, test.key, test.own);
    EXPECT_EQ(annotation(Body(pod, owner)), test.own);
    EXPECT_EQ(annotation(Body(pod)), test.own);
    EXPECT_EQ(Find(Body(pod).at("metadata"), "labels"), nullptr) << "an annotation is no label";
    kube::v1::Pod labelled = OwnedPod();
    kube::v1::KeyValue& label = *labelled.mutable_grouping()->add_labels();
    label.set_key(test.key);
    label.set_value(test.own);
    const json::value body = Body(labelled);
    const json::value* const labels = FindPath(body, {"metadata", "labels"});
    EXPECT_EQ(labels == nullptr ? "none" : ToText(*labels),
              test.is_label ? fmt::format(R"({{"{}":"{}"}})", test.key, test.own) : "none");
  }
}

// podgroup spec 6.2.
TEST(PodGroupingTest, AnnotationsOfAllOwnersCountAndTheEarliestWinsForEachKey) {
  kube::v1::Pod pod = OwnedPod();
  const auto add = [&pod](const char* api_version, const char* kind, const char* uid) {
    kube::v1::OwnerReference& owner = *pod.mutable_grouping()->add_owner_references();
    owner.set_api_version(api_version);
    owner.set_kind(kind);
    owner.set_uid(uid);
  };
  add("example.com/v1", "Job", "foreign");
  add("batch/v1", "Job", "job-uid");
  add("apps/v1", "DaemonSet", "unknown");
  const OwnerFacts facts{{"rs-uid", {.annotations = {{"a", "of rs"}, {"b", "of rs"}}}},
                         {"foreign", {.annotations = {{"c", "of foreign"}}}},
                         {"job-uid", {.annotations = {{"a", "of job"}, {"c", "of job"}}}}};
  EXPECT_EQ(MergedAnnotations(pod, facts), (Annotations{{"a", "of rs"}, {"b", "of rs"}, {"c", "of job"}}));
  EXPECT_EQ(MergedAnnotations(BarePod(), facts), Annotations());
}

TEST(PodGroupingTest, OwnPodsBudgetHidesTheOtherKeyButNotAnInheritedOne) {
  kube::v1::Pod pod = OwnedPod();
  Annotate(pod, "volcano.sh/jdb-min-available", "1");
  Annotate(pod, "volcano.sh/jdb-max-unavailable", "2");
  const json::value body =
      Body(pod, {{"volcano.sh/jdb-min-available", "9"}, {"volcano.sh/custom", "x"}, {"other", "y"}});
  const json::value& annotations = *FindPath(body, {"metadata", "annotations"});
  EXPECT_EQ(FindString(annotations, "volcano.sh/jdb-min-available"), "1");
  EXPECT_EQ(Find(annotations, "volcano.sh/jdb-max-unavailable"), nullptr);
  EXPECT_EQ(FindString(annotations, "volcano.sh/custom"), "x");
  EXPECT_EQ(Find(annotations, "other"), nullptr);
}

struct TopologyCase {
  const char* mode;
  const char* tier;
  std::string_view wanted;  // Compact JSON; empty if there is none.
};

TEST(PodGroupingTest, TopologyTableOfTheSpec) {
  const TopologyCase cases[] = {
      {nullptr, nullptr, ""},
      {"Soft", nullptr, R"({"mode":"soft"})"},
      {"nonsense", nullptr, R"({"mode":"hard"})"},
      {"", nullptr, R"({"mode":"hard"})"},
      {nullptr, "3", R"({"mode":"hard","highestTierAllowed":3})"},
      {nullptr, "x", R"({"mode":"hard"})"},
      {"invalid", "3", R"({"mode":"hard","highestTierAllowed":3})"},
      {"soft", "+2", R"({"mode":"soft","highestTierAllowed":2})"},
  };
  for (const TopologyCase& c : cases) {
    kube::v1::Pod pod = BarePod();
    if (c.mode != nullptr) Annotate(pod, "volcano.sh/network-topology-mode", c.mode);
    if (c.tier != nullptr) Annotate(pod, "volcano.sh/network-topology-highest-tier", c.tier);
    const json::value body = Body(pod);
    const json::value* topology = FindPath(body, {"spec", "networkTopology"});
    EXPECT_EQ(topology == nullptr ? "" : ToText(*topology), c.wanted);
  }
}

TEST(PodGroupingTest, TheGroupOfAStatefulSetHasTheTopologyOfItsPods) {
  kube::v1::Pod pod = OwnedPod();
  pod.mutable_grouping()->mutable_owner_references(0)->set_kind("StatefulSet");
  Annotate(pod, "volcano.sh/network-topology-mode", "soft");
  // The owner's own annotation says something else.
  const json::value body = Body(pod, {{"volcano.sh/network-topology-mode", "hard"}});
  EXPECT_EQ(FindString(*FindPath(body, {"metadata"}), "name"), "podgroup-rs-uid");
  EXPECT_EQ(ToText(*FindPath(body, {"spec", "networkTopology"})), R"({"mode":"soft"})");
}

TEST(PodGroupingTest, AGroupThatTheServerWouldRefuseIsRefusedHere) {
  kube::v1::Pod negative = BarePod();
  Annotate(negative, "volcano.sh/network-topology-highest-tier", "-1");
  EXPECT_NE(GroupBody(negative, {}, {}).status().ToString().find("network-topology-highest-tier"), std::string::npos);
  for (const std::string_view name : {"Upper", "-a", "a-", "a..b", "a_b"}) {
    kube::v1::Pod pod = BarePod();
    Annotate(pod, "scheduling.volcano.sh/queue-name", name);
    EXPECT_EQ(GroupBody(pod, {}, {}).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(PodGroupingTest, OnlyLiveUnboundPlainPodsNeedAGroup) {
  EXPECT_TRUE(NeedsGroup(BarePod()));
  kube::v1::Pod bound = BarePod();
  bound.set_group_name("g");
  kube::v1::Pod finished = BarePod();
  finished.set_phase(kube::v1::POD_PHASE_SUCCEEDED);
  kube::v1::Pod going = BarePod();
  going.set_deletion_ms(1);
  kube::v1::Pod jobs = BarePod();
  jobs.set_job_name("j");
  for (const kube::v1::Pod& pod : {bound, finished, going, jobs}) EXPECT_FALSE(NeedsGroup(pod));
}

TEST(PodGroupingTest, OwnersAreTakenByGroupAndKind) {
  kube::v1::Pod pod = OwnedPod();
  pod.mutable_grouping()->mutable_owner_references(0)->set_api_version("example.com/v1");
  EXPECT_TRUE(AnnotatedOwners(pod).empty());
  EXPECT_EQ(AnnotatedOwners(OwnedPod()).size(), 1U);
}

}  // namespace
}  // namespace basalt::pgsvc
