#include "common/history/retention.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/status_macros.h"
#include "common/history/entries.h"
#include "common/history/object_index.h"

namespace basalt::history {

using kv::Family;

namespace {

void Drop(uint32_t slot, std::string_view uid, std::string_view index_key, kv::WriteBatch& batch) {
  const std::string prefix = EntryPrefix(slot, uid);
  batch.DeleteRange(Family::kHistory, prefix, kv::PrefixEnd(prefix));
  batch.Delete(Family::kHistoryIndex, index_key);
}

}  // namespace

Retention::Retention(const kv::KvStore& store, const Limits& limits, TimeOf time_of)
    : store_(store), limits_(limits), time_of_(time_of) {}

absl::Duration Retention::TurnInterval(size_t slots) { return kLap / static_cast<int64_t>(std::max<size_t>(1, slots)); }

absl::Status Retention::Trim(uint32_t slot, const std::set<std::string>& present, absl::Time now, kv::WriteBatch& batch,
                             kv::Damage& damage) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Remains> gone, ListRemains(slot, present, batch, damage));
  int64_t bytes = 0;
  for (const Remains& remains : gone) bytes += remains.bytes;
  bytes_[slot] = bytes;
  const int64_t most = MostBytes(bytes);
  const int64_t before_ms = absl::ToUnixMillis(now - limits_.age);
  for (const Remains& remains : gone) {
    if (remains.end_ms >= before_ms && bytes <= most) break;
    Drop(slot, remains.uid, remains.index_key, batch);
    bytes -= remains.bytes;
  }
  bytes_[slot] = bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Retention::Remains>> Retention::ListRemains(uint32_t slot,
                                                                       const std::set<std::string>& present,
                                                                       kv::WriteBatch& batch,
                                                                       kv::Damage& damage) const {
  BASALT_ASSIGN_OR_RETURN(std::vector<IndexedObject> objects, ReadGoneObjects(store_, slot, present, batch, damage));
  std::vector<Remains> gone;
  for (auto& [index_key, record] : objects) {
    Remains remains{.index_key = index_key, .uid = record.uid(), .end_ms = record.gone_ms(), .bytes = record.bytes()};
    const bool was_seen = record.gone_ms() != 0;
    if (!was_seen || remains.bytes == 0) {
      BASALT_RETURN_IF_ERROR(Measure(slot, was_seen, remains));
      if (was_seen) {
        record.set_bytes(remains.bytes);
        batch.Put(Family::kHistoryIndex, index_key, record.SerializeAsString());
      }
    }
    gone.push_back(std::move(remains));
  }
  std::sort(gone.begin(), gone.end(), [](const Remains& a, const Remains& b) {
    return std::tie(a.end_ms, a.index_key) < std::tie(b.end_ms, b.index_key);
  });
  return gone;
}

absl::Status Retention::Measure(uint32_t slot, bool was_seen, Remains& remains) const {
  remains.bytes = static_cast<int64_t>(remains.index_key.size());
  const std::string prefix = EntryPrefix(slot, remains.uid);
  return store_.Scan(Family::kHistory, prefix, kv::PrefixEnd(prefix),
                     [&](std::string_view key, std::string_view bytes) {
                       remains.bytes += static_cast<int64_t>(key.size() + bytes.size());
                       if (was_seen) return true;
                       if (const std::optional<int64_t> time_ms = time_of_(bytes)) remains.end_ms = *time_ms;
                       return true;
                     });
}

// Returns the number of bytes that a slot with `of_slot` bytes may keep. Each slot gives up the same fraction of its
// bytes, by the sum over all slots as of their last turns.
int64_t Retention::MostBytes(int64_t of_slot) const {
  int64_t all = 0;
  for (const auto& [slot, bytes] : bytes_) all += bytes;
  if (all <= limits_.bytes) return of_slot;
  return static_cast<int64_t>(static_cast<double>(of_slot) * static_cast<double>(limits_.bytes) /
                              static_cast<double>(all));
}

}  // namespace basalt::history
