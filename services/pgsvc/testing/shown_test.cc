// The published states and the history of groups by the rules of all kinds, in either form.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = GroupDecision::Kind;

class ShownTest : public ::testing::TestWithParam<kube::GroupProfile> {
 protected:
  void SetUp() override { rig_.Start(); }

  PodGroupController& controller() { return dynamic_cast<PodGroupController&>(rig_.any_controller()); }
  std::string RoutingKey() { return kube::NamespaceKey("default", GetParam()); }
  std::string KeyOf(const std::string& group) { return kube::ShownGroupKey("default", group, GetParam()); }
  // Returns "1 for Job j": a decision and the object that it was for.
  std::vector<std::string> History(const std::string& group) {
    std::vector<std::string> texts;
    const auto history = controller().records().Read(SlotOf(RoutingKey()), KeyOf(group));
    if (!history.ok() || !*history) return texts;
    for (const auto& entry : (*history)->entries) {
      texts.push_back(fmt::format("{} for {}", static_cast<int>(entry.decision()), entry.asked_by()));
      if (!entry.message().empty()) texts.back() += ": " + entry.message();
      for (const std::string& field : entry.fields()) texts.back() += " " + field;
    }
    return texts;
  }
  // Returns the names of the groups that a watch gets if it begins now, with their revisions.
  std::map<std::string, int64_t> Watched() {
    std::map<std::string, int64_t> revisions;
    controller().ForEachShown(SlotOf(RoutingKey()), [&](const std::string& key, runtime::Shown& shown, bool is_seen) {
      if (is_seen) revisions[key] = shown.revision;
    });
    return revisions;
  }

  NamespaceRig rig_{RuleOptions(), GetParam()};
};

std::string NameOf(const ::testing::TestParamInfo<kube::GroupProfile>& info) {
  return info.param == kube::GroupProfile::kKai ? "Kai" : "Rich";
}

INSTANTIATE_TEST_SUITE_P(Each, ShownTest, ::testing::Values(kube::GroupProfile::kRich, kube::GroupProfile::kKai),
                         NameOf);

TEST_P(ShownTest, AGroupIsShownAsItIsAndWithItsPods) {
  const std::string group = rig_.MakeDatabase();
  const auto shown = controller().Show(KeyOf(group));
  ASSERT_TRUE(shown);
  EXPECT_EQ(static_cast<int>(shown->profile()), static_cast<int>(GetParam()));
  EXPECT_EQ(shown->object().meta().name(), group);
  EXPECT_EQ(shown->object().spec().min_member(), 1);
  EXPECT_EQ(shown->pods(), 1);
  EXPECT_EQ(shown->members().pending(), 1);
  EXPECT_EQ(shown->spec_json().empty(), GetParam() == kube::GroupProfile::kRich);
  EXPECT_FALSE(controller().Show(KeyOf("none")));
}

TEST_P(ShownTest, WhatIsDecidedIsHistory) {
  const std::string group = rig_.MakeDatabase();
  EXPECT_THAT(History(group), ElementsAre("1 for StatefulSet db"));
  rig_.Annotate(kube::kStatefulSets, "db", "volcano.sh/x", "y");
  rig_.Run(absl::Seconds(5));
  EXPECT_THAT(History(group), ElementsAre("1 for StatefulSet db", "2 for StatefulSet db annotations"));
  rig_.Kill();
  rig_.Start();
  rig_.Run(absl::Seconds(5));
  EXPECT_THAT(History(group).size(), 2u) << "a restart decides nothing";
}

TEST_P(ShownTest, ARefusalIsHistoryInItsWordsOnce) {
  rig_.Refuse(NamespaceRig::IsOfGroup, 403, "Forbidden", "the quota is used up");
  rig_.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  rig_.MakePod("db-0", &kube::kStatefulSets, "db");
  rig_.Run(absl::Minutes(1));
  const std::string group = "pg-db-" + rig_.UidOf(kube::kStatefulSets, "db");
  EXPECT_THAT(History(group), ElementsAre(HasSubstr("4 for StatefulSet db: ")));
  const auto shown = controller().Show(KeyOf(group));
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->object().meta().uid().empty()) << "pods want it";
  EXPECT_TRUE(shown->has_failing_since_time());
}

TEST_P(ShownTest, AWatchIsToldOfEachChangeAndOfTheEnd) {
  const std::string group = rig_.MakeDatabase();
  const int64_t first = Watched()[KeyOf(group)];
  EXPECT_GT(first, 0);
  rig_.MakePod("db-1", &kube::kStatefulSets, "db");
  rig_.Run(absl::Seconds(5));
  EXPECT_GT(Watched()[KeyOf(group)], first) << "it has one pod more";
  rig_.server().Delete(kube::kStatefulSets, "default", "db");
  for (const char* pod : {"db-0", "db-1"}) rig_.server().Delete(kube::kPods, "default", pod);
  rig_.server().Delete(rig_.GroupKind(), "default", group);
  rig_.Run(absl::Minutes(1));
  EXPECT_THAT(Watched(), IsEmpty());
  const auto history = controller().records().Read(SlotOf(RoutingKey()), KeyOf(group));
  ASSERT_TRUE(history.ok() && *history);
  EXPECT_GT((*history)->gone_ms, 0) << "the history has an end";
}

TEST_P(ShownTest, AWatchIsToldWhatThePodsDo) {
  const std::string group = rig_.MakeDatabase();
  const int64_t first = Watched()[KeyOf(group)];
  rig_.server().Merge(kube::kPods, "default", "db-0", json::object{{"status", json::object{{"phase", "Running"}}}},
                      "status");
  rig_.Run(absl::Seconds(5));
  EXPECT_GT(Watched()[KeyOf(group)], first);
  EXPECT_EQ(controller().Show(KeyOf(group))->members().phase(), podgroup::v1::GroupMembers::PHASE_RUNNING);
}

TEST_P(ShownTest, AGroupThatGoesWhileNobodyLooksIsToldAsGone) {
  const std::string group = rig_.MakeDatabase();
  rig_.Kill();
  rig_.server().Delete(kube::kStatefulSets, "default", "db");
  rig_.server().Delete(kube::kPods, "default", "db-0");
  rig_.server().Delete(rig_.GroupKind(), "default", group);
  rig_.Start();
  rig_.Run(absl::Seconds(30));
  EXPECT_THAT(Watched(), IsEmpty());
  const auto history = controller().records().Read(SlotOf(RoutingKey()), KeyOf(group));
  ASSERT_TRUE(history.ok() && *history);
  EXPECT_GT((*history)->gone_ms, 0);
}

TEST_P(ShownTest, WhereNothingChangesNothingIsTold) {
  const std::string group = rig_.MakeDatabase();
  const int64_t before = Watched()[KeyOf(group)];
  rig_.Kill();
  rig_.Start();
  rig_.Run(absl::Seconds(30));
  EXPECT_EQ(Watched()[KeyOf(group)], before);
}

}  // namespace
}  // namespace basalt::pgsvc
