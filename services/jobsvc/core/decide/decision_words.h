#pragma once

// The texts about a decision: in Events, in history, and as the answer to a command. Pure.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// Returns the phase as history names it: "(new)" if the job has none yet.
std::string_view NameOf(kube::v1::JobPhase phase);

// The Events of an action that is refused and of one that is carried out. `instead` states why nothing is done. Empty
// if the action is carried out.
PendingEvent RefusalOf(std::string message);
PendingEvent ExecutionOf(const storage::v1::PendingAction& pending, std::string_view instead = {});

// Returns why a command of that action does nothing in a job of that phase.
std::string NothingToDo(Action action, kube::v1::JobPhase phase);
// Returns the refusal of a command whose action does not exist.
std::string NoSuchAction(std::string_view action);

// Returns which pods a kill of the whole job deletes.
std::string_view OutcomeOfKill(Retain retain);

}  // namespace basalt::jobsvc
