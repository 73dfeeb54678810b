#include "services/jobsvc/store/job_store.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status_macros.h"
#include "services/jobsvc/store/keys.h"

namespace basalt::jobsvc {

using kv::Family;

namespace {

// Of family kAux, key slot | kind | namespace/name | …; `what` names one in an error.
template <typename Record>
absl::Status ForEachOfJobs(const kv::KvStore& store, uint32_t slot, std::string_view kind, std::string_view what,
                           const std::function<void(std::string, Record)>& visit) {
  const std::string prefix = TextKey(slot, kind);
  absl::Status damage;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kAux, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        key.remove_prefix(prefix.size());
        std::string job_key;
        Record record;
        if (!kv::TakeText(key, job_key) || !record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          damage = Damaged(what, job_key);
          return false;
        }
        visit(std::move(job_key), std::move(record));
        return true;
      }));
  return damage;
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

std::string DeadlineKey(uint32_t slot, std::string_view job_key, std::string_view pod) {
  std::string key = TextKey(slot, "deadline");
  kv::PutText(key, job_key);
  kv::PutText(key, pod);
  return key;
}

std::string EndedPodKey(uint32_t slot, std::string_view job_key, std::string_view uid) {
  std::string key = TextKey(slot, "ended");
  kv::PutText(key, job_key);
  kv::PutText(key, uid);
  return key;
}

std::string SpecKey(uint32_t slot, std::string_view job_key) {
  std::string key = TextKey(slot, "spec");
  kv::PutText(key, job_key);
  return key;
}

void PutJob(uint32_t slot, std::string_view job_key, const storage::v1::JobRecord& record, kv::WriteBatch& batch) {
  batch.Put(Family::kRecords, JobRecordKey(slot, job_key), record.SerializeAsString());
}

void PutPod(uint32_t slot, std::string_view job_key, std::string_view pod, const storage::v1::PodRecord& record,
            kv::WriteBatch& batch) {
  batch.Put(Family::kPods, PodRecordKey(slot, job_key, pod), record.SerializeAsString());
}

void PutDeadline(uint32_t slot, std::string_view job_key, const storage::v1::PendingAction& deadline,
                 kv::WriteBatch& batch) {
  batch.Put(Family::kAux, DeadlineKey(slot, job_key, deadline.pod()), deadline.SerializeAsString());
}

void PutEndedPod(uint32_t slot, std::string_view job_key, const storage::v1::EndedPod& pod, kv::WriteBatch& batch) {
  batch.Put(Family::kAux, EndedPodKey(slot, job_key, pod.uid()), pod.SerializeAsString());
}

void PutSpec(uint32_t slot, std::string_view job_key, const storage::v1::SpecRecord& spec, kv::WriteBatch& batch) {
  batch.Put(Family::kAux, SpecKey(slot, job_key), spec.SerializeAsString());
}

absl::StatusOr<std::optional<storage::v1::SpecRecord>> ReadSpec(const kv::KvStore& store, uint32_t slot,
                                                                std::string_view job_key) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(Family::kAux, SpecKey(slot, job_key)));
  if (!value) return std::nullopt;
  storage::v1::SpecRecord spec;
  if (!spec.ParseFromString(*value)) return Damaged("a spec's", job_key);
  return spec;
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

absl::Status ForEachDeadline(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string, storage::v1::PendingAction)>& visit) {
  return ForEachOfJobs(store, slot, "deadline", "a deadline's", visit);
}

absl::Status ForEachEndedPod(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string, storage::v1::EndedPod)>& visit) {
  return ForEachOfJobs(store, slot, "ended", "an ended pod's", visit);
}

absl::StatusOr<storage::v1::SlotWatch> ReadSlotWatch(const kv::KvStore& store, uint32_t slot) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(Family::kAux, SlotWatchKey(slot)));
  storage::v1::SlotWatch record;
  if (value && !record.ParseFromString(*value)) return Damaged("the watch", fmt::format("slot {}", slot));
  return record;
}

absl::Status ForEachShownJob(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string, storage::v1::ShownJob)>& visit) {
  return ForEachOfJobs(store, slot, "shown", "a shown job's", visit);
}

}  // namespace basalt::jobsvc
