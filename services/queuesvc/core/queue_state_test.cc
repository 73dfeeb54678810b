#include "services/queuesvc/core/queue_state.h"

#include <gtest/gtest.h>

#include "common/base/random.h"

namespace basalt::queuesvc {
namespace {

struct Cell {
  QueueAction action;
  QueueState state;
  int64_t pod_groups;
  QueueOperation operation;
  QueueState next;
};

TEST(QueueStateTest, EveryReachableCellOfTheSpecsTable) {
  using A = QueueAction;
  using S = QueueState;
  using O = QueueOperation;
  const Cell cells[] = {
      {A::kOpen, S::kEmpty, 0, O::kSync, S::kOpen},        {A::kOpen, S::kOpen, 3, O::kSync, S::kOpen},
      {A::kOpen, S::kClosed, 0, O::kOpen, S::kOpen},       {A::kOpen, S::kClosing, 2, O::kOpen, S::kOpen},
      {A::kOpen, S::kUnknown, 0, O::kOpen, S::kOpen},      {A::kClose, S::kEmpty, 0, O::kClose, S::kClosed},
      {A::kClose, S::kOpen, 0, O::kClose, S::kClosed},     {A::kClose, S::kOpen, 3, O::kClose, S::kClosing},
      {A::kClose, S::kClosed, 3, O::kSync, S::kClosed},    {A::kClose, S::kClosing, 0, O::kSync, S::kClosed},
      {A::kClose, S::kClosing, 1, O::kSync, S::kClosing},  {A::kClose, S::kUnknown, 0, O::kClose, S::kClosed},
      {A::kClose, S::kUnknown, 1, O::kClose, S::kClosing}, {A::kSync, S::kEmpty, 0, O::kSync, S::kOpen},
      {A::kSync, S::kOpen, 1, O::kSync, S::kOpen},         {A::kSync, S::kClosed, 5, O::kSync, S::kClosed},
      {A::kSync, S::kClosing, 1, O::kSync, S::kClosing},   {A::kSync, S::kClosing, 0, O::kSync, S::kClosed},
      {A::kSync, S::kUnknown, 0, O::kSync, S::kUnknown},
  };
  for (const Cell& cell : cells) {
    const QueueTransition got = NextState(cell.state, cell.action, cell.pod_groups);
    EXPECT_EQ(got.operation, cell.operation) << static_cast<int>(cell.action) << " in " << static_cast<int>(cell.state);
    EXPECT_EQ(got.next, cell.next) << static_cast<int>(cell.action) << " in " << static_cast<int>(cell.state);
  }
}

TEST(PodGroupCounterTest, CountsEqualARecountAfterAnyHistory) {
  SeededRandom random(11);
  const std::string_view phases[] = {"Pending", "Inqueue", "Running", "Unknown", "Completed", ""};
  PodGroupCounter counter;
  std::map<std::string, std::string_view> model;
  for (int step = 0; step < 5000; ++step) {
    const std::string uid = std::to_string(random.Uniform(40));
    if (random.OneIn(4)) {
      EXPECT_EQ(counter.Erase(uid), model.erase(uid) == 1);
    } else {
      const std::string_view phase = phases[random.Uniform(6)];
      counter.Set(uid, phase);
      model[uid] = phase;
    }
  }
  std::map<std::string_view, int> recount;
  for (const auto& [uid, phase] : model) ++recount[phase];
  EXPECT_EQ(counter.counts().pending(), recount["Pending"]);
  EXPECT_EQ(counter.counts().inqueue(), recount["Inqueue"]);
  EXPECT_EQ(counter.counts().running(), recount["Running"]);
  EXPECT_EQ(counter.counts().unknown(), recount["Unknown"]);
  EXPECT_EQ(counter.counts().completed(), recount["Completed"]);
  EXPECT_EQ(counter.total(), static_cast<int64_t>(model.size()));
}

TEST(QueueStatusTest, WhatWasAppliedDoesNotDiffer) {
  kube::v1::Queue queue;
  queue::v1::PodGroupCounts counts;
  counts.set_running(2);
  EXPECT_TRUE(StatusDiffers(queue, QueueState::kOpen, &counts));
  queue.set_state("Open");
  queue.set_running(2);
  EXPECT_FALSE(StatusDiffers(queue, QueueState::kOpen, &counts));
  EXPECT_FALSE(StatusDiffers(queue, QueueState::kOpen, nullptr));
  EXPECT_EQ(
      StatusApplyBody("q", QueueState::kOpen, nullptr),
      R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},"status":{"state":"Open"}})");
}

}  // namespace
}  // namespace basalt::queuesvc
