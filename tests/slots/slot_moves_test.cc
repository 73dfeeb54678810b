// Slots that move between replicas, with a real hub, real runtimes and stores, and the simulated network between them;
// Kubernetes is a cache that the test fills. What a replica does is a controller that counts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/obs/metrics.h"
#include "common/rpc/sim/sim_network.h"
#include "common/runtime/replica.h"
#include "common/runtime/slot_records.h"
#include "gateway/route/testing.h"
#include "gateway/server/hub.h"
#include "gateway/server/testing.h"

namespace basalt {
namespace {

using gateway::testing::FakeKubeAccess;
using gateway::testing::Job;

constexpr gateway::v1::ServiceKind kJob = gateway::v1::SERVICE_KIND_JOB;
constexpr gateway::WatchIndex kJobs = 0;

std::string RecordKey(std::string_view key) {
  std::string record;
  kv::PutSlot(record, SlotOf(key));
  kv::PutText(record, key);
  return record;
}

// Counts how often each key was decided, in its record; one line of history for each.
class CountingController final : public runtime::Controller {
 public:
  explicit CountingController(runtime::Context& context) : context_(context) {}

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override {
    std::string prefix;
    kv::PutSlot(prefix, slot);
    const absl::Status status = context_.store().Scan(kv::Family::kRecords, prefix, kv::PrefixEnd(prefix),
                                                      [&](std::string_view key, std::string_view value) {
                                                        std::string name;
                                                        key.remove_prefix(2);
                                                        EXPECT_TRUE(kv::TakeText(key, name));
                                                        counts[name] = std::stoi(std::string(value));
                                                        return true;
                                                      });
    if (!status.ok()) return status;
    open.insert(slot);
    return std::vector<runtime::KnownObject>();
  }
  void CloseSlot(uint32_t slot) override {
    open.erase(slot);
    std::erase_if(counts, [slot](const auto& entry) { return SlotOf(entry.first) == slot; });
  }
  void OnState(std::string_view, const std::string&, kube::v1::Object&&) override {}
  void OnGone(std::string_view, const runtime::Gone& gone) override {
    ends.push_back(gone.name);
    if (gone.last != nullptr) shown_ends.push_back(gone.name);
  }
  void OnShared(const std::string&, const kube::v1::Object&, bool) override {}
  void Decide(std::string_view key, kv::WriteBatch& batch) override {
    const int count = ++counts[std::string(key)];
    batch.Put(kv::Family::kRecords, RecordKey(key), std::to_string(count));
    std::string line = RecordKey(key);
    kv::PutFixed64(line, static_cast<uint64_t>(count));
    batch.Put(kv::Family::kHistory, line, "decided");
  }
  void Act(std::string_view key) override { acted.insert(std::string(key)); }

  runtime::Context& context() { return context_; }

  std::map<std::string, int> counts;
  std::set<uint32_t> open;
  std::set<std::string> acted;
  std::vector<std::string> ends;
  std::vector<std::string> shown_ends;  // With the last state.

 private:
  runtime::Context& context_;
};

struct Host {
  Host(SimTime& time, const std::string& name, uint64_t seed) : loop(time, name), random(seed) {}
  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<kv::KvStore> store;
  std::unique_ptr<rpc::GatewayPeer> gateway;
  std::unique_ptr<rpc::PeerDirectory> peers;
  std::unique_ptr<runtime::Replica> replica;
  CountingController* controller = nullptr;
};

class SlotMovesTest : public ::testing::Test {
 protected:
  SlotMovesTest() {
    network_.AddHost("gateway", gateway_loop_);
    network_.Serve("gateway", hub_);
    for (gateway::WatchIndex i = 0; i < 4; ++i) hub_.cache().Replace(i, {}, 10);
    hub_.Lead({});
    for (int i = 0; i < 400; ++i) {
      keys_.push_back(fmt::format("ns/job-{}", i));
      hub_.cache().Apply(kJobs, Job(fmt::format("job-{}", i), 11 + i));
    }
  }
  ~SlotMovesTest() override {
    std::vector<std::string> names;
    for (const auto& [name, host] : hosts_) names.push_back(name);
    for (const std::string& name : names) Kill(name);
    network_.RemoveHost("gateway");
  }

  CountingController& Start(const std::string& name) {
    auto host = std::make_unique<Host>(time_, name, ++seed_);
    if (disks_[name] == nullptr) disks_[name] = kv::MakeMemDisk();
    host->store = kv::OpenMemKv(disks_[name]);
    network_.AddHost(name, host->loop);
    host->gateway = network_.Gateway(name, "gateway");
    host->peers = network_.Directory(name);
    runtime::RuntimeOptions options;
    options.cluster = "c";
    options.version = "1";
    options.service = kJob;
    options.replica = name;
    options.address = name;
    host->replica = std::make_unique<runtime::Replica>(
        options, host->loop, std::vector<Loop*>{&host->loop}, host->random, *host->store, *host->gateway, *host->peers,
        nullptr, nullptr, [&host](runtime::Context& context) {
          auto controller = std::make_unique<CountingController>(context);
          host->controller = controller.get();
          return controller;
        });
    network_.Serve(name, host->replica->hand_over());
    host->replica->Start();
    CountingController& controller = *host->controller;
    hosts_[name] = std::move(host);
    return controller;
  }
  void Kill(const std::string& name) {
    hosts_[name]->loop.Kill();
    network_.RemoveHost(name);
    hosts_.erase(name);
  }
  CountingController& At(const std::string& name) { return *hosts_[name]->controller; }

  // All of the slots are open, each at one replica.
  ::testing::AssertionResult EachSlotIsOpenOnce() {
    std::vector<int> open(kSlotCount);
    for (const auto& [name, host] : hosts_) {
      for (const uint32_t slot : host->controller->open) ++open[slot];
    }
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
      if (open[slot] != 1) return ::testing::AssertionFailure() << "slot " << slot << " is open " << open[slot] << "x";
    }
    return ::testing::AssertionSuccess();
  }
  int CountOf(const std::string& key) {
    int count = 0;
    for (const auto& [name, host] : hosts_) {
      const auto found = host->controller->counts.find(key);
      if (found != host->controller->counts.end()) count += found->second;
    }
    return count;
  }
  // No record is lost: each count is at least what it was, each is at one replica only.
  std::map<std::string, int> Counts() {
    std::map<std::string, int> counts;
    for (const std::string& key : keys_) counts[key] = CountOf(key);
    return counts;
  }
  ::testing::AssertionResult NothingIsForgottenSince(const std::map<std::string, int>& before) {
    for (const auto& [key, count] : before) {
      if (CountOf(key) < count + 1) {
        return ::testing::AssertionFailure() << key << " counts " << CountOf(key) << " after " << count;
      }
    }
    return ::testing::AssertionSuccess();
  }
  void TouchAll() {
    for (const std::string& key : keys_) hub_.cache().Apply(kJobs, Job(key.substr(3), ++version_));
  }
  size_t LinesOf(const std::string& key, const std::string& name) {
    size_t lines = 0;
    const std::string prefix = RecordKey(key);
    const auto store = kv::OpenMemKv(disks_[name]);
    EXPECT_TRUE(store
                    ->Scan(kv::Family::kHistory, prefix, kv::PrefixEnd(prefix),
                           [&](auto, auto) {
                             ++lines;
                             return true;
                           })
                    .ok());
    return lines;
  }
  void AdvanceUntilOpen(const std::string& name) {
    for (int i = 0; i < 1000 && At(name).open.empty(); ++i) time_.Advance(absl::Milliseconds(1));
    ASSERT_FALSE(At(name).open.empty());
  }
  // All of each key's history, at least so many lines, is where the key is, and nowhere else.
  void ExpectAllHistoryAtItsOwner(size_t least = 1) {
    for (const std::string& key : keys_) {
      for (const auto& [name, disk] : disks_) {
        if (disk == nullptr) continue;
        const bool owns = hosts_.contains(name) && At(name).counts.contains(key);
        const size_t lines = LinesOf(key, name);
        if (owns) {
          EXPECT_GE(lines, std::max(least, static_cast<size_t>(CountOf(key)))) << key << " at " << name;
        } else {
          EXPECT_EQ(lines, 0u) << key << " at " << name;
        }
      }
    }
  }
  gateway::v1::Topology Topology() {
    gateway::v1::Topology topology;
    hub_.GetTopology({}, [&](auto answer) { topology = *answer; });
    time_.Settle();
    return topology;
  }

  SimTime time_;
  SeededRandom random_{1};
  uint64_t seed_ = 7;
  int64_t version_ = 1000;
  rpc::SimNetwork network_{time_, random_};
  SimLoop gateway_loop_{time_, "gateway"};
  FakeKubeAccess kube_;
  std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  gateway::MemoryAssignmentStore assignments_{gateway_loop_};
  gateway::Hub hub_{
      gateway_loop_,
      kube_,
      assignments_,
      *metrics_,
      {"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job", "queues.scheduling.volcano.sh"},
      {.cluster = "c", .version = "1"}};
  std::map<std::string, std::shared_ptr<kv::MemDisk>> disks_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;
  std::vector<std::string> keys_;
};

TEST_F(SlotMovesTest, AReplicaThatJoinsTakesItsShareWithAllRecords) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  ASSERT_TRUE(EachSlotIsOpenOnce());
  const auto before = Counts();
  Start("jobsvc-2");
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "within a tenth of a second";
  EXPECT_LE(At("jobsvc-2").open.size(), static_cast<size_t>(1.2 * kSlotCount / 3));
  EXPECT_GE(At("jobsvc-2").open.size(), static_cast<size_t>(0.8 * kSlotCount / 3));
  time_.Advance(absl::Seconds(1));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
  EXPECT_EQ(metrics_->GetCounter("gateway_slots_without_records_total", "").Value(), 0);
  for (const std::string& key : keys_) {
    if (!At("jobsvc-2").counts.contains(key)) continue;
    EXPECT_EQ(LinesOf(key, "jobsvc-2"), static_cast<size_t>(CountOf(key))) << "history follows";
    EXPECT_EQ(LinesOf(key, "jobsvc-0") + LinesOf(key, "jobsvc-1"), 0u) << "and is dropped where it was";
  }
  EXPECT_EQ(Topology().moves_size(), 0);
}

TEST_F(SlotMovesTest, TheSlotsThatStayAreNotDisturbed) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  At("jobsvc-0").acted.clear();
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  EXPECT_TRUE(At("jobsvc-0").acted.empty()) << "no pass for what has not changed";
}

TEST_F(SlotMovesTest, WhoLeavesHandsOverEverythingAndIsDismissed) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  bool left = false;
  hosts_["jobsvc-1"]->replica->Leave([&] { left = true; });
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(At("jobsvc-1").open.empty());
  EXPECT_TRUE(EachSlotIsOpenOnce());
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(left) << "before its patience ends";
  Kill("jobsvc-1");
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
  EXPECT_EQ(Topology().members_size(), 2);
}

TEST_F(SlotMovesTest, TheLastOneLeavesAtOnceAndItsSlotsWaitForIt) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  bool left = false;
  hosts_["jobsvc-0"]->replica->Leave([&] { left = true; });
  time_.Advance(absl::Milliseconds(50));
  EXPECT_TRUE(left);
  Kill("jobsvc-0");
  time_.Advance(absl::Seconds(1));
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(1));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, ACrashWithinTheGraceMovesNothing) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  const std::set<uint32_t> had = At("jobsvc-1").open;
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(4));
  EXPECT_EQ(At("jobsvc-0").open.size() + had.size(), kSlotCount);
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(At("jobsvc-1").open, had);
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, WhoeverIsGoneForLongerLosesItsSlotsAndItsDiskIsNotBelieved) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  const std::set<uint32_t> had = At("jobsvc-1").open;
  Kill("jobsvc-1");
  time_.Advance(absl::Milliseconds(5500));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "grace and half a second";
  TouchAll();
  time_.Advance(absl::Seconds(1));
  const auto before = Counts();
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(At("jobsvc-1").open, had);
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before)) << "jobsvc-0's records count, not those of the old disk";
}

TEST_F(SlotMovesTest, SlotsThatGoOnWithoutTheRecordsOfAnAbsentOwnerAreCounted) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  const size_t had = At("jobsvc-1").open.size();
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(6));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  EXPECT_EQ(metrics_->GetCounter("gateway_slots_without_records_total", "").Value(), static_cast<double>(had));
}

TEST_F(SlotMovesTest, WithItsDiskLostASlotBeginsWithNothing) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-0");
  disks_["jobsvc-0"] = nullptr;
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  for (const std::string& key : keys_) EXPECT_EQ(CountOf(key), 1) << key;
}

TEST_F(SlotMovesTest, ASourceOutOfReachDelaysItsSlotsOnlyAndNotForEver) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  network_.Partition("jobsvc-0", "jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(At("jobsvc-1").open.empty());
  const gateway::v1::Topology topology = Topology();
  ASSERT_EQ(topology.moves_size(), 1);
  EXPECT_EQ(topology.moves(0).stage(), gateway::v1::Move::STAGE_HANDING_OVER);
  EXPECT_EQ(topology.moves(0).from(), "jobsvc-0");
  EXPECT_EQ(topology.moves(0).to(), "jobsvc-1");
  TouchAll();
  time_.Advance(absl::Milliseconds(200));
  for (const std::string& key : keys_) {
    if (!At("jobsvc-0").open.contains(SlotOf(key))) continue;
    EXPECT_EQ(CountOf(key), 2) << key;
  }
  time_.Advance(absl::Seconds(6));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "rebuilt from Kubernetes";
  EXPECT_GT(metrics_->GetCounter("gateway_slots_without_records_total", "").Value(), 400);
}

TEST_F(SlotMovesTest, ASourceThatDiesMeanwhileComesBackWithItsRecords) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  network_.Partition("jobsvc-0", "jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-0");
  network_.HealAll();
  time_.Advance(absl::Seconds(1));
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, WhatIsRecordedSinceASlotBeganOutlivesAFetchThatIsGivenUp) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  network_.Partition("jobsvc-0", "jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Milliseconds(200));
  // Its grace period is over while jobsvc-1 still waits for an answer.
  Kill("jobsvc-0");
  time_.Advance(absl::Milliseconds(5500));
  EXPECT_EQ(At("jobsvc-1").open.size(), kSlotCount);
  TouchAll();
  time_.Advance(absl::Seconds(10));
  const auto before = Counts();
  Kill("jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, HistoryWhosePassageIsCutOffComesWhenItsSourceComesBack) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  Start("jobsvc-1");
  AdvanceUntilOpen("jobsvc-1");
  Kill("jobsvc-0");
  time_.Advance(absl::Seconds(8));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "at jobsvc-1 alone";
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "some have gone on without their history";
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(3));
  ExpectAllHistoryAtItsOwner();
}

TEST_F(SlotMovesTest, HistoryIsAskedForAgainByAnOwnerThatDiedOverIt) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  Start("jobsvc-1");
  AdvanceUntilOpen("jobsvc-1");
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  ExpectAllHistoryAtItsOwner();
}

TEST_F(SlotMovesTest, WhatAnOldDiskHasOfSlotsThatWentOnWithoutItIsFetchedAndCleared) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(2));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(6));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-2");
  time_.Advance(absl::Seconds(6));
  Start("jobsvc-1");
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(3));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  ExpectAllHistoryAtItsOwner(2);
}

TEST_F(SlotMovesTest, WhoLeavesStaysUntilItsHistoryIsElsewhere) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  bool left = false;
  hosts_["jobsvc-1"]->replica->Leave([&] { left = true; });
  for (int i = 0; i < 2000 && !left; ++i) time_.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(left);
  Kill("jobsvc-1");
  disks_["jobsvc-1"] = nullptr;
  ExpectAllHistoryAtItsOwner();
}

TEST_F(SlotMovesTest, TheEndOfAnObjectIsHeardByTheNextOwnerIfNotByTheOneBefore) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  network_.SetOptions({.batch_delay = absl::Milliseconds(300)});
  Start("jobsvc-1");
  time_.Advance(absl::Milliseconds(600));
  for (const std::string& key : keys_) hub_.cache().Remove(kJobs, Job(key.substr(3), ++version_));
  network_.SetOptions({});
  time_.Advance(absl::Seconds(3));
  std::multiset<std::string> ends(At("jobsvc-0").ends.begin(), At("jobsvc-0").ends.end());
  ends.insert(At("jobsvc-1").ends.begin(), At("jobsvc-1").ends.end());
  EXPECT_EQ(ends.size(), keys_.size());
}

TEST_F(SlotMovesTest, HowAnObjectEndedIsHeardByTheNextOwnerAlsoIfNobodyWasThere) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  Kill("jobsvc-0");
  // While the slots are kept for it, and once they are nobody's.
  hub_.cache().Remove(kJobs, Job("job-0", ++version_));
  time_.Advance(absl::Seconds(10));
  ASSERT_EQ(Topology().members_size(), 0);
  hub_.cache().Remove(kJobs, Job("job-1", ++version_));
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(3));
  EXPECT_THAT(At("jobsvc-0").shown_ends, ::testing::UnorderedElementsAre("job-0", "job-1"));
  // Acknowledged: not told again.
  Kill("jobsvc-0");
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(3));
  EXPECT_TRUE(At("jobsvc-0").shown_ends.empty());
}

TEST_F(SlotMovesTest, AnOwnerThatWasAsleepAcrossTheMoveCannotWrite) {
  CountingController& asleep = Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  std::string key;
  for (const std::string& candidate : keys_) {
    if (asleep.counts.contains(candidate)) key = candidate;
  }
  network_.Partition("jobsvc-0", "gateway");
  time_.Advance(absl::Milliseconds(5600));
  EXPECT_EQ(At("jobsvc-1").open.size(), kSlotCount);
  // It does not know: what it sends arrives later.
  network_.HealAll();
  gateway::v1::WriteRequest write;
  write.mutable_resource()->set_plural("jobs");
  write.set_name(key);
  write.mutable_patch()->set_type(gateway::v1::Patch::TYPE_MERGE);
  asleep.context().Write(key, write, [](auto) {});
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(kube_.writes.empty());
  EXPECT_GE(metrics_->GetCounter("gateway_writes_fenced_total", "").Value(), 1);
}

}  // namespace
}  // namespace basalt
