#pragma once

// Records the decisions of the controller of one worker, for people alone: nothing acts by the records. A decision is
// noted once its outcome is known, and recorded in the batch of the group's next pass. A decision that a kill overtakes
// before that pass is missing in the history; the group in Kubernetes is not affected. Confined to the worker's loop.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/obs/metrics.h"
#include "common/runtime/controller.h"
#include "services/pgsvc/core/group_decision.h"
#include "services/pgsvc/store/group_history.h"

namespace basalt::pgsvc {

// The noted decisions about one group, and the end of its history; a part of the group's entry.
class GroupRecord {
 public:
  // Notes a decision, which the group's next pass records.
  void Note(GroupDecision decision) { noted_.push_back(std::move(decision)); }
  bool has_notes() const { return !noted_.empty(); }

 private:
  friend class GroupRecords;
  // The end of the history: read from the store for the first decision of this process, and kept up to date since.
  struct Tail {
    int64_t sequence = 0;   // The number of the newest entry; 0 if there is none.
    int64_t first_ms = 0;   // When the first entry was recorded; 0 if none was.
    bool is_found = false;  // Whether the index has the name, without an end.
    std::optional<GroupDecision> last;
    history::EntryCount count;
  };
  std::vector<GroupDecision> noted_;
  std::optional<Tail> tail_;  // Nullopt if the store has to be read first.
};

class GroupRecords {
 public:
  // `metrics` may be null. The context and the metrics outlive this object.
  GroupRecords(runtime::Context& context, const history::Limits& limits, obs::Metrics* metrics)
      : context_(context), history_(context.store(), limits), metrics_(metrics) {}

  // In all methods `key` is the kube::ShownGroupKey of a group, and `slot` the slot of the group's routing key.

  // Puts the noted decisions into the batch, except those that only repeat the last entry. Fails the process if the
  // store fails.
  void Record(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch);
  // Records that the group is gone and that nothing wants a group of that name.
  void End(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch);

  // The history of all groups that had one name.
  struct History {
    int64_t gone_ms = 0;  // When the last group was recorded as gone; 0 if it was not.
    std::vector<storage::v1::PodGroupHistoryRecord> entries;  // Oldest first.
  };
  // Returns nullopt if the name has no history.
  absl::StatusOr<std::optional<History>> Read(uint32_t slot, const std::string& key);

  // Ages the histories of one slot, in turn: drops those that are too old or too many, of groups whose keys are neither
  // in `slots` nor added by `add`.
  using AddKeys = std::function<void(uint32_t slot, std::set<std::string>& keys)>;
  void Age(const std::map<uint32_t, std::set<std::string>>& slots, const AddKeys& add = {});
  void CloseSlot(uint32_t slot) { history_.retention().Close(slot); }

 private:
  absl::Status RecordNoted(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch);
  absl::StatusOr<GroupRecord::Tail> ReadTail(uint32_t slot, const std::string& key);
  void DropDamaged(const kv::Damage& damage);

  runtime::Context& context_;
  GroupHistory history_;
  obs::Metrics* const metrics_;
};

}  // namespace basalt::pgsvc
