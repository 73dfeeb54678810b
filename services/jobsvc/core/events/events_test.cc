#include "services/jobsvc/core/events/events.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

constexpr auto kPending = kube::v1::POD_PHASE_PENDING;
constexpr auto kRunning = kube::v1::POD_PHASE_RUNNING;
constexpr auto kSucceeded = kube::v1::POD_PHASE_SUCCEEDED;
constexpr auto kFailed = kube::v1::POD_PHASE_FAILED;

class EventsTest : public ::testing::Test {
 protected:
  static kube::v1::Pod Pod(int index, kube::v1::PodPhase phase) {
    const std::string number = std::to_string(index);
    return testing::MakePod("j-t-" + number, "u" + number, phase);
  }
  std::vector<std::string> See(const kube::v1::Pod& pod, int status_version = 0, int max_retry = 3) {
    const PodChange change = pods_.Apply(pod);
    return Names(EventsOf(change, {pod.deletion_ms(), pod.finished_ms(), 0, pod.reason()}, GoneReason::kNotGone,
                          status_version, 2, max_retry, 1000));
  }
  std::vector<std::string> Lose(int index, GoneReason reason = GoneReason::kDeleted, int status_version = 0) {
    const std::string number = std::to_string(index);
    const PodChange change = pods_.Remove("j-t-" + number, "u" + number);
    return Names(EventsOf(change, {}, reason, status_version, 2, 3, 1000));
  }
  static std::vector<std::string> Names(const std::vector<JobEvent>& events) {
    std::vector<std::string> names;
    for (const JobEvent& event : events) names.emplace_back(event.kind);
    return names;
  }
  using List = std::vector<std::string>;
  PodSet pods_ = testing::MakePodSet({{"t", 2}});
};

TEST_F(EventsTest, TheEventFollowsFromTheRealPhaseHoweverThePodIsFirstSeen) {
  EXPECT_EQ(See(Pod(0, kPending)), List{"PodPending"});
  EXPECT_EQ(See(Pod(0, kRunning)), List{"PodRunning"});
  EXPECT_EQ(See(Pod(0, kRunning)), List{});
  EXPECT_EQ(See(Pod(1, kFailed)), List{"PodFailed"});  // The pod failed while nobody observed it.
  EXPECT_EQ(See(Pod(1, kFailed)), List{});
}

TEST_F(EventsTest, AFactIsAtTheEndOfItsSecondOrWhenItIsSeen) {
  EXPECT_EQ(LatestTimeOf(5000, 5300), 5300);
  EXPECT_EQ(LatestTimeOf(5000, 9000), 6000);
  EXPECT_EQ(LatestTimeOf(5400, 9000), 5400) << "this one is exact";
  EXPECT_EQ(LatestTimeOf(12000, 9000), 9000) << "a node's clock is ahead";
  EXPECT_EQ(LatestTimeOf(0, 9000), 9000) << "nobody knows";
}

// The clock of a node may differ from ours.
TEST_F(EventsTest, AnEndIsNeverBeforeThePodWasMadeOrWasLastKnownToBeAlive) {
  struct Row {
    const char* what;
    int64_t finished_ms;
    int64_t creation_ms;
    int64_t alive_ms;
    int64_t time_ms;
    bool observed;
  };
  constexpr int64_t kNow = 100'500;
  const Row rows[] = {
      {"nobody looked, and the time can be", 50'000, 10'000, 40'000, 51'000, false},
      {"within the second in which it was alive", 50'000, 10'000, 50'900, 51'000, false},
      {"before it was made", 5'000, 10'000, 0, kNow, true},
      {"before it was last known to be alive", 50'000, 10'000, 60'000, kNow, true},
      {"under our eyes, and reported a moment later", 97'000, 10'000, kNow, kNow, false},
      {"under our eyes, by a clock that is slow", 50'000, 10'000, kNow, kNow, true},
      {"under our eyes, by a clock that is fast", 200'000, 10'000, kNow, kNow, false},
      {"no container says when", 0, 10'000, 40'000, kNow, true},
  };
  for (const Row& row : rows) {
    for (const auto phase : {kFailed, kSucceeded}) {
      SCOPED_TRACE(row.what);
      pods_ = testing::MakePodSet({{"t", 1}});
      See(Pod(0, kRunning));
      const PodFacts facts{.finished_ms = row.finished_ms, .creation_ms = row.creation_ms, .alive_ms = row.alive_ms};
      const auto events = EventsOf(pods_.Apply(Pod(0, phase)), facts, GoneReason::kNotGone, 0, 1, 3, kNow);
      ASSERT_EQ(Names(events), List{phase == kFailed ? "PodFailed" : "TaskCompleted"});
      EXPECT_EQ(events[0].time_ms, row.time_ms);
      EXPECT_EQ(events[0].stated_ms, LatestTimeOf(row.finished_ms, kNow));
      EXPECT_EQ(events[0].observed, row.observed);
    }
  }
}

TEST_F(EventsTest, ATaskIsCompletedWhenItsLastPodSucceeds) {
  EXPECT_EQ(See(Pod(0, kSucceeded)), List{});
  EXPECT_EQ(See(Pod(1, kSucceeded)), List{"TaskCompleted"});
  EXPECT_EQ(See(Pod(1, kSucceeded)), List{});
}

TEST_F(EventsTest, ASuccessUnderDeletionCompletesItsTaskOnceThePodIsGone) {
  auto last = Pod(1, kSucceeded);
  last.set_deletion_ms(500);
  See(Pod(1, kRunning));
  EXPECT_EQ(See(Pod(0, kSucceeded)), List{});
  EXPECT_EQ(See(last), List{}) << "it is counted as terminating";
  EXPECT_EQ(Lose(1), List{"TaskCompleted"});
  EXPECT_EQ(Lose(0), List{}) << "it was completed before";
}

TEST_F(EventsTest, APodThatIsGoneCompletesNoTaskThatIsNotDoneOrIsKilled) {
  auto first = Pod(0, kSucceeded);
  first.set_deletion_ms(500);
  See(Pod(0, kRunning));
  See(first);
  EXPECT_EQ(Lose(0), List{});
  auto last = Pod(1, kSucceeded);
  last.set_deletion_ms(500);
  See(last);
  PodRules rules;
  rules.kill_all = true;
  pods_.SetRules(rules);
  EXPECT_EQ(Lose(1), List{});
}

TEST_F(EventsTest, ADeletedPodWasEvictedUnlessItWasOursToDeleteOrDone) {
  See(Pod(0, kRunning));
  EXPECT_EQ(Lose(0), List{"PodEvicted"});
  See(Pod(0, kRunning));
  EXPECT_EQ(Lose(0, GoneReason::kLeft), List{});
  See(Pod(0, kSucceeded));
  EXPECT_EQ(Lose(0), List{});  // W19
  auto marked = Pod(1, kRunning);
  marked.set_out_of_sync(true);
  EXPECT_EQ(See(marked), List{});
  EXPECT_EQ(Lose(1), List{});  // W4
}

TEST_F(EventsTest, AFailureUnderEvictionIsAnEviction) {
  for (const int64_t finished : {500, 0}) {
    See(Pod(0, kRunning));
    auto pod = Pod(0, kFailed);
    pod.set_finished_ms(finished);
    pod.set_deletion_ms(500);
    EXPECT_EQ(See(pod), List{"PodEvicted"});
  }
  pods_.AddFlag("j-t-0", kPodEvictionSeen);
  EXPECT_EQ(Lose(0), List{});  // The event is raised once.
}

TEST_F(EventsTest, AFailureThatKubernetesCallsAnEvictionIsOne) {
  struct Row {
    const char* what;
    PodFacts facts;
    const char* event;
    const char* reason;
    int64_t time_ms;
  };
  const Row rows[] = {
      {"by itself", {.finished_ms = 400, .reason = "Error"}, "PodFailed", "Error", 400},
      {"preempted",
       {.finished_ms = 400, .reason = "Error", .disruption_reason = "PreemptionByScheduler", .disruption_ms = 300},
       "PodEvicted",
       "PreemptionByScheduler",
       400},
      {"on a node that is lost, where no container ends",
       {.disruption_reason = "DeletionByTaintManager", .disruption_ms = 300},
       "PodEvicted",
       "DeletionByTaintManager",
       300},
      {"by itself, and marked afterwards",
       {.finished_ms = 400, .reason = "Error", .disruption_reason = "EvictionByEvictionAPI", .disruption_ms = 401},
       "PodFailed",
       "Error",
       400},
      {"by the kubelet of before 1.26", {.finished_ms = 400, .reason = "Evicted"}, "PodEvicted", "Evicted", 400},
      {"the same, as upstream reads it",
       {.finished_ms = 400, .reason = "Evicted", .reads_evictions = false},
       "PodFailed",
       "Evicted",
       400},
      {"preempted, as upstream reads it",
       {.finished_ms = 400,
        .reason = "Error",
        .disruption_reason = "PreemptionByScheduler",
        .disruption_ms = 300,
        .reads_evictions = false},
       "PodFailed",
       "PreemptionByScheduler",
       400},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    pods_ = testing::MakePodSet({{"t", 2}});
    See(Pod(0, kRunning));
    kube::v1::Pod pod = Pod(0, kFailed);
    pod.set_exit_code(137);
    const auto events = EventsOf(pods_.Apply(pod), row.facts, GoneReason::kNotGone, 0, 2, 3, 900);
    ASSERT_EQ(Names(events), List{row.event});
    EXPECT_EQ(events[0].reason, row.reason);
    EXPECT_EQ(events[0].time_ms, row.time_ms);
    EXPECT_EQ(events[0].exit_code, events[0].kind == kEventPodFailed ? 137 : 0);
    EXPECT_TRUE(pods_.Apply(pod).after.present());
  }
}

TEST_F(EventsTest, APodThatIsGoneWasEvictedByWhatItsLastStateSays) {
  const std::pair<PodFacts, std::string_view> rows[] = {
      {{.reason = "", .disruption_reason = "EvictionByEvictionAPI"}, "EvictionByEvictionAPI"},
      {{.reason = "Error"}, "Error"},
      {{}, ""},
      {{.is_seen = false}, kReasonUnknown},
      {{.disruption_reason = "PreemptionByScheduler", .is_seen = false}, "PreemptionByScheduler"},
  };
  for (const auto& [facts, reason] : rows) {
    See(Pod(0, kRunning));
    const auto events = EventsOf(pods_.Remove("j-t-0", "u0"), facts, GoneReason::kDeleted, 0, 2, 3, 900);
    ASSERT_EQ(Names(events), List{"PodEvicted"});
    EXPECT_EQ(events[0].reason, reason);
  }
}

TEST_F(EventsTest, AFailureBeforeTheDeletionStaysAFailure) {
  See(Pod(0, kRunning));
  auto pod = Pod(0, kFailed);
  pod.set_finished_ms(499);
  pod.set_deletion_ms(500);
  EXPECT_EQ(See(pod), List{"PodFailed"});
  EXPECT_EQ(See(pod), List{});
  EXPECT_EQ(Lose(0), List{"PodEvicted"}) << "it had not succeeded";
}

TEST_F(EventsTest, ATaskFailsOnTheCrossingOnly) {
  auto pod = Pod(0, kRunning);
  See(pod);
  pod.set_restarts(2);
  EXPECT_EQ(See(pod), List{});
  pod.set_restarts(3);
  EXPECT_EQ(See(pod), List{"TaskFailed"});
  pod.set_restarts(4);
  EXPECT_EQ(See(pod), List{});
  auto other = Pod(1, kRunning);
  other.set_restarts(9);
  EXPECT_EQ(See(other), List{"PodRunning"});  // The sum had crossed before.
}

TEST_F(EventsTest, PodsOfAnOlderVersionRaiseNothing) {
  PodRules rules;
  rules.version = 1;
  pods_.SetRules(rules);
  EXPECT_EQ(See(Pod(0, kFailed), 1), List{});
  EXPECT_EQ(Lose(0, GoneReason::kDeleted, 1), List{});
}

TEST_F(EventsTest, AFailureIsToldOnceWithItsExitCode) {
  See(Pod(0, kRunning));
  auto pod = Pod(0, kFailed);
  pod.set_exit_code(7);
  for (const size_t count : {1u, 0u}) {
    const auto events = EventsOf(pods_.Apply(pod), {}, GoneReason::kNotGone, 0, 2, 3, 1000);
    ASSERT_EQ(events.size(), count);
    if (count == 0) continue;
    EXPECT_EQ(events[0].kind, kEventPodFailed);
    EXPECT_EQ(events[0].exit_code, 7);
  }
}

// Upstream reports only the phase here, but a crossing is raised once (W31).
TEST_F(EventsTest, WhoeverRunsOrIsPendingMayHaveRestartedTooOften) {
  for (const auto& [phase, name] : {std::pair(kRunning, "PodRunning"), std::pair(kPending, "PodPending")}) {
    pods_ = testing::MakePodSet({{"t", 2}});
    See(Pod(0, kube::v1::POD_PHASE_UNKNOWN));
    auto pod = Pod(0, phase);
    pod.set_restarts(3);
    EXPECT_EQ(See(pod), (List{"TaskFailed", name}));
    EXPECT_EQ(See(pod), List{});
    See(Pod(1, phase));
    auto other = Pod(1, phase);
    other.set_restarts(1);
    EXPECT_EQ(See(other, 0, 4), List{"TaskFailed"}) << "the sum of both";
  }
}

TEST_F(EventsTest, ATargetThatIsFirstSeenUnderItsKillRaisesNothing) {
  PodRules rules;
  rules.targets = {"u0"};
  pods_.SetRules(rules);
  EXPECT_EQ(See(Pod(0, kFailed)), List{}) << "it was answered, or goes with what was";
  EXPECT_EQ(See(Pod(1, kFailed)), List{"PodFailed"});
}

TEST_F(EventsTest, AMarkedPodRaisesNothing) {
  for (const auto phase : {kPending, kRunning, kSucceeded, kFailed}) {
    pods_ = testing::MakePodSet({{"t", 1}});
    See(Pod(0, kube::v1::POD_PHASE_UNKNOWN));
    auto pod = Pod(0, phase);
    pod.set_out_of_sync(true);
    pod.set_restarts(9);
    EXPECT_EQ(See(pod), List{}) << phase;
  }
}

TEST_F(EventsTest, APodFailsAndSucceedsFromEveryPhase) {
  for (const auto before : {kPending, kRunning, kube::v1::POD_PHASE_UNKNOWN}) {
    pods_ = testing::MakePodSet({{"t", 2}});
    See(Pod(0, before));
    See(Pod(1, before));
    EXPECT_EQ(See(Pod(0, kFailed)), List{"PodFailed"}) << before;
    pods_.Remove("j-t-0", "u0");
    See(Pod(0, kSucceeded));
    EXPECT_EQ(See(Pod(1, kSucceeded)), List{"TaskCompleted"}) << before;
  }
}

TEST_F(EventsTest, UnlimitedRetriesNeverFailATask) {
  auto pod = Pod(0, kRunning);
  pod.set_restarts(100);
  EXPECT_EQ(See(pod, 0, -1), List{"PodRunning"});
}

JobEvent Event(std::string_view kind, int task = 0, int exit_code = 0) {
  JobEvent event;
  event.kind = kind;
  event.task = task;
  event.exit_code = exit_code;
  return event;
}

void AddPolicy(google::protobuf::RepeatedPtrField<kube::v1::LifecyclePolicy>* list, const std::string& action,
               const std::string& event, int exit_code = 0) {
  auto* policy = list->Add();
  policy->set_action(action);
  if (!event.empty()) policy->add_events(event);
  if (exit_code != 0) policy->set_exit_code(exit_code);
}

TEST(PoliciesTest, TheTasksPoliciesComeFirstAndTheJobsAreTheFallback) {
  kube::v1::JobSpec spec;
  spec.add_tasks()->set_name("t");
  AddPolicy(spec.mutable_tasks(0)->mutable_policies(), "RestartTask", "PodFailed");
  AddPolicy(spec.mutable_policies(), "AbortJob", "PodFailed");
  AddPolicy(spec.mutable_policies(), "RestartJob", "PodEvicted");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodFailed)).action, "RestartTask");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodFailed)).rule, "spec.tasks[0].policies[0]");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodEvicted)).action, "RestartJob");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventTaskCompleted)).action, "");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventUnknown, -1)).action, "");
}

TEST(PoliciesTest, PendingWithoutATimeoutIsPassedOver) {
  kube::v1::JobSpec spec;
  AddPolicy(spec.mutable_policies(), "AbortJob", "PodPending");
  AddPolicy(spec.mutable_policies(), "RestartPod", "*");
  spec.mutable_policies(1)->set_timeout_ms(1000);
  const PolicyMatch match = ApplyPolicies(spec, Event(kEventPodPending));
  EXPECT_EQ(match.rule, "spec.policies[1]");
  EXPECT_EQ(match.timeout_ms, 1000);
}

TEST(PoliciesTest, ExitCodesAndTheWildcardMatchInOrder) {
  kube::v1::JobSpec spec;
  AddPolicy(spec.mutable_policies(), "RestartPod", "", 3);
  AddPolicy(spec.mutable_policies(), "TerminateJob", "*");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodFailed, -1, 3)).action, "RestartPod");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodFailed, -1, 4)).action, "TerminateJob");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodFailed, -1, 2)).action, "TerminateJob");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventTaskCompleted)).action, "TerminateJob");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventUnknown, -1)).action, "TerminateJob");
  for (const auto event : {kEventPodEvicted, kEventTaskFailed}) {
    EXPECT_EQ(ApplyPolicies(spec, Event(event)).action, "TerminateJob") << event;
  }
  // PodRunning and OutOfSync are internal; PodPending needs a timeout.
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodRunning)).action, "");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventOutOfSync)).action, "");
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodPending)).action, "");
  spec.mutable_policies(1)->set_timeout_ms(0);
  EXPECT_EQ(ApplyPolicies(spec, Event(kEventPodPending)).action, "TerminateJob");
}

TEST(PoliciesTest, EventsAreJudgedInTheOrderOfTheFacts) {
  JobEvent a = Event(kEventPodFailed);
  JobEvent b = a;
  a.stated_ms = 1;
  b.stated_ms = 2;
  EXPECT_TRUE(Earlier(a, b));
  b.stated_ms = 1;
  b.index = 1;
  a.index = 0;
  EXPECT_TRUE(Earlier(a, b));
  EXPECT_FALSE(Earlier(b, a));
}

}  // namespace
}  // namespace basalt::jobsvc
