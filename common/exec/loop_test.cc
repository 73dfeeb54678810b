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
  time.Settle();
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

}  // namespace
}  // namespace basalt
