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

struct Index {
  storage::v1::HistoryIndexRecord record;
  bool is_anew = false;  // The record could not be read.
};

// The key says whose history it is. When the job went, and how much there is of it, is found again where the record
// cannot be read. Nullopt: nor can the key.
std::optional<Index> ParseIndex(std::string_view key, std::string_view value) {
  uint32_t slot = 0;
  std::string job_key;
  uint64_t first_ms = 0;
  std::string uid;
  if (!kv::TakeSlot(key, slot) || !kv::TakeText(key, job_key) || !kv::TakeFixed64(key, first_ms) ||
      !kv::TakeText(key, uid)) {
    return std::nullopt;
  }
  Index index;
  if (Parse(value, index.record) && index.record.uid() == uid) return index;
  index.record.Clear();
  index.record.set_uid(std::move(uid));
  index.record.set_first_ms(static_cast<int64_t>(first_ms));
  index.is_anew = true;
  return index;
}

bool IsOf(const storage::v1::HistoryRecord& record, std::string_view rest_of_key) {
  uint64_t sequence = 0;
  uint64_t generation = 0;
  if (!kv::TakeFixed64(rest_of_key, sequence)) return false;
  if (!rest_of_key.empty() && !kv::TakeFixed64(rest_of_key, generation)) return false;
  return record.sequence() == static_cast<int64_t>(sequence) && record.generation() == static_cast<int64_t>(generation);
}

kv::DamagedRecord DamagedHistory(std::string_view key, std::string_view job_uid) {
  return {"history", Family::kHistory, std::string(key), std::string(job_uid), ""};
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
                      std::optional<Index> index = ParseIndex(key, value);
                      if (index && index->record.uid() == job_uid && index->record.gone_ms() == 0) {
                        index->record.set_gone_ms(gone_ms);
                        batch.Put(Family::kHistoryIndex, key, index->record.SerializeAsString());
                      }
                      return true;
                    });
}

absl::StatusOr<std::optional<storage::v1::HistoryRecord>> ReadHistoryEntry(const kv::KvStore& store, uint32_t slot,
                                                                           std::string_view job_uid, int64_t sequence,
                                                                           kv::Damage* damage) {
  const std::string key = HistoryKey(slot, job_uid, sequence);
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(Family::kHistory, key));
  if (!value) return std::nullopt;
  storage::v1::HistoryRecord record;
  if (Parse(*value, record) && record.sequence() == sequence) return record;
  kv::DamageCollector damaged(damage);
  if (!damaged.Add(DamagedHistory(key, job_uid))) return damaged.status();
  return std::nullopt;
}

absl::StatusOr<std::vector<storage::v1::HistoryRecord>> ReadHistory(const kv::KvStore& store, uint32_t slot,
                                                                    std::string_view job_uid, kv::Damage* damage) {
  const std::string prefix = HistoryPrefix(slot, job_uid);
  std::vector<storage::v1::HistoryRecord> entries;
  kv::DamageCollector damaged(damage);
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kHistory, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        storage::v1::HistoryRecord record;
        if (!Parse(value, record) || !IsOf(record, key.substr(prefix.size()))) {
          return damaged.Add(DamagedHistory(key, job_uid));
        }
        entries.push_back(std::move(record));
        return true;
      }));
  BASALT_RETURN_IF_ERROR(damaged.status());
  return entries;
}

absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> ReadHistoryIndex(const kv::KvStore& store, uint32_t slot,
                                                                              std::string_view job_key) {
  const std::string prefix = IndexPrefix(slot, job_key);
  std::vector<storage::v1::HistoryIndexRecord> jobs;
  BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      std::optional<Index> index = ParseIndex(key, value);
                                      if (index) jobs.push_back(std::move(index->record));
                                      return true;
                                    }));
  return jobs;
}

absl::StatusOr<std::vector<GoneHistory>> ListGoneHistory(const kv::KvStore& store, uint32_t slot,
                                                         const std::set<std::string>& present, kv::WriteBatch& batch,
                                                         kv::Damage& damage) {
  const std::string slot_prefix = SlotPrefix(slot);
  std::vector<std::pair<std::string, storage::v1::HistoryIndexRecord>> index;
  BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistoryIndex, slot_prefix, kv::PrefixEnd(slot_prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      std::optional<Index> of_job = ParseIndex(key, value);
                                      if (!of_job || of_job->is_anew) {
                                        damage.push_back({"history_index", Family::kHistoryIndex, std::string(key),
                                                          of_job ? of_job->record.uid() : std::string(), ""});
                                        if (of_job) {
                                          batch.Put(Family::kHistoryIndex, key, of_job->record.SerializeAsString());
                                        } else {
                                          batch.Delete(Family::kHistoryIndex, key);
                                        }
                                      }
                                      if (of_job && !present.contains(of_job->record.uid()))
                                        index.emplace_back(key, std::move(of_job->record));
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
      BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistory, prefix, kv::PrefixEnd(prefix),
                                        [&](std::string_view entry_key, std::string_view value) {
                                          history.bytes += static_cast<int64_t>(entry_key.size() + value.size());
                                          if (Parse(value, last) && !was_seen) {
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
