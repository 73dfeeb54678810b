#include "services/jobsvc/core/decide/decision_words.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/excerpt.h"
#include "common/kube/text.h"

namespace basalt::jobsvc {

using kube::v1::JobPhase;

std::string_view NameOf(JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_UNSPECIFIED ? std::string_view("(new)") : kube::JobPhaseName(phase);
}

PendingEvent RefusalOf(std::string message) { return {true, "ActionRefused", std::move(message)}; }

PendingEvent ExecutionOf(const storage::v1::PendingAction& pending, std::string_view instead) {
  return {false, "ExecuteAction",
          fmt::format("{} because of {} ({}){}{}", pending.action(), pending.event(),
                      pending.subject().empty() ? pending.rule() : pending.subject(), instead.empty() ? "" : ": ",
                      instead)};
}

std::string NothingToDo(Action action, JobPhase phase) {
  std::string why = fmt::format("nothing to do: the job is {}", NameOf(phase));
  const bool runs_it = IsTargeted(action) || action == Action::kRestartJob || action == Action::kResumeJob;
  if (IsFinished(phase)) return why + (runs_it ? ", which is final; submit it again" : ", which is final");
  if (phase == kube::v1::JOB_PHASE_ABORTED || phase == kube::v1::JOB_PHASE_ABORTING) {
    return why + (action == Action::kAbortJob ? " already" : "; only a resume is carried out there");
  }
  if (IsDraining(phase)) return why + ", and ends with that";
  if (IsTargeted(action)) return "nothing to do: there is no pod of what it names";
  if (action == Action::kResumeJob) return why + "; only one that is aborted is resumed";
  return "nothing to do";
}

std::string NoSuchAction(std::string_view action) {
  return fmt::format("{} is refused: there is no such action", Excerpt(action));
}

std::string_view OutcomeOfKill(Retain retain) {
  if (retain == Retain::kSucceeded) return "resumed: pods that succeeded stay, all others are made anew";
  return retain == Retain::kSoft ? "kill of all pods but the finished" : "kill of all pods";
}

}  // namespace basalt::jobsvc
