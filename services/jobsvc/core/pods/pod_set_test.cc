#include "services/jobsvc/core/pods/pod_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "common/base/random.h"
#include "services/jobsvc/core/pods/status_facts.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc {
namespace {

using testing::MakePod;

PodSet Two() { return testing::MakePodSet({{"a", 2}, {"a-1", 3}}); }

TEST(PodSetTest, NamesMeanIndicesUnambiguously) {
  PodSet pods = Two();
  EXPECT_EQ(pods.PlaceOf("j-a-1"), (PodIndex{0, 1}));
  EXPECT_EQ(pods.PlaceOf("j-a-1-0"), (PodIndex{1, 0}));
  EXPECT_EQ(pods.PlaceOf("j-a-2"), (PodIndex{0, -1}));   // Surplus.
  EXPECT_EQ(pods.PlaceOf("j-a-01"), (PodIndex{0, -1}));  // We do not write an index like this.
  EXPECT_EQ(pods.PlaceOf("j-b-0"), (PodIndex{-1, -1}));
  EXPECT_EQ(pods.PlaceOf("other-a-0"), (PodIndex{-1, -1}));
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
  EXPECT_TRUE(pods.to_delete().empty());
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

TEST(PodSetTest, APodOfAnOlderVersionIsTerminatingUntilItIsGoneAndARetainedOneStays) {
  PodSet pods = Two();
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  pods.Apply(MakePod("j-a-1", "u1", kube::v1::POD_PHASE_FAILED));
  PodRules rules;
  rules.version = 1;
  pods.SetRules(rules);
  EXPECT_EQ(pods.counts().terminating(), 1);
  EXPECT_EQ(pods.counts().failed(), 1);
  EXPECT_EQ(pods.to_delete(), (std::set<std::string>{"j-a-0"}));
  rules.delete_terminal_below = 1;
  pods.SetRules(rules);
  EXPECT_EQ(pods.to_delete().size(), 2u);
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
  EXPECT_EQ(pods.to_mark().size(), 1u);
  EXPECT_TRUE(pods.to_delete().empty());
  auto marked = MakePod("j-a-0", "u0", kube::v1::POD_PHASE_FAILED);
  marked.set_out_of_sync(true);
  pods.Apply(marked);
  EXPECT_TRUE(pods.to_mark().empty());
  EXPECT_EQ(pods.to_delete().size(), 1u);
  EXPECT_TRUE(pods.HasTargetsLeft());
  pods.Remove("j-a-0", "u0");
  EXPECT_FALSE(pods.HasTargetsLeft());
}

// A status that somebody wrote by hand may contain this.
TEST(PodSetTest, ATargetWithoutAUidIsNoIndexWithoutAPod) {
  PodSet pods = Two();
  PodRules rules;
  rules.targets = {""};
  pods.SetRules(rules);
  EXPECT_FALSE(pods.HasTargetsLeft());
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  EXPECT_FALSE(pods.HasTargetsLeft());
  pods.Remove("j-a-0", "u0");
  EXPECT_FALSE(pods.HasTargetsLeft());
}

TEST(PodSetTest, AStaleEndOfAnotherUidChangesNothing) {
  PodSet pods = Two();
  pods.Apply(MakePod("j-a-0", "new", kube::v1::POD_PHASE_RUNNING));
  const PodChange change = pods.Remove("j-a-0", "old");
  EXPECT_FALSE(change.before.present());
  EXPECT_EQ(pods.counts().running(), 1);
}

// The end of a surplus pod is not reported, so nothing would act on it once its index is back.
TEST(PodSetTest, WhatFailedWhileItWasSurplusIsMarkedAlsoWhenItsIndexIsBack) {
  PodSet pods = testing::MakePodSet({{"a", 4}});
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-1", "u1", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-2", "u2", kube::v1::POD_PHASE_RUNNING));
  pods.Apply(MakePod("j-a-3", "u3", kube::v1::POD_PHASE_RUNNING));
  pods.SetTasks({{"a", 1}});
  EXPECT_EQ(pods.to_mark(), (std::set<std::string>{"j-a-1", "j-a-2", "j-a-3"}));
  // The state is the one from before: its end was reported when it came.
  pods.Apply(MakePod("j-a-1", "u1", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-2", "u2", kube::v1::POD_PHASE_FAILED));
  pods.Apply(MakePod("j-a-3", "u3", kube::v1::POD_PHASE_SUCCEEDED));
  pods.SetTasks({{"a", 4}});
  EXPECT_EQ(pods.to_mark(), (std::set<std::string>{"j-a-2"}));
  pods.Apply(MakePod("j-a-2", "u2", kube::v1::POD_PHASE_FAILED));
  EXPECT_EQ(pods.to_mark(), (std::set<std::string>{"j-a-2"})) << "as long as it lives";
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
  EXPECT_TRUE(pods.to_mark().empty()) << "another pod";
}

void ExpectSameAsRecount(const PodSet& pods) {
  const auto [counts, tasks] = pods.Recount();
  ASSERT_EQ(counts.SerializeAsString(), pods.counts().SerializeAsString());
  ASSERT_EQ(tasks, pods.task_counts());
  // The sets are compared with those of a fresh PodSet that never knew another shape or other rules.
  PodSet fresh;
  fresh.Reset("j", testing::kJobUid);
  pods.ForEach([&](const std::string& name, PodIndex, const PodEntry& entry) {
    storage::v1::PodRecord record;
    record.set_uid(entry.uid);
    record.set_phase(entry.phase);
    record.set_flags(entry.flags);
    record.set_version(entry.version);
    record.set_restarts(entry.restarts);
    fresh.Restore(name, record);
  });
  fresh.SetTasks(pods.tasks());
  fresh.SetRules(pods.rules());
  for (size_t task = 0; task < pods.done().size(); ++task) {
    for (int32_t index : pods.done()[task]) fresh.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
  ASSERT_EQ(fresh.facts().startable(), pods.facts().startable());
  for (size_t task = 0; task < pods.tasks().size(); ++task) {
    const TaskShape& shape = pods.tasks()[task];
    ASSERT_EQ(pods.facts().IsReady(static_cast<int32_t>(task)), tasks[task].ready >= shape.needed);
  }
  ASSERT_EQ(fresh.missing(), pods.missing());
  ASSERT_EQ(fresh.to_mark(), pods.to_mark());
  ASSERT_EQ(fresh.to_delete(), pods.to_delete());
  ASSERT_EQ(fresh.held(), pods.held());
  ASSERT_EQ(fresh.known(), pods.known());
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

// A status that was written for the pods of an earlier time.
struct ReportedStatus {
  void Write(PodSet& pods) {
    counts.clear_task_status_count();
    PutCounts(pods.counts(), pods.task_counts(), pods.tasks(), counts);
    done.clear();
    for (size_t task = 0; task < pods.done().size(); ++task) {
      if (!pods.done()[task].empty()) done[pods.tasks()[task].name] = pods.done()[task];
    }
    pods.SetReported(counts, done);
  }
  kube::v1::JobStatus counts;
  std::map<std::string, std::set<int32_t>> done;
};

// Expects MatchesReported() exactly if a new status would be the same, word for word.
void ExpectReportedAsWritten(const ReportedStatus& reported, PodSet& pods) {
  if (!pods.has_reported()) pods.SetReported(reported.counts, reported.done);
  PodSet copy = pods;
  ReportedStatus again;
  again.Write(copy);
  again.counts.clear_counts();
  kube::v1::JobStatus before = reported.counts;
  before.clear_counts();
  ASSERT_EQ(pods.MatchesReported(),
            again.counts.SerializeAsString() == before.SerializeAsString() && again.done == reported.done);
}

TEST(PodSetTest, WhatIsToldIsSoUntilItChangesAndAgainOnceItIsBack) {
  PodSet pods = Two();
  EXPECT_FALSE(pods.MatchesReported()) << "nothing was";
  pods.Apply(MakePod("j-a-0", "u0", kube::v1::POD_PHASE_RUNNING));
  ReportedStatus reported;
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

TEST(PodSetTest, IncrementalCountersEqualARecountOnRandomHistories) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    PodSet pods = Two();
    PodRules rules;
    ReportedStatus reported;
    std::map<std::string, std::string> uids;
    for (int step = 0; step < 300; ++step) {
      const std::string task = random.OneIn(2) ? "a" : "a-1";
      const std::string name = random.OneIn(12) ? "j-odd" : fmt::format("j-{}-{}", task, random.Uniform(5));
      switch (random.Uniform(12)) {
        case 0:
        case 1:
          if (uids.contains(name)) {
            pods.Remove(name, uids[name]);
            uids.erase(name);
          }
          break;
        case 2:
          rules.version += static_cast<int32_t>(random.Uniform(2));
          if (random.OneIn(3)) rules.delete_terminal_below = rules.version;
          rules.kill_all = random.OneIn(5);
          rules.targets.clear();
          if (random.OneIn(3) && !uids.empty()) rules.targets.insert(uids.begin()->second);
          pods.SetRules(rules);
          break;
        case 3:
          pods.SetTasks({{"a", static_cast<int32_t>(random.Uniform(5)), 2, 1},
                         {"a-1", static_cast<int32_t>(random.Uniform(5)), 0, 2, {0}},
                         {"b", 1, 0, 0, {0, 1}, random.OneIn(2)},
                         {"c", 1, 0, 0, {-1, 0}}});
          break;
        default: {
          if (!uids.contains(name)) uids[name] = fmt::format("u{}", step);
          auto pod = MakePod(name, uids[name], static_cast<kube::v1::PodPhase>(random.Uniform(6)),
                             static_cast<int32_t>(random.Uniform(static_cast<uint64_t>(rules.version) + 1)));
          if (random.OneIn(8)) pod.set_owner_uid("somebody");
          if (random.OneIn(6)) pod.set_deletion_ms(1);
          if (random.OneIn(6)) pod.set_out_of_sync(true);
          pod.set_all_ready(random.OneIn(2));
          pod.set_restarts(static_cast<int32_t>(random.Uniform(4)));
          pods.Apply(pod);
          break;
        }
      }
      ExpectSameAsRecount(pods);
      if (HasFatalFailure()) return;
      ExpectReportedAsWritten(reported, pods);
      if (random.OneIn(4)) reported.Write(pods);
    }
  }
}

}  // namespace
}  // namespace basalt::jobsvc
