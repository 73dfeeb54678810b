#pragma once

// Where the entries of histories lie in the store: family kHistory, key slot | UID of the object | sequence, and behind
// that the generation where the entry has one. What an entry says is the service's and bytes here. Stateless; errors
// are those of the store. An entry that cannot be read is put to `damage` and left out; where that is null, it is
// DATA_LOSS.
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::history {

// What tells the entries of one object apart; in this order they happened. A decision has a sequence of its own. An
// edit of the object has the sequence of the decision that it found, and comes behind it.
struct EntryNumber {
  int64_t sequence = 0;
  int64_t generation = 0;  // metadata.generation that the edit made; 0: the entry is no edit.
  friend auto operator<=>(const EntryNumber&, const EntryNumber&) = default;
};

// How many entries an object has, those included that are not written yet. Nullopt: they are not counted yet. The
// caller keeps it beside the object.
using EntryCount = std::optional<int64_t>;

std::string EntryPrefix(uint32_t slot, std::string_view uid);
std::string EntryKey(uint32_t slot, std::string_view uid, EntryNumber number);

// Takes an entry. False: the bytes cannot be read, or are another entry than the key says.
using TakeEntry = std::function<bool(EntryNumber number, std::string_view bytes)>;
// Calls `take` for each entry of the object, oldest first.
absl::Status ReadEntries(const kv::KvStore& store, uint32_t slot, std::string_view uid, const TakeEntry& take,
                         kv::Damage* damage);
// Calls `take` for the entry of that number, unless there is none.
absl::Status ReadEntry(const kv::KvStore& store, uint32_t slot, std::string_view uid, EntryNumber number,
                       const TakeEntry& take, kv::Damage* damage);

// The oldest `surplus` of `entries`, which come oldest first. Edits go first while they are more than `most_edits`:
// they must not push out the decisions, which say how the object came to where it is.
std::vector<EntryNumber> Surplus(const std::vector<EntryNumber>& entries, size_t surplus, size_t most_edits);

}  // namespace basalt::history
