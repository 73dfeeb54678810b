#include "tests/bench/write_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::bench {
namespace {

constexpr char kOurs[] = "basalt-gateway/1.0 (jobsvc-0/abc slot 7 epoch 3)";

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

LoggedWrite Ours(std::string verb, std::string resource, std::string subresource = "", int code = 200) {
  LoggedWrite write;
  write.verb = std::move(verb);
  write.resource = std::move(resource);
  write.subresource = std::move(subresource);
  write.code = code;
  write.ours = true;
  return write;
}

LoggedWrite OfPod(std::string name, double seconds, std::string subresource = "status") {
  LoggedWrite write;
  write.time = At(seconds);
  write.verb = "patch";
  write.resource = "pods";
  write.subresource = std::move(subresource);
  write.name = std::move(name);
  write.user_agent = "bench";
  write.code = 200;
  return write;
}

LoggedWrite Completed(std::string job, double seconds) {
  LoggedWrite write = Ours("patch", "jobs", "status");
  write.name = std::move(job);
  write.phase = "Completed";
  write.time = At(seconds);
  return write;
}

LoggedWrite Change(std::string group, double seconds) {
  LoggedWrite write = OfPod(std::move(group), seconds, "");
  write.resource = "podgroups";
  return write;
}

LoggedWrite StatusOf(std::string queue, double seconds, int64_t running) {
  LoggedWrite write = Ours("patch", "queues", "status");
  write.time = At(seconds);
  write.name = std::move(queue);
  write.running = running;
  return write;
}

TEST(WriteLogTest, ReadsWhatIsWrittenOfQueuesAndPodGroups) {
  const auto log = ParseJson(
      R"({"requests":[{"verb":"patch","resource":"podgroups","name":"g","body":{"status":{"phase":"Running"}}},
          {"verb":"patch","resource":"queues","name":"q","body":{"status":{"state":"Open","running":7}}}]})");
  ASSERT_TRUE(log.ok());
  const std::vector<LoggedWrite> writes = WritesOfKubesim(*log);
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[0].phase, "Running");
  EXPECT_EQ(writes[1].running, 7);
}

TEST(WriteLogTest, ReadsTheLogOfKubesim) {
  const auto log = ParseJson(fmt::format(
      R"({{"requests":[{{"time":"1970-01-01T00:00:01.250000Z","verb":"patch","resource":"jobs","subresource":"status",)"
      R"("name":"j","status":200,"userAgent":"{}","body":{{"status":{{"state":{{"phase":"Completed"}}}}}}}},)"
      R"({{"time":"1970-01-01T00:00:02Z","verb":"create","resource":"pods","name":"j-t-0","status":409,)"
      R"("userAgent":"kubectl","body":null}}]}})",
      kOurs));
  ASSERT_TRUE(log.ok());
  const std::vector<LoggedWrite> writes = WritesOfKubesim(*log);
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[0].time, At(1.25));
  EXPECT_EQ(writes[0].phase, "Completed");
  EXPECT_TRUE(writes[0].ours);
  EXPECT_TRUE(writes[0].succeeded());
  EXPECT_FALSE(writes[1].ours);
  EXPECT_FALSE(writes[1].succeeded());
}

TEST(WriteLogTest, ReadsTheAuditLogFromALineOn) {
  realkube::AuditLine early, read, write;
  early.verb = write.verb = "patch";
  read.verb = "list";
  write.user_agent = kOurs;
  write.resource = "pods";
  write.body = json::object{{"status", json::object{{"phase", "Succeeded"}}}};
  write.answered = At(7);
  const std::vector<LoggedWrite> writes = WritesOfAudit({early, read, write}, 1);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].time, At(7));
  EXPECT_EQ(writes[0].phase, "Succeeded");
  EXPECT_TRUE(writes[0].ours);
}

TEST(WriteLogTest, CountsOurWritesWithoutEvents) {
  LoggedWrite others = Ours("create", "pods");
  others.ours = false;
  const Tally tally =
      Count({Ours("create", "pods", "", 201), Ours("create", "pods", "", 409), Ours("patch", "jobs", "status"),
             Ours("create", "events", "", 201), Ours("patch", "queues", "status"), others});
  EXPECT_EQ(tally.writes, 4);
  EXPECT_EQ(tally.events, 1);
  EXPECT_EQ(tally.status_updates, 2);
  EXPECT_EQ(tally.queues, 1);
  EXPECT_EQ(tally.conflicts, 1);
  EXPECT_EQ(tally.refused, 1);
  EXPECT_EQ(KindsOf(tally), "1 create pods, 1 create pods -> 409, 1 patch jobs/status, 1 patch queues/status");
  EXPECT_EQ(KindsOf(tally, 2),
            "0.5 create pods, 0.5 create pods -> 409, 0.5 patch jobs/status, 0.5 patch queues/status");
  EXPECT_EQ(KindsOf({}), "none");
}

TEST(WriteLogTest, EventsAreListedOnRequest) {
  const Tally tally = Count({Ours("create", "pods"), Ours("create", "events"), Ours("create", "events", "", 409)},
                            /*lists_events=*/true);
  EXPECT_EQ(tally.writes, 1);
  EXPECT_EQ(tally.events, 2);
  EXPECT_EQ(tally.conflicts, 0);
  EXPECT_EQ(tally.refused, 0);
  EXPECT_EQ(KindsOf(tally), "1 create events, 1 create events -> 409, 1 create pods");
}

TEST(WriteLogTest, ChangesThatComeWithinTwoSecondsAreOneBurst) {
  std::vector<LoggedWrite> log = {OfPod("j-t-0", 0), OfPod("j-t-1", 1.9), OfPod("j-t-2", 3.5), OfPod("j-t-3", 6)};
  log.push_back(OfPod("j-1-t-0", 4.5));  // A pod of another job.
  LoggedWrite refused = OfPod("j-t-4", 5);
  refused.code = 409;
  log.push_back(refused);
  const std::vector<Burst> bursts = BurstsOf(log, "j");
  ASSERT_EQ(bursts.size(), 2u);
  EXPECT_EQ(bursts[0].length(), absl::Seconds(3.5));
  EXPECT_EQ(bursts[0].changes, 3);
  EXPECT_EQ(bursts[1].changes, 1);
}

TEST(WriteLogTest, EveryFiveSecondsOfABurstAllowOneWriteMore) {
  EXPECT_EQ(MoreWritesFor({}), 0);
  EXPECT_EQ(MoreWritesFor({{At(0), At(4.9), 2}, {At(10), At(14.9), 2}}), 0);
  EXPECT_EQ(MoreWritesFor({{At(0), At(5), 2}, {At(10), At(21), 2}}), 3);
}

TEST(WriteLogTest, AJobEndsWithTheWriteThatSaysCompleted) {
  LoggedWrite node = OfPod("a-t-0", 0.5);
  node.user_agent = "node";
  const std::vector<absl::Duration> times =
      TimesToCompleted({node, OfPod("a-t-0", 1), OfPod("b-t-0", 2), Completed("a", 1.02), OfPod("c-t-0", 3),
                        Completed("a", 1.5), Completed("c", 3.01)},
                       "bench");
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0], absl::Milliseconds(20));
  EXPECT_EQ(times[1], absl::InfiniteDuration());
  EXPECT_EQ(times[2], absl::Milliseconds(10));
}

TEST(WriteLogTest, AnEditTakesEffectWithTheFirstObjectOfItsJob) {
  const auto of = [](std::string resource, std::string name, double at, bool ours = true) {
    LoggedWrite write = Ours("patch", std::move(resource));
    write.time = At(at);
    write.name = std::move(name);
    write.ours = ours;
    if (!ours) write.user_agent = "bench";
    return write;
  };
  LoggedWrite status = of("jobs", "a", 1.01);
  status.subresource = "status";
  LoggedWrite refused = of("configmaps", "a-svc", 1.005);
  refused.code = 409;
  const TimesToEffect times = TimesFromEdits(
      {of("pods", "a-t-0", 0.5), of("jobs", "a", 1, false), refused, status, of("events", "a", 1.015),
       of("configmaps", "b-svc", 1.02), of("configmaps", "a-svc", 1.03), of("pods", "a-t-1", 1.04),
       of("pods", "a-t-2", 1.05), of("jobs", "b", 2, false), of("jobs", "b", 3, false), of("pods", "b-t-0", 3.02)},
      "bench");
  const absl::Duration never = absl::InfiniteDuration();
  EXPECT_EQ(times.any, (std::vector<absl::Duration>{absl::Milliseconds(30), never, absl::Milliseconds(20)}));
  EXPECT_EQ(times.plugin, (std::vector<absl::Duration>{absl::Milliseconds(30), never, never}));
  EXPECT_EQ(times.pod, (std::vector<absl::Duration>{absl::Milliseconds(40), never, absl::Milliseconds(20)}));
}

TEST(WriteLogTest, AChangeIsTimedToTheFirstStatusThatCountsIt) {
  const std::vector<LoggedWrite> log = {Change("a-g-0", 1),    Change("b-g-0", 1.5),   Change("a-g-1", 2),
                                        StatusOf("a", 2.5, 1), StatusOf("b", 2.75, 1), StatusOf("a", 4, 2)};
  EXPECT_EQ(TimesToCount(log, "bench"), (std::vector{absl::Seconds(1.5), absl::Seconds(1.25), absl::Seconds(2)}));
}

TEST(WriteLogTest, AChangeThatNoStatusCountsTakesForEver) {
  const std::vector<LoggedWrite> log = {Change("a-g-0", 1), Change("a-g-1", 1), StatusOf("a", 2, 1)};
  EXPECT_EQ(TimesToCount(log, "bench"), (std::vector{absl::Seconds(1), absl::InfiniteDuration()}));
}

TEST(WriteLogTest, ChangesByOthersAndRefusedOnesDoNotCount) {
  std::vector<LoggedWrite> log = {Change("a-g-0", 1), Change("a-g-1", 1), StatusOf("a", 2, 2)};
  log[0].user_agent = "somebody";
  log[1].code = 404;
  EXPECT_TRUE(TimesToCount(log, "bench").empty());
}

TEST(WriteLogTest, OneWriteASecondIsARateOfOne) {
  const StatusWrites writes = StatusWritesOf({StatusOf("a", 1, 1), StatusOf("a", 2, 2), StatusOf("a", 3, 3)});
  EXPECT_EQ(writes.writes, 3);
  EXPECT_EQ(writes.queues, 1);
  EXPECT_DOUBLE_EQ(writes.most_per_second, 1);
  EXPECT_EQ(writes.least, absl::Seconds(1));
}

TEST(WriteLogTest, TheHighestRateIsThatOfTheQueueWithTheMostWrites) {
  const StatusWrites writes = StatusWritesOf({StatusOf("a", 1, 1), StatusOf("b", 1, 1), StatusOf("b", 1.5, 2)});
  EXPECT_EQ(writes.writes, 3);
  EXPECT_EQ(writes.queues, 2);
  EXPECT_NEAR(writes.most_per_second, 2 / 1.5, 1e-9);
  EXPECT_EQ(writes.least, absl::Seconds(0.5));
}

TEST(WriteLogTest, APercentileIsOneOfTheValues) {
  std::vector<absl::Duration> values;
  for (int i = 100; i > 0; --i) values.push_back(absl::Milliseconds(i));
  EXPECT_EQ(Percentile(values, 0.5), absl::Milliseconds(50));
  EXPECT_EQ(Percentile(values, 0.99), absl::Milliseconds(99));
  EXPECT_EQ(Percentile(values, 1), absl::Milliseconds(100));
  EXPECT_EQ(Percentile({absl::Seconds(1)}, 0.5), absl::Seconds(1));
}

}  // namespace
}  // namespace basalt::bench
