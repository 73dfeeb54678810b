#include "services/jobsvc/core/events/deadlines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

using storage::v1::PendingAction;

// Returns the deadline "<event> <action> <task>/<pod>@<uid>", in partition 0 of version 0.
PendingAction Deadline(std::string event, std::string action, std::string task, std::string pod, std::string uid) {
  PendingAction deadline;
  deadline.set_event(std::move(event));
  deadline.set_action(std::move(action));
  deadline.set_task(std::move(task));
  deadline.set_pod(std::move(pod));
  deadline.set_pod_uid(std::move(uid));
  deadline.set_due_ms(1000);
  return deadline;
}

// Returns the deadlines of these pods as "p: PodFailed RestartPod @u1; …".
std::string TextOf(const DeadlineSet& deadlines, const std::vector<std::string>& pods) {
  std::string text;
  for (const std::string& pod : pods) {
    const PendingAction* it = deadlines.Find(pod);
    if (it != nullptr) text += fmt::format("{}: {} {} @{}; ", pod, it->event(), it->action(), it->pod_uid());
  }
  return text;
}

JobEvent Event(std::string_view kind, std::string pod, std::string uid) {
  JobEvent event;
  event.kind = kind;
  event.pod = std::move(pod);
  event.pod_uid = std::move(uid);
  return event;
}

TEST(DeadlinesTest, APodHasOneAndAnotherActionReplacesIt) {
  DeadlineSet deadlines;
  EXPECT_TRUE(deadlines.Add(Deadline("PodPending", "RestartPod", "t", "p", "u1")));
  EXPECT_FALSE(deadlines.Add(Deadline("PodFailed", "RestartPod", "t", "p", "u1"))) << "it goes on";
  EXPECT_TRUE(deadlines.Add(Deadline("PodPending", "RestartPod", "t", "q", "u2")));
  EXPECT_TRUE(deadlines.Add(Deadline("Unknown", "RestartJob", "", "", "")));
  EXPECT_EQ(TextOf(deadlines, {"p", "q", ""}),
            "p: PodPending RestartPod @u1; q: PodPending RestartPod @u2; : Unknown RestartJob @; ");
  EXPECT_TRUE(deadlines.Add(Deadline("PodEvicted", "AbortJob", "t", "p", "u1")));
  EXPECT_EQ(deadlines.size(), 3u);
  EXPECT_EQ(TextOf(deadlines, {"p"}), "p: PodEvicted AbortJob @u1; ");
  PendingAction of_the_next_run = Deadline("PodFailed", "AbortJob", "t", "p", "u3");
  of_the_next_run.set_version(1);
  EXPECT_TRUE(deadlines.Add(of_the_next_run));
  deadlines.SetVersion(1);
  EXPECT_EQ(deadlines.size(), 1u);
  EXPECT_EQ(TextOf(deadlines, {"p"}), "p: PodFailed AbortJob @u3; ");
}

TEST(DeadlinesTest, ATaskHasOneDeadlineWhicheverPodReportsTheEvent) {
  DeadlineSet deadlines;
  EXPECT_TRUE(deadlines.Add(Deadline("TaskCompleted", "CompleteJob", "t", "p", "u1")));
  EXPECT_FALSE(deadlines.Add(Deadline("TaskCompleted", "CompleteJob", "t", "q", "u2")));
  EXPECT_TRUE(deadlines.Add(Deadline("TaskFailed", "CompleteJob", "t", "q", "u2")));
  EXPECT_TRUE(deadlines.Add(Deadline("TaskCompleted", "CompleteJob", "another", "r", "u3")));
}

TEST(DeadlinesTest, APodThatFollowsAPendingOneHasItsOwn) {
  DeadlineSet deadlines;
  deadlines.Add(Deadline("PodPending", "AbortJob", "t", "p", "u1"));
  EXPECT_TRUE(deadlines.Add(Deadline("PodPending", "AbortJob", "t", "p", "u2")));
  EXPECT_EQ(TextOf(deadlines, {"p"}), "p: PodPending AbortJob @u2; ");
}

TEST(DeadlinesTest, EventsOfThePodCancelIt) {
  struct Row {
    const char* waits;
    const char* event;
    const char* pod;
    const char* uid;
    bool cancelled;
  };
  const Row rows[] = {
      {"PodPending", "PodRunning", "p", "u1", true},  {"PodPending", "PodFailed", "p", "u1", true},
      {"PodPending", "PodEvicted", "p", "u1", true},  {"PodPending", "PodRunning", "p", "u2", false},
      {"PodPending", "PodRunning", "q", "u1", false}, {"PodPending", "PodPending", "p", "u1", false},
      {"PodFailed", "PodRunning", "p", "u2", true},   {"PodFailed", "PodRunning", "p", "u1", false},
      {"PodFailed", "PodEvicted", "p", "u1", false},  {"PodEvicted", "PodRunning", "p", "u2", true},
      {"PodEvicted", "PodRunning", "p", "u1", false}, {"PodEvicted", "PodFailed", "p", "u2", false},
      {"TaskFailed", "PodRunning", "p", "u2", false}, {"TaskCompleted", "PodRunning", "p", "u1", false},
      {"PodPending", "OutOfSync", "p", "u1", false},  {"PodPending", "TaskCompleted", "p", "u1", true},
  };
  for (const Row& row : rows) {
    DeadlineSet deadlines;
    deadlines.Add(Deadline(row.waits, "AbortJob", "t", "p", "u1"));
    deadlines.Cancel(Event(row.event, row.pod, row.uid), "another");
    EXPECT_EQ(deadlines.size(), 1u) << "of another task";
    deadlines.Cancel(Event(row.event, row.pod, row.uid), "t");
    EXPECT_EQ(deadlines.empty(), row.cancelled) << row.waits << " " << row.event << " " << row.pod << " " << row.uid;
  }
}

TEST(DeadlinesTest, AnActionCleansUpThoseOfItsLevelWithinItsScope) {
  const auto with = [](int partition, PendingAction deadline) {
    deadline.set_partition(partition);
    return deadline;
  };
  struct Row {
    PendingAction carried_out;
    const char* left;  // The pods of the deadlines that are left.
  };
  const Row rows[] = {
      {Deadline("PodFailed", "TerminateJob", "a", "x", ""), "a b c d e f"},
      {Deadline("CommandIssued", "ResumeJob", "", "", ""), "a b c d e f"},
      {Deadline("PodFailed", "RestartTask", "a", "x", ""), "job b c d e f"},
      {Deadline("PodFailed", "RestartPod", "t", "d", ""), "job a b c e f"},
      {with(2, Deadline("PodFailed", "RestartPartition", "t", "x", "")), "job a b c d e"},
      {with(2, Deadline("PodFailed", "RestartPartition", "another", "x", "")), "job a b c d e f"},
      {Deadline("OutOfSync", "SyncJob", "a", "x", ""), "job a b c d e f"},
      {Deadline("CommandIssued", "Nonsense", "a", "x", ""), "job a b c d e f"},
  };
  for (const Row& row : rows) {
    DeadlineSet deadlines;
    deadlines.Add(Deadline("PodFailed", "AbortJob", "t", "job", ""));
    deadlines.Add(Deadline("PodFailed", "RestartTask", "a", "a", ""));
    deadlines.Add(Deadline("PodFailed", "RestartTask", "b", "b", ""));
    deadlines.Add(Deadline("PodFailed", "RestartPod", "t", "c", ""));
    deadlines.Add(Deadline("PodFailed", "RestartPod", "t", "d", ""));
    deadlines.Add(with(1, Deadline("PodFailed", "RestartPartition", "t", "e", "")));
    deadlines.Add(with(2, Deadline("PodFailed", "RestartPartition", "t", "f", "")));
    deadlines.Clear(row.carried_out);
    std::string left;
    for (const char* pod : {"job", "a", "b", "c", "d", "e", "f"}) {
      const PendingAction* it = deadlines.Find(pod);
      if (it == nullptr) continue;
      left += fmt::format("{}{}", left.empty() ? "" : " ", it->pod());
    }
    EXPECT_EQ(left, row.left) << row.carried_out.action();
  }
}

TEST(DeadlinesTest, DueDeadlinesComeInTheirOrder) {
  DeadlineSet deadlines;
  for (const auto& [pod, due] : {std::pair("a", 30), {"b", 10}, {"c", 20}, {"d", 40}}) {
    PendingAction deadline = Deadline("PodEvicted", "RestartTask", "t", pod, "");
    deadline.set_due_ms(due);
    deadlines.Add(deadline);
  }
  EXPECT_EQ(deadlines.NextDue(), 10);
  const PodSet pods;
  EXPECT_TRUE(deadlines.TakeDue(9, pods).empty());
  std::string due;
  for (const PendingAction& it : deadlines.TakeDue(30, pods)) due += it.pod();
  EXPECT_EQ(due, "bca");
  EXPECT_EQ(deadlines.NextDue(), 40);
  deadlines.TakeDue(40, pods);
  EXPECT_EQ(deadlines.NextDue(), std::nullopt);
}

TEST(DeadlinesTest, TheStatusHoldsThoseWhoseEventNobodyCouldReadAgain) {
  DeadlineSet deadlines;
  for (const std::string_view event :
       {kEventPodPending, kEventPodFailed, kEventPodEvicted, kEventUnknown, kEventTaskCompleted, kEventTaskFailed}) {
    deadlines.Add(Deadline(std::string(event), "AbortJob", "t", std::string(event), "u"));
  }
  EXPECT_TRUE(IsKept(*deadlines.Find("PodFailed"))) << "on the disk: the pod may be removed";
  PendingAction without_a_time = *deadlines.Find("PodFailed");
  without_a_time.set_observed(true);
  EXPECT_TRUE(IsStored(without_a_time)) << "the pod does not tell when it ended";
  std::vector<PendingAction> stored;
  for (const auto& [pod, deadline] : deadlines.stored()) stored.push_back(deadline);
  ASSERT_EQ(stored.size(), 4u);
  EXPECT_TRUE(deadlines.AreStored(stored));
  stored.back().set_due_ms(5);
  EXPECT_FALSE(deadlines.AreStored(stored));
  stored.pop_back();
  EXPECT_FALSE(deadlines.AreStored(stored));
  PendingAction at_once = Deadline("PodEvicted", "AbortJob", "t", "p", "u");
  at_once.set_due_ms(0);
  EXPECT_FALSE(IsKept(at_once));
}

TEST(DeadlinesTest, AStatusHoldsTheFirstSoManyByPod) {
  DeadlineSet deadlines;
  std::vector<PendingAction> stored;
  for (size_t i = 0; i <= kMostStoredDeadlines; ++i) {
    EXPECT_TRUE(deadlines.AreStored(stored));
    deadlines.Add(Deadline("PodFailed", "AbortJob", "t", fmt::format("a-{:05}", i), "u"));
    deadlines.Add(Deadline("PodEvicted", "AbortJob", "t", fmt::format("b-{:05}", i), "u"));
    EXPECT_EQ(deadlines.AreStored(stored), i == kMostStoredDeadlines) << i;
    stored.push_back(*deadlines.Find(fmt::format("b-{:05}", i)));
  }
  EXPECT_FALSE(deadlines.AreStored(stored)) << "it has no room for that many";
}

using Pods = std::set<std::string>;

TEST(DeadlinesTest, OnlyWhatIsKeptAsksToBeWritten) {
  DeadlineSet deadlines;
  deadlines.Add(Deadline("PodPending", "AbortJob", "t", "p", "u1"));
  deadlines.Cancel(Event("PodRunning", "p", "u1"), "t");
  EXPECT_EQ(deadlines.TakeChanged(), Pods());
  deadlines.Add(Deadline("PodEvicted", "AbortJob", "t", "p", "u1"));
  deadlines.Add(Deadline("PodFailed", "AbortJob", "t", "q", "u2"));
  deadlines.Add(Deadline("Unknown", "AbortJob", "", "", ""));
  EXPECT_EQ(deadlines.TakeChanged(), (Pods{"", "p", "q"}));
  EXPECT_EQ(deadlines.TakeChanged(), Pods());
  deadlines.Add(Deadline("PodFailed", "AbortJob", "t", "q", "u2"));
  EXPECT_EQ(deadlines.TakeChanged(), Pods()) << "it goes on";
  deadlines.Cancel(Event("PodRunning", "p", "u2"), "t");
  EXPECT_EQ(deadlines.TakeChanged(), Pods{"p"});
  deadlines.Add(Deadline("PodPending", "RestartPod", "t", "q", "u3"));
  EXPECT_EQ(deadlines.TakeChanged(), Pods{"q"}) << "what has taken its place is not kept";
  deadlines.Add(Deadline("PodFailed", "AbortJob", "t", "q", "u3"));
  EXPECT_EQ(deadlines.TakeChanged(), Pods{"q"});
}

TEST(DeadlinesTest, AnEndOfAllIsWrittenForEachThatIsKept) {
  const auto fill = [](DeadlineSet& deadlines) {
    deadlines.Add(Deadline("PodPending", "AbortJob", "t", "p", "u1"));
    deadlines.Add(Deadline("PodEvicted", "AbortJob", "t", "q", "u2"));
    deadlines.Add(Deadline("PodFailed", "AbortJob", "t", "r", "u3"));
    deadlines.Add(Deadline("PodFailed", "RestartPod", "t", "s", "u4"));
    EXPECT_TRUE(deadlines.Add(Deadline("TaskCompleted", "AbortJob", "t", "z", "u5"))) << "the one before has ended";
    deadlines.TakeChanged();
  };
  DeadlineSet deadlines;
  fill(deadlines);
  deadlines.Clear(Deadline("CommandIssued", "RestartJob", "", "", ""));
  EXPECT_EQ(deadlines.TakeChanged(), (Pods{"q", "r", "z"}));
  fill(deadlines);
  deadlines.TakeDue(1000, PodSet());
  EXPECT_EQ(deadlines.TakeChanged(), (Pods{"q", "r", "s", "z"}));
  fill(deadlines);
  deadlines.SetVersion(1);
  EXPECT_EQ(deadlines.TakeChanged(), (Pods{"q", "r", "s", "z"}));
  fill(deadlines);
  deadlines.Reset();
  EXPECT_TRUE(deadlines.empty());
  EXPECT_EQ(deadlines.TakeChanged(), (Pods{"q", "r", "s", "z"}));
}

TEST(DeadlinesTest, ARestoredDeadlineCountsAndIsNotWrittenAgain) {
  DeadlineSet deadlines;
  deadlines.Restore(Deadline("PodFailed", "RestartPod", "t", "p", "u1"));
  deadlines.Restore(Deadline("TaskCompleted", "CompleteJob", "t", "q", "u2"));
  EXPECT_EQ(deadlines.TakeChanged(), Pods());
  EXPECT_EQ(deadlines.size(), 2u);
  EXPECT_EQ(deadlines.NextDue(), 1000);
  EXPECT_EQ(deadlines.stored().size(), 1u);
  EXPECT_FALSE(deadlines.Add(Deadline("PodFailed", "RestartPod", "t", "p", "u1")));
  EXPECT_FALSE(deadlines.Add(Deadline("TaskCompleted", "CompleteJob", "t", "r", "u3")));
  deadlines.TakeDue(1000, PodSet());
  EXPECT_EQ(deadlines.TakeChanged(), (Pods{"p", "q"}));
  EXPECT_TRUE(deadlines.Add(Deadline("TaskCompleted", "CompleteJob", "t", "r", "u3")));
}

}  // namespace
}  // namespace basalt::jobsvc
