#pragma once

// Where the history of jobs lies in the key-value store, and nothing else: keys begin with the slot. History outlives
// its job, so it is found by the job's UID, and by namespace and name through an index. Stateless; errors are those of
// the store. An entry that cannot be read, or that contradicts its key, is put to `damage` and left out; where that is
// null, it is DATA_LOSS.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/storage/v1/history.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::jobsvc {

// `generation`: of an edit, which comes behind the status write of that number; 0: of the write itself.
std::string HistoryKey(uint32_t slot, std::string_view job_uid, int64_t sequence, int64_t generation = 0);
std::string HistoryPrefix(uint32_t slot, std::string_view job_uid);

void PutHistory(uint32_t slot, std::string_view job_uid, const storage::v1::HistoryRecord& record,
                kv::WriteBatch& batch);
void PutHistoryIndex(uint32_t slot, std::string_view job_key, int64_t first_ms, std::string_view job_uid,
                     kv::WriteBatch& batch);
// The job was seen to be gone.
absl::Status PutHistoryGone(const kv::KvStore& store, uint32_t slot, std::string_view job_key, std::string_view job_uid,
                            int64_t gone_ms, kv::WriteBatch& batch);

// Of a status write. Nullopt: it is not there (any more).
absl::StatusOr<std::optional<storage::v1::HistoryRecord>> ReadHistoryEntry(const kv::KvStore& store, uint32_t slot,
                                                                           std::string_view job_uid, int64_t sequence,
                                                                           kv::Damage* damage = nullptr);
// Oldest first.
absl::StatusOr<std::vector<storage::v1::HistoryRecord>> ReadHistory(const kv::KvStore& store, uint32_t slot,
                                                                    std::string_view job_uid,
                                                                    kv::Damage* damage = nullptr);
// Of the jobs that had this name, oldest first.
absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> ReadHistoryIndex(const kv::KvStore& store, uint32_t slot,
                                                                              std::string_view job_key);

// What is left of a job that is gone.
struct GoneHistory {
  std::string index_key;
  std::string job_uid;
  int64_t end_ms = 0;  // When the job was seen to be gone; where nobody saw it go, its last entry's time.
  int64_t bytes = 0;   // Keys and values.
};

// Of the slot's jobs but those of `present` (UIDs), in the order in which they ended. A history is measured once: the
// batch pending_events its size for the next time. An index record that cannot be read is put to `damage`, and made
// anew from its key in the batch.
absl::StatusOr<std::vector<GoneHistory>> ListGoneHistory(const kv::KvStore& store, uint32_t slot,
                                                         const std::set<std::string>& present, kv::WriteBatch& batch,
                                                         kv::Damage& damage);
void DropHistory(uint32_t slot, const GoneHistory& history, kv::WriteBatch& batch);

}  // namespace basalt::jobsvc
