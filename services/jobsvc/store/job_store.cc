#include "services/jobsvc/store/job_store.h"

#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"

namespace basalt::jobsvc {

using kv::Family;

namespace {

// Keys begin with the slot, so that a slot is one range. A name or UID follows.
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

// Parses the value as a scan or a read returns it.
template <typename Record>
bool Parse(std::string_view value, Record& record) {
  return record.ParseFromArray(value.data(), static_cast<int>(value.size()));
}

// Damaged records are counted by these kinds; in family kAux the kind is the second part of the key, too.
constexpr std::string_view kJobRecord = "job";
constexpr std::string_view kPodRecord = "pod";
constexpr std::string_view kDeadlineRecord = "deadline";
constexpr std::string_view kEndedRecord = "ended";
constexpr std::string_view kSpecRecord = "spec";

std::string OfJobKey(uint32_t slot, std::string_view kind, std::string_view job_key) {
  std::string key = TextKey(slot, kind);
  kv::PutText(key, job_key);
  return key;
}

// Visits the records of one kind in family kAux. Their key is slot | kind | namespace/name | …
template <typename Record>
absl::Status ForEachOfJobs(const kv::KvStore& store, uint32_t slot, std::string_view kind,
                           const std::function<void(std::string, Record)>& visit,
                           const std::function<bool(std::string_view rest_of_key, const Record&)>& is_sound,
                           kv::Damage* damage) {
  const std::string prefix = TextKey(slot, kind);
  kv::DamageCollector damaged(damage);
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kAux, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        std::string_view rest = key.substr(prefix.size());
        std::string job_key;
        Record record;
        if (!kv::TakeText(rest, job_key) || !Parse(value, record) || !is_sound(rest, record)) {
          return damaged.Add({kind, Family::kAux, std::string(key), std::move(job_key), ""});
        }
        visit(std::move(job_key), std::move(record));
        return true;
      }));
  return damaged.status();
}

absl::Status ForEachPodOfKeys(
    const kv::KvStore& store, const std::string& prefix,
    const std::function<void(const std::string&, std::string_view, const storage::v1::PodRecord&)>& visit,
    kv::Damage* damage) {
  kv::DamageCollector damaged(damage);
  storage::v1::PodRecord record;
  std::string job_key;
  std::string pod;
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kPods, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        std::string_view rest = key;
        uint32_t slot = 0;
        job_key.clear();
        pod.clear();
        if (!kv::TakeSlot(rest, slot) || !kv::TakeText(rest, job_key) || !kv::TakeText(rest, pod) ||
            !Parse(value, record) || record.uid().empty()) {
          return damaged.Add({kPodRecord, Family::kPods, std::string(key), job_key, pod});
        }
        visit(job_key, pod, record);
        return true;
      }));
  return damaged.status();
}

}  // namespace

std::string JobRecordKey(uint32_t slot, std::string_view job_key) { return TextKey(slot, job_key); }

std::string PodRecordPrefix(uint32_t slot, std::string_view job_key) { return TextKey(slot, job_key); }

std::string PodRecordKey(uint32_t slot, std::string_view job_key, std::string_view pod) {
  std::string key = TextKey(slot, job_key);
  kv::PutText(key, pod);
  return key;
}

std::string DeadlineKey(uint32_t slot, std::string_view job_key, std::string_view pod) {
  std::string key = OfJobKey(slot, kDeadlineRecord, job_key);
  kv::PutText(key, pod);
  return key;
}

std::string EndedPodKey(uint32_t slot, std::string_view job_key, std::string_view uid) {
  std::string key = OfJobKey(slot, kEndedRecord, job_key);
  kv::PutText(key, uid);
  return key;
}

std::string SpecKey(uint32_t slot, std::string_view job_key) { return OfJobKey(slot, kSpecRecord, job_key); }

void PutJob(uint32_t slot, std::string_view job_key, const storage::v1::JobRecord& record, kv::WriteBatch& batch) {
  batch.Put(Family::kRecords, JobRecordKey(slot, job_key), record.SerializeAsString());
}

void PutPod(uint32_t slot, std::string_view job_key, std::string_view pod, const storage::v1::PodRecord& record,
            kv::WriteBatch& batch) {
  batch.Put(Family::kPods, PodRecordKey(slot, job_key, pod), record.SerializeAsString());
}

absl::StatusOr<std::optional<storage::v1::PodRecord>> ReadPod(const kv::KvStore& store, uint32_t slot,
                                                              std::string_view job_key, std::string_view pod) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                          store.Get(Family::kPods, PodRecordKey(slot, job_key, pod)));
  storage::v1::PodRecord record;
  if (!value || !Parse(*value, record)) return std::nullopt;
  return record;
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
                                                                std::string_view job_key, kv::Damage* damage) {
  const std::string key = SpecKey(slot, job_key);
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(Family::kAux, key));
  storage::v1::SpecRecord spec;
  if (!value) return std::nullopt;
  if (Parse(*value, spec)) return spec;
  kv::DamageCollector damaged(damage);
  if (!damaged.Add({kSpecRecord, Family::kAux, key, std::string(job_key), ""})) return damaged.status();
  return std::nullopt;
}

void DropJobRecords(uint32_t slot, std::string_view job_key, kv::WriteBatch& batch) {
  batch.Delete(Family::kRecords, JobRecordKey(slot, job_key));
  const std::string pods = PodRecordPrefix(slot, job_key);
  batch.DeleteRange(Family::kPods, pods, kv::PrefixEnd(pods));
  for (const std::string_view kind : {kDeadlineRecord, kEndedRecord}) {
    const std::string prefix = OfJobKey(slot, kind, job_key);
    batch.DeleteRange(Family::kAux, prefix, kv::PrefixEnd(prefix));
  }
  batch.Delete(Family::kAux, SpecKey(slot, job_key));
}

absl::Status ForEachJob(const kv::KvStore& store, uint32_t slot,
                        const std::function<void(std::string, storage::v1::JobRecord)>& visit, kv::Damage* damage) {
  const std::string prefix = SlotPrefix(slot);
  kv::DamageCollector damaged(damage);
  BASALT_RETURN_IF_ERROR(
      store.Scan(Family::kRecords, prefix, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        std::string_view rest = key.substr(prefix.size());
        std::string job_key;
        storage::v1::JobRecord record;
        if (!kv::TakeText(rest, job_key) || SlotOf(job_key) != slot || !Parse(value, record) || record.uid().empty()) {
          return damaged.Add({kJobRecord, Family::kRecords, std::string(key), std::move(job_key), ""});
        }
        visit(std::move(job_key), std::move(record));
        return true;
      }));
  return damaged.status();
}

absl::Status ForEachPod(const kv::KvStore& store, uint32_t slot, std::string_view job_key,
                        const std::function<void(std::string_view, const storage::v1::PodRecord&)>& visit) {
  return ForEachPodOfKeys(
      store, PodRecordPrefix(slot, job_key),
      [&](const std::string&, std::string_view pod, const storage::v1::PodRecord& record) { visit(pod, record); },
      nullptr);
}

absl::Status ForEachPodOfSlot(
    const kv::KvStore& store, uint32_t slot,
    const std::function<void(const std::string&, std::string_view, const storage::v1::PodRecord&)>& visit,
    kv::Damage* damage) {
  return ForEachPodOfKeys(store, SlotPrefix(slot), visit, damage);
}

absl::Status ForEachDeadline(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string, storage::v1::PendingAction)>& visit,
                             kv::Damage* damage) {
  const auto is_sound = [](std::string_view rest, const storage::v1::PendingAction& deadline) {
    std::string pod;
    return kv::TakeText(rest, pod) && pod == deadline.pod();
  };
  return ForEachOfJobs<storage::v1::PendingAction>(store, slot, kDeadlineRecord, visit, is_sound, damage);
}

absl::Status ForEachEndedPod(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string, storage::v1::EndedPod)>& visit, kv::Damage* damage) {
  const auto is_sound = [](std::string_view rest, const storage::v1::EndedPod& pod) {
    std::string uid;
    return kv::TakeText(rest, uid) && uid == pod.uid();
  };
  return ForEachOfJobs<storage::v1::EndedPod>(store, slot, kEndedRecord, visit, is_sound, damage);
}

}  // namespace basalt::jobsvc
