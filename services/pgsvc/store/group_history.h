#pragma once

// The history of pod groups in the store: one for each name, under "<namespace>/<name>" in place of a UID.
#include "basalt/storage/v1/pod_group_record.pb.h"
#include "common/history/history.h"
#include "services/pgsvc/core/group_decision.h"

namespace basalt::pgsvc {

using GroupHistory = history::History<storage::v1::PodGroupHistoryRecord>;

storage::v1::PodGroupHistoryRecord ToRecord(const GroupDecision& decision, int64_t sequence, int64_t time_ms);
GroupDecision DecisionOf(const storage::v1::PodGroupHistoryRecord& record);

}  // namespace basalt::pgsvc
