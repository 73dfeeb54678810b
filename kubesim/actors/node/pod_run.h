#pragma once

// The life of one pod on a simulated node, as kubelet would report it: init containers one after the other, containers,
// exit codes, restarts with back-off, readiness, termination. Pure: it is told the time and says when it is next due.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/node/container_plan.h"

namespace basalt::actors {

// A pod may say itself how its containers behave, where their command does not: a Go duration, a number, a Go duration.
inline constexpr std::string_view kDurationAnnotation = "kubesim.basalt.dev/duration";
inline constexpr std::string_view kExitCodeAnnotation = "kubesim.basalt.dev/exit-code";
inline constexpr std::string_view kReadyAfterAnnotation = "kubesim.basalt.dev/ready-after";

struct PodDefaults {
  ContainerPlan plan{absl::Seconds(2), 0};
  std::string host_ip, pod_ip;
  absl::Duration clock_ahead = absl::ZeroDuration();  // Of the node's clock, by which containers start and end.
};

class PodRun {
 public:
  // A pod whose status says that it runs already is taken up where it is.
  PodRun(const json::value& pod, const PodDefaults& defaults, absl::Time now);

  // Takes in a newer state of the same pod: only its deletion matters.
  void Observe(const json::value& pod);

  // Kubernetes is about to end the pod, and says so: the condition DisruptionTarget. False: the pod has ended.
  bool Disrupt(absl::Time now, std::string reason);
  // Its kubelet evicts it: what runs ends by SIGKILL. False: the pod has ended, or has not begun.
  bool Evict(absl::Time now);

  // Does all that is due up to `now` and returns when it is next due; infinite: nothing more comes.
  absl::Time Advance(absl::Time now);

  // True once after something changed that a status has to tell.
  bool TakeChanged();
  // For a strategic merge patch of the status subresource.
  json::object Status() const;

  // Succeeded or Failed.
  bool terminal() const { return phase_ == "Succeeded" || phase_ == "Failed"; }
  // It is to be deleted, and nothing of it runs.
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
    bool sidecar = false;  // An init container that goes on running.
    State state = State::kWaiting;
    bool backing_off = false;
    absl::Time due = absl::InfiniteFuture();  // Of the end while running, of the start while backing off.
    absl::Time started, ready_at;
    Ended ended;
    std::optional<Ended> last;
    int restarts = 0;
    int quick_restarts = 0;  // Without a long run between them.
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
  std::string reason_;  // Of the pod as a whole.
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
