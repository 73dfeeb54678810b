#include "services/queuesvc/core/queue_children.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::queuesvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(QueueChildrenTest, AQueueIsBelowTheParentThatItNamedLast) {
  QueueChildren children;
  EXPECT_THAT(children.Of("p"), IsEmpty());
  children.Move("b", "", "p");
  children.Move("a", "", "p");
  EXPECT_THAT(children.Of("p"), ElementsAre("a", "b"));
  children.Move("a", "p", "p");
  EXPECT_THAT(children.Of("p"), ElementsAre("a", "b"));
  children.Move("a", "p", "other");
  EXPECT_THAT(children.Of("p"), ElementsAre("b"));
  EXPECT_THAT(children.Of("other"), ElementsAre("a"));
  children.Move("b", "p", "");
  EXPECT_THAT(children.Of("p"), IsEmpty());
  EXPECT_THAT(children.Of(""), IsEmpty()) << "queues without a parent are nobody's children";
}

}  // namespace
}  // namespace basalt::queuesvc
