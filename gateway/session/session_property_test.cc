// Compares a replica that believes only what it received with the truth, over random histories. At every mark, the
// replica has received everything that the mark covers. Once all is quiet, both hold the same.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/base/random.h"
#include "gateway/route/testing.h"
#include "gateway/session/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.

class Model {
 public:
  struct Fact {
    int64_t rv;
    bool alive;
    std::string queue;
  };

  explicit Model(uint64_t seed)
      : random_(seed), bench_(v1::SERVICE_KIND_QUEUE, {.max_items = 3 + random_.Uniform(10), .window = 2}) {}

  void Run() {
    bench_.ListAll(++rv_);
    for (int step = 0; step < 600; ++step) {
      switch (random_.Uniform(12)) {
        case 0:
          Reattach();
          break;
        case 1:
          bench_.time.Advance(absl::Milliseconds(random_.Uniform(1500)));
          break;
        case 2:
          Relist();
          break;
        case 3:
          ToggleSlot();
          break;
        case 4:
        case 5:
        case 6:
          Take();
          break;
        case 7:
          Delete();
          break;
        default:
          Change();
          break;
      }
    }
    while (!bench_.session) Reattach();
    for (const std::string& queue : kQueues) Open(SlotOf(queue));
    for (int i = 0; i < 2000; ++i) {
      bench_.time.Advance(absl::Milliseconds(100));
      Take();
    }
    Compare();
  }

 private:
  static inline const std::vector<std::string> kQueues = {"red", "green", "blue", "white"};

  std::string Name() { return "g" + std::to_string(random_.Uniform(12)); }
  void Change() {
    const std::string name = Name(), queue = kQueues[random_.Uniform(kQueues.size())];
    ++rv_;
    truth_[name] = queue;
    history_["uid-" + name].push_back({rv_, true, queue});
    bench_.cache.Apply(Bench::kGroups, PodGroup(name, rv_, queue));
  }
  void Delete() {
    const std::string name = Name();
    if (!truth_.contains(name)) return;
    ++rv_;
    history_["uid-" + name].push_back({rv_, false, truth_[name]});
    bench_.cache.Remove(Bench::kGroups, PodGroup(name, rv_, truth_[name]));
    truth_.erase(name);
  }
  void Relist() {
    // While the watch was down, half of the objects went.
    std::vector<kube::v1::Object> list;
    for (auto it = truth_.begin(); it != truth_.end();) {
      if (random_.OneIn(2)) {
        history_["uid-" + it->first].push_back({++rv_, false, it->second});
        it = truth_.erase(it);
      } else {
        list.push_back(PodGroup(it->first, history_["uid-" + it->first].back().rv, it->second));
        ++it;
      }
    }
    bench_.cache.Replace(Bench::kGroups, list, ++rv_);
  }
  void Reattach() {
    bench_.Detach();
    received_ = 0;
    begun_.clear();
    known_.clear();
    if (random_.OneIn(4)) return;
    bench_.Attach();
    for (const uint32_t slot : wanted_) bench_.session->OpenSlot(slot, 1);
  }
  void Open(uint32_t slot) {
    if (wanted_.insert(slot).second && bench_.session) bench_.session->OpenSlot(slot, 1);
  }
  void ToggleSlot() {
    const uint32_t slot = SlotOf(kQueues[random_.Uniform(kQueues.size())]);
    if (!wanted_.contains(slot)) return Open(slot);
    wanted_.erase(slot);
    if (!bench_.session) return;
    // As with a real transport, batches on their way are still received.
    while (!bench_.sink->batches.empty()) Take();
    bench_.session->CloseSlot(slot);
    begun_.erase(slot);
    std::erase_if(known_, [&](const auto& entry) { return entry.first.first == slot; });
  }
  void Take() {
    if (!bench_.session) return;
    bench_.time.RunDueTasks();
    if (bench_.sink->batches.empty()) return;
    const v1::AttachBatch batch = bench_.sink->batches.front();
    bench_.sink->batches.pop_front();
    EXPECT_EQ(batch.sequence(), ++received_);
    for (const v1::Item& item : batch.items()) Receive(item);
    bench_.Sent();
    if (!random_.OneIn(3)) {
      EXPECT_TRUE(bench_.session->OnAck(batch.sequence()).ok());
    }
    if (bench_.session->sent_sequence() - bench_.session->acknowledged_sequence() >= 2) {
      EXPECT_TRUE(bench_.session->OnAck(batch.sequence()).ok());
    }
  }
  void Receive(const v1::Item& item) {
    switch (item.item_case()) {
      case v1::Item::kBegin:
        begun_[item.begin().slot()] = false;
        break;
      case v1::Item::kState: {
        const ObjectRef ref = RefOf(item.state().object());
        EXPECT_TRUE(begun_.contains(item.state().slot())) << "a state before begin";
        int64_t& known = known_[{item.state().slot(), std::string(ref.uid)}];
        EXPECT_LT(known, ref.resource_version);
        known = ref.resource_version;
        break;
      }
      case v1::Item::kTombstone: {
        const ObjectRef ref = RefOf(item.tombstone().last());
        EXPECT_TRUE(begun_.contains(item.tombstone().slot())) << "a tombstone before begin";
        const std::pair key(item.tombstone().slot(), std::string(ref.uid));
        if (known_.contains(key)) {
          EXPECT_LE(known_[key], ref.resource_version);
        }
        known_.erase(key);
        break;
      }
      case v1::Item::kEnd:
        EXPECT_FALSE(begun_[item.end().slot()]) << "two ends";
        begun_[item.end().slot()] = true;
        for (const v1::Mark& mark : item.end().marks()) CheckMark(mark, item.end().slot());
        break;
      case v1::Item::kProgress:
        for (const auto& [slot, ended] : begun_) {
          EXPECT_TRUE(ended) << "progress within a snapshot";
          for (const v1::Mark& mark : item.progress().marks()) CheckMark(mark, slot);
        }
        break;
      default:
        break;
    }
  }
  // For every object: if its newest fact at the mark is that it is in the slot, the replica knows at least that fact.
  // If the fact is that it is not in the slot, the replica knows none, or a newer one.
  void CheckMark(const v1::Mark& mark, uint32_t slot) {
    if (!mark.watch().starts_with("podgroups")) return;
    for (const auto& [uid, facts] : history_) {
      const Fact* at = nullptr;
      for (const Fact& fact : facts) {
        if (fact.rv <= mark.resource_version()) at = &fact;
      }
      if (at == nullptr) continue;
      const auto known = known_.find({slot, uid});
      const bool newer = facts.back().rv > mark.resource_version();
      if (at->alive && SlotOf(at->queue) == slot) {
        EXPECT_TRUE(newer || (known != known_.end() && known->second >= at->rv)) << uid << " at " << at->rv;
      } else {
        EXPECT_TRUE(known == known_.end() || known->second > at->rv) << uid << " is not there any more";
      }
    }
  }
  void Compare() {
    std::map<std::pair<uint32_t, std::string>, int64_t> want;
    for (const auto& [name, queue] : truth_) {
      if (wanted_.contains(SlotOf(queue))) {
        want[{SlotOf(queue), "uid-" + name}] = history_["uid-" + name].back().rv;
      }
    }
    EXPECT_EQ(known_, want);
    EXPECT_EQ(bench_.session->dirty_keys(), 0);
  }

  SeededRandom random_;
  Bench bench_;
  int64_t rv_ = 0;
  std::map<std::string, std::string> truth_;          // The queue, by name.
  std::map<std::string, std::vector<Fact>> history_;  // By UID.
  std::set<uint32_t> wanted_;
  std::map<uint32_t, bool> begun_;  // Whether the slot has ended.
  std::map<std::pair<uint32_t, std::string>, int64_t> known_;
  int64_t received_ = 0;
};

TEST(SessionPropertyTest, AReplicaKnowsAtEveryMarkWhatTheMarkCovers) {
  for (uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Model(seed).Run();
  }
}

}  // namespace
}  // namespace basalt::gateway
