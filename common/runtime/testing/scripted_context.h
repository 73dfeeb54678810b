#pragma once

// A runtime for tests of one controller: time stands until the test moves it, and every write and every read waits
// until the test ends it. One thread.
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/kv/kv_store.h"
#include "common/runtime/controller.h"
#include "common/runtime/objects/object_identity.h"
#include "common/time/sim_time.h"

namespace basalt::runtime::testing {

inline WriteOutcome Done(kube::v1::Object object = {}) {
  return {.kind = WriteOutcome::Kind::kDone, .object = std::move(object)};
}

inline WriteOutcome Refused(int code, std::string_view reason, std::string_view message = "") {
  WriteOutcome outcome{.kind = WriteOutcome::Kind::kRefused};
  outcome.error.set_code(code);
  outcome.error.set_reason(std::string(reason));
  outcome.error.set_message(std::string(message));
  return outcome;
}

class ScriptedContext : public Context {
 public:
  struct PendingWrite {
    std::string key;
    gateway::v1::WriteRequest request;
    WriteDone done;
  };
  struct PendingGet {
    std::string key;
    gateway::v1::GetRequest request;
    GetDone done;
  };

  struct Merged {
    kube::v1::Object object;
    bool gone = false;
  };

  std::deque<PendingWrite> writes;  // The oldest first.
  std::deque<PendingGet> gets;      // The oldest first.
  std::vector<Merged> merged;       // The calls of MergeAnswer, which also go to the controller that is being answered.

  // Runs passes of the controller over woken keys, until no key is left.
  void RunPasses(Controller& controller) {
    while (!dirty_.empty()) {
      const std::string key = *dirty_.begin();
      dirty_.erase(dirty_.begin());
      kv::WriteBatch batch;
      controller.Decide(key, batch);
      if (!batch.empty()) (void)store_->Write(batch);
      controller.Act(key);
    }
  }
  // Moves time and runs timers.
  void Advance(absl::Duration duration) { time_.Advance(duration); }
  // Moves time, runs timers, and runs the passes of keys whose wake-up is due.
  void Advance(absl::Duration duration, Controller& controller) {
    Advance(duration);
    for (auto it = wakes_.begin(); it != wakes_.end();) {
      if (it->second > time_.Now()) {
        ++it;
        continue;
      }
      dirty_.insert(it->first);
      it = wakes_.erase(it);
    }
    RunPasses(controller);
  }
  // Ends the oldest write, and wakes its key after the answer. If the outcome has an object, the test calls OnState.
  void Answer(WriteOutcome outcome, Controller& controller) {
    PendingWrite write = std::move(writes.front());
    writes.pop_front();
    answering_ = &controller;
    write.done(std::move(outcome));
    Wake(write.key);
    RunPasses(controller);
  }
  // Drops writes of Events unanswered, for tests about other writes.
  void DropEvents() {
    std::erase_if(writes, [](const PendingWrite& write) { return write.request.resource().plural() == "events"; });
  }
  // Ends the oldest read.
  void Answer(absl::StatusOr<gateway::v1::GetResponse> response, Controller& controller) {
    PendingGet get = std::move(gets.front());
    gets.pop_front();
    answering_ = &controller;
    get.done(std::move(response));
    RunPasses(controller);
  }

  // Requires: no object uses the store any more.
  void LoseDisk() { store_ = kv::OpenMemKv(kv::MakeMemDisk()); }

  Loop& loop() override { return loop_; }
  Random& random() override { return random_; }
  kv::KvStore& store() override { return *store_; }
  absl::Time ApiNow() const override { return time_.Now(); }
  void Wake(std::string_view key) override { dirty_.emplace(key); }
  void WakeAt(std::string_view key, absl::Time when) override {
    const auto [it, is_new] = wakes_.try_emplace(std::string(key), when);
    if (!is_new) it->second = std::min(it->second, when);
  }
  bool IsReady(uint32_t) const override { return true; }
  int64_t SlotEpoch(uint32_t) const override { return 1; }
  SlotCounts Slots() const override { return {kSlotCount, kSlotCount}; }
  void Write(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) override {
    writes.push_back({std::string(key), std::move(request), std::move(done)});
  }
  void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, WriteDone done) override {
    Write(key, std::move(request), std::move(done));
  }
  void Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) override {
    gets.push_back({std::string(key), std::move(request), std::move(done)});
  }
  void GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) override {
    Get(key, std::move(request), std::move(done));
  }
  bool CallOwner(gateway::v1::ServiceKind, std::string_view, PeerCall) override { return false; }
  void MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) override {
    merged.push_back({object, gone});
    const ObjectIdentity identity = Identify(object);
    if (answering_ == nullptr) return;
    if (!gone) return answering_->OnState(key, WatchOf(object), kube::v1::Object(object));
    answering_->OnGone(key, {.reason = Gone::Reason::kDeleted,
                             .watch = WatchOf(object),
                             .uid = std::string(identity.uid),
                             .ns = std::string(identity.ns),
                             .name = std::string(identity.name),
                             .resource_version = identity.resource_version,
                             .last = &object});
  }
  void AddInterest(std::string_view, std::string_view, std::string_view) override {}
  void DropInterest(std::string_view, std::string_view, std::string_view) override {}
  void Fail(const absl::Status& why) override { failure_ = why; }
  const absl::Status& failure() const { return failure_; }

 private:
  Controller* answering_ = nullptr;
  SimTime time_;
  SimLoop loop_{time_, "test"};
  SeededRandom random_{1};
  std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  std::set<std::string> dirty_;
  std::map<std::string, absl::Time> wakes_;
  absl::Status failure_;
};

}  // namespace basalt::runtime::testing
