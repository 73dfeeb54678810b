#include "services/jobsvc/store/history_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/status_macros.h"
#include "services/jobsvc/store/keys.h"

namespace basalt::jobsvc {

using kv::Family;

namespace {

std::string IndexPrefix(uint32_t slot, std::string_view job_key) { return TextKey(slot, job_key); }

std::string IndexKey(uint32_t slot, std::string_view job_key, int64_t first_ms, std::string_view job_uid) {
  std::string key = IndexPrefix(slot, job_key);
  kv::PutFixed64(key, static_cast<uint64_t>(first_ms));
  kv::PutText(key, job_uid);
  return key;
}

// One that cannot be read names no history.
bool ParseIndex(std::string_view value, storage::v1::HistoryIndexRecord& record) {
  return record.ParseFromArray(value.data(), static_cast<int>(value.size()));
}

}  // namespace

std::string HistoryPrefix(uint32_t slot, std::string_view job_uid) { return TextKey(slot, job_uid); }

std::string HistoryKey(uint32_t slot, std::string_view job_uid, int64_t sequence, int64_t generation) {
  std::string key = HistoryPrefix(slot, job_uid);
  kv::PutFixed64(key, static_cast<uint64_t>(sequence));
  if (generation != 0) kv::PutFixed64(key, static_cast<uint64_t>(generation));
  return key;
}

void PutHistory(uint32_t slot, std::string_view job_uid, const storage::v1::HistoryRecord& record,
                kv::WriteBatch& batch) {
  batch.Put(Family::kHistory, HistoryKey(slot, job_uid, record.sequence(), record.generation()),
            record.SerializeAsString());
}

void PutHistoryIndex(uint32_t slot, std::string_view job_key, int64_t first_ms, std::string_view job_uid,
                     kv::WriteBatch& batch) {
  storage::v1::HistoryIndexRecord record;
  record.set_uid(std::string(job_uid));
  record.set_first_ms(first_ms);
  batch.Put(Family::kHistoryIndex, IndexKey(slot, job_key, first_ms, job_uid), record.SerializeAsString());
}

absl::Status PutHistoryGone(const kv::KvStore& store, uint32_t slot, std::string_view job_key, std::string_view job_uid,
                            int64_t gone_ms, kv::WriteBatch& batch) {
  const std::string prefix = IndexPrefix(slot, job_key);
  return store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                    [&](std::string_view key, std::string_view value) {
                      storage::v1::HistoryIndexRecord record;
                      if (ParseIndex(value, record) && record.uid() == job_uid && record.gone_ms() == 0) {
                        record.set_gone_ms(gone_ms);
                        batch.Put(Family::kHistoryIndex, key, record.SerializeAsString());
                      }
                      return true;
                    });
}

absl::StatusOr<std::optional<storage::v1::HistoryRecord>> ReadHistoryEntry(const kv::KvStore& store, uint32_t slot,
                                                                           std::string_view job_uid, int64_t sequence) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                          store.Get(Family::kHistory, HistoryKey(slot, job_uid, sequence)));
  if (!value) return std::nullopt;
  storage::v1::HistoryRecord record;
  if (!record.ParseFromString(*value)) return Damaged("a history", job_uid);
  return record;
}

absl::StatusOr<std::vector<storage::v1::HistoryRecord>> ReadHistory(const kv::KvStore& store, uint32_t slot,
                                                                    std::string_view job_uid) {
  const std::string prefix = HistoryPrefix(slot, job_uid);
  std::vector<storage::v1::HistoryRecord> entries;
  absl::Status damage;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kHistory, prefix, kv::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        storage::v1::HistoryRecord record;
        if (!record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          damage = Damaged("a history", job_uid);
          return false;
        }
        entries.push_back(std::move(record));
        return true;
      }));
  if (!damage.ok()) return damage;
  return entries;
}

absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> ReadHistoryIndex(const kv::KvStore& store, uint32_t slot,
                                                                              std::string_view job_key) {
  const std::string prefix = IndexPrefix(slot, job_key);
  std::vector<storage::v1::HistoryIndexRecord> jobs;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        storage::v1::HistoryIndexRecord record;
        if (ParseIndex(value, record)) jobs.push_back(std::move(record));
        return true;
      }));
  return jobs;
}

absl::StatusOr<std::vector<GoneHistory>> ListGoneHistory(const kv::KvStore& store, uint32_t slot,
                                                         const std::set<std::string>& present, kv::WriteBatch& batch) {
  const std::string slot_prefix = SlotPrefix(slot);
  std::vector<std::pair<std::string, storage::v1::HistoryIndexRecord>> index;
  BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistoryIndex, slot_prefix, kv::PrefixEnd(slot_prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      storage::v1::HistoryIndexRecord record;
                                      if (ParseIndex(value, record) && !present.contains(record.uid())) {
                                        index.emplace_back(key, std::move(record));
                                      }
                                      return true;
                                    }));
  std::vector<GoneHistory> gone;
  for (auto& [key, record] : index) {
    GoneHistory history{.index_key = key, .job_uid = record.uid(), .end_ms = record.gone_ms(), .bytes = record.bytes()};
    if (history.end_ms == 0 || history.bytes == 0) {
      const bool was_seen = record.gone_ms() != 0;
      history.bytes = static_cast<int64_t>(key.size());
      storage::v1::HistoryRecord last;
      const std::string prefix = HistoryPrefix(slot, history.job_uid);
      BASALT_RETURN_IF_ERROR(store.Scan(
          Family::kHistory, prefix, kv::PrefixEnd(prefix), [&](std::string_view entry_key, std::string_view value) {
            history.bytes += static_cast<int64_t>(entry_key.size() + value.size());
            if (last.ParseFromArray(value.data(), static_cast<int>(value.size())) && !was_seen) {
              history.end_ms = last.time_ms();
            }
            return true;
          }));
      if (was_seen) {
        record.set_bytes(history.bytes);
        batch.Put(Family::kHistoryIndex, key, record.SerializeAsString());
      }
    }
    gone.push_back(std::move(history));
  }
  std::sort(gone.begin(), gone.end(), [](const GoneHistory& a, const GoneHistory& b) {
    return std::tie(a.end_ms, a.index_key) < std::tie(b.end_ms, b.index_key);
  });
  return gone;
}

void DropHistory(uint32_t slot, const GoneHistory& history, kv::WriteBatch& batch) {
  const std::string range = HistoryPrefix(slot, history.job_uid);
  batch.DeleteRange(Family::kHistory, range, kv::PrefixEnd(range));
  batch.Delete(Family::kHistoryIndex, history.index_key);
}

}  // namespace basalt::jobsvc
