#pragma once

// Events in the sense of job spec 1.9, derived from recorded against observed state (3.3, 3.4 with the repairs W1, W2,
// W5, W9, W19, W20, W25, W30, W31, W34), and the policies that answer them (section 6). Pure.
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

// In status.reason of a pod that its kubelet has evicted.
inline constexpr std::string_view kReasonEvicted = "Evicted";
// Of a pod that is gone, and of which nobody knows why.
inline constexpr std::string_view kReasonUnknown = "reason unknown";

struct JobEvent {
  std::string_view kind;
  int32_t task = -1;  // Position in spec.tasks; -1: the event has none.
  int32_t index = -1;
  std::string pod;
  std::string pod_uid;
  int32_t exit_code = 0;       // Policies compare it.
  int32_t last_exit_code = 0;  // TaskFailed: of the restart that was one too many.
  uint8_t phase = 0;           // Of the pod, kube.v1.PodPhase.
  std::string reason;          // Of the pod, or why it was evicted.
  int64_t time_ms = 0;         // When the fact was: from there a timeout counts.
  int64_t told_ms = 0;         // As the fact itself says, by whatever clock. Orders the events of one pass.
  bool observed = false;       // time_ms is when it was seen: nothing in Kubernetes tells of it.
  int32_t version = -1;        // The pod's; -1: the event carries none.
};

// What the state of the pod said that the compact entry does not keep.
struct PodFacts {
  int64_t deletion_ms = 0;
  int64_t finished_ms = 0;
  int64_t creation_ms = 0;
  std::string reason;
  int32_t last_exit_code = 0;
  int64_t alive_ms = 0;  // When the pod was last known to be alive; 0: nobody knows.
  // As kube.v1.Pod has them.
  std::string disruption_reason;
  int64_t disruption_ms = 0;
  bool is_seen = true;          // False: the pod is gone, and nobody saw how it ended.
  bool reads_evictions = true;  // False: as upstream, which takes what Kubernetes evicts and nobody deletes for failed.
};

// When a fact of that time had happened at the latest: Kubernetes cuts times to whole seconds, and nothing happens
// after it is seen (`now_ms`). What counts from there never ends early. 0, of a fact without a time: when it is seen.
int64_t LatestTimeOf(int64_t fact_ms, int64_t now_ms);
// The same where nobody saw it happen.
int64_t EndOfSecond(int64_t fact_ms);

enum class GoneReason { kNotGone, kDeleted, kLeft };

// The events of one observation. `status_version`: pods of an older one raise nothing. `max_retry` is the task's as
// stored (0 = 3, -1 = unlimited).
std::vector<JobEvent> EventsOf(const PodChange& change, const PodFacts& facts, GoneReason gone, int32_t status_version,
                               int32_t task_replicas, std::optional<int32_t> task_max_retry, int64_t now_ms);

// (what the fact says of its time, task, index, UID): the order in which events of one pass are judged.
bool Earlier(const JobEvent& a, const JobEvent& b);

// The answer of the policies. `action` empty: SyncJob.
struct PolicyMatch {
  std::string action;
  std::string rule;  // "spec.tasks[1].policies[0]".
  std::optional<int64_t> timeout_ms;
};
PolicyMatch ApplyPolicies(const kube::v1::JobSpec& spec, const JobEvent& event);

}  // namespace basalt::jobsvc
