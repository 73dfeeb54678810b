#pragma once

// Reads the entries of histories in the store: family kHistory, key slot | UID of the object | sequence, followed by
// the generation if the entry has one. The service defines the contents of an entry, which are bytes here. Stateless;
// errors are those of the store. An entry that cannot be read is added to `damage` and left out. If `damage` is null,
// such an entry is DATA_LOSS.
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

// Identifies an entry among those of one object. The order of the numbers is the order in which the entries happened. A
// decision has its own sequence. An edit of the object has the sequence of the latest decision, and follows that entry.
struct EntryNumber {
  int64_t sequence = 0;
  int64_t generation = 0;  // The metadata.generation that the edit made. 0 if the entry is no edit.
  friend auto operator<=>(const EntryNumber&, const EntryNumber&) = default;
};

// The number of entries of an object, including entries that are not written yet. Nullopt if nothing has counted the
// entries yet. The caller keeps the count beside the object.
using EntryCount = std::optional<int64_t>;

std::string EntryPrefix(uint32_t slot, std::string_view uid);
std::string EntryKey(uint32_t slot, std::string_view uid, EntryNumber number);

// Takes an entry. Returns false if the bytes cannot be read, or are another entry than the key names.
using TakeEntry = std::function<bool(EntryNumber number, std::string_view bytes)>;
// Calls `take` for each entry of the object, oldest first.
absl::Status ReadEntries(const kv::KvStore& store, uint32_t slot, std::string_view uid, const TakeEntry& take,
                         kv::Damage* damage);
// Calls `take` for the entry of that number, if the entry exists.
absl::Status ReadEntry(const kv::KvStore& store, uint32_t slot, std::string_view uid, EntryNumber number,
                       const TakeEntry& take, kv::Damage* damage);

// Returns the oldest `surplus` of `entries`, which are sorted oldest first. Chooses edits first while there are more
// than `most_edits`: edits must not push out the decisions, which explain the object's present state.
std::vector<EntryNumber> Surplus(const std::vector<EntryNumber>& entries, size_t surplus, size_t most_edits);

}  // namespace basalt::history
