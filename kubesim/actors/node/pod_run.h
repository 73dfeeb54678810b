#pragma once

// The life of one pod on a simulated node, as kubelet would report it: init containers one after the other, containers,
// exit codes, restarts with back-off, readiness, termination. Pure: the caller passes the time and gets the time at
// which the pod is next due.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/node/container_plan.h"

namespace basalt::actors {

// Annotations of a pod for containers whose command does not state how they behave.
inline constexpr std::string_view kDurationAnnotation = "kubesim.basalt.dev/duration";       // A Go duration.
inline constexpr std::string_view kExitCodeAnnotation = "kubesim.basalt.dev/exit-code";      // A number.
inline constexpr std::string_view kReadyAfterAnnotation = "kubesim.basalt.dev/ready-after";  // A Go duration.

struct PodDefaults {
  ContainerPlan plan{absl::Seconds(2), 0};
  std::string host_ip, pod_ip;
  // How far the node's clock is ahead. Containers report their start and end by that clock.
  absl::Duration clock_ahead = absl::ZeroDuration();
};

class PodRun {
 public:
  // Begins the run of a pod. A pod that runs already, by its status, continues from there.
  PodRun(const json::value& pod, const PodDefaults& defaults, absl::Time now);

  // Takes a newer state of the same pod, of which only a deletion matters.
  void Observe(const json::value& pod);

  // Sets the condition DisruptionTarget, by which Kubernetes announces the end of a pod. Returns false if the pod has
  // ended.
  bool Disrupt(absl::Time now, std::string reason);
  // Evicts the pod, as its kubelet does: running containers end by SIGKILL. Returns false if the pod has ended, or has
  // not begun.
  bool Evict(absl::Time now);

  // Makes all changes that are due up to `now`. Returns when the next change is due. Infinite future if none will be.
  absl::Time Advance(absl::Time now);

  // Returns whether the status has changed since the last call.
  bool TakeChanged();
  // Returns the status for a strategic merge patch of the status subresource.
  json::object Status() const;

  // Returns whether the phase is Succeeded or Failed.
  bool terminal() const { return phase_ == "Succeeded" || phase_ == "Failed"; }
  // Returns whether the pod is being deleted and no container runs.
  bool removable() const { return deleting_ && (terminal() || !started_any_); }
  const std::string& phase() const { return phase_; }

 private:
  enum class State { kWaiting, kRunning, kTerminated };
  struct Ended {
    absl::Time started, finished;
    int exit_code = 0;
  };
  struct Container {
    std::string name, image;
    ContainerPlan plan;
    absl::Duration ready_after;
    bool sidecar = false;  // An init container that runs until the other containers have ended.
    State state = State::kWaiting;
    bool backing_off = false;
    absl::Time due = absl::InfiniteFuture();  // Time of the end while running, of the start while backing off.
    absl::Time started, ready_at;
    Ended ended;
    std::optional<Ended> last;
    int restarts = 0;
    int quick_restarts = 0;  // Number of restarts without a long run between them.
    bool ready = false;
  };
  struct Condition {
    bool value = false;
    std::string reason, message;
    absl::Time since;
    bool had_reason = false;
  };

  std::vector<Container> ReadContainers(const json::value& pod, std::string_view member, std::string_view statuses,
                                        const PodDefaults& defaults) const;
  void TakeUp(const json::value& status, Container& container) const;
  bool Step(absl::Time now);
  bool StepInit(absl::Time now);
  bool StepMain(absl::Time now);
  bool StepContainer(Container& container, absl::Time now, bool restart_on_success, bool restart_on_failure);
  void StartContainer(Container& container, absl::Time at);
  void EndContainer(Container& container, absl::Time at, int exit_code);
  void Stop(absl::Time now);
  void EndAll(absl::Time now, int exit_code);
  void Finish(absl::Time at);
  absl::Time NextDue() const;
  void SetCondition(std::string_view type, bool value, absl::Time at, std::string reason = "",
                    std::string message = "");
  void SetConditions(absl::Time at);
  json::array Statuses(const std::vector<Container>& containers, bool init) const;

  std::string uid_;
  std::string host_ip_, pod_ip_;
  absl::Duration clock_ahead_;
  std::string reason_;  // The status reason of the pod.
  std::string restart_policy_;
  std::vector<Container> init_, main_;
  std::map<std::string, Condition> conditions_;
  std::string phase_ = "Pending";
  absl::Time start_time_;
  absl::Time ready_for_main_ = absl::InfiniteFuture();
  bool started_any_ = false;
  bool main_started_ = false;
  bool deleting_ = false;
  bool changed_ = false;
};

}  // namespace basalt::actors
