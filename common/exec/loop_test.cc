#include "common/exec/loop.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "common/exec/sim_loop.h"

namespace basalt {
namespace {

TEST(ThreadLoopTest, RunsInOrderAndEndsWithWhatWasPosted) {
  std::vector<int> seen;
  {
    auto loop = MakeThreadLoop("test");
    for (int i = 0; i < 1000; ++i) loop->Post([&seen, i] { seen.push_back(i); });
  }
  ASSERT_EQ(seen.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[i], i);
}

TEST(ThreadLoopTest, ACancelledTimerDoesNotRunEvenWhenDue) {
  auto loop = MakeThreadLoop("test");
  std::promise<bool> done;
  loop->Post([&] {
    auto* ran = new bool(false);
    const absl::Time now = loop->Now();
    const TimerId victim = loop->RunAt(now + absl::Milliseconds(2), [ran] { *ran = true; });
    loop->RunAt(now + absl::Milliseconds(1), [&, victim] { loop->Cancel(victim); });
    loop->RunAt(now + absl::Milliseconds(4), [&, ran] {
      done.set_value(*ran);
      delete ran;
    });
  });
  EXPECT_FALSE(done.get_future().get());
}

TEST(SimLoopTest, KillDropsEverythingThatIsPending) {
  SimTime time;
  SimLoop loop(time, "jobsvc-0");
  int runs = 0;
  loop.Post([&] { ++runs; });
  loop.RunAfter(absl::Seconds(1), [&] { ++runs; });
  time.RunDueTasks();
  EXPECT_EQ(runs, 1);
  loop.Kill();
  time.Advance(absl::Seconds(5));
  EXPECT_EQ(runs, 1);
}

TEST(SimLoopTest, ASkewedClockStillFiresItsTimersAfterTheSameWait) {
  SimTime time;
  SimLoop loop(time, "jobsvc-0", absl::Seconds(90));
  absl::Time fired;
  loop.RunAfter(absl::Seconds(10), [&] { fired = time.Now(); });
  const absl::Time start = time.Now();
  time.Advance(absl::Minutes(5));
  EXPECT_EQ(fired - start, absl::Seconds(10));
}

TEST(SimLoopTest, ADriftingClockGainsAndItsTimersAreNeverEarlyByIt) {
  SimTime time;
  const absl::Time start = time.Now();
  SimLoop loop(time, "jobsvc-0", SimClock{absl::Seconds(-30), 0.01, start});
  const absl::Time due = loop.Now() + absl::Seconds(101);
  absl::Time shown;
  loop.RunAt(due, [&] { shown = loop.Now(); });
  time.Advance(absl::Seconds(99));
  EXPECT_EQ(shown, absl::Time());
  time.Advance(absl::Seconds(2));
  EXPECT_GE(shown, due);
  EXPECT_LT(shown, due + absl::Microseconds(1));
  EXPECT_EQ(loop.Now(), start + absl::Seconds(101 - 30) + absl::Milliseconds(1010));
}

TEST(SimLoopTest, TasksDueInAPauseRunAtResumeInTheirOrder) {
  SimTime time;
  SimLoop loop(time, "jobsvc-0");
  std::vector<int> runs;
  const TimerId timer = loop.RunAfter(absl::Seconds(3), [&] { runs.push_back(3); });
  loop.RunAfter(absl::Seconds(2), [&] {
    runs.push_back(2);
    loop.Cancel(timer);
    loop.Cancel(kNoTimer);
    loop.Post([&] { runs.push_back(5); });
  });
  loop.Pause();
  loop.Post([&] { runs.push_back(1); });
  time.Advance(absl::Seconds(4));
  EXPECT_TRUE(runs.empty());
  loop.Post([&] { runs.push_back(4); });
  loop.RunAfter(absl::Seconds(-1), [&] { runs.push_back(4); });
  time.RunDueTasks();
  loop.Resume();
  time.RunDueTasks();
  EXPECT_EQ(runs, (std::vector<int>{1, 2, 4, 4, 5}));
  EXPECT_FALSE(loop.paused());
}

TEST(SimLoopTest, TasksOfALoopKilledInAPauseNeverRun) {
  SimTime time;
  int runs = 0;
  SimLoop loop(time, "jobsvc-0");
  loop.Pause();
  loop.Post([&] { ++runs; });
  time.RunDueTasks();
  loop.Kill();
  loop.Resume();
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace basalt
