#pragma once

// The slots of one worker, and the batches of the gateway that the worker has not recorded yet. Values, confined to the
// worker's loop.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace basalt::runtime {

struct WorkerSlot {
  int64_t epoch = 0;
  uint64_t generation = 0;  // New each time that the slot is opened.
  bool ready = false;
  bool refused = false;       // The gateway refused a write because the slot is not ours: passes pause for a moment.
  std::set<uint64_t> writes;  // The writes that end with the slot.
  // Keys that a batch has touched and that no durable write has covered since, with the first such batch.
  std::unordered_map<std::string, int64_t> unrecorded;
};

using WorkerSlots = std::map<uint32_t, WorkerSlot>;

// Up to which batch of the present stream everything is recorded. The worker acknowledges no later batch.
class RecordedBatches {
 public:
  // A new stream sends the needed contents of the old one's batches again; their keys stay dirty.
  void StartStream(WorkerSlots& slots) {
    for (auto& [id, slot] : slots) slot.unrecorded.clear();
    unrecorded_.clear();
    batch_ = 0;
    reported_ = 0;
  }
  void BeginBatch(int64_t sequence) {
    batch_ = sequence;
    is_delivered_ = true;
  }
  void EndBatch() { is_delivered_ = false; }
  // The batch that is delivered now, if there is one, has touched the key.
  void Touch(const std::string& key, WorkerSlot& slot) {
    if (is_delivered_ && slot.unrecorded.emplace(key, batch_).second) unrecorded_.insert(batch_);
  }
  // A durable write has covered the key.
  void Record(const std::string& key, WorkerSlot& slot) {
    const auto unrecorded = slot.unrecorded.extract(key);
    if (!unrecorded.empty()) unrecorded_.erase(unrecorded_.find(unrecorded.mapped()));
  }
  // The slot goes to another owner.
  void Forget(const WorkerSlot& slot) {
    for (const auto& [key, batch] : slot.unrecorded) unrecorded_.erase(unrecorded_.find(batch));
  }
  // Returns the last batch up to which everything is recorded, once for each; nullopt if an earlier call returned it.
  std::optional<int64_t> TakeNews() {
    const int64_t recorded = unrecorded_.empty() ? batch_ : *unrecorded_.begin() - 1;
    if (recorded <= reported_) return std::nullopt;
    return reported_ = recorded;
  }

 private:
  int64_t batch_ = 0;  // Sequence of the last batch that was delivered.
  bool is_delivered_ = false;
  int64_t reported_ = 0;
  std::multiset<int64_t> unrecorded_;  // The sequences in WorkerSlot::unrecorded of all slots.
};

}  // namespace basalt::runtime
