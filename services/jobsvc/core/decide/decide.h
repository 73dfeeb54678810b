#pragma once

// One decision about one job: a pure function of the recorded and the observed state (job spec 6, 8, 9; design rule 3).
// The decision names the status to write and how urgent the write is; effects follow from the status once it is
// acknowledged (effects.h).
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/events/deadlines.h"
#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// Reason of a job whose spec is refused.
inline constexpr std::string_view kInvalidJob = "InvalidJob";
// Reason of a job that waits for its queue to exist, to be opened, or to have no queue below it.
inline constexpr std::string_view kQueueError = "QueueError";
// Reason of a job whose spec contains something that is hardly intended.
inline constexpr std::string_view kSpecWarning = "SpecWarning";
// Rules under which history records what became of the spec.
inline constexpr std::string_view kRuleInitiated = "initiated";
inline constexpr std::string_view kRuleSpecRefused = "the spec is refused";

// The reason and the message of status.state.
struct StatusMessage {
  std::string reason;
  std::string message;
  bool empty() const { return reason.empty() && message.empty(); }
  friend bool operator==(const StatusMessage&, const StatusMessage&) = default;
};

struct DecideInput {
  const kube::v1::Job& job;
  const kube::v1::JobSpec& spec;     // Effective.
  const ControlledState& persisted;  // As read from the job's status.
  const PodSet& pods;  // Under the rules that the job's status implies, and aware of what the status reports.
  const PendingActions& pending;
  const DeadlineSet& deadlines;
  std::string_view group_uid;  // UID of the job's PodGroup. Empty if there is no group.
  const StatusMessage& words;
  bool invalid = false;  // The spec breaks a rule: the job gets nothing but `words`.
  // Plugin objects that exist or may exist (ControlledState::objects).
  const std::map<std::string, std::string>& objects;
  // Plugin objects that the spec calls for.
  const std::vector<WantedObject>& wanted_objects;
  // The entries of controlledResources for plugins and claims, beside our own key (job spec 11.1, 9.9).
  const std::map<std::string, std::string>& markers;
  // UIDs of pods whose events a kill of the status answers and which the status does not name yet.
  const std::vector<std::string>& unreported_answered;
  int64_t last_sequence = 0;  // The highest sequence that was ever committed or intended.
  int64_t now_ms = 0;
  // False if a write of counts would be put off; Decide() does not compute such a write then.
  bool counts_due = true;
  // Draws the nonce of a commit. Called once for a decision that is to be written, and never for another.
  std::function<std::string()> draw_nonce;
};

// An event that is to be sent as an Event resource.
struct PendingEvent {
  bool warning = false;
  std::string reason;
  std::string message;
};

struct Decision {
  enum class Write {
    kNone,
    // Only numbers and messages have changed: the write is subject to the budget. If counts_due is false, `status` is
    // not valid.
    kCounts,
    kNow,  // A transition, an action or a deadline.
  };
  Write write = Write::kNone;
  kube::v1::JobStatus status;
  // Sequence and nonce of the commit, as in `status`.
  int64_t sequence = 0;
  std::string nonce;
  bool has_history = false;
  storage::v1::HistoryRecord history;  // Valid if has_history. `sequence` is set.
  bool kills = false;                  // A kill begins with this write.
  // Number of pending actions, from the front, that lead to nothing. The caller removes them at once.
  int dropped = 0;
  // Number of pending actions behind the dropped ones that this write carries out. They are removed once the write is
  // acknowledged.
  int consumed = 0;
  std::vector<PendingEvent> pending_events;  // Recorded once the write is acknowledged.
  std::vector<PendingEvent> refusals;        // Events of dropped actions. Recorded in any case.
  // Indices that are done although their pods are gone, and that are to be done again after this write.
  std::vector<PodIndex> again;
  // UIDs of pods whose events the kill of the status answers. The next write has to name them.
  std::vector<std::string> answered;
};

Decision Decide(const DecideInput& input);

}  // namespace basalt::jobsvc
