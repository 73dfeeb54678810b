#pragma once

// A fixture for slots that move between replicas, with a real hub, real runtimes and stores, and the simulated network
// between them. Kubernetes is a cache that the test fills. Each replica runs a controller that only counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/obs/metrics.h"
#include "common/rpc/sim/sim_network.h"
#include "common/runtime/replica.h"
#include "common/runtime/slots/slot_records.h"
#include "gateway/kube/fake_kube_access.h"
#include "gateway/route/testing.h"
#include "gateway/server/hub.h"
#include "gateway/server/testing.h"

namespace basalt::slots {

using gateway::testing::FakeKubeAccess;
using gateway::testing::Job;

constexpr gateway::v1::ServiceKind kJob = gateway::v1::SERVICE_KIND_JOB;
constexpr gateway::WatchIndex kJobs = 0;

inline std::string RecordKey(std::string_view key) {
  std::string record;
  kv::PutSlot(record, SlotOf(key));
  kv::PutText(record, key);
  return record;
}

// Counts the decisions of each key in the key's record, and writes one line of history for each decision.
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
  std::vector<std::string> shown_ends;  // Ends that came with the object's last state.

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
    options.name_secret = fmt::format("name secret number {} of {}", seed_, name);
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

  // Succeeds if every slot is open at exactly one replica.
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
  // Returns the count of each key, added up over the replicas.
  std::map<std::string, int> Counts() {
    std::map<std::string, int> counts;
    for (const std::string& key : keys_) counts[key] = CountOf(key);
    return counts;
  }
  // Succeeds if no record is lost: each key was decided at least once more since `before`.
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
  // Expects that each key's whole history, of at least `least` lines, is on the disk of the key's owner and on no
  // other.
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
    time_.RunDueTasks();
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
      random_,
      kube_,
      assignments_,
      *metrics_,
      {"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job", "queues.scheduling.volcano.sh"},
      {.cluster = "c", .version = "1"}};
  std::map<std::string, std::shared_ptr<kv::MemDisk>> disks_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;
  std::vector<std::string> keys_;
};

}  // namespace basalt::slots
