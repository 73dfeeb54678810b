#pragma once

// One decision about one job: a pure function of what is recorded and observed (job spec 6, 8, 9; design rule 3). It
// says which status to write and how urgently; effects follow from the status once it is acknowledged (effects.h).
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/deadlines.h"
#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// Reason of a job whose spec is refused.
inline constexpr std::string_view kInvalidJob = "InvalidJob";
// Of one that waits for its queue to be there, to be opened, or to have none below it.
inline constexpr std::string_view kQueueError = "QueueError";
// Of one in which something is hardly what was meant.
inline constexpr std::string_view kSpecWarning = "SpecWarning";
// Rules that history tells of the spec.
inline constexpr std::string_view kRuleInitiated = "initiated";
inline constexpr std::string_view kRuleSpecRefused = "the spec is refused";

// What people read in status.state.
struct StatusMessage {
  std::string reason;
  std::string message;
  bool empty() const { return reason.empty() && message.empty(); }
  friend bool operator==(const StatusMessage&, const StatusMessage&) = default;
};

struct DecideInput {
  const kube::v1::Job& job;
  const kube::v1::JobSpec& spec;     // Effective.
  const ControlledState& persisted;  // As the job's status holds it.
  const PodSet& pods;                // Under the rules of the job's status, and told what it says.
  const PendingActions& pending;
  const DeadlineSet& deadlines;
  std::string_view group_uid;  // Of the job's PodGroup; empty = none is there.
  const StatusMessage& words;
  bool invalid = false;  // The spec breaks a rule: words are all it gets.
  // Plugin objects that exist or may exist (ControlledState::objects), and those that the spec wants.
  const std::map<std::string, std::string>& objects;
  const std::vector<WantedObject>& wanted_objects;
  // What controlledResources is to say of plugins and claims beside our own key (job spec 11.1, 9.9).
  const std::map<std::string, std::string>& markers;
  // UIDs of pods whose events a kill of the status answers, and which the status does not name yet.
  const std::vector<std::string>& unreported_answered;
  int64_t last_sequence = 0;  // The highest that was ever committed or meant.
  int64_t now_ms = 0;
  // False: a write of counts would be put off, and what it would say is not worked out.
  bool counts_due = true;
  // Draws the nonce of a commit; called once for a decision that is to be written, and for no other.
  std::function<std::string()> draw_nonce;
};

// For the Event resource.
struct PendingEvent {
  bool warning = false;
  std::string reason;
  std::string message;
};

struct Decision {
  enum class Write {
    kNone,
    kCounts,  // Nothing but numbers and words changed: within the budget. Without counts_due that is all it says.
    kNow,     // A transition, an action or a deadline.
  };
  Write write = Write::kNone;
  kube::v1::JobStatus status;
  // Of the commit, as `status` has them.
  int64_t sequence = 0;
  std::string nonce;
  bool has_history = false;
  storage::v1::HistoryRecord history;  // Valid with has_history; `sequence` is set.
  bool kills = false;                  // A kill begins with this write.
  int dropped = 0;                     // So many of the first pending actions lead to nothing: forget them now.
  int consumed = 0;                    // So many of those after them are settled by this write, once acknowledged.
  std::vector<PendingEvent> pending_events;  // To be recorded once the write is acknowledged.
  std::vector<PendingEvent> refusals;        // Of dropped actions, to be recorded in any case.
  std::vector<PodIndex> again;               // Done although their pods are gone, and to be done again then.
  // UIDs of pods whose events the kill of the status answers: the next write is to name them.
  std::vector<std::string> answered;
};

Decision Decide(const DecideInput& input);

}  // namespace basalt::jobsvc
