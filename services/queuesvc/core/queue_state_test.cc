#include "services/queuesvc/core/queue_state.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace basalt::queuesvc
