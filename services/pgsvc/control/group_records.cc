#include "services/pgsvc/control/group_records.h"

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/runtime/slots/damage.h"

namespace basalt::pgsvc {

void GroupRecords::Record(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch) {
  if (!record.has_notes()) return;
  if (const absl::Status status = RecordNoted(slot, key, record, batch); !status.ok()) context_.Fail(status);
  record.noted_.clear();
}

absl::Status GroupRecords::RecordNoted(uint32_t slot, const std::string& key, GroupRecord& record,
                                       kv::WriteBatch& batch) {
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  if (!record.tail_) {
    BASALT_ASSIGN_OR_RETURN(record.tail_, ReadTail(slot, key));
  }
  GroupRecord::Tail& tail = *record.tail_;
  for (GroupDecision& decision : record.noted_) {
    if (tail.last && IsRepeated(*tail.last, decision)) continue;
    if (!tail.is_found) {
      if (tail.first_ms == 0) tail.first_ms = now_ms;
      GroupHistory::Begin(slot, key, key, tail.first_ms, batch);
      tail.is_found = true;
    }
    GroupHistory::Put(slot, key, ToRecord(decision, ++tail.sequence, now_ms), batch);
    tail.last = std::move(decision);
    kv::Damage damage;
    BASALT_RETURN_IF_ERROR(history_.Trim(slot, key, tail.count, batch, damage));
    DropDamaged(damage);
  }
  return absl::OkStatus();
}

// Earlier groups of the same name share the history.
absl::StatusOr<GroupRecord::Tail> GroupRecords::ReadTail(uint32_t slot, const std::string& key) {
  BASALT_ASSIGN_OR_RETURN(const auto objects, history_.ObjectsOf(slot, key));
  GroupRecord::Tail tail;
  tail.count = 0;
  if (objects.empty()) return tail;
  tail.first_ms = objects.back().first_ms();
  tail.is_found = objects.back().gone_ms() == 0;
  kv::Damage damage;
  BASALT_ASSIGN_OR_RETURN(const auto entries, history_.Read(slot, key, &damage));
  DropDamaged(damage);
  tail.count = static_cast<int64_t>(entries.size());
  if (entries.empty()) return tail;
  tail.sequence = entries.back().sequence();
  tail.last = DecisionOf(entries.back());
  return tail;
}

void GroupRecords::End(uint32_t slot, const std::string& key, GroupRecord& record, kv::WriteBatch& batch) {
  record.tail_.reset();
  const absl::Status status = history_.End(slot, key, key, absl::ToUnixMillis(context_.ApiNow()), batch);
  if (!status.ok()) context_.Fail(status);
}

absl::StatusOr<std::optional<GroupRecords::History>> GroupRecords::Read(uint32_t slot, const std::string& key) {
  BASALT_ASSIGN_OR_RETURN(const auto objects, history_.ObjectsOf(slot, key));
  if (objects.empty()) return std::nullopt;
  kv::Damage damage;
  History read{.gone_ms = objects.back().gone_ms(), .entries = {}};
  BASALT_ASSIGN_OR_RETURN(read.entries, history_.Read(slot, key, &damage));
  DropDamaged(damage);
  return read;
}

void GroupRecords::Age(const std::map<uint32_t, std::set<std::string>>& slots, const AddKeys& add) {
  if (slots.empty()) return;
  const auto turn = history_.retention().NextTurn(slots);
  // While a slot is starting, its groups are not known yet and would count as gone.
  if (!context_.IsReady(turn->first)) return;
  kv::WriteBatch batch;
  kv::Damage damage;
  std::set<std::string> present = turn->second;
  if (add) add(turn->first, present);
  const absl::Status trimmed = history_.retention().Trim(turn->first, present, context_.ApiNow(), batch, damage);
  if (!trimmed.ok()) return context_.Fail(trimmed);
  runtime::ReportDamage(damage, metrics_);
  if (batch.empty()) return;
  if (const absl::Status status = context_.store().Write(batch); !status.ok()) context_.Fail(status);
}

void GroupRecords::DropDamaged(const kv::Damage& damage) {
  if (const absl::Status status = runtime::DropDamaged(context_.store(), damage, metrics_); !status.ok()) {
    context_.Fail(status);
  }
}

}  // namespace basalt::pgsvc
