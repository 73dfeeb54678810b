// The status of a pod: how a run continues from a status, and how a run reports its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <utility>

#include "common/base/json_int32.h"
#include "common/kube/text.h"
#include "kubesim/actors/client/text.h"
#include "kubesim/actors/node/pod_run.h"

namespace basalt::actors {
namespace {

absl::Time TimeOf(const json::value& value, std::string_view name, absl::Time otherwise) {
  const auto ms = kube::ParseTime(FindString(value, name));
  return ms.ok() ? absl::FromUnixMillis(*ms) : otherwise;
}

std::vector<std::string> Words(const json::value& container) {
  std::vector<std::string> words;
  for (const std::string_view member : {"command", "args"}) {
    const json::value* list = Find(container, member);
    if (list == nullptr || !list->is_array()) continue;
    for (const json::value& word : list->get_array()) {
      if (word.is_string()) words.emplace_back(word.get_string());
    }
  }
  return words;
}

std::string Names(const std::vector<std::string>& names) { return fmt::format("[{}]", fmt::join(names, " ")); }

}  // namespace

PodRun::PodRun(const json::value& pod, const PodDefaults& defaults, absl::Time now)
    : host_ip_(defaults.host_ip), pod_ip_(defaults.pod_ip), clock_ahead_(defaults.clock_ahead), start_time_(now) {
  if (const json::value* metadata = Find(pod, "metadata")) uid_ = FindString(*metadata, "uid");
  const json::value* spec = Find(pod, "spec");
  restart_policy_ = spec == nullptr ? "" : FindString(*spec, "restartPolicy");
  if (restart_policy_.empty()) restart_policy_ = "Always";

  PodDefaults own = defaults;
  if (const json::value* annotations = FindPath(pod, {"metadata", "annotations"})) {
    const auto duration = kube::ParseGoDuration(FindString(*annotations, kDurationAnnotation));
    if (duration.ok() && *duration >= absl::ZeroDuration()) own.plan.duration = *duration;
    const std::string code(FindString(*annotations, kExitCodeAnnotation));
    if (!code.empty()) own.plan.exit_code = static_cast<int>(std::strtol(code.c_str(), nullptr, 10)) & 255;
  }
  init_ = ReadContainers(pod, "initContainers", "initContainerStatuses", own);
  main_ = ReadContainers(pod, "containers", "containerStatuses", own);

  const json::value* status = Find(pod, "status");
  if (status != nullptr) {
    const std::string_view phase = FindString(*status, "phase");
    if (phase == "Running" || phase == "Succeeded" || phase == "Failed") phase_ = phase;
    start_time_ = TimeOf(*status, "startTime", now);
    if (const std::string_view ip = FindString(*status, "podIP"); !ip.empty()) pod_ip_ = ip;
    if (const json::value* conditions = Find(*status, "conditions"); conditions != nullptr && conditions->is_array()) {
      for (const json::value& condition : conditions->get_array()) {
        conditions_[std::string(FindString(condition, "type"))] = {
            FindString(condition, "status") == "True", std::string(FindString(condition, "reason")),
            std::string(FindString(condition, "message")), TimeOf(condition, "lastTransitionTime", now), false};
      }
    }
  }
  for (const std::vector<Container>* containers : {&init_, &main_}) {
    for (const Container& container : *containers) {
      const bool begun = container.state != State::kWaiting || container.restarts > 0;
      started_any_ = started_any_ || begun;
      main_started_ = main_started_ || (begun && containers == &main_);
    }
  }
  Observe(pod);
}

std::vector<PodRun::Container> PodRun::ReadContainers(const json::value& pod, std::string_view member,
                                                      std::string_view statuses, const PodDefaults& defaults) const {
  std::vector<Container> containers;
  const json::value* list = FindPath(pod, {"spec", member});
  if (list == nullptr || !list->is_array()) return containers;
  const json::value* known = FindPath(pod, {"status", statuses});
  std::optional<absl::Duration> annotated_ready;
  if (const json::value* annotations = FindPath(pod, {"metadata", "annotations"})) {
    const auto after = kube::ParseGoDuration(FindString(*annotations, kReadyAfterAnnotation));
    if (after.ok()) annotated_ready = *after;
  }
  for (const json::value& item : list->get_array()) {
    Container container;
    container.name = FindString(item, "name");
    container.image = FindString(item, "image");
    container.plan = PlanOfCommand(Words(item)).value_or(defaults.plan);
    container.sidecar = member == "initContainers" && FindString(item, "restartPolicy") == "Always";
    const json::value* probe = Find(item, "readinessProbe");
    container.ready_after = annotated_ready.value_or(
        probe == nullptr ? absl::ZeroDuration() : absl::Seconds(FindInt(*probe, "initialDelaySeconds")));
    if (known != nullptr && known->is_array()) {
      for (const json::value& status : known->get_array()) {
        if (FindString(status, "name") == container.name) TakeUp(status, container);
      }
    }
    containers.push_back(std::move(container));
  }
  return containers;
}

void PodRun::TakeUp(const json::value& status, Container& container) const {
  const auto ended = [this](const json::value& terminated) {
    return Ended{TimeOf(terminated, "startedAt", absl::UnixEpoch()) - clock_ahead_,
                 TimeOf(terminated, "finishedAt", absl::UnixEpoch()) - clock_ahead_, FindInt32(terminated, "exitCode")};
  };
  container.restarts = FindInt32(status, "restartCount");
  container.quick_restarts = container.restarts;
  if (const json::value* last = FindPath(status, {"lastState", "terminated"})) container.last = ended(*last);
  if (const json::value* running = FindPath(status, {"state", "running"})) {
    container.state = State::kRunning;
    container.started = TimeOf(*running, "startedAt", start_time_ + clock_ahead_) - clock_ahead_;
    container.due = container.started + container.plan.duration;
    container.ready_at = container.started + container.ready_after;
    const json::value* ready = Find(status, "ready");
    container.ready = ready != nullptr && ready->is_bool() && ready->get_bool();
  } else if (const json::value* terminated = FindPath(status, {"state", "terminated"})) {
    container.state = State::kTerminated;
    container.ended = ended(*terminated);
  } else if (container.last.has_value()) {
    container.backing_off = true;
    container.due = container.last->finished;
  }
}

void PodRun::SetCondition(std::string_view type, bool value, absl::Time at, std::string reason, std::string message) {
  const auto [found, added] = conditions_.try_emplace(std::string(type));
  if (added || found->second.value != value) found->second.since = at;
  found->second.value = value;
  if (!found->second.reason.empty()) found->second.had_reason = true;
  found->second.reason = std::move(reason);
  found->second.message = std::move(message);
}

void PodRun::SetConditions(absl::Time at) {
  if (!conditions_.contains("PodScheduled")) SetCondition("PodScheduled", true, at);
  SetCondition("PodReadyToStartContainers", !terminal(), at);
  std::vector<std::string> incomplete, unready;
  for (const Container& container : init_) {
    const bool done = container.sidecar ? container.state == State::kRunning
                                        : container.state == State::kTerminated && container.ended.exit_code == 0;
    if (!done && !terminal()) incomplete.push_back(container.name);
  }
  for (const Container& container : main_) {
    if (!container.ready) unready.push_back(container.name);
  }
  const std::string over = phase_ == "Succeeded" ? "PodCompleted" : phase_ == "Failed" ? "PodFailed" : "";
  if (incomplete.empty()) {
    SetCondition("Initialized", true, at, phase_ == "Succeeded" ? over : "");
  } else {
    SetCondition("Initialized", false, at, "ContainersNotInitialized",
                 "containers with incomplete status: " + Names(incomplete));
  }
  for (const std::string_view type : {"ContainersReady", "Ready"}) {
    if (!over.empty()) {
      SetCondition(type, false, at, over);
    } else if (!unready.empty()) {
      SetCondition(type, false, at, "ContainersNotReady", "containers with unready status: " + Names(unready));
    } else {
      SetCondition(type, true, at);
    }
  }
}

json::array PodRun::Statuses(const std::vector<Container>& containers, bool init) const {
  json::array out;
  for (const Container& container : containers) {
    const auto terminated = [&](const Ended& ended) {
      return json::object{
          {"terminated", json::object{{"exitCode", ended.exit_code},
                                      {"reason", ended.exit_code == 0 ? "Completed" : "Error"},
                                      {"startedAt", Text(ended.started + clock_ahead_)},
                                      {"finishedAt", Text(ended.finished + clock_ahead_)},
                                      {"containerID", Text("kubesim://" + uid_ + "/" + container.name)}}}};
    };
    json::object status{{"name", Text(container.name)},
                        {"image", Text(container.image)},
                        {"imageID", Text(container.image)},
                        {"restartCount", container.restarts}};
    json::object state;
    bool started = false;
    bool ready = container.ready;
    switch (container.state) {
      case State::kWaiting: {
        const std::string_view reason = container.backing_off   ? "CrashLoopBackOff"
                                        : init_.empty() || init ? "ContainerCreating"
                                                                : "PodInitializing";
        state["waiting"] = json::object{{"reason", Text(reason)}};
        break;
      }
      case State::kRunning:
        state["running"] = json::object{{"startedAt", Text(container.started + clock_ahead_)}};
        started = true;
        break;
      case State::kTerminated:
        state = terminated(container.ended);
        ready = init && container.ended.exit_code == 0;
        break;
    }
    status["state"] = std::move(state);
    status["lastState"] = container.last.has_value() ? terminated(*container.last) : json::object();
    status["ready"] = ready;
    status["started"] = started;
    if (container.state != State::kWaiting) status["containerID"] = Text("kubesim://" + uid_ + "/" + container.name);
    out.push_back(std::move(status));
  }
  return out;
}

json::object PodRun::Status() const {
  json::array conditions;
  for (const auto& [type, condition] : conditions_) {
    json::object out{{"type", Text(type)},
                     {"status", condition.value ? "True" : "False"},
                     {"lastTransitionTime", Text(condition.since)}};
    // A null removes the reason and message of an earlier status. A condition that is new to the server must not have
    // nulls.
    if (condition.had_reason) {
      out["reason"] = nullptr;
      out["message"] = nullptr;
    }
    if (!condition.reason.empty()) out["reason"] = Text(condition.reason);
    if (!condition.message.empty()) out["message"] = Text(condition.message);
    conditions.push_back(std::move(out));
  }
  json::object status{{"phase", Text(phase_)},
                      {"startTime", Text(start_time_)},
                      {"hostIP", Text(host_ip_)},
                      {"podIP", Text(pod_ip_)},
                      {"podIPs", json::array{json::object{{"ip", Text(pod_ip_)}}}},
                      {"conditions", std::move(conditions)},
                      {"containerStatuses", Statuses(main_, false)}};
  if (!reason_.empty()) status["reason"] = Text(reason_);
  if (!init_.empty()) status["initContainerStatuses"] = Statuses(init_, true);
  return status;
}

}  // namespace basalt::actors
