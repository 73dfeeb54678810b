#pragma once

// The history of the jobs of one controller beside the decisions themselves: ends of kills, edits of the spec and of
// the phase, and the limits of what is kept. Records that cannot be read are dropped and counted. Runs on the
// controller's loop.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/time/time_system.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/store/history_store.h"

namespace basalt::jobsvc {

class JobHistory {
 public:
  // `host` outlives the object.
  explicit JobHistory(PartHost& host);
  ~JobHistory();
  JobHistory(const JobHistory&) = delete;
  JobHistory& operator=(const JobHistory&) = delete;

  // Call when a slot has been opened. From the first slot on, the history of jobs that are gone is aged in turns.
  void Open();
  void Close(uint32_t slot) { store_.retention().Close(slot); }
  const HistoryStore& store() const { return store_; }

  absl::StatusOr<std::vector<storage::v1::HistoryRecord>> Read(uint32_t slot, std::string_view job_uid);
  absl::StatusOr<std::optional<storage::v1::HistoryRecord>> ReadOne(uint32_t slot, std::string_view job_uid,
                                                                    int64_t sequence);
  // Reads the record of the spec from the last time that history took it in.
  absl::StatusOr<std::optional<storage::v1::SpecRecord>> ReadRecordedSpec(const JobEntry& entry);

  // Drops older entries of the job beyond the limit of one job.
  void Trim(JobEntry& entry, kv::WriteBatch& batch);
  // Records that the job is gone.
  absl::Status End(const JobEntry& entry, kv::WriteBatch& batch);
  // A kill has begun with the decision of that sequence number. The entry of that decision stays open until the kill
  // has ended.
  void OpenKill(JobEntry& entry, int64_t sequence, kv::WriteBatch& batch);
  void RecordKillEnd(JobEntry& entry, kv::WriteBatch& batch);
  // Call after a change of the spec.
  void RecordSpecEdit(JobEntry& entry, kv::WriteBatch& batch);
  // Call after a change of the status, once the outcome of our last status write is known.
  void RecordPhaseEdit(JobEntry& entry, kv::WriteBatch& batch);

 private:
  void AddToOutcome(const JobEntry& entry, std::string_view words, kv::WriteBatch& batch);
  void DropDamaged(const kv::Damage& damage);
  void AgeLater();
  void Age(uint32_t slot, const std::set<std::string>& keys);

  PartHost& host_;
  HistoryStore store_;
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::jobsvc
