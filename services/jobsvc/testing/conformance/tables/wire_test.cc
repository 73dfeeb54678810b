// Each event and each action of a policy in its wire form (job spec 1.9): refused, or carried out when the event
// happens.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

class JobWords : public ConformanceTest {
 public:
  void SetGroup(const std::string& phase) {
    kube().SetGroupPhase("default/" + Group().meta().name(), phase);
    Wait();
  }
  bool IsRefusedFor(std::string_view word) {
    return Status().reason() == "InvalidJob" &&
           Status().message().find(fmt::format("'{}'", word)) != std::string::npos && kube().pods().empty();
  }
  std::string UidOfPod(int index) { return UidOf(fmt::format("j-t0-{}", index)); }
};

struct WordRow {
  std::string id;  // The word on the wire.
  std::function<void(JobWords&)> then;
};

// ---- events: the policy answers with AbortJob ----
class EventWordTest : public JobWords, public ::testing::WithParamInterface<WordRow> {};

TEST_P(EventWordTest, IsAnsweredWhenItHappens) {
  const std::string& word = GetParam().id;
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 2), word == "Any" ? "*" : word, "AbortJob");
  if (word == "PodPending") job.mutable_spec()->mutable_policies(0)->set_timeout_ms(60'000);
  Begin(job);
  GetParam().then(*this);
}

void ExpectEnds(JobWords& w) { EXPECT_EQ(w.Phase(), kAborted); }
void ExpectGoesOn(JobWords& w) {
  EXPECT_FALSE(w.kube().pods().empty());
  EXPECT_TRUE(w.Phase() == kPending || w.Phase() == kRunning);
  EXPECT_EQ(w.Status().version(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Events, EventWordTest,
    ::testing::Values(WordRow{"Any",
                              [](JobWords& w) {
                                w.kube().SetAllPods(kPodRunning);
                                w.Wait();
                                ExpectGoesOn(w);
                                w.Pod(0, kPodFailed, 1);
                                ExpectEnds(w);
                              }},
                      WordRow{"PodPending",
                              [](JobWords& w) {
                                w.Pod(0, kPodRunning);
                                ExpectGoesOn(w);
                                w.rig().Run(absl::Minutes(1));
                                ExpectEnds(w);
                              }},
                      WordRow{"PodRunning", [](JobWords& w) { EXPECT_TRUE(w.IsRefusedFor("PodRunning")); }},
                      WordRow{"PodFailed",
                              [](JobWords& w) {
                                w.Pod(1, kPodSucceeded);
                                ExpectGoesOn(w);
                                w.Pod(0, kPodFailed, 1);
                                ExpectEnds(w);
                              }},
                      WordRow{"PodEvicted",
                              [](JobWords& w) {
                                w.Pod(0, kPodFailed, 1);
                                ExpectGoesOn(w);
                                w.kube().RemovePod("default/j-t0-1");
                                w.Wait();
                                ExpectEnds(w);
                              }},
                      WordRow{"Unknown",
                              [](JobWords& w) {
                                w.SetGroup("Running");
                                ExpectGoesOn(w);
                                w.SetGroup("Unknown");
                                ExpectEnds(w);
                              }},
                      WordRow{"TaskCompleted",
                              [](JobWords& w) {
                                w.Pod(0, kPodSucceeded);
                                ExpectGoesOn(w);
                                w.Pod(1, kPodSucceeded);
                                ExpectEnds(w);
                              }},
                      WordRow{"TaskFailed",
                              [](JobWords& w) {
                                w.kube().SetAllPods(kPodRunning);
                                w.Wait();
                                for (int restarts = 1; restarts <= 3; ++restarts) {
                                  ExpectGoesOn(w);
                                  w.kube().EditPod("default/j-t0-0",
                                                   [&](kube::v1::Pod& p) { p.set_restarts(restarts); });
                                  w.Wait();
                                }
                                ExpectEnds(w);
                              }},
                      WordRow{"JobUpdated",
                              [](JobWords& w) {
                                EXPECT_EQ(w.Status().reason(), "SpecWarning");
                                w.kube().EditJob("default/j", [](kube::v1::Job& job) {
                                  job.mutable_spec()->mutable_tasks(0)->set_replicas(3);
                                });
                                w.Wait();
                                EXPECT_EQ(w.kube().pods().size(), 3u);
                                ExpectGoesOn(w);
                              }},
                      WordRow{"OutOfSync", [](JobWords& w) { EXPECT_TRUE(w.IsRefusedFor("OutOfSync")); }},
                      WordRow{"CommandIssued", [](JobWords& w) { EXPECT_TRUE(w.IsRefusedFor("CommandIssued")); }}),
    [](const auto& row) { return row.param.id; });

// A PodGroup that becomes anything but Unknown raises nothing that a policy could answer.
TEST_F(JobWords, AChangeOfTheGroupsPhaseHasNoName) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "*", "AbortJob"));
  for (const char* phase : {"Running", "Inqueue", "Completed", "Pending", ""}) {
    SetGroup(phase);
    ExpectGoesOn(*this);
  }
}

// ---- actions: the answer to PodFailed of pod 1 of four, partitions of two ----
class ActionWordTest : public JobWords, public ::testing::WithParamInterface<WordRow> {
 protected:
  void SetUp() override {
    kube::v1::Job job = WithPolicy(MakeJob("j", 1, 4), "PodFailed", GetParam().id);
    auto* partitions = job.mutable_spec()->mutable_tasks(0)->mutable_partition_policy();
    partitions->set_total_partitions(2);
    partitions->set_partition_size(2);
    job.mutable_spec()->set_min_available(1);
    Begin(job);
  }
};

TEST_P(ActionWordTest, IsCarriedOutOrRefused) { GetParam().then(*this); }

// Makes a row in which the job ends in that phase.
WordRow Ends(std::string id, kube::v1::JobPhase phase) {
  return {std::move(id), [phase](JobWords& w) {
            w.kube().SetAllPods(kPodRunning);
            w.Wait();
            w.Pod(1, kPodFailed, 1);
            EXPECT_EQ(w.Phase(), phase);
            EXPECT_EQ(w.Status().version(), 1);
            EXPECT_EQ(w.Status().retry_count(), 0);
          }};
}

// Makes a row in which these pods are made again, and no others.
WordRow Restarts(std::string id, std::vector<int> again, int version) {
  return {std::move(id), [again = std::move(again), version](JobWords& w) {
            w.kube().SetAllPods(kPodRunning);
            w.Wait();
            std::vector<std::string> before;
            for (int i = 0; i < 4; ++i) before.push_back(w.UidOfPod(i));
            w.Pod(1, kPodFailed, 1);
            ASSERT_EQ(w.kube().pods().size(), 4u);
            std::vector<int> changed;
            for (int i = 0; i < 4; ++i) {
              if (w.UidOfPod(i) != before[static_cast<size_t>(i)]) changed.push_back(i);
            }
            EXPECT_EQ(changed, again);
            EXPECT_EQ(w.Status().version(), version);
            EXPECT_EQ(w.Status().retry_count(), 1);
          }};
}

WordRow IsRefused(std::string id) {
  return {id, [word = id](JobWords& w) { EXPECT_TRUE(w.IsRefusedFor(word)) << w.Status().message(); }};
}

INSTANTIATE_TEST_SUITE_P(Actions, ActionWordTest,
                         ::testing::Values(Ends("AbortJob", kAborted), Restarts("RestartJob", {0, 1, 2, 3}, 1),
                                           Ends("TerminateJob", kube::v1::JOB_PHASE_TERMINATED),
                                           Ends("CompleteJob", kCompleted),
                                           WordRow{"ResumeJob",
                                                   [](JobWords& w) {
                                                     w.Pod(0, kPodRunning);
                                                     w.Pod(1, kPodFailed, 1);
                                                     ExpectGoesOn(w);  // Nothing was suspended.
                                                   }},
                                           Restarts("RestartTask", {0, 1, 2, 3}, 0), Restarts("RestartPod", {1}, 0),
                                           Restarts("RestartPartition", {0, 1}, 0), IsRefused("SyncJob"),
                                           IsRefused("EnqueueJob"), IsRefused("SyncQueue"), IsRefused("OpenQueue"),
                                           IsRefused("CloseQueue")),
                         [](const auto& row) { return row.param.id; });

}  // namespace
}  // namespace basalt::jobsvc::testing
