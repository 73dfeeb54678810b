// Tests the items that a replica receives about its slots, and when they count as recorded.
#include "gateway/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/route/testing.h"
#include "gateway/session/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.
using ::testing::HasSubstr;
using ::testing::Not;

const uint32_t kSlot = SlotOf("ns/j");

TEST(SessionTest, NothingOfASlotComesBeforeEveryWatchIsResolved) {
  Bench bench;
  bench.Attach();
  bench.Assign(4);
  bench.session->OpenSlot(kSlot, 4);
  bench.cache.Replace(Bench::kJobs, {Job("j", 5)}, 10);
  bench.cache.Replace(Bench::kGroups, {}, 11);
  bench.cache.Replace(Bench::kQueues, {Queue("q", 3)}, 12);
  EXPECT_EQ(bench.Text(), "assignment 4");
  bench.cache.SetState(Bench::kJobPods, v1::Mark::STATE_ABSENT);
  EXPECT_EQ(bench.Text(), fmt::format(" q@3 | begin {0} epoch 4 | ns/j j@5 | "
                                      "end {0} jobs=10 podgroups=11 pods/job=0(absent) queues=12 | "
                                      "progress jobs=10 podgroups=11 pods/job=0(absent) queues=12",
                                      kSlot));
}

TEST(SessionTest, TheTokenOfTheSessionIsTheFirstItem) {
  Bench bench;
  bench.ListAll(10);
  bench.Attach();
  bench.Assign(4);
  bench.session->SetToken("drawn");
  EXPECT_THAT(bench.Text(), ::testing::StartsWith("session drawn | assignment 4"));
}

TEST(SessionTest, ALiveChangeIsSentOnceWithItsNewestState) {
  Bench bench;
  bench.Begin(kSlot);
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 11));
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 12));
  bench.cache.Apply(Bench::kJobPods, JobPod("other", "x", 13));
  EXPECT_EQ(bench.session->dirty_keys(), 1);
  EXPECT_EQ(bench.Text(), "ns/j p@12");
  bench.time.Advance(absl::Seconds(1));
  EXPECT_EQ(bench.Text(), "progress pods/job=13");
}

TEST(SessionTest, ABookmarkMovesTheMarkWithoutAnyState) {
  Bench bench;
  bench.Begin(kSlot);
  bench.time.Advance(absl::Seconds(5));
  bench.cache.Bookmark(Bench::kJobs, 50);
  EXPECT_EQ(bench.Text(), "progress jobs=50");
}

TEST(SessionTest, ATombstoneIsSentAgainUntilAcknowledged) {
  Bench bench;
  bench.Begin(kSlot);
  kube::v1::Object failed = JobPod("j", "p", 12);
  failed.mutable_pod()->set_exit_code(3);
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 11));
  bench.cache.Remove(Bench::kJobPods, failed);
  EXPECT_EQ(bench.Text(/*acknowledge=*/false), "deleted ns/j p@12") << "merged, and still with its last state";
  bench.Detach();

  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  EXPECT_THAT(bench.Text(), HasSubstr(fmt::format("begin {0} epoch 1 | deleted ns/j p@12 | end {0}", kSlot)));
  bench.Detach();

  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  EXPECT_THAT(bench.Text(), HasSubstr(fmt::format("begin {0} epoch 1 | end {0}", kSlot)));
}

TEST(SessionTest, DeletionsReachAReplicaThatWasAway) {
  Bench bench;
  bench.ListAll(10);
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 11, "old"));
  bench.cache.Remove(Bench::kJobPods, JobPod("j", "p", 12, "old"));
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 13, "new"));
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  EXPECT_THAT(bench.Text(), HasSubstr("| deleted ns/j p@12 | ns/j p@13 | end"));
}

TEST(SessionTest, AHeldBackObjectWaitsForTheEndOfTheOlderOne) {
  Bench bench;
  bench.ListAll(10);
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  bench.Text();
  bench.cache.MergeWritten(JobPod("j", "p", 16, "new"));
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 12, "old"));
  std::string text = bench.Text();
  EXPECT_THAT(text, HasSubstr("ns/j p@12"));
  EXPECT_THAT(text, Not(HasSubstr("p@16")));
  bench.Detach();
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  text = bench.Text();
  EXPECT_THAT(text, HasSubstr("ns/j p@12"));
  EXPECT_THAT(text, Not(HasSubstr("p@16"))) << "in a snapshot";
  bench.cache.Remove(Bench::kJobPods, JobPod("j", "p", 14, "old"));
  EXPECT_THAT(bench.Text(), HasSubstr("deleted ns/j p@14 | ns/j p@16"));
}

TEST(SessionTest, AChangeOfRouteLeavesTheOldSlotThenShowsInTheNew) {
  Bench bench(v1::SERVICE_KIND_QUEUE);
  bench.ListAll(10);
  bench.Attach();
  bench.session->OpenSlot(SlotOf("red"), 1);
  bench.session->OpenSlot(SlotOf("blue"), 1);
  bench.Drain();
  bench.cache.Apply(Bench::kGroups, PodGroup("g", 11, "red"));
  EXPECT_EQ(bench.Text(), "red g@11");
  bench.cache.Apply(Bench::kGroups, PodGroup("g", 12, "blue"));
  EXPECT_EQ(bench.Text(), "left red g@12 | blue g@12");
  bench.time.Advance(absl::Seconds(2));
  EXPECT_EQ(bench.Text(), "progress podgroups=12");
}

TEST(SessionTest, ASlotThatClosesWithinItsSnapshotTakesNothingFromAnother) {
  Bench bench(v1::SERVICE_KIND_QUEUE, {.max_items = 2, .window = 1});
  bench.ListAll(10);
  for (int i = 0; i < 6; ++i) bench.cache.Apply(Bench::kGroups, PodGroup(fmt::format("g{}", i), 11 + i, "red"));
  bench.Attach();
  bench.session->OpenSlot(SlotOf("blue"), 1);
  bench.Drain();
  bench.session->OpenSlot(SlotOf("red"), 1);
  bench.time.RunDueTasks();  // A part of red's snapshot is on its way.
  bench.cache.Apply(Bench::kGroups, PodGroup("g5", 30, "blue"));
  bench.session->CloseSlot(SlotOf("red"));
  const std::string text = bench.Text() + bench.Text();
  EXPECT_NE(text.find("blue g5@30"), std::string::npos) << text;
}

TEST(SessionTest, ARelistTellsDeletionsAndNewStatesThenTheMark) {
  Bench bench;
  bench.ListAll(10);
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "a", 11));
  bench.Attach();
  bench.session->OpenSlot(kSlot, 1);
  bench.Drain();
  bench.time.Advance(absl::Seconds(2));
  bench.cache.Replace(Bench::kJobPods, {JobPod("j", "b", 15)}, 20);
  EXPECT_EQ(bench.Text(), "deleted ns/j a@20 | ns/j b@15 | progress pods/job=20");
}

TEST(SessionTest, AGrantGoesBeforeAnySlotAndNotOnceTheSlotIsGone) {
  Bench bench;
  bench.ListAll(10);
  bench.Attach();
  v1::SlotGrant grant;
  grant.set_epoch(3);
  for (const uint32_t slot : {kSlot, SlotOf("ns/other")}) {
    grant.set_slot(slot);
    bench.session->Grant(grant);
  }
  bench.session->CloseSlot(SlotOf("ns/other"));
  bench.session->OpenSlot(SlotOf("red"), 1);
  const std::string text = bench.Text();
  EXPECT_TRUE(text.starts_with(fmt::format("grant {} epoch 3 | begin", kSlot))) << text;
  EXPECT_EQ(text.find(fmt::format("grant {}", SlotOf("ns/other"))), std::string::npos) << text;
}

TEST(SessionTest, ABeginCountsOnceItIsAcknowledgedAndTheSlotIsStillThere) {
  Bench bench;
  bench.ListAll(10);
  bench.Attach();
  const uint32_t other = SlotOf("ns/other");
  bench.session->OpenSlot(kSlot, 1);
  bench.session->OpenSlot(other, 1);
  bench.Drain(false);
  EXPECT_TRUE(bench.session->TakeBegun().empty());
  bench.session->CloseSlot(other);
  EXPECT_TRUE(bench.session->OnAck(bench.session->sent_sequence()).ok());
  EXPECT_EQ(bench.session->TakeBegun(), std::vector<uint32_t>{kSlot});
  EXPECT_TRUE(bench.session->TakeBegun().empty());
}

TEST(SessionTest, ATombstoneBeforeTheSlotsEndIsNotTakenForRecorded) {
  for (const bool ended : {false, true}) {
    SessionOptions options;
    options.max_items = 4;
    Bench bench(v1::SERVICE_KIND_JOB, options);
    bench.ListAll(10);
    for (int i = 0; i < 20; ++i) bench.cache.Apply(Bench::kJobPods, JobPod("j", fmt::format("p-{}", i), 11 + i));
    bench.Attach();
    bench.session->OpenSlot(kSlot, 1);
    if (ended) bench.Drain();
    if (!ended) bench.time.RunDueTasks();  // The slot's first batch is under way.
    bench.cache.Remove(Bench::kJobPods, JobPod("j", "p-0", 40));
    if (ended) {
      bench.Drain(false);
    } else {
      for (int i = 0; i < 2; ++i) {
        bench.Sent();
        bench.time.RunDueTasks();
      }
    }
    ASSERT_EQ(bench.tombstones.size(), 1u);
    bench.session->CloseSlot(kSlot);
    EXPECT_TRUE(bench.session->OnAck(bench.session->sent_sequence()).ok());
    EXPECT_EQ(bench.tombstones.size(), ended ? 0u : 1u);
  }
}

TEST(SessionTest, NothingOfAClosedSlotIsSent) {
  Bench bench;
  bench.Begin(kSlot);
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 11));
  bench.cache.Remove(Bench::kJobPods, JobPod("j", "q", 12));
  bench.session->CloseSlot(kSlot);
  EXPECT_EQ(bench.Text(), "");
  bench.session->OpenSlot(kSlot, 3);
  EXPECT_THAT(bench.Text(), HasSubstr(fmt::format("begin {} epoch 3 | deleted ns/j q@12 | ns/j p@11 | end", kSlot)));
}

// While nothing can be sent, the slot goes to another replica and comes back: of the two assignments the replica
// receives only the second. Until the slot begins anew, nothing of it is sent, so no mark may count for it.
TEST(SessionTest, ASlotThatWasAnothersUnheardHasNoMarkUntilItBeginsAnew) {
  Bench bench;
  bench.ListAll(10);
  bench.Attach();
  const auto assign = [&bench](int64_t epoch, bool to_other) {
    v1::Assignment assignment;
    assignment.set_epoch(epoch);
    v1::Member& member = *assignment.add_members();
    member.set_service(v1::SERVICE_KIND_JOB);
    member.set_replica(to_other ? "other" : bench.session->self().replica());
    member.set_incarnation(to_other ? "x" : bench.session->self().incarnation());
    bench.session->SetAssignment(assignment);
  };
  assign(1, false);
  bench.session->OpenSlot(kSlot, 1);
  bench.Drain();
  bench.time.Advance(absl::Seconds(5));

  // The replica owns the pod that it has made, and knows it by the answer to its write.
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "p", 20));
  bench.session->CloseSlot(kSlot);
  assign(2, true);
  assign(3, false);
  bench.time.Advance(absl::Seconds(5));
  EXPECT_EQ(bench.Text(), "assignment 3") << "the state of p is not told, nor that the watch has passed it";
  bench.session->OpenSlot(kSlot, 3);
  EXPECT_THAT(bench.Text(), HasSubstr(fmt::format("begin {} epoch 3 | ns/j p@20 | end {}", kSlot, kSlot)));

  // A slot whose loss the replica hears of does not need that.
  bench.session->CloseSlot(kSlot);
  assign(4, true);
  EXPECT_EQ(bench.Text(), "assignment 4");
  bench.cache.Apply(Bench::kJobPods, JobPod("j", "q", 30));
  bench.time.Advance(absl::Seconds(5));
  EXPECT_EQ(bench.Text(), "progress pods/job=30");
}

TEST(SessionTest, QueuesGoToEverybodyAndAreBuriedForEverybody) {
  Bench bench;
  bench.ListAll(10);
  bench.cache.Apply(Bench::kQueues, Queue("q", 11));
  bench.Attach();
  EXPECT_THAT(bench.Text(), HasSubstr(" q@11"));
  bench.cache.Remove(Bench::kQueues, Queue("q", 12));
  EXPECT_EQ(bench.Text(), "deleted  q@12");
}

TEST(SessionTest, AnInterestIsToldItsStateAndItsAbsence) {
  Bench bench;
  bench.ListAll(10);
  bench.Attach();
  bench.Drain();
  auto claim = std::make_shared<kube::v1::Object>();
  claim->mutable_generic()->mutable_meta()->set_name("c");
  claim->mutable_generic()->mutable_meta()->set_resource_version(7);
  const InterestKey key{"persistentvolumeclaims", "ns", "c"};
  bench.session->OnInterest(key, claim);
  EXPECT_EQ(bench.Text(), "ns/c c@7");
  bench.session->OnInterest(key, nullptr);
  EXPECT_EQ(bench.Text(), "deleted ns/c c@0");
}

TEST(SessionTest, AnAcknowledgementOfWhatWasNeverSentIsRefused) {
  Bench bench;
  bench.Attach();
  EXPECT_EQ(bench.session->OnAck(1).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::gateway
