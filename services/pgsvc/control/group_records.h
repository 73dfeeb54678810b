#pragma once

// What the controller of one worker writes down of its decisions, for people alone: nothing acts by it. A decision is
// noted where its outcome is known, and recorded in the batch of the group's next pass. One that a kill overtakes
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

// Of one group; a part of its entry.
class GroupRecord {
 public:
  // Recorded in the next pass.
  void Note(GroupDecision decision) { noted_.push_back(std::move(decision)); }
  bool has_notes() const { return !noted_.empty(); }

 private:
  friend class GroupRecords;
  // What the store had when the first decision of this process was recorded, and what came since.
  struct Tail {
    int64_t sequence = 0;   // The newest entry's.
    int64_t first_ms = 0;   // When the first was recorded; 0: none is.
    bool is_found = false;  // The index has the name, and no end of it.
    std::optional<GroupDecision> last;
    history::EntryCount count;
  };
  std::vector<GroupDecision> noted_;
  std::optional<Tail> tail_;  // None: not read yet.
};

class GroupRecords {
 public:
  // `metrics` may be null. They and the context outlive it.
  GroupRecords(runtime::Context& context, const history::Limits& limits, obs::Metrics* metrics)
      : context_(context), history_(context.store(), limits), metrics_(metrics) {}

  // `key`: kube::ShownGroupKey; `slot`: that of the group's routing key.

  // Puts what was noted into the batch, unless it only repeats the last entry. Fails the process where the store does.
  void Record(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch);
  // The group is gone, and nobody wants one.
  void End(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch);

  // Oldest first; `gone_ms` of the index. Nullopt: there is no history of that name.
  struct Told {
    int64_t gone_ms = 0;
    std::vector<storage::v1::PodGroupHistoryRecord> entries;
  };
  absl::StatusOr<std::optional<Told>> Read(uint32_t slot, const std::string& key);

  // The turn of the next slot: what is too old or too much of groups that are not among these keys, nor among those
  // that `add` adds, goes.
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
