#include "services/jobsvc/core/deadlines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

using storage::v1::PendingAction;

// "<event> <action> <task>/<pod>@<uid>", in partition 0 of version 0.
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

std::string TextOf(const PendingActions& deadlines) {
  std::string text;
  for (const PendingAction& it : deadlines) {
    text += fmt::format("{}{} {} {}/{}@{}", text.empty() ? "" : ", ", it.event(), it.action(), it.task(), it.pod(),
                        it.pod_uid());
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
  PendingActions deadlines;
  EXPECT_TRUE(AddDeadline(Deadline("PodPending", "RestartPod", "t", "p", "u1"), deadlines));
  EXPECT_FALSE(AddDeadline(Deadline("PodFailed", "RestartPod", "t", "p", "u1"), deadlines)) << "it goes on";
  EXPECT_TRUE(AddDeadline(Deadline("PodPending", "RestartPod", "t", "q", "u2"), deadlines));
  EXPECT_TRUE(AddDeadline(Deadline("Unknown", "RestartPod", "", "", ""), deadlines));
  EXPECT_EQ(TextOf(deadlines), "PodPending RestartPod t/p@u1, PodPending RestartPod t/q@u2, Unknown RestartPod /@");
  EXPECT_TRUE(AddDeadline(Deadline("PodFailed", "AbortJob", "t", "p", "u1"), deadlines));
  EXPECT_EQ(TextOf(deadlines), "PodPending RestartPod t/q@u2, Unknown RestartPod /@, PodFailed AbortJob t/p@u1");
  PendingAction of_the_next_run = Deadline("PodFailed", "AbortJob", "t", "p", "u3");
  of_the_next_run.set_version(1);
  EXPECT_TRUE(AddDeadline(of_the_next_run, deadlines));
  EXPECT_TRUE(DropStaleDeadlines(1, deadlines));
  EXPECT_EQ(TextOf(deadlines), "PodFailed AbortJob t/p@u3");
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
      {"PodPending", "OutOfSync", "p", "u1", false},  {"PodPending", "TaskCompleted", "p", "u1", false},
  };
  for (const Row& row : rows) {
    PendingActions deadlines;
    AddDeadline(Deadline(row.waits, "AbortJob", "t", "p", "u1"), deadlines);
    EXPECT_EQ(CancelDeadlines(Event(row.event, row.pod, row.uid), "t", deadlines), row.cancelled)
        << row.waits << " " << row.event << " " << row.pod << " " << row.uid;
    EXPECT_EQ(deadlines.empty(), row.cancelled);
    EXPECT_FALSE(CancelDeadlines(Event(row.event, row.pod, row.uid), "another", deadlines));
  }
}

TEST(DeadlinesTest, AnActionCleansUpThoseOfItsLevelWithinItsScope) {
  const auto with = [](int partition, PendingAction deadline) {
    deadline.set_partition(partition);
    return deadline;
  };
  struct Row {
    PendingAction carried_out;
    const char* left;
  };
  const Row rows[] = {
      {Deadline("PodFailed", "TerminateJob", "a", "x", ""),
       "a RestartTask, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1, f RestartPartition 2"},
      {Deadline("CommandIssued", "ResumeJob", "", "", ""),
       "a RestartTask, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1, f RestartPartition 2"},
      {Deadline("PodFailed", "RestartTask", "a", "x", ""),
       "job AbortJob, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1, f RestartPartition 2"},
      {Deadline("PodFailed", "RestartPod", "t", "d", ""),
       "job AbortJob, a RestartTask, b RestartTask, c RestartPod, e RestartPartition 1, f RestartPartition 2"},
      {with(2, Deadline("PodFailed", "RestartPartition", "t", "x", "")),
       "job AbortJob, a RestartTask, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1"},
      {with(2, Deadline("PodFailed", "RestartPartition", "another", "x", "")),
       "job AbortJob, a RestartTask, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1, "
       "f RestartPartition 2"},
      {Deadline("OutOfSync", "SyncJob", "a", "x", ""),
       "job AbortJob, a RestartTask, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1, "
       "f RestartPartition 2"},
      {Deadline("CommandIssued", "Nonsense", "a", "x", ""),
       "job AbortJob, a RestartTask, b RestartTask, c RestartPod, d RestartPod, e RestartPartition 1, "
       "f RestartPartition 2"},
  };
  for (const Row& row : rows) {
    PendingActions deadlines;
    AddDeadline(Deadline("PodFailed", "AbortJob", "t", "job", ""), deadlines);
    AddDeadline(Deadline("PodFailed", "RestartTask", "a", "a", ""), deadlines);
    AddDeadline(Deadline("PodFailed", "RestartTask", "b", "b", ""), deadlines);
    AddDeadline(Deadline("PodFailed", "RestartPod", "t", "c", ""), deadlines);
    AddDeadline(Deadline("PodFailed", "RestartPod", "t", "d", ""), deadlines);
    AddDeadline(with(1, Deadline("PodFailed", "RestartPartition", "t", "e", "")), deadlines);
    AddDeadline(with(2, Deadline("PodFailed", "RestartPartition", "t", "f", "")), deadlines);
    ClearDeadlines(row.carried_out, deadlines);
    std::string left;
    for (const PendingAction& it : deadlines) {
      left += fmt::format("{}{} {}", left.empty() ? "" : ", ", it.pod(), it.action());
      if (it.partition() != 0) left += fmt::format(" {}", it.partition());
    }
    EXPECT_EQ(left, row.left) << row.carried_out.action();
  }
}

TEST(DeadlinesTest, WhatIsDueComesInTheOrderOfTheDeadlines) {
  PendingActions deadlines;
  for (const auto& [pod, due] : {std::pair("a", 30), {"b", 10}, {"c", 20}, {"d", 40}}) {
    PendingAction deadline = Deadline("TaskFailed", "RestartTask", "t", pod, "");
    deadline.set_due_ms(due);
    AddDeadline(deadline, deadlines);
  }
  EXPECT_EQ(NextDue(deadlines), 10);
  PodSet pods;
  EXPECT_TRUE(TakeDue(9, pods, deadlines).empty());
  std::string due;
  for (const PendingAction& it : TakeDue(30, pods, deadlines)) due += it.pod();
  EXPECT_EQ(due, "bca");
  EXPECT_EQ(NextDue(deadlines), 40);
  TakeDue(40, pods, deadlines);
  EXPECT_EQ(NextDue(deadlines), std::nullopt);
}

TEST(DeadlinesTest, TheStatusHoldsThoseWhoseEventNobodyCouldReadAgain) {
  PendingActions deadlines;
  std::vector<PendingAction> stored;
  for (const std::string_view event :
       {kEventPodPending, kEventPodFailed, kEventPodEvicted, kEventUnknown, kEventTaskCompleted, kEventTaskFailed}) {
    AddDeadline(Deadline(std::string(event), "AbortJob", "t", std::string(event), "u"), deadlines);
  }
  for (const PendingAction& deadline : deadlines) {
    if (IsKept(deadline)) stored.push_back(deadline);
  }
  ASSERT_EQ(stored.size(), 4u);
  EXPECT_TRUE(AreStored(deadlines, stored));
  stored.back().set_due_ms(5);
  EXPECT_FALSE(AreStored(deadlines, stored));
  stored.pop_back();
  EXPECT_FALSE(AreStored(deadlines, stored));
  PendingAction at_once = Deadline("PodEvicted", "AbortJob", "t", "p", "u");
  at_once.set_due_ms(0);
  EXPECT_FALSE(IsKept(at_once));
}

}  // namespace
}  // namespace basalt::jobsvc
