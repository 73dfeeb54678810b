#include "services/pgsvc/store/group_history.h"

namespace basalt::pgsvc {

using storage::v1::PodGroupHistoryRecord;

static_assert(int{PodGroupHistoryRecord::DECISION_CREATED} == static_cast<int>(GroupDecision::Kind::kCreated));
static_assert(int{PodGroupHistoryRecord::DECISION_FOREIGN} == static_cast<int>(GroupDecision::Kind::kForeign));

PodGroupHistoryRecord ToRecord(const GroupDecision& decision, int64_t sequence, int64_t time_ms) {
  PodGroupHistoryRecord record;
  record.set_sequence(sequence);
  record.set_time_ms(time_ms);
  record.set_decision(static_cast<PodGroupHistoryRecord::Decision>(decision.kind));
  record.set_uid(decision.uid);
  record.set_asked_by(decision.asked_by);
  record.set_version(decision.version);
  record.mutable_fields()->Assign(decision.fields.begin(), decision.fields.end());
  record.set_message(decision.message);
  return record;
}

GroupDecision DecisionOf(const PodGroupHistoryRecord& record) {
  return {.kind = static_cast<GroupDecision::Kind>(record.decision()),
          .uid = record.uid(),
          .asked_by = record.asked_by(),
          .version = record.version(),
          .fields = {record.fields().begin(), record.fields().end()},
          .message = record.message()};
}

}  // namespace basalt::pgsvc
