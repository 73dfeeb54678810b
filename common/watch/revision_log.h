#pragma once

// In which order a slot's objects were published to watching clients: every change that these see has a revision, which
// the service records in the batch of the pass that made the change (correctness 5). Deletions are remembered within a
// bound. Confined to the loop of the slot's controller.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/watch/watch_position.h"

namespace basalt::watch {

class RevisionLog {
 public:
  // What the service stores of the slot, beside the newest revision of each key.
  struct State {
    uint64_t incarnation = 0;
    int64_t revision = 0;   // Of the newest change.
    int64_t forgotten = 0;  // Deletions up to this revision are not remembered.
    friend bool operator==(const State&, const State&) = default;
  };
  struct Deletion {
    int64_t revision = 0;
    std::string key;
    std::string uid;
  };
  // A deletion is recorded, and for want of room one of another key is forgotten.
  struct Deleted {
    int64_t revision = 0;
    std::optional<std::string> forgotten_key;
  };
  static constexpr size_t kMaxDeletions = 256;

  // As it was stored; deletions in any order. `epoch`: the slot's.
  RevisionLog(State state, std::vector<Deletion> deletions, int64_t epoch);
  // Records of the slot were lost: watching clients get everything anew.
  void BeginAnew();

  // The revision of the key's new state.
  int64_t Publish(const std::string& key, Random& random);
  Deleted Delete(const std::string& key, const std::string& uid, Random& random);

  const State& state() const { return state_; }
  WatchPosition position() const { return {state_.incarnation, state_.revision}; }
  // Whether everything that was changed after `since` is known.
  bool Knows(const WatchPosition& since) const;
  const std::deque<Deletion>& deletions() const { return deletions_; }  // Oldest first.

 private:
  int64_t Advance(const std::string& key, Random& random);

  State state_;
  std::deque<Deletion> deletions_;
  int64_t least_;  // No revision is below.
};

}  // namespace basalt::watch
