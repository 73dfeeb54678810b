#pragma once

// The places of jobsvc's records in the key-value store, and nothing else. Keys begin with the slot, so that handing
// over, scanning or dropping a slot is one range. Stateless; errors are those of the store. A record that cannot be
// read, or that contradicts its key, is added to `damage` and left out. If `damage` is null, such a record is
// DATA_LOSS.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::jobsvc {

std::string JobRecordKey(uint32_t slot, std::string_view job_key);
std::string PodRecordKey(uint32_t slot, std::string_view job_key, std::string_view pod);
std::string PodRecordPrefix(uint32_t slot, std::string_view job_key);

std::string DeadlineKey(uint32_t slot, std::string_view job_key, std::string_view pod);
std::string EndedPodKey(uint32_t slot, std::string_view job_key, std::string_view uid);

std::string SpecKey(uint32_t slot, std::string_view job_key);

void PutJob(uint32_t slot, std::string_view job_key, const storage::v1::JobRecord& record, kv::WriteBatch& batch);
void PutPod(uint32_t slot, std::string_view job_key, std::string_view pod, const storage::v1::PodRecord& record,
            kv::WriteBatch& batch);
// Nullopt if there is no record, or if it cannot be read.
absl::StatusOr<std::optional<storage::v1::PodRecord>> ReadPod(const kv::KvStore& store, uint32_t slot,
                                                              std::string_view job_key, std::string_view pod);
void PutDeadline(uint32_t slot, std::string_view job_key, const storage::v1::PendingAction& deadline,
                 kv::WriteBatch& batch);
void PutEndedPod(uint32_t slot, std::string_view job_key, const storage::v1::EndedPod& pod, kv::WriteBatch& batch);

void PutSpec(uint32_t slot, std::string_view job_key, const storage::v1::SpecRecord& spec, kv::WriteBatch& batch);
// Nullopt if there is no record.
absl::StatusOr<std::optional<storage::v1::SpecRecord>> ReadSpec(const kv::KvStore& store, uint32_t slot,
                                                                std::string_view job_key, kv::Damage* damage = nullptr);

// Deletes all records that are needed in order to act on the job, and the spec with which edits are compared.
void DropJobRecords(uint32_t slot, std::string_view job_key, kv::WriteBatch& batch);

// Visits every record of the slot in the order of the keys.
absl::Status ForEachJob(const kv::KvStore& store, uint32_t slot,
                        const std::function<void(std::string job_key, storage::v1::JobRecord record)>& visit,
                        kv::Damage* damage = nullptr);
absl::Status ForEachPod(const kv::KvStore& store, uint32_t slot, std::string_view job_key,
                        const std::function<void(std::string_view pod, const storage::v1::PodRecord& record)>& visit);
absl::Status ForEachPodOfSlot(const kv::KvStore& store, uint32_t slot,
                              const std::function<void(const std::string& job_key, std::string_view pod,
                                                       const storage::v1::PodRecord& record)>& visit,
                              kv::Damage* damage = nullptr);
absl::Status ForEachDeadline(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string job_key, storage::v1::PendingAction deadline)>& visit,
                             kv::Damage* damage = nullptr);

absl::Status ForEachEndedPod(const kv::KvStore& store, uint32_t slot,
                             const std::function<void(std::string job_key, storage::v1::EndedPod pod)>& visit,
                             kv::Damage* damage = nullptr);

}  // namespace basalt::jobsvc
