#include "services/jobsvc/store/job_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::jobsvc {

using kv::Family;

namespace {

std::string SlotPrefix(uint32_t slot) {
  std::string key;
  kv::PutSlot(key, slot);
  return key;
}

std::string TextKey(uint32_t slot, std::string_view text) {
  std::string key = SlotPrefix(slot);
  kv::PutText(key, text);
  return key;
}

absl::Status Damaged(std::string_view what, std::string_view key) {
  return MakeStatus(absl::StatusCode::kDataLoss, fmt::format("{} record of {} cannot be read", what, key));
}

}  // namespace

std::string SlotWatchKey(uint32_t slot) { return TextKey(slot, "watch"); }

std::string ShownJobKey(uint32_t slot, std::string_view job_key) {
  std::string key = TextKey(slot, "shown");
  kv::PutText(key, job_key);
  return key;
}

std::string JobRecordKey(uint32_t slot, std::string_view job_key) { return TextKey(slot, job_key); }

std::string PodRecordPrefix(uint32_t slot, std::string_view job_key) { return TextKey(slot, job_key); }

std::string PodRecordKey(uint32_t slot, std::string_view job_key, std::string_view pod) {
  std::string key = TextKey(slot, job_key);
  kv::PutText(key, pod);
  return key;
}

std::string HistoryPrefix(uint32_t slot, std::string_view job_uid) { return TextKey(slot, job_uid); }

std::string HistoryKey(uint32_t slot, std::string_view job_uid, int64_t sequence) {
  std::string key = TextKey(slot, job_uid);
  kv::PutFixed64(key, static_cast<uint64_t>(sequence));
  return key;
}

std::string HistoryIndexPrefix(uint32_t slot, std::string_view job_key) { return TextKey(slot, job_key); }

std::string HistoryIndexKey(uint32_t slot, std::string_view job_key, int64_t first_ms, std::string_view job_uid) {
  std::string key = TextKey(slot, job_key);
  kv::PutFixed64(key, static_cast<uint64_t>(first_ms));
  kv::PutText(key, job_uid);
  return key;
}

void PutJob(uint32_t slot, std::string_view job_key, const storage::v1::JobRecord& record, kv::WriteBatch& batch) {
  batch.Put(Family::kRecords, JobRecordKey(slot, job_key), record.SerializeAsString());
}

void PutPod(uint32_t slot, std::string_view job_key, std::string_view pod, const storage::v1::PodRecord& record,
            kv::WriteBatch& batch) {
  batch.Put(Family::kPods, PodRecordKey(slot, job_key, pod), record.SerializeAsString());
}

void PutHistory(uint32_t slot, std::string_view job_uid, const storage::v1::HistoryRecord& record,
                kv::WriteBatch& batch) {
  batch.Put(Family::kHistory, HistoryKey(slot, job_uid, record.sequence()), record.SerializeAsString());
}

void PutHistoryIndex(uint32_t slot, std::string_view job_key, int64_t first_ms, std::string_view job_uid,
                     kv::WriteBatch& batch) {
  storage::v1::HistoryIndexRecord record;
  record.set_uid(std::string(job_uid));
  record.set_first_ms(first_ms);
  batch.Put(Family::kHistoryIndex, HistoryIndexKey(slot, job_key, first_ms, job_uid), record.SerializeAsString());
}

absl::Status PutHistoryGone(const kv::KvStore& store, uint32_t slot, std::string_view job_key, std::string_view job_uid,
                            int64_t gone_ms, kv::WriteBatch& batch) {
  const std::string prefix = HistoryIndexPrefix(slot, job_key);
  return store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                    [&](std::string_view key, std::string_view value) {
                      storage::v1::HistoryIndexRecord record;
                      if (record.ParseFromArray(value.data(), static_cast<int>(value.size())) &&
                          record.uid() == job_uid && record.gone_ms() == 0) {
                        record.set_gone_ms(gone_ms);
                        batch.Put(Family::kHistoryIndex, key, record.SerializeAsString());
                      }
                      return true;
                    });
}

absl::Status ForEachJob(const kv::KvStore& store, uint32_t slot,
                        const std::function<void(std::string, storage::v1::JobRecord)>& visit) {
  const std::string prefix = SlotPrefix(slot);
  absl::Status damage;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kRecords, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        uint32_t ignored = 0;
        std::string job_key;
        storage::v1::JobRecord record;
        if (!kv::TakeSlot(key, ignored) || !kv::TakeText(key, job_key) ||
            !record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          damage = Damaged("a job", job_key);
          return false;
        }
        visit(std::move(job_key), std::move(record));
        return true;
      }));
  return damage;
}

absl::Status ForEachPod(const kv::KvStore& store, uint32_t slot, std::string_view job_key,
                        const std::function<void(std::string_view, const storage::v1::PodRecord&)>& visit) {
  const std::string prefix = PodRecordPrefix(slot, job_key);
  absl::Status damage;
  storage::v1::PodRecord record;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kPods, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        key.remove_prefix(prefix.size());
        std::string pod;
        if (!kv::TakeText(key, pod) || !record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          damage = Damaged("a pod", job_key);
          return false;
        }
        visit(pod, record);
        return true;
      }));
  return damage;
}

absl::StatusOr<storage::v1::SlotWatch> ReadSlotWatch(const kv::KvStore& store, uint32_t slot) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(Family::kAux, SlotWatchKey(slot)));
  storage::v1::SlotWatch record;
  if (value && !record.ParseFromString(*value)) return Damaged("the watch", fmt::format("slot {}", slot));
  return record;
}

absl::Status ForEachShownJob(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string, storage::v1::ShownJob)>& visit) {
  const std::string prefix = TextKey(slot, "shown");
  absl::Status damage;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kAux, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        key.remove_prefix(prefix.size());
        std::string job_key;
        storage::v1::ShownJob shown;
        if (!kv::TakeText(key, job_key) || !shown.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          damage = Damaged("a shown job's", job_key);
          return false;
        }
        visit(std::move(job_key), std::move(shown));
        return true;
      }));
  return damage;
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

absl::StatusOr<std::vector<std::string>> ReadHistoryIndex(const kv::KvStore& store, uint32_t slot,
                                                          std::string_view job_key) {
  const std::string prefix = HistoryIndexPrefix(slot, job_key);
  std::vector<std::string> uids;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        storage::v1::HistoryIndexRecord record;
        if (record.ParseFromArray(value.data(), static_cast<int>(value.size()))) uids.push_back(record.uid());
        return true;
      }));
  return uids;
}

absl::StatusOr<int> DropOldHistory(const kv::KvStore& store, uint32_t slot, int64_t before_ms,
                                   const std::set<std::string>& present, kv::WriteBatch& batch) {
  const std::string prefix = SlotPrefix(slot);
  std::vector<std::pair<std::string, storage::v1::HistoryIndexRecord>> indexed;
  BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      storage::v1::HistoryIndexRecord record;
                                      if (record.ParseFromArray(value.data(), static_cast<int>(value.size())))
                                        indexed.emplace_back(key, std::move(record));
                                      return true;
                                    }));
  int dropped = 0;
  for (const auto& [key, record] : indexed) {
    if (present.contains(record.uid()) || record.gone_ms() >= before_ms) continue;
    if (record.gone_ms() == 0) {
      BASALT_ASSIGN_OR_RETURN(const auto entries, ReadHistory(store, slot, record.uid()));
      if (!entries.empty() && entries.back().time_ms() >= before_ms) continue;
    }
    const std::string range = HistoryPrefix(slot, record.uid());
    batch.DeleteRange(Family::kHistory, range, kv::PrefixEnd(range));
    batch.Delete(Family::kHistoryIndex, key);
    ++dropped;
  }
  return dropped;
}

}  // namespace basalt::jobsvc
