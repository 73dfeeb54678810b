#include "services/jobsvc/core/render/pod_group.h"

#include <gtest/gtest.h>

#include "common/kube/resources/min_resources.h"
#include "common/kube/resources/pod_group.h"
#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/effective_spec.h"

namespace basalt::jobsvc {
namespace {

std::string WantedJson(const kube::v1::Job& job) {
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  const auto resources = kube::MinResources(spec, [](std::string_view) { return 0; });
  EXPECT_TRUE(resources.ok());
  return ToText(kube::PodGroupSpecJson(WantedPodGroup(spec, *resources)));
}

TEST(WantedPodGroupTest, FollowsTheJob) {
  kube::v1::Job job =
      TestJob("j", {{"w", 3, R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})"},
                    {"m", 1, R"({"spec":{"containers":[{"name":"c"}]}})"}});
  job.mutable_spec()->mutable_tasks(0)->set_min_available(2);
  job.mutable_spec()->set_priority_class_name("high");
  job.mutable_spec()->set_queue("q");
  ExpectJson(WantedJson(job), R"({"minMember":3,"minTaskMember":{"m":1,"w":2},"queue":"q","priorityClassName":"high",
    "minResources":{"cpu":"2","requests.cpu":"2","pods":"3","count/pods":"3"}})");
}

TEST(WantedPodGroupTest, PartitionsBecomeSubGroups) {
  kube::v1::Job job = TestJob("j", {{"a", 1}, {"w", 6}});
  kube::v1::PartitionPolicy* policy = job.mutable_spec()->mutable_tasks(1)->mutable_partition_policy();
  policy->set_total_partitions(3);
  policy->set_partition_size(2);
  policy->mutable_network_topology()->set_highest_tier_name("rack");
  job.mutable_spec()->mutable_network_topology()->set_mode("soft");
  job.mutable_spec()->mutable_network_topology()->set_highest_tier_allowed(2);
  ExpectJson(WantedJson(job), R"({"minMember":7,"minTaskMember":{"a":1,"w":6},"queue":"default",
    "minResources":{"pods":"7","count/pods":"7"},"networkTopology":{"mode":"soft","highestTierAllowed":2},
    "subGroupPolicy":[{"name":"w","subGroupSize":2,"minSubGroups":0,
      "labelSelector":{"matchLabels":{"volcano.sh/task-spec":"w"}},"matchLabelKeys":["volcano.sh/partition-id"],
      "networkTopology":{"mode":"hard","highestTierName":"rack"}}]})");
}

TEST(WantedPodGroupTest, TheMinimumOfATask) {
  struct Row {
    std::optional<int32_t> min_available;
    int32_t min_partitions;
    int32_t wanted;
  };
  for (const Row& row : {Row{4, 2, 4}, Row{0, 2, 0}, Row{std::nullopt, 2, 4}, Row{std::nullopt, 0, 6},
                         Row{std::nullopt, 2147483647, 2147483647}}) {
    kube::v1::JobSpec spec = TestJob("j", {{"w", 6}}).spec();
    if (row.min_available) spec.mutable_tasks(0)->set_min_available(*row.min_available);
    spec.mutable_tasks(0)->mutable_partition_policy()->set_partition_size(2);
    spec.mutable_tasks(0)->mutable_partition_policy()->set_min_partitions(row.min_partitions);
    EXPECT_EQ(WantedPodGroup(spec, {}).min_task_member(0).min_member(), row.wanted);
  }
}

TEST(WithoutWaitingTest, TheTasksThatDoNotWaitStartAsAGangOfTheirOwn) {
  struct Row {
    int32_t min_member;
    int32_t minimum_a, minimum_b;  // For tasks of 4 and 2 replicas.
    std::vector<bool> waits;
    int32_t left;
    std::vector<std::string> looked_at;  // Tasks whose minimums are in the group.
  };
  const std::vector<std::string> both = {"a", "b"};
  for (const Row& row : {
           Row{6, 4, 2, {}, 6, both},
           Row{6, 4, 2, {false, false}, 6, both},
           Row{6, 4, 2, {false, true}, 4, {"a"}},
           Row{6, 4, 2, {true, false}, 2, {"b"}},
           // The other task's share stays at its minimum if the waiting task can give the rest.
           Row{4, 2, 2, {false, true}, 2, {"a"}},
           Row{4, 2, 1, {false, true}, 2, {"a"}},
           Row{3, 2, 1, {false, true}, 2, {"a"}},
           Row{5, 2, 1, {false, true}, 3, {"a"}},
           Row{6, 2, 1, {false, true}, 4, {"a"}},
           Row{4, 2, 1, {true, false}, 1, {"b"}},
           // The scheduler does not check the minimums of tasks, before or after.
           Row{3, 4, 2, {false, true}, 3, both},
           Row{4, 3, 2, {false, true}, 3, both},
           Row{0, 4, 2, {true, true}, 0, both},
       }) {
    kube::v1::JobSpec spec = TestJob("j", {{"a", 4}, {"b", 2}}).spec();
    spec.set_min_available(row.min_member);
    spec.mutable_tasks(0)->set_min_available(row.minimum_a);
    spec.mutable_tasks(1)->set_min_available(row.minimum_b);
    const kube::v1::PodGroupSpec group = WithoutWaiting(WantedPodGroup(spec, {}), spec, row.waits);
    EXPECT_EQ(group.min_member(), row.left) << row.min_member;
    std::vector<std::string> tasks;
    for (const auto& minimum : group.min_task_member()) tasks.push_back(minimum.task());
    EXPECT_EQ(tasks, row.looked_at) << row.min_member;
  }
}

TEST(WithoutWaitingTest, PartitionsOfATaskThatWaitsAreNoSubgroups) {
  kube::v1::JobSpec spec = TestJob("j", {{"a", 4}, {"b", 4}}).spec();
  for (kube::v1::TaskSpec& task : *spec.mutable_tasks()) {
    task.mutable_partition_policy()->set_total_partitions(2);
    task.mutable_partition_policy()->set_partition_size(2);
  }
  const kube::v1::PodGroupSpec group = WithoutWaiting(WantedPodGroup(spec, {}), spec, {true, false});
  ASSERT_EQ(group.sub_group_policy_size(), 1);
  EXPECT_EQ(group.sub_group_policy(0).name(), "b");
}

using Done = std::vector<std::set<int32_t>>;

TEST(LeftOutTest, ATaskThatTheGroupAsksForIsNotLeftOut) {
  struct Group {
    int32_t min_member;
    std::vector<std::string> named;  // Tasks with the minimums of `spec`.
  };
  struct Row {
    const char* what;
    int32_t min_member;  // Each task has 4 replicas, all of which are its minimum, and b's pods are being made.
    Group observed;
    Done done;
    bool left_out;
  };
  const std::vector<std::string> both = {"a", "b"};
  for (const Row& row : {
           Row{"named", 8, {8, both}, {}, false},
           Row{"not named", 8, {4, {"a"}}, {}, true},
           Row{"named, and work is done", 8, {6, {"a"}}, {{0}}, true},
           Row{"by the number", 6, {6, both}, {}, false},
           Row{"not by the number", 6, {4, both}, {}, true},
           Row{"by the number, and work is done", 6, {4, both}, {{0}, {1}}, false},
           Row{"by the number, and work was done since", 6, {5, both}, {{0}, {1}}, false},
           Row{"not by the number, and work is done", 6, {3, both}, {{0}}, true},
           Row{"by that of a smaller job", 7, {6, both}, {}, false},
           Row{"not by that of a smaller job", 7, {4, both}, {}, true},
           Row{"by that of a job that did not name it", 7, {4, {"a"}}, {}, true},
       }) {
    kube::v1::JobSpec spec = TestJob("j", {{"a", 4}, {"b", 4}}).spec();
    spec.set_min_available(row.min_member);
    kube::v1::PodGroupSpec observed;
    observed.set_min_member(row.observed.min_member);
    for (const std::string& task : row.observed.named) {
      kube::v1::TaskMinimum* const minimum = observed.add_min_task_member();
      minimum->set_task(task);
      minimum->set_min_member(4);
    }
    const std::vector<bool> left_out =
        LeftOut(observed, WantedPodGroup(spec, {}), spec, row.done, {false, false}, {false, true});
    EXPECT_EQ(left_out, (std::vector<bool>{false, row.left_out})) << row.what;
  }
}

TEST(LeftOutTest, WaitingTasksAreLeftOutAndEachBeingMadeIsLookedAtAlone) {
  kube::v1::JobSpec spec = TestJob("j", {{"a", 4}, {"b", 4}, {"c", 1}, {"d", 1}}).spec();
  spec.set_min_available(9);
  kube::v1::PodGroupSpec observed = WithoutWaiting(WantedPodGroup(spec, {}), spec, {false, false, true, true});
  ASSERT_EQ(observed.min_member(), 8);
  EXPECT_EQ(
      LeftOut(observed, WantedPodGroup(spec, {}), spec, {}, {false, false, false, true}, {false, true, true, false}),
      (std::vector<bool>{false, false, true, true}));
}

TEST(WithoutDoneTest, TheRestStartsWhereTheWholeGangWould) {
  struct Row {
    int32_t min_member;
    int32_t minimum_a, minimum_b;  // For tasks of 4 replicas each.
    Done done;
    int32_t left, left_a, left_b;
  };
  for (const Row& row : {
           Row{8, 4, 4, {}, 8, 4, 4},
           Row{8, 4, 4, {{}, {}}, 8, 4, 4},
           Row{8, 4, 4, {{0, 2}, {3}}, 5, 2, 3},
           Row{8, 4, 4, {{0, 1, 2, 3}, {0, 1, 2, 3}}, 0, 0, 0},
           Row{4, 2, 2, {{0}}, 3, 1, 2},
           // More of a task is done than it needs: the other task still starts as one gang.
           Row{4, 1, 3, {{0, 1, 2, 3}}, 3, 0, 3},
           Row{6, 1, 3, {{0, 1}}, 4, 0, 3},
           // The scheduler does not check the minimums of tasks, before or after.
           Row{3, 4, 4, {{0}}, 2, 3, 4},
           Row{3, 4, 4, {{0, 1, 2, 3}}, 0, 0, 4},
       }) {
    kube::v1::JobSpec spec = TestJob("j", {{"a", 4}, {"b", 4}}).spec();
    spec.set_min_available(row.min_member);
    spec.mutable_tasks(0)->set_min_available(row.minimum_a);
    spec.mutable_tasks(1)->set_min_available(row.minimum_b);
    const kube::v1::PodGroupSpec group = WithoutDone(WantedPodGroup(spec, {}), spec, row.done);
    EXPECT_EQ(group.min_member(), row.left) << row.min_member;
    EXPECT_EQ(group.min_task_member(0).min_member(), row.left_a) << row.min_member;
    EXPECT_EQ(group.min_task_member(1).min_member(), row.left_b) << row.min_member;
  }
}

TEST(WithoutDoneTest, ATaskThatWaitsLosesNothing) {
  kube::v1::JobSpec spec = TestJob("j", {{"a", 4}, {"b", 4}}).spec();
  spec.set_min_available(5);
  const std::vector<bool> waits = {false, true};
  const kube::v1::PodGroupSpec group =
      WithoutDone(WithoutWaiting(WantedPodGroup(spec, {}), spec, waits), spec, {{}, {0, 1}}, waits);
  EXPECT_EQ(group.min_member(), 4);
}

TEST(WithoutDoneTest, APartitionCanStillBeMet) {
  struct Row {
    std::set<int32_t> done;
    int32_t size, groups;
  };
  for (const Row& row : {Row{{}, 3, 2}, Row{{1}, 2, 2}, Row{{1, 3, 4}, 1, 2}, Row{{0, 1, 2}, 3, 1},
                         Row{{0, 1, 2, 8}, 2, 1}, Row{{0, 1, 2, 3, 4, 5, 6, 7, 8}, 3, 0}}) {
    kube::v1::JobSpec spec = TestJob("j", {{"w", 9}}).spec();
    kube::v1::PartitionPolicy* policy = spec.mutable_tasks(0)->mutable_partition_policy();
    policy->set_total_partitions(3);
    policy->set_partition_size(3);
    policy->set_min_partitions(2);
    const kube::v1::PodGroupSpec group = WithoutDone(WantedPodGroup(spec, {}), spec, {row.done});
    EXPECT_EQ(group.sub_group_policy(0).sub_group_size(), row.size) << row.done.size();
    EXPECT_EQ(group.sub_group_policy(0).min_sub_groups(), row.groups) << row.done.size();
  }
}

}  // namespace
}  // namespace basalt::jobsvc
