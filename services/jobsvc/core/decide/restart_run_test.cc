#include "services/jobsvc/core/decide/restart_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "common/kube/text.h"
#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobPhase;
using storage::v1::PendingAction;

std::string NameOf(int task, int index) { return fmt::format("j-{}-{}", static_cast<char>('a' + task), index); }

// Returns a running job with tasks a, b, … of this many pods each. The UID of a pod is its name.
testing::DecideFacts FactsOf(int tasks, int pods, kube::v1::PodPhase phase = kube::v1::POD_PHASE_FAILED) {
  std::vector<TaskShape> shape;
  for (int t = 0; t < tasks; ++t) shape.push_back({std::string(1, static_cast<char>('a' + t)), pods});
  testing::DecideFacts facts(shape);
  for (int t = 0; t < tasks; ++t) {
    for (int i = 0; i < pods; ++i) facts.pods.Apply(testing::MakePod(NameOf(t, i), NameOf(t, i), phase));
  }
  return facts;
}

PendingAction Ask(std::string_view action, int task, int index, std::string_view event = "PodFailed") {
  PendingAction asked;
  asked.set_event(std::string(event));
  asked.set_action(std::string(action));
  asked.set_task(std::string(1, static_cast<char>('a' + task)));
  asked.set_index(index);
  asked.set_pod(NameOf(task, index));
  asked.set_pod_uid(NameOf(task, index));
  asked.set_subject(fmt::format("pod {}", asked.pod()));
  asked.set_rule("spec.policies[0]");
  return asked;
}

void FollowStatus(const Decision& decision, testing::DecideFacts& facts) {
  *facts.job.mutable_status() = decision.status;
  facts.persisted = ReadControlledState(decision.status);
  facts.pods.SetRules(RulesOf(decision.status, facts.persisted));
  facts.pods.SetReported(decision.status, facts.persisted.done);
  for (const PodIndex& place : decision.again) facts.pods.SetSucceededGone(place, false);
  facts.unreported_answered.clear();
}

TEST(RestartRunTest, TwoThousandPodsAreOneWriteThatIsToldOnce) {
  constexpr int kPods = 2000;
  testing::DecideFacts facts = FactsOf(1, kPods);
  facts.job.mutable_status()->set_min_available(kPods);
  for (int i = 0; i < kPods; ++i) *facts.pending.Add() = Ask("RestartPod", 0, i);
  const Decision decision = Decide(facts.Input());
  EXPECT_EQ(decision.dropped, 0);
  EXPECT_EQ(decision.consumed, kPods);
  EXPECT_EQ(decision.status.phase(), kube::v1::JOB_PHASE_RESTARTING);
  EXPECT_EQ(decision.status.retry_count(), 1);
  EXPECT_EQ(decision.status.counts().terminating(), kPods);
  const ControlledState state = ReadControlledState(decision.status);
  EXPECT_EQ(state.kill->targets.size(), static_cast<size_t>(kPods));
  EXPECT_EQ(state.kill->cause, "PodFailed pod j-a-0");
  ASSERT_EQ(state.answered.size(), kMostAnswered);
  EXPECT_EQ(state.answered.back(), "j-a-1999");
  EXPECT_EQ(decision.history.outcome(), "kill of 2000 pods for 2000 events");
  EXPECT_EQ(decision.history.subject(), "pod j-a-0, pod j-a-1, pod j-a-2 and 1997 more");
  ASSERT_EQ(decision.pending_events.size(), 1U);
  EXPECT_EQ(decision.pending_events[0].message,
            "RestartPod because of PodFailed (pod j-a-0, pod j-a-1, pod j-a-2 and 1997 more)");
}

// Checks which waiting actions go together: `consumed` of the first decision, and its history.
TEST(RestartRunTest, LikeActionsInARowGoTogether) {
  const auto with = [](PendingAction action, auto change) {
    change(action);
    return action;
  };
  const PendingAction evicted = Ask("RestartPod", 0, 1, "PodEvicted");
  struct Row {
    const char* name;
    std::vector<PendingAction> pending;
    int consumed;
    const char* outcome;
    const char* subject;
    const char* rule = "spec.policies[0]";
    int exit_code = 0;
  };
  const Row rows[] = {
      {"one", {Ask("RestartPod", 0, 0)}, 1, "kill of 1 pod", "pod j-a-0"},
      {"two pods",
       {Ask("RestartPod", 0, 0), Ask("RestartPod", 1, 2)},
       2,
       "kill of 2 pods for 2 events",
       "pod j-a-0, pod j-b-2"},
      {"the same pod twice", {Ask("RestartPod", 0, 0), Ask("RestartPod", 0, 0)}, 2, "kill of 1 pod", "pod j-a-0"},
      {"one that has another pod by now",
       {Ask("RestartPod", 0, 0), with(Ask("RestartPod", 0, 1), [](auto& it) { it.set_pod_uid("before"); }),
        Ask("RestartPod", 0, 2)},
       1,
       "kill of 1 pod",
       "pod j-a-0"},
      {"two kinds of events, by two rules",
       {Ask("RestartPod", 0, 0), with(evicted, [](auto& it) { it.set_rule("spec.policies[1]"); })},
       2,
       "kill of 2 pods for 2 events (PodEvicted 1, PodFailed 1)",
       "pod j-a-0, pod j-a-1 (PodEvicted)",
       "spec.policies[0] and 1 more"},
      {"the same exit code",
       {with(Ask("RestartPod", 0, 0), [](auto& it) { it.set_exit_code(3); }),
        with(Ask("RestartPod", 0, 1), [](auto& it) { it.set_exit_code(3); })},
       2,
       "kill of 2 pods for 2 events",
       "pod j-a-0, pod j-a-1",
       "spec.policies[0]",
       3},
      {"two exit codes",
       {with(Ask("RestartPod", 0, 0), [](auto& it) { it.set_exit_code(3); }),
        with(Ask("RestartPod", 0, 1), [](auto& it) { it.set_exit_code(4); })},
       2,
       "kill of 2 pods for 2 events",
       "pod j-a-0, pod j-a-1"},
      {"two tasks, one of them twice",
       {Ask("RestartTask", 0, 0), Ask("RestartTask", 0, 1), Ask("RestartTask", 1, 2)},
       3,
       "kill of 6 pods for 2 events",
       "pod j-a-0, pod j-b-2"},
      {"another action behind it",
       {Ask("RestartPod", 0, 0), Ask("RestartPod", 0, 1), Ask("RestartTask", 1, 0), Ask("RestartPod", 0, 2)},
       2,
       "kill of 2 pods for 2 events",
       "pod j-a-0, pod j-a-1"},
      {"a command behind it",
       {Ask("RestartPod", 0, 0), with(Ask("RestartPod", 0, 1), [](auto& it) { it.set_command_uid("c"); })},
       1,
       "kill of 1 pod",
       "pod j-a-0"},
      {"behind a command",
       {with(Ask("RestartPod", 0, 0), [](auto& it) { it.set_command_uid("c"); }), Ask("RestartPod", 0, 1)},
       1,
       "kill of 1 pod",
       "pod j-a-0"},
      {"of no version",
       {Ask("RestartPod", 0, 0), with(Ask("RestartPod", 0, 1), [](auto& it) { it.set_version(-1); })},
       1,
       "kill of 1 pod",
       "pod j-a-0"},
      {"due, and moot",
       {Ask("RestartPod", 0, 0), with(Ask("RestartPod", 0, 1, "PodPending"), [](auto& it) { it.set_due_ms(1); })},
       1,
       "kill of 1 pod",
       "pod j-a-0"},
      {"due",
       {Ask("RestartPod", 0, 0), with(Ask("RestartPod", 0, 1), [](auto& it) { it.set_due_ms(1); })},
       2,
       "kill of 2 pods for 2 events",
       "pod j-a-0, pod j-a-1"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    testing::DecideFacts facts = FactsOf(2, 3);
    facts.job.mutable_status()->set_min_available(6);
    for (const PendingAction& action : row.pending) *facts.pending.Add() = action;
    const Decision decision = Decide(facts.Input());
    EXPECT_EQ(decision.consumed, row.consumed);
    EXPECT_EQ(decision.status.retry_count(), 1);
    EXPECT_EQ(decision.history.outcome(), row.outcome);
    EXPECT_EQ(decision.history.subject(), row.subject);
    EXPECT_EQ(decision.history.rule(), row.rule);
    EXPECT_EQ(decision.history.exit_code(), row.exit_code);
    EXPECT_EQ(decision.pending_events.size(), 1U);
  }
}

TEST(RestartRunTest, PartitionsGoTogether) {
  std::vector<TaskShape> shape = {{"a", 6}};
  shape[0].partition_size = 2;
  testing::DecideFacts facts(shape);
  for (int i = 0; i < 6; ++i)
    facts.pods.Apply(testing::MakePod(NameOf(0, i), NameOf(0, i), kube::v1::POD_PHASE_FAILED));
  facts.job.mutable_status()->set_min_available(6);
  for (const int index : {0, 1, 4}) {
    PendingAction& asked = *facts.pending.Add() = Ask("RestartPartition", 0, index);
    asked.set_partition(index / 2);
  }
  const Decision decision = Decide(facts.Input());
  EXPECT_EQ(decision.consumed, 3);
  EXPECT_EQ(decision.history.outcome(), "kill of 4 pods for 2 events");
  EXPECT_EQ(ReadControlledState(decision.status).kill->targets,
            (std::set<std::string>{"j-a-0", "j-a-1", "j-a-4", "j-a-5"}));
}

TEST(RestartRunTest, AKillTakesNoMorePodsThanAStatusCanName) {
  constexpr auto kPods = static_cast<int>(kMostTargets) + 2;
  testing::DecideFacts facts = FactsOf(1, kPods);
  facts.job.mutable_status()->set_min_available(kPods);
  for (int i = 0; i < kPods; ++i) *facts.pending.Add() = Ask("RestartPod", 0, i);
  const Decision decision = Decide(facts.Input());
  EXPECT_EQ(decision.consumed, kPods - 2);
  EXPECT_EQ(ReadControlledState(decision.status).kill->targets.size(), kMostTargets);
}

// Checks for six pods of ten how many actions each write consumes, and the phase and the retries after it.
TEST(RestartRunTest, RetriesAreSpentAsByOneRestartAfterTheOther) {
  struct Row {
    int min_available;
    int max_retry;
    JobPhase phase;
    const char* course;
  };
  constexpr JobPhase kRunning = kube::v1::JOB_PHASE_RUNNING;
  constexpr JobPhase kRestarting = kube::v1::JOB_PHASE_RESTARTING;
  const Row rows[] = {
      {10, 3, kRunning, "6 Restarting 1"},
      {10, 3, kRestarting, "6 Restarting 0"},
      {10, 1, kRunning, "1 Restarting 1, 1 Failed 1"},
      {10, 0, kRestarting, "1 Failed 0"},
      // Enough pods are left at any time: Restarting and Pending take turns.
      {1, 100, kRunning, "5 Restarting 3, 1 Pending 3"},
      {1, 100, kRestarting, "6 Restarting 3"},
      {1, 3, kRunning, "5 Restarting 3, 1 Failed 3"},
      {1, 2, kRunning, "3 Restarting 2, 1 Failed 2"},
      {1, 2, kRestarting, "4 Restarting 2, 1 Failed 2"},
      // Enough pods are left until four of them go: the fifth restart finds the job Restarting, as does the sixth.
      {6, 100, kRunning, "6 Restarting 3"},
  };
  for (const Row& row : rows) {
    testing::DecideFacts facts = FactsOf(1, 10);
    facts.job.mutable_status()->set_min_available(row.min_available);
    facts.job.mutable_status()->set_phase(row.phase);
    facts.spec.set_max_retry(row.max_retry);
    for (int i = 0; i < 6; ++i) *facts.pending.Add() = Ask("RestartPod", 0, i);
    std::string course;
    while (!facts.pending.empty()) {
      const Decision decision = Decide(facts.Input());
      if (decision.consumed == 0) break;
      course += fmt::format("{}{} {} {}", course.empty() ? "" : ", ", decision.consumed,
                            kube::JobPhaseName(decision.status.phase()), decision.status.retry_count());
      FollowStatus(decision, facts);
      facts.pending.DeleteSubrange(0, decision.dropped + decision.consumed);
    }
    EXPECT_EQ(course, row.course) << row.min_available << " of 10, maxRetry " << row.max_retry;
  }
}

// Returns the state of the job once all actions are carried out.
std::string EndOf(const testing::DecideFacts& facts) {
  const kube::v1::JobStatus& status = facts.job.status();
  std::string text = fmt::format("{} {}, {};", kube::JobPhaseName(status.phase()), status.retry_count(),
                                 status.counts().ShortDebugString());
  if (facts.persisted.kill) {
    for (const std::string& uid : facts.persisted.kill->targets) text += " " + uid;
  }
  for (const auto& [task, indices] : facts.persisted.done)
    text += fmt::format("; {} done: {}", task, FormatRanges(indices));
  return text;
}

std::set<std::string> AnsweredBy(const testing::DecideFacts& facts) {
  std::set<std::string> answered(facts.persisted.answered.begin(), facts.persisted.answered.end());
  answered.insert(facts.unreported_answered.begin(), facts.unreported_answered.end());
  return answered;
}

// Decides until nothing waits, with this many of the waiting actions at a time. Returns the number of writes.
int CarryOut(testing::DecideFacts& facts, int at_a_time) {
  PendingActions all;
  all.Swap(&facts.pending);
  int writes = 0;
  while (!all.empty()) {
    facts.pending.Clear();
    for (int i = 0; i < std::min(at_a_time, all.size()); ++i) *facts.pending.Add() = all.Get(i);
    const Decision decision = Decide(facts.Input());
    for (const std::string& uid : decision.answered) AddAnswered(uid, facts.unreported_answered);
    if (decision.dropped + decision.consumed == 0) break;
    all.DeleteSubrange(0, decision.dropped + decision.consumed);
    if (decision.consumed == 0) continue;  // The write of a plain sync comes after all of them.
    FollowStatus(decision, facts);
    ++writes;
  }
  facts.pending.Clear();
  return writes;
}

TEST(RestartRunTest, TheEndIsThatOfOneWriteForEach) {
  int saved = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SeededRandom random(seed);
    const auto tasks = static_cast<int>(1 + random.Uniform(3));
    const auto pods = static_cast<int>(1 + random.Uniform(5));
    testing::DecideFacts facts = FactsOf(tasks, pods);
    auto& status = *facts.job.mutable_status();
    status.set_min_available(static_cast<int32_t>(random.Uniform(static_cast<uint64_t>(tasks * pods) + 1)));
    status.set_phase(random.OneIn(3)   ? kube::v1::JOB_PHASE_RESTARTING
                     : random.OneIn(2) ? kube::v1::JOB_PHASE_PENDING
                                       : kube::v1::JOB_PHASE_RUNNING);
    facts.spec.set_max_retry(static_cast<int32_t>(random.OneIn(2) ? random.Uniform(4) : 100));
    const char* const actions[] = {"RestartPod", "RestartTask", "AbortJob"};
    const size_t usual = random.Uniform(2);
    for (int i = 0; i < 12; ++i) {
      const auto task = static_cast<int>(random.Uniform(static_cast<uint64_t>(tasks)));
      const auto index = static_cast<int>(random.Uniform(static_cast<uint64_t>(pods)));
      const size_t action = random.OneIn(20) ? 2 : random.OneIn(8) ? 1 - usual : usual;
      const bool evicted = random.OneIn(5);
      PendingAction asked = Ask(actions[action], task, index, evicted ? "PodEvicted" : "PodFailed");
      if (evicted && random.OneIn(2)) {
        facts.pods.Remove(asked.pod(), asked.pod_uid());
        if (random.OneIn(3)) facts.pods.SetSucceededGone({task, index}, true);
      }
      if (random.OneIn(20)) asked.set_version(-1);
      *facts.pending.Add() = std::move(asked);
    }
    testing::DecideFacts one_by_one = facts;
    const int writes = CarryOut(facts, 12);
    const int most = CarryOut(one_by_one, 1);
    ASSERT_EQ(EndOf(facts), EndOf(one_by_one)) << "seed " << seed;
    ASSERT_LE(writes, most);
    const std::set<std::string> answered = AnsweredBy(facts);
    for (const std::string& uid : AnsweredBy(one_by_one)) ASSERT_TRUE(answered.contains(uid)) << "seed " << seed;
    saved += most - writes;
  }
  EXPECT_GT(saved, 1000);
}

}  // namespace
}  // namespace basalt::jobsvc
