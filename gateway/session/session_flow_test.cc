// Tests how the items for a replica are cut into batches, and what waits while the replica has enough in hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "gateway/route/testing.h"
#include "gateway/session/backlog.h"
#include "gateway/session/session.h"
#include "gateway/session/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.
using ::testing::HasSubstr;

const uint32_t kSlot = SlotOf("ns/j");

TEST(SessionTest, AMarkIsNotSentBeforeTheStatesItCovers) {
  Bench bench(v1::SERVICE_KIND_JOB, {.max_items = 4});
  bench.Begin(kSlot);
  bench.time.Advance(absl::Seconds(5));
  for (int i = 0; i < 8; ++i) bench.cache.Apply(Bench::kJobPods, JobPod("j", fmt::format("p{}", i), 20 + i));
  bench.time.RunDueTasks();
  // More changes come while the first batch is on its way: they do not hold up the mark that was taken before.
  for (int i = 0; i < 8; ++i) bench.cache.Apply(Bench::kJobPods, JobPod("j", fmt::format("q{}", i), 30 + i));
  std::vector<std::string> items = bench.Drain();
  const auto progress = std::find_if(items.begin(), items.end(), [](auto& i) { return i.starts_with("progress"); });
  ASSERT_NE(progress, items.end());
  EXPECT_EQ(*progress, "progress pods/job=27");
  for (int i = 0; i < 8; ++i) {
    EXPECT_LT(std::find(items.begin(), items.end(), fmt::format("ns/j p{}@{}", i, 20 + i)), progress);
  }
  EXPECT_LT(progress + 1, items.end()) << "it did not wait for what came later";
}

TEST(SessionTest, AFewChangesWaitForMoreWhileTheReplicaHasEnoughInHand) {
  const auto change = [](Bench& bench, int i) {
    bench.cache.Apply(Bench::kJobPods, JobPod("j", fmt::format("p{}", i), 20 + i));
  };
  const auto begin = [&](Bench& bench) {
    bench.Begin(kSlot);
    for (int i = 0; i < 2; ++i) {
      change(bench, i);
      EXPECT_EQ(bench.Text(/*acknowledge=*/false), fmt::format("ns/j p{}@{}", i, 20 + i)) << "at once";
    }
    for (int i = 2; i < 4; ++i) {
      change(bench, i);
      EXPECT_EQ(bench.Text(/*acknowledge=*/false), "");
    }
  };
  const SessionOptions options{.max_items = 4, .progress_interval = absl::Hours(1)};
  struct {
    const char* what;
    std::function<void(Bench&)> act;
    const char* expected;
  } rows[] = {
      {"the replica has less in hand",
       [](Bench& bench) { ASSERT_TRUE(bench.session->OnAck(bench.session->acknowledged_sequence() + 1).ok()); },
       "ns/j p2@22 | ns/j p3@23"},
      {"they have waited long enough", [&](Bench& bench) { bench.time.Advance(options.gather); },
       "ns/j p2@22 | ns/j p3@23"},
      {"the batch is full",
       [&](Bench& bench) {
         for (int i = 4; i < 6; ++i) change(bench, i);
       },
       "ns/j p2@22 | ns/j p3@23 | ns/j p4@24 | ns/j p5@25"},
      {"it takes along what waits", [](Bench& bench) { bench.Assign(7); }, "assignment 7 | ns/j p2@22 | ns/j p3@23"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    Bench bench(v1::SERVICE_KIND_JOB, options);
    begin(bench);
    row.act(bench);
    EXPECT_EQ(bench.Text(false), row.expected);
  }
}

TEST(SessionTest, ASnapshotAndLiveChangesShareTheBatches) {
  Bench bench(v1::SERVICE_KIND_JOB, {.max_items = 16});
  bench.ListAll(1);
  uint32_t other = SlotOf("ns/live");
  ASSERT_NE(other, kSlot);
  for (int i = 0; i < 200; ++i) bench.cache.Apply(Bench::kJobPods, JobPod("j", fmt::format("p{}", i), 10 + i));
  bench.Attach();
  bench.session->OpenSlot(other, 1);
  bench.time.RunDueTasks();
  bench.sink->taken = true;
  bench.sink->batches.clear();
  bench.session->OnSent();
  ASSERT_TRUE(bench.session->OnAck(1).ok());
  bench.session->OpenSlot(kSlot, 1);
  for (int i = 0; i < 100; ++i) bench.cache.Apply(Bench::kJobPods, JobPod("live", fmt::format("l{}", i), 300 + i));
  int states = 0, first_live = -1, last_snapshot = -1, end = -1, batches = 0, index = 0;
  bench.ForEachBatch([&](const v1::AttachBatch& batch) {
    EXPECT_LE(batch.items_size(), 16);
    for (const v1::Item& item : batch.items()) {
      ++index;
      if (item.has_state()) ++states;
      if (item.has_state() && item.state().slot() == other && first_live < 0) first_live = index;
      if (item.has_state() && item.state().slot() == kSlot) last_snapshot = index;
      if (item.has_end() && item.end().slot() == kSlot) end = index;
    }
    ++batches;
  });
  EXPECT_EQ(states, 300);
  EXPECT_GT(batches, 15);
  EXPECT_LT(first_live, last_snapshot) << "live changes do not wait for the snapshot";
  EXPECT_GT(end, last_snapshot);
}

TEST(SessionTest, ASnapshotIsCutByBytesToo) {
  Bench bench(v1::SERVICE_KIND_JOB, {.max_bytes = 10'000});
  bench.ListAll(1);
  for (int i = 0; i < 10; ++i) {
    kube::v1::Object pod = JobPod("j", fmt::format("p{}", i), 10 + i);
    pod.mutable_pod()->set_reason(std::string(4'000, 'x'));
    bench.cache.Apply(Bench::kJobPods, pod);
  }
  kube::v1::Object giant = Job("j", 99);
  giant.mutable_job()->set_decode_error(std::string(50'000, 'x'));
  bench.cache.Apply(Bench::kJobs, giant);
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  size_t states = 0;
  bench.ForEachBatch([&](const v1::AttachBatch& batch) {
    for (const v1::Item& item : batch.items()) states += item.has_state() ? 1 : 0;
    const bool alone = batch.items_size() == 1;
    EXPECT_TRUE(alone || batch.ByteSizeLong() <= 11'000) << batch.ByteSizeLong();
  });
  EXPECT_EQ(states, 11u);
}

TEST(SessionTest, AnObjectThatComesBackCostsABacklogNothing) {
  Backlog backlog;
  backlog.Add(7);
  for (ObjectId round = 0; round < 10000; ++round) {
    backlog.Add(3);
    backlog.Unmark(3);
  }
  backlog.Add(3);
  EXPECT_EQ(backlog.size(), 2);
  EXPECT_LE(backlog.queued(), 70u);
  EXPECT_EQ(backlog.First(), 7u);
  backlog.Unmark(7);
  backlog.PopFirst();
  EXPECT_EQ(backlog.First(), 3u);
}

TEST(SessionTest, ASlowReplicaHoldsOneBitForEachObjectAndGetsTheNewestState) {
  Bench bench(v1::SERVICE_KIND_JOB, {.window = 2});
  bench.Begin(kSlot);
  int64_t rv = 20;
  for (int round = 0; round < 50; ++round) {
    bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", ++rv));
    bench.cache.Apply(Bench::kJobPods, JobPod("j", "q", ++rv));
    bench.time.RunDueTasks();
    if (!bench.sink->taken) {
      bench.Sent();
    }
  }
  EXPECT_EQ(bench.sink->batches.size(), 2u) << "the window";
  EXPECT_EQ(bench.session->dirty_keys(), 2);
  bench.time.Advance(absl::Seconds(3));
  EXPECT_GE(bench.session->Lag(), absl::Seconds(3));
  bench.sink->batches.clear();
  ASSERT_TRUE(bench.session->OnAck(bench.session->sent_sequence()).ok());
  EXPECT_THAT(bench.Text(), HasSubstr(fmt::format("ns/j p@{} | ns/j q@{}", rv - 1, rv)));
  EXPECT_EQ(bench.session->Lag(), absl::ZeroDuration());
}

TEST(SessionTest, ASlotOnceBegunComesToItsEndOverAFullWindow) {
  Bench bench(v1::SERVICE_KIND_JOB, {.max_items = 4, .window = 2});
  bench.ListAll(10);
  for (int i = 0; i < 40; ++i) bench.cache.Apply(Bench::kJobPods, JobPod("j", fmt::format("p{}", i), 20 + i));
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  bench.session->OpenSlot(SlotOf("ns/other"), 1);
  const std::string text = bench.Text(/*acknowledge=*/false);
  EXPECT_THAT(text, HasSubstr(fmt::format("end {}", kSlot)));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(fmt::format("begin {}", SlotOf("ns/other")))));
  ASSERT_TRUE(bench.session->OnAck(bench.session->sent_sequence()).ok());
  EXPECT_THAT(bench.Text(), HasSubstr(fmt::format("begin {}", SlotOf("ns/other"))));
}

TEST(SessionTest, AForbiddenWatchDoesNotKeepTheNewsOfItsServingBehindTheWindow) {
  Bench bench(v1::SERVICE_KIND_JOB, {.max_items = 4, .window = 2});
  bench.ListAll(10);
  bench.cache.SetState(Bench::kJobPods, v1::Mark::STATE_FORBIDDEN);
  for (int i = 0; i < 20; ++i) bench.cache.Apply(Bench::kJobs, Job("j", 20 + i, fmt::format("u{}", i)));
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  // The replica cannot record changes that are held back, so it does not acknowledge.
  bench.Drain(/*acknowledge=*/false);
  for (int i = 0; i < 20; ++i) {
    bench.cache.Apply(Bench::kJobs, Job("j", 50 + i, "u19"));
    bench.Drain(/*acknowledge=*/false);
  }
  bench.cache.SetState(Bench::kJobPods, v1::Mark::STATE_READY);
  bench.time.Advance(absl::Seconds(2));
  EXPECT_THAT(bench.Text(/*acknowledge=*/false), HasSubstr("pods/job=10"));
  bench.cache.Apply(Bench::kJobs, Job("j", 90, "u19"));
  EXPECT_EQ(bench.Text(/*acknowledge=*/false), "") << "the window counts again";
}

}  // namespace
}  // namespace basalt::gateway
