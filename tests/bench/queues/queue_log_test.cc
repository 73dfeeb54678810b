#include "tests/bench/queues/queue_log.h"

#include <gtest/gtest.h>

namespace basalt::bench {
namespace {

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

LoggedWrite Change(std::string group, double seconds) {
  LoggedWrite write;
  write.time = At(seconds);
  write.verb = "patch";
  write.resource = "podgroups";
  write.name = std::move(group);
  write.user_agent = "bench";
  write.code = 200;
  return write;
}

LoggedWrite Status(std::string queue, double seconds, int64_t running) {
  LoggedWrite write;
  write.time = At(seconds);
  write.verb = "patch";
  write.resource = "queues";
  write.subresource = "status";
  write.name = std::move(queue);
  write.code = 200;
  write.running = running;
  write.ours = true;
  return write;
}

TEST(QueueLogTest, AChangeIsTimedToTheFirstStatusThatCountsIt) {
  const std::vector<LoggedWrite> log = {Change("a-g-0", 1),  Change("b-g-0", 1.5), Change("a-g-1", 2),
                                        Status("a", 2.5, 1), Status("b", 2.75, 1), Status("a", 4, 2)};
  EXPECT_EQ(TimesToCount(log, "bench"), (std::vector{absl::Seconds(1.5), absl::Seconds(1.25), absl::Seconds(2)}));
}

TEST(QueueLogTest, AChangeThatNoStatusCountsTakesForEver) {
  const std::vector<LoggedWrite> log = {Change("a-g-0", 1), Change("a-g-1", 1), Status("a", 2, 1)};
  EXPECT_EQ(TimesToCount(log, "bench"), (std::vector{absl::Seconds(1), absl::InfiniteDuration()}));
}

TEST(QueueLogTest, ChangesByOthersAndRefusedOnesDoNotCount) {
  std::vector<LoggedWrite> log = {Change("a-g-0", 1), Change("a-g-1", 1), Status("a", 2, 2)};
  log[0].user_agent = "somebody";
  log[1].code = 404;
  EXPECT_TRUE(TimesToCount(log, "bench").empty());
}

TEST(QueueLogTest, OneWriteASecondIsOne) {
  const StatusWrites writes = StatusWritesOf({Status("a", 1, 1), Status("a", 2, 2), Status("a", 3, 3)});
  EXPECT_EQ(writes.writes, 3);
  EXPECT_EQ(writes.queues, 1);
  EXPECT_DOUBLE_EQ(writes.most_per_second, 1);
  EXPECT_EQ(writes.least, absl::Seconds(1));
}

TEST(QueueLogTest, TheQueueWithTheMostWritesIsTold) {
  const StatusWrites writes = StatusWritesOf({Status("a", 1, 1), Status("b", 1, 1), Status("b", 1.5, 2)});
  EXPECT_EQ(writes.writes, 3);
  EXPECT_EQ(writes.queues, 2);
  EXPECT_NEAR(writes.most_per_second, 2 / 1.5, 1e-9);
  EXPECT_EQ(writes.least, absl::Seconds(0.5));
}

}  // namespace
}  // namespace basalt::bench
