#include "services/jobsvc/core/pods/pod_set.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc {
namespace {

using testing::MakePod;

PodSet Two() { return testing::MakePodSet({{"a", 2}, {"a-1", 3}}); }

TEST(PodSetTest, NamesMeanIndicesUnambiguously) {
  PodSet pods = Two();
  EXPECT_EQ(pods.shape().PlaceOf("j-a-1"), (PodIndex{0, 1}));
  EXPECT_EQ(pods.shape().PlaceOf("j-a-1-0"), (PodIndex{1, 0}));
  EXPECT_EQ(pods.shape().PlaceOf("j-a-2"), (PodIndex{0, -1}));   // Surplus.
  EXPECT_EQ(pods.shape().PlaceOf("j-a-01"), (PodIndex{0, -1}));  // We do not write an index like this.
  EXPECT_EQ(pods.shape().PlaceOf("j-b-0"), (PodIndex{-1, -1}));
  EXPECT_EQ(pods.shape().PlaceOf("other-a-0"), (PodIndex{-1, -1}));
  EXPECT_EQ(pods.missing().size(), 5u);
}

TEST(PodSetTest, AForeignPodHoldsANameAndIsNeitherCountedNorTouched) {
  PodSet pods = Two();
  auto foreign = MakePod("j-a-0", "f", kube::v1::POD_PHASE_RUNNING);
  foreign.set_owner_uid("somebody");
  pods.Apply(foreign);
  EXPECT_EQ(pods.counts().running(), 0);
  EXPECT_EQ(pods.missing().size(), 4u);
  EXPECT_EQ(pods.held().size(), 1u);
  PodRules rules;
  rules.kill_all = true;
  pods.SetRules(rules);
  EXPECT_TRUE(pods.removals().to_delete().empty());
}

TEST(PodSetTest, RestartsOfManyPodsAreSummedWhateverEachPodTells) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  PodSet pods = Two();
  for (const char* const name : {"j-a-0", "j-a-1"}) {
    auto pod = MakePod(name, name, kube::v1::POD_PHASE_RUNNING);
    pod.set_restarts(kMost);
    pods.Apply(pod);
  }
  EXPECT_EQ(pods.task_counts()[0].restarts, 2 * int64_t{kMost});
  auto pod = MakePod("j-a-0", "j-a-0", kube::v1::POD_PHASE_RUNNING);
  pod.set_restarts(std::numeric_limits<int32_t>::min());
  pods.Apply(pod);
  EXPECT_EQ(pods.task_counts()[0].restarts, -1);
  pods.Remove("j-a-0", "j-a-0");
  EXPECT_EQ(pods.task_counts()[0].restarts, kMost);
}

TEST(PodSetTest, AForeignPodThatNobodyOwnsIsToldApart) {
  PodSet pods = Two();
  auto pod = MakePod("j-a-0", "f", kube::v1::POD_PHASE_RUNNING);
  pod.set_owner_uid("somebody");
  pods.Apply(pod);
  EXPECT_FALSE(pods.Find("j-a-0")->has(kPodOrphan));
  pod.clear_owner_uid();
  pod.set_resource_version(pod.resource_version() + 1);
  pods.Apply(pod);
  EXPECT_TRUE(pods.Find("j-a-0")->has(kPodOrphan));
  EXPECT_TRUE(pods.Find("j-a-0")->has(kPodForeign));
}

TEST(PodSetTest, APodThatDoesNotSayItsVersionOrTaskIsForeign) {
  for (const bool version : {true, false}) {
    PodSet pods = Two();
    auto pod = MakePod("j-a-0", "u", kube::v1::POD_PHASE_RUNNING);
    if (version) {
      pod.clear_job_version();
    } else {
      pod.clear_task();
    }
    pods.Apply(pod);
    EXPECT_EQ(pods.counts().running(), 0);
    EXPECT_EQ(pods.held().size(), 1u);
  }
}

TEST(PodSetTest, AnOlderPodTerminatesUntilItIsGoneAndARetainedOneStays) {
  PodSet pods = Two();
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  pods.Apply(MakePod("j-a-1", "u1", kube::v1::POD_PHASE_FAILED));
  PodRules rules;
  rules.version = 1;
  pods.SetRules(rules);
  EXPECT_EQ(pods.counts().terminating(), 1);
  EXPECT_EQ(pods.counts().failed(), 1);
  EXPECT_EQ(pods.removals().to_delete(), (std::set<std::string>{"j-a-0"}));
  rules.delete_terminal_below = 1;
  pods.SetRules(rules);
  EXPECT_EQ(pods.removals().to_delete().size(), 2u);
  EXPECT_EQ(pods.counts().terminating(), 2);
  EXPECT_EQ(pods.counts().failed(), 0);
  pods.Remove("j-a-0", "u0");
  EXPECT_EQ(pods.counts().terminating(), 1);
}

TEST(PodSetTest, TargetsAreMarkedBeforeTheyAreDeleted) {
  PodSet pods = Two();
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_FAILED));
  PodRules rules;
  rules.targets = {"u0"};
  pods.SetRules(rules);
  EXPECT_EQ(pods.removals().to_mark().size(), 1u);
  EXPECT_TRUE(pods.removals().to_delete().empty());
  auto marked = MakePod("j-a-0", "u0", kube::v1::POD_PHASE_FAILED);
  marked.set_out_of_sync(true);
  pods.Apply(marked);
  EXPECT_TRUE(pods.removals().to_mark().empty());
  EXPECT_EQ(pods.removals().to_delete().size(), 1u);
  EXPECT_TRUE(pods.removals().HasTargetsLeft());
  pods.Remove("j-a-0", "u0");
  EXPECT_FALSE(pods.removals().HasTargetsLeft());
}

// A status that somebody wrote by hand may contain this.
TEST(PodSetTest, ATargetWithoutAUidIsNoIndexWithoutAPod) {
  PodSet pods = Two();
  PodRules rules;
  rules.targets = {""};
  pods.SetRules(rules);
  EXPECT_FALSE(pods.removals().HasTargetsLeft());
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  EXPECT_FALSE(pods.removals().HasTargetsLeft());
  pods.Remove("j-a-0", "u0");
  EXPECT_FALSE(pods.removals().HasTargetsLeft());
}

TEST(PodSetTest, AStaleEndOfAnotherUidChangesNothing) {
  PodSet pods = Two();
  pods.Apply(MakePod("j-a-0", "new", kube::v1::POD_PHASE_RUNNING));
  const PodChange change = pods.Remove("j-a-0", "old");
  EXPECT_FALSE(change.before.present());
  EXPECT_EQ(pods.counts().running(), 1);
}

// The end of a surplus pod is not reported, so nothing would act on it once its index is back.
TEST(PodSetTest, AFailureWhileSurplusIsMarkedAlsoOnceItsIndexIsBack) {
  PodSet pods = testing::MakePodSet({{"a", 4}});
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-1", "u1", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-2", "u2", kube::v1::POD_PHASE_RUNNING));
  pods.Apply(MakePod("j-a-3", "u3", kube::v1::POD_PHASE_RUNNING));
  pods.SetTasks({{"a", 1}});
  EXPECT_EQ(pods.removals().to_mark(), (std::set<std::string>{"j-a-1", "j-a-2", "j-a-3"}));
  // The state is the one from before: its end was reported when it came.
  pods.Apply(MakePod("j-a-1", "u1", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-2", "u2", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-3", "u3", kube::v1::POD_PHASE_SUCCEEDED));
  pods.SetTasks({{"a", 4}});
  EXPECT_EQ(pods.removals().to_mark(), (std::set<std::string>{"j-a-2"}));
  pods.Apply(MakePod("j-a-2", "u2", kube::v1::POD_PHASE_FAILED));
  EXPECT_EQ(pods.removals().to_mark(), (std::set<std::string>{"j-a-2"})) << "as long as it lives";
  EXPECT_EQ(pods.counts().failed(), 2) << "it does not decide about the job, as it goes";
  EXPECT_EQ(pods.counts().terminating(), 1);
  PodRules kept = pods.rules();
  kept.version = 1;
  pods.SetRules(kept);
  EXPECT_EQ(pods.counts().failed(), 3) << "an abort has kept it: it goes no more";
  EXPECT_EQ(pods.counts().terminating(), 0);
  kept.version = 0;
  pods.SetRules(kept);
  EXPECT_TRUE(pods.Remove("j-a-2", "u2").was_ours_to_delete) << "also by somebody who is faster";
  pods.Apply(MakePod("j-a-2", "u2-new", kube::v1::POD_PHASE_FAILED));
  EXPECT_TRUE(pods.removals().to_mark().empty()) << "another pod";
}

// A name is not missing if a pod of another run, a pod that is going or a foreign pod has it, but its own pod is not
// there either.
TEST(PodSetTest, ATaskIsWholeOnceItsOwnPodsOfThisRunAreThere) {
  using Start = TaskFacts::Start;
  PodSet pods = testing::MakePodSet(
      {{.name = "a", .replicas = 1, .needed = 1}, {.name = "b", .replicas = 2, .needed = 2, .depends_on = {0}}});
  EXPECT_EQ(pods.facts().StartOf(0), Start::kWhole) << "it depends on no other";
  EXPECT_EQ(pods.facts().StartOf(1), Start::kWaits);
  kube::v1::Pod first = MakePod("j-a-0", "a0", kube::v1::POD_PHASE_RUNNING);
  first.set_all_ready(true);
  pods.Apply(first);
  EXPECT_EQ(pods.facts().StartOf(1), Start::kBeingMade);
  pods.Apply(MakePod("j-b-0", "b0", kube::v1::POD_PHASE_RUNNING));
  kube::v1::Pod foreign = MakePod("j-b-1", "another", kube::v1::POD_PHASE_RUNNING);
  foreign.set_owner_uid("another");
  pods.Apply(foreign);
  EXPECT_EQ(pods.facts().StartOf(1), Start::kBeingMade) << "a foreign pod";
  pods.Remove("j-b-1", "another");
  pods.Apply(MakePod("j-b-1", "b1", kube::v1::POD_PHASE_PENDING));
  EXPECT_EQ(pods.facts().StartOf(1), Start::kWhole);
  kube::v1::Pod going = MakePod("j-b-1", "b1", kube::v1::POD_PHASE_PENDING);
  going.set_deletion_ms(1);
  pods.Apply(going);
  EXPECT_EQ(pods.facts().StartOf(1), Start::kBeingMade) << "it is going";
  pods.Apply(MakePod("j-b-1", "b1-new", kube::v1::POD_PHASE_PENDING));
  EXPECT_EQ(pods.facts().StartOf(1), Start::kWhole);
  PodRules rules;
  rules.version = 1;
  pods.SetRules(rules);
  EXPECT_EQ(pods.facts().StartOf(1), Start::kWaits) << "all are of the run before";
  // A finished pod that stays is there, and so is an index that is done without a pod.
  rules.version = 0;
  pods.SetRules(rules);
  pods.Apply(MakePod("j-b-0", "b0", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-b-1", "b1-new", kube::v1::POD_PHASE_SUCCEEDED));
  pods.Remove("j-b-1", "b1-new");
  EXPECT_EQ(pods.facts().StartOf(1), Start::kWhole);
}

TEST(PodSetTest, AReportedStatusMatchesUntilAChangeAndOnceItIsUndone) {
  PodSet pods = Two();
  EXPECT_FALSE(pods.MatchesReported()) << "nothing was";
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  testing::ReportedStatus reported;
  reported.Write(pods);
  EXPECT_TRUE(pods.MatchesReported());
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_SUCCEEDED));
  EXPECT_FALSE(pods.MatchesReported());
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  EXPECT_TRUE(pods.MatchesReported());
  reported.counts.mutable_task_status_count(0)->set_task("z");
  pods.SetReported(reported.counts, {});
  EXPECT_FALSE(pods.MatchesReported()) << "of a task that is not there";
  reported.counts.clear_task_status_count();
  pods.SetReported(reported.counts, {});
  EXPECT_FALSE(pods.MatchesReported()) << "nothing of a task with pods";
  reported.Write(pods);
  for (const auto& done : {std::map<std::string, std::set<int32_t>>{{"a", {1}}}, {{"a", {}}}, {{"z", {0}}}}) {
    pods.SetReported(reported.counts, done);
    EXPECT_FALSE(pods.MatchesReported()) << "what is not done";
  }
}

}  // namespace
}  // namespace basalt::jobsvc
