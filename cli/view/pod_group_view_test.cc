#include "cli/view/pod_group_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/view/table.h"
#include "common/kube/timestamp.h"

namespace basalt::cli {
namespace {

using podgroup::v1::PodGroupHistoryEntry;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

podgroup::v1::PodGroup Made() {
  podgroup::v1::PodGroup group;
  kube::v1::PodGroup& object = *group.mutable_object();
  object.mutable_meta()->set_namespace_("default");
  object.mutable_meta()->set_name("train-uid");
  object.mutable_meta()->set_uid("pg-1");
  object.mutable_meta()->set_creation_ms(1'000);
  object.mutable_spec()->set_queue("research");
  object.mutable_spec()->set_min_member(3);
  object.set_phase("Running");
  return group;
}

TEST(PodGroupViewTest, GroupsStandInATableAndOneThatIsMissingSaysSo) {
  podgroup::v1::ListPodGroupsResponse groups;
  *groups.add_pod_groups() = Made();
  kube::v1::PodCounts& counts = *groups.mutable_pod_groups(0)->mutable_object()->mutable_counts();
  counts.set_running(2);
  counts.set_succeeded(3);
  counts.set_failed(1);
  kube::v1::ObjectMeta& meta = *groups.add_pod_groups()->mutable_object()->mutable_meta();
  meta.set_namespace_("default");
  meta.set_name("podgroup-x");
  EXPECT_EQ(FormatPodGroups(groups, /*with_namespace=*/false, 61'000, {}),
            "NAME         PROFILE   STATUS     QUEUE      MINMEMBER   RUNNING   SUCCEEDED   FAILED   AGE\n"
            "train-uid    compat    Running    research   3           2         3           1        60s\n"
            "podgroup-x   compat    not made   -          0           0         0           0        -\n");
  EXPECT_THAT(FormatPodGroups(groups, /*with_namespace=*/true, 61'000, {}), HasSubstr("default     train-uid"));
}

TEST(PodGroupViewTest, OneIsToldWithWhatHoldsItUp) {
  podgroup::v1::PodGroup group = Made();
  EXPECT_THAT(FormatPodGroup(group, 61'000, {}), AllOf(HasSubstr("Pod group default/train-uid: Running\n"),
                                                       HasSubstr("Queue       research\n"), Not(HasSubstr("Failing"))));
  group.set_allocated_failing_since_time(kube::ToTimestamp(1'000).release());
  group.set_allocated_retry_time(kube::ToTimestamp(2'000).release());
  kube::v1::PodGroupCondition& condition = *group.mutable_object()->add_conditions();
  condition.set_type("Unschedulable");
  condition.set_message("3 nodes are full\n");
  condition.set_last_transition_ms(5'000);
  group.mutable_object()->mutable_counts()->set_failed(4);
  EXPECT_THAT(FormatPodGroup(group, 61'000, {}),
              AllOf(HasSubstr("Failing     since "), HasSubstr("Running     0\nSucceeded   0\nFailed      4\n"),
                    HasSubstr(FormatTime(5'000)), HasSubstr("3 nodes are full?")));
}

TEST(PodGroupViewTest, OneOfKaisHasThePhaseOfItsPodsAndItsWholeSpec) {
  podgroup::v1::PodGroup group = Made();
  group.set_profile(podgroup::v1::PROFILE_KAI);
  group.mutable_object()->clear_phase();
  group.mutable_members()->set_phase(podgroup::v1::GroupMembers::PHASE_PENDING);
  group.mutable_members()->set_pending(2);
  group.mutable_members()->set_succeeded(5);
  group.set_spec_json(R"({"minMember":3,"queue":"a\nb","subGroups":[{"name":"x"}]})");
  EXPECT_THAT(FormatPodGroup(group, 61'000, {}),
              AllOf(HasSubstr("Pod group default/train-uid: Pending\n"), HasSubstr("Profile     kai\n"),
                    HasSubstr("Pods        Pending; 2 pending, 5 succeeded\n"), HasSubstr("Succeeded   5\n"),
                    HasSubstr("Spec\n  minMember: 3\n  queue: a?b\n  subGroups: [{\"name\":\"x\"}]\n")));
  EXPECT_THAT(FormatPodGroupChange(group), HasSubstr("default/train-uid (kai)  Pending"));
}

TEST(PodGroupViewTest, AChangeIsOneLine) {
  podgroup::v1::PodGroup group = Made();
  EXPECT_EQ(FormatPodGroupChange(group), "default/train-uid  Running  queue research, min member 3\n");
  group.mutable_object()->mutable_meta()->set_deletion_ms(2'000);
  EXPECT_EQ(FormatPodGroupChange(group), "default/train-uid  Running, being deleted  queue research, min member 3\n");
  EXPECT_THAT(FormatPodGroup(group, 61'000, {}), HasSubstr("Pod group default/train-uid: Running, being deleted\n"));
  group.mutable_object()->mutable_meta()->clear_deletion_ms();
  group.mutable_object()->mutable_meta()->clear_uid();
  group.set_pods(2);
  group.set_allocated_failing_since_time(kube::ToTimestamp(1'000).release());
  EXPECT_THAT(FormatPodGroupChange(group),
              HasSubstr("default/train-uid  not made  pods of no job: 2  failing since 1970-01-01"));
}

TEST(PodGroupViewTest, AHistorySaysWhatWasDecidedForWhomAndWhy) {
  podgroup::v1::PodGroupHistory history;
  PodGroupHistoryEntry& updated = *history.add_entries();
  updated.set_sequence(1);
  updated.set_decision(PodGroupHistoryEntry::DECISION_UPDATED);
  updated.set_asked_by("job train");
  updated.set_version(2);
  updated.set_uid("pg-1");
  updated.add_fields("minMember");
  updated.add_fields("minResources");
  PodGroupHistoryEntry& refused = *history.add_entries();
  refused.set_sequence(2);
  refused.set_decision(PodGroupHistoryEntry::DECISION_REFUSED);
  refused.set_message("no\tquota");
  EXPECT_THAT(FormatPodGroupHistory(history, {}),
              AllOf(HasSubstr("updated    job train   2         pg-1   minMember, minResources\n"),
                    HasSubstr("refused    -           -         -      no?quota\n"), Not(HasSubstr("Gone"))));
  history.set_allocated_gone_time(kube::ToTimestamp(5'000).release());
  EXPECT_THAT(FormatPodGroupHistory(history, {}), HasSubstr("Gone since "));
}

}  // namespace
}  // namespace basalt::cli
