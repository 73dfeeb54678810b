#pragma once

// Delayed actions (job spec 7, repaired as 7.6 says): what a policy with a timeout answers waits as a PendingAction
// with `due_ms` until it is due, is cancelled, or is cleaned up by an action of its level. Deadlines are measured from
// the fact, by the API server's clock.
//
// A deadline of an event that can be read from the present again (PodPending, PodFailed) follows from it; one of an
// event that leaves no trace is kept in the job's status (controlled_state.h), from the write that sets it to the one
// that carries it out. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/events.h"
#include "services/jobsvc/core/pod_set.h"

namespace basalt::jobsvc {

using PendingActions = google::protobuf::RepeatedPtrField<storage::v1::PendingAction>;

// Whether it is one that the status has to hold: of PodEvicted, Unknown, TaskCompleted or TaskFailed.
bool IsKept(const storage::v1::PendingAction& deadline);

// 7.1: one for each pod. False: one with the same action waits already, and goes on. One with another is replaced.
bool AddDeadline(storage::v1::PendingAction deadline, PendingActions& deadlines);

// 7.3, with UIDs and tasks compared: what waits since a pod was Pending ends as soon as it is not; what waits since one
// failed or was evicted ends once another pod of that name runs. True: something was cancelled.
bool CancelDeadlines(const JobEvent& event, std::string_view task, PendingActions& deadlines);

// 7.5: all whose action is of the same level as the one carried out, within its scope. True: something was.
bool ClearDeadlines(const storage::v1::PendingAction& carried_out, PendingActions& deadlines);

// Of runs before this version of the job (W15). True: something was.
bool DropStaleDeadlines(int32_t version, PendingActions& deadlines);

// Whether what has become of the pods calls for it still.
bool StillHolds(const storage::v1::PendingAction& deadline, const PodSet& pods);

// What is due and still holds, in the order of the deadlines: it is taken out, as is what is due and holds no more.
std::vector<storage::v1::PendingAction> TakeDue(int64_t now_ms, const PodSet& pods, PendingActions& deadlines);

// When the next one is due.
std::optional<int64_t> NextDue(const PendingActions& deadlines);

// Whether the status, which holds `stored`, says of them what it has to.
bool AreStored(const PendingActions& deadlines, const std::vector<storage::v1::PendingAction>& stored);

bool SameDeadline(const storage::v1::PendingAction& a, const storage::v1::PendingAction& b);

}  // namespace basalt::jobsvc
