#include "services/queuesvc/core/queue_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>

namespace basalt::queuesvc {
namespace {

constexpr QueueState kStates[] = {QueueState::kEmpty, QueueState::kOpen, QueueState::kClosed, QueueState::kClosing,
                                  QueueState::kUnknown};

// The transitions by an action, for each of kStates: of a queue that holds no pod groups, and of one that does.
struct Action {
  const char* what;
  QueueAction action;
  struct {
    QueueOperation operation;
    QueueState without;
    QueueState with;
  } of[std::size(kStates)];
};

// Checks the cells of the table of predicates whose handler is the one that the state has chosen. NextState has no
// handler, so that it cannot be called for the other cells (such as the handler of closed queues for one that is
// Closing). kInvalid is refused earlier.
TEST(QueueStateTest, EveryReachableCellOfTheSpecsTable) {
  using S = QueueState;
  using O = QueueOperation;
  const Action actions[] = {
      {"OpenQueue",
       QueueAction::kOpen,
       {{O::kSync, S::kOpen, S::kOpen},
        {O::kSync, S::kOpen, S::kOpen},
        {O::kOpen, S::kOpen, S::kOpen},
        {O::kOpen, S::kOpen, S::kOpen},
        {O::kOpen, S::kOpen, S::kOpen}}},
      {"CloseQueue",
       QueueAction::kClose,
       {{O::kClose, S::kClosed, S::kClosing},
        {O::kClose, S::kClosed, S::kClosing},
        {O::kSync, S::kClosed, S::kClosed},
        {O::kSync, S::kClosed, S::kClosing},
        {O::kClose, S::kClosed, S::kClosing}}},
      {"SyncQueue",
       QueueAction::kSync,
       {{O::kSync, S::kOpen, S::kOpen},
        {O::kSync, S::kOpen, S::kOpen},
        {O::kSync, S::kClosed, S::kClosed},
        {O::kSync, S::kClosed, S::kClosing},
        {O::kSync, S::kUnknown, S::kUnknown}}},
  };
  for (const Action& action : actions) {
    for (size_t i = 0; i < std::size(kStates); ++i) {
      for (const int64_t pod_groups : {0, 1, 5}) {
        SCOPED_TRACE(fmt::format("{} in '{}' with {}", action.what, FormatQueueState(kStates[i]), pod_groups));
        const QueueTransition got = NextState(kStates[i], action.action, pod_groups);
        EXPECT_EQ(got.operation, action.of[i].operation);
        EXPECT_EQ(got.next, pod_groups == 0 ? action.of[i].without : action.of[i].with);
      }
    }
  }
}

TEST(QueueStateTest, WordsAreReadAsTheyAreWrittenAndNoOthers) {
  for (const QueueState state : kStates) EXPECT_EQ(ParseQueueState(FormatQueueState(state)), state);
  for (const char* other : {"open", "Ajar", "Open "}) EXPECT_EQ(ParseQueueState(other), QueueState::kInvalid) << other;
  EXPECT_EQ(ParseQueueAction(kOpenQueue), QueueAction::kOpen);
  EXPECT_EQ(ParseQueueAction(kCloseQueue), QueueAction::kClose);
  for (const char* other : {"SyncQueue", "DrainQueue", "openqueue", ""}) {
    EXPECT_EQ(ParseQueueAction(other), QueueAction::kSync) << other;
  }
}

}  // namespace
}  // namespace basalt::queuesvc
