#pragma once

// Events in the sense of job spec 1.9, derived by comparing the recorded with the observed state (3.3, 3.4 with the
// repairs W1, W2, W5, W9, W19, W20, W25, W30, W31, W34), and the policies that answer them (section 6). Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

inline constexpr std::string_view kEventPodPending = "PodPending";
inline constexpr std::string_view kEventPodRunning = "PodRunning";
inline constexpr std::string_view kEventPodFailed = "PodFailed";
inline constexpr std::string_view kEventPodEvicted = "PodEvicted";
inline constexpr std::string_view kEventUnknown = "Unknown";
inline constexpr std::string_view kEventTaskCompleted = "TaskCompleted";
inline constexpr std::string_view kEventTaskFailed = "TaskFailed";
inline constexpr std::string_view kEventOutOfSync = "OutOfSync";
inline constexpr std::string_view kEventCommandIssued = "CommandIssued";

// The status.reason of a pod that its kubelet has evicted.
inline constexpr std::string_view kReasonEvicted = "Evicted";
// The reason of a pod that is gone for a reason that nobody knows.
inline constexpr std::string_view kReasonUnknown = "reason unknown";

struct JobEvent {
  std::string_view kind;
  int32_t task = -1;  // Position in spec.tasks. -1 if the event concerns no task.
  int32_t index = -1;
  std::string pod;
  std::string pod_uid;
  int32_t exit_code = 0;       // The code that policies compare.
  int32_t last_exit_code = 0;  // TaskFailed: exit code of the last restart, the one that exceeded the limit.
  uint8_t phase = 0;           // Phase of the pod, kube.v1.PodPhase.
  std::string reason;          // Reason of the pod, or why the pod was evicted.
  int64_t time_ms = 0;         // Time of the fact, from which a timeout counts.
  int64_t stated_ms = 0;       // Time that the fact itself states, by whatever clock. Orders the events of one pass.
  bool observed = false;       // time_ms is the time of the observation: Kubernetes records no time of the fact.
  int32_t version = -1;        // Version of the pod. -1 if the event carries none.
};

// Facts of the pod's state that the compact entry does not keep.
struct PodFacts {
  int64_t deletion_ms = 0;
  int64_t finished_ms = 0;
  int64_t creation_ms = 0;
  std::string reason;
  int32_t last_exit_code = 0;
  int64_t alive_ms = 0;           // When the pod was last known to be alive. 0 if unknown.
  std::string disruption_reason;  // As in kube.v1.Pod.
  int64_t disruption_ms = 0;      // As in kube.v1.Pod.
  bool is_seen = true;            // False if the pod is gone and nobody observed how it ended.
  // False if pods that Kubernetes evicts and nobody deletes count as failed, as upstream counts them.
  bool reads_evictions = true;
};

// Returns the latest time at which a fact with that time can have happened: Kubernetes cuts times to whole seconds, and
// nothing happens after its observation (`now_ms`). A timeout that counts from there never ends early. A fact without a
// time (0) is dated with `now_ms`.
int64_t LatestTimeOf(int64_t fact_ms, int64_t now_ms);
// Returns the same for a fact that nobody observed.
int64_t EndOfSecond(int64_t fact_ms);

enum class GoneReason { kNotGone, kDeleted, kLeft };

// Returns the events of one observation. Pods of a version below `status_version` raise nothing. `max_retry` is the
// task's as stored (0 = 3, -1 = unlimited).
std::vector<JobEvent> EventsOf(const PodChange& change, const PodFacts& facts, GoneReason gone, int32_t status_version,
                               int32_t task_replicas, std::optional<int32_t> task_max_retry, int64_t now_ms);

// The order in which a pass handles events: the time that the fact states, task, index, UID.
bool Earlier(const JobEvent& a, const JobEvent& b);

// The answer of the policies. SyncJob if `action` is empty.
struct PolicyMatch {
  std::string action;
  std::string rule;  // "spec.tasks[1].policies[0]".
  std::optional<int64_t> timeout_ms;
};
PolicyMatch ApplyPolicies(const kube::v1::JobSpec& spec, const JobEvent& event);

}  // namespace basalt::jobsvc
