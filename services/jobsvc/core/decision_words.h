#pragma once

// What people read of a decision: in Events, in history, and as the answer to a command. Pure.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// As history names it; "(new)": the job has none yet.
std::string_view NameOf(kube::v1::JobPhase phase);

// The Event of an action that is refused, and of one that is carried out. `instead`: why nothing is done; empty: it is.
PendingEvent RefusalOf(std::string message);
PendingEvent ExecutionOf(const storage::v1::PendingAction& pending, std::string_view instead = {});

// Why a command of that action does nothing in a job of that phase.
std::string NothingToDo(Action action, kube::v1::JobPhase phase);
// Of a command whose action does not exist.
std::string NoSuchAction(std::string_view action);

// What a kill of the whole job takes.
std::string_view OutcomeOfKill(Retain retain);

}  // namespace basalt::jobsvc
