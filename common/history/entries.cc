#include "common/history/entries.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"

namespace basalt::history {

using kv::Family;

namespace {

// `key` is the part behind the prefix of the object.
std::optional<EntryNumber> ParseNumber(std::string_view key) {
  uint64_t sequence = 0;
  uint64_t generation = 0;
  if (!kv::TakeFixed64(key, sequence)) return std::nullopt;
  if (!key.empty() && !kv::TakeFixed64(key, generation)) return std::nullopt;
  return EntryNumber{static_cast<int64_t>(sequence), static_cast<int64_t>(generation)};
}

kv::DamagedRecord DamagedEntry(std::string_view key, std::string_view uid) {
  return {"history", Family::kHistory, std::string(key), std::string(uid), ""};
}

bool IsEdit(EntryNumber number) { return number.generation != 0; }

}  // namespace

std::string EntryPrefix(uint32_t slot, std::string_view uid) {
  std::string key;
  kv::PutSlot(key, slot);
  kv::PutText(key, uid);
  return key;
}

std::string EntryKey(uint32_t slot, std::string_view uid, EntryNumber number) {
  std::string key = EntryPrefix(slot, uid);
  kv::PutFixed64(key, static_cast<uint64_t>(number.sequence));
  if (IsEdit(number)) kv::PutFixed64(key, static_cast<uint64_t>(number.generation));
  return key;
}

absl::Status ReadEntries(const kv::KvStore& store, uint32_t slot, std::string_view uid, const TakeEntry& take,
                         kv::Damage* damage) {
  const std::string prefix = EntryPrefix(slot, uid);
  kv::DamageCollector damaged(damage);
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kHistory, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view bytes) {
        const std::optional<EntryNumber> number = ParseNumber(key.substr(prefix.size()));
        if (number && take(*number, bytes)) return true;
        return damaged.Add(DamagedEntry(key, uid));
      }));
  return damaged.status();
}

absl::Status ReadEntry(const kv::KvStore& store, uint32_t slot, std::string_view uid, EntryNumber number,
                       const TakeEntry& take, kv::Damage* damage) {
  const std::string key = EntryKey(slot, uid, number);
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(Family::kHistory, key));
  if (!bytes || take(number, *bytes)) return absl::OkStatus();
  kv::DamageCollector damaged(damage);
  damaged.Add(DamagedEntry(key, uid));
  return damaged.status();
}

std::vector<EntryNumber> Surplus(const std::vector<EntryNumber>& entries, size_t surplus, size_t most_edits) {
  const auto edits = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), IsEdit));
  size_t edits_first = std::min(surplus, edits - std::min(edits, most_edits));
  size_t others = surplus - edits_first;
  std::vector<EntryNumber> drop;
  for (const EntryNumber number : entries) {
    size_t& left = IsEdit(number) && edits_first > 0 ? edits_first : others;
    if (left == 0) continue;
    --left;
    drop.push_back(number);
  }
  return drop;
}

}  // namespace basalt::history
