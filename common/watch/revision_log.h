#pragma once

// The order in which the changes of a slot's objects were published to watching clients. Every published change has a
// revision, which the service records in the batch of the pass that made the change (correctness 5). A limited number
// of deletions is remembered. Confined to the loop of the slot's controller.
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
  // The part that the service stores for the slot, beside the newest revision of each key.
  struct State {
    uint64_t incarnation = 0;
    int64_t revision = 0;   // The revision of the newest change.
    int64_t forgotten = 0;  // Deletions up to this revision are forgotten.
    friend bool operator==(const State&, const State&) = default;
  };
  struct Deletion {
    int64_t revision = 0;
    std::string key;
    std::string uid;
  };
  // The result of Delete. Beyond the limit, the oldest deletion, of another key, is forgotten.
  struct Deleted {
    int64_t revision = 0;
    std::optional<std::string> forgotten_key;
  };
  static constexpr size_t kMaxDeletions = 256;

  // Continues from the stored state and deletions, which may have any order. `epoch` is that of the slot.
  RevisionLog(State state, std::vector<Deletion> deletions, int64_t epoch);
  // Begins a new incarnation after records of the slot were lost: watching clients get everything anew.
  void BeginAnew();

  // Returns the revision of the key's new state.
  int64_t Publish(const std::string& key, Random& random);
  Deleted Delete(const std::string& key, const std::string& uid, Random& random);

  const State& state() const { return state_; }
  WatchPosition position() const { return {state_.incarnation, state_.revision}; }
  // Returns whether all changes after `since` are known.
  bool Knows(const WatchPosition& since) const;
  const std::deque<Deletion>& deletions() const { return deletions_; }  // The oldest deletion is first.

 private:
  int64_t Advance(const std::string& key, Random& random);

  State state_;
  std::deque<Deletion> deletions_;
  int64_t least_;  // The least revision that a new change may get.
};

}  // namespace basalt::watch
