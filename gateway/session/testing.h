#pragma once

// Provides a cache, one session and a scripted sink, for tests of the items that a replica receives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "gateway/route/cache.h"
#include "gateway/route/object_ref.h"
#include "gateway/session/session.h"
#include "gateway/session/tombstones.h"

namespace basalt::gateway::testing {

inline std::string TextOf(const v1::Item& item) {
  const auto versions = [](const auto& marks) {
    std::string text;
    for (const v1::Mark& mark : marks) {
      text += fmt::format(" {}={}{}", mark.watch().substr(0, mark.watch().find('.')), mark.resource_version(),
                          mark.state() == v1::Mark::STATE_READY    ? ""
                          : mark.state() == v1::Mark::STATE_ABSENT ? "(absent)"
                                                                   : "(?)");
    }
    return text;
  };
  switch (item.item_case()) {
    case v1::Item::kAssignment:
      return fmt::format("assignment {}", item.assignment().epoch());
    case v1::Item::kSessionStart:
      return fmt::format("session {}", item.session_start().token());
    case v1::Item::kBegin:
      return fmt::format("begin {} epoch {}", item.begin().slot(), item.begin().epoch());
    case v1::Item::kGrant:
      return fmt::format("grant {} epoch {}", item.grant().slot(), item.grant().epoch());
    case v1::Item::kState:
      return fmt::format("{} {}@{}", item.state().routing_key(), RefOf(item.state().object()).name,
                         RefOf(item.state().object()).resource_version);
    case v1::Item::kTombstone:
      return fmt::format("{} {} {}@{}{}", item.tombstone().reason() == v1::Tombstone::REASON_LEFT ? "left" : "deleted",
                         item.tombstone().routing_key(), RefOf(item.tombstone().last()).name,
                         RefOf(item.tombstone().last()).resource_version,
                         item.tombstone().state_dropped() ? " (state dropped)" : "");
    case v1::Item::kEnd:
      return fmt::format("end {}{}", item.end().slot(), versions(item.end().marks()));
    case v1::Item::kProgress:
      return fmt::format("progress{}", versions(item.progress().marks()));
    default:
      return "?";
  }
}

class FakeSink : public rpc::AttachSink {
 public:
  void Send(std::string batch) override {
    EXPECT_TRUE(taken) << "one batch at a time";
    taken = false;
    EXPECT_TRUE(batches.emplace_back().ParseFromString(batch));
  }
  void Close(const absl::Status& status) override { closed = status; }

  bool taken = true;
  std::deque<v1::AttachBatch> batches;
  absl::Status closed = absl::OkStatus();
};

// Plays the gateway's fan-out for one replica that owns the slots it is given.
class Bench : public CacheListener {
 public:
  explicit Bench(v1::ServiceKind service = v1::SERVICE_KIND_JOB, SessionOptions options = {},
                 size_t tombstone_bytes = 1 << 20)
      : service_(service), options_(options), tombstones(tombstone_bytes) {}

  void Attach() {
    sink = std::make_unique<FakeSink>();
    v1::Member self;
    self.set_service(service_);
    self.set_replica("r-0");
    session = std::make_unique<Session>(
        loop, cache, self, tombstones, *sink, [] { return int64_t{5000}; }, options_);
  }
  void Detach() { session.reset(); }
  // Attaches to listed watches, and takes the snapshot of one slot.
  void Begin(uint32_t slot) {
    ListAll(10);
    Attach();
    session->OpenSlot(slot, 1);
    Drain();
  }
  void Assign(int64_t epoch) {
    v1::Assignment assignment;
    assignment.set_epoch(epoch);
    session->SetAssignment(assignment);
  }

  // Takes and acknowledges batches until no more come.
  void ForEachBatch(const std::function<void(const v1::AttachBatch&)>& visit, bool acknowledge = true) {
    for (;;) {
      time.RunDueTasks();
      if (sink->batches.empty()) return;
      const v1::AttachBatch batch = std::move(sink->batches.front());
      sink->batches.pop_front();
      visit(batch);
      Sent();
      if (acknowledge) {
        EXPECT_TRUE(session->OnAck(batch.sequence()).ok());
      }
    }
  }
  // The transport has taken the batch.
  void Sent() {
    sink->taken = true;
    session->OnSent();
  }
  // Returns the items' texts, in order.
  std::vector<std::string> Drain(bool acknowledge = true) {
    std::vector<std::string> items;
    ForEachBatch(
        [&items](const v1::AttachBatch& batch) {
          for (const v1::Item& item : batch.items()) items.push_back(TextOf(item));
        },
        acknowledge);
    return items;
  }
  std::string Text(bool acknowledge = true) {
    std::string text;
    for (const std::string& item : Drain(acknowledge)) text += (text.empty() ? "" : " | ") + item;
    return text;
  }

  void OnState(ObjectId id) override {
    if (session) session->OnState(id);
  }
  void OnDeparture(ObjectId id, const Departure& departure) override {
    const bool mine = departure.service == v1::SERVICE_KIND_UNSPECIFIED || departure.service == service_;
    if (!mine) return;
    const TombstoneKey key = tombstones.Add(departure);
    if (session) session->OnDeparture(id, key);
  }
  void OnHeldBack(ObjectId id) override {
    if (session) session->OnHeldBack(id);
  }
  void OnWatch(WatchIndex watch) override {
    if (session) session->OnWatch(watch);
  }

  static constexpr WatchIndex kJobs = 0, kGroups = 1, kJobPods = 2, kQueues = 3;
  void ListAll(int64_t resource_version) {
    const auto count = static_cast<WatchIndex>(cache.watches().size());
    for (WatchIndex i = 0; i < count; ++i) cache.Replace(i, {}, resource_version);
  }

  const v1::ServiceKind service_;
  const SessionOptions options_;
  SimTime time;
  SimLoop loop{time, "gateway"};
  Tombstones tombstones;
  std::unique_ptr<FakeSink> sink;
  std::unique_ptr<Session> session;
  Cache cache{{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job", "queues.scheduling.volcano.sh"},
              *this};
};

}  // namespace basalt::gateway::testing
