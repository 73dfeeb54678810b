#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/kube/names.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {
namespace {

bool IsPart(std::string_view action) { return action == "RestartPod" || action == "RestartTask"; }

// Returns true if the action kills all pods in that phase.
bool CallsForKill(std::string_view action, std::string_view phase) {
  // A restarting job runs again anyway, so that a resume has no effect (services/jobsvc/core/state_machine.cc).
  if (action == "ResumeJob") return phase == "Aborting" || phase == "Aborted";
  return !IsPart(action) && action.ends_with("Job") && IsLivePhase(phase);
}

class CommandChecker {
 public:
  CommandChecker(const PlannedJob& job, std::vector<std::string>& violations, Probes& probes)
      : job_(job), violations_(violations), probes_(probes) {}

  void OnMade(const kubesim::LoggedRequest& pod) { pods_[pod.uid] = pod.name; }

  void OnStatus(const kubesim::LoggedRequest& request) {
    const json::value* version = FindPath(request.body, {"status", "version"});
    const json::value own = OwnStateIn(request);
    if (own.is_object()) {
      const json::value* kill = Find(own, "kill");
      const std::string text = kill == nullptr ? std::string() : ToText(*kill);
      const bool acts = version != nullptr || FindPath(request.body, {"status", "retryCount"}) != nullptr ||
                        (kill != nullptr && text != kill_);
      const bool by_command = acts && kill != nullptr && FindString(*kill, "cause").starts_with("CommandIssued ");
      const std::string command(FindString(own, "command"));
      if (!command.empty() && command != last_) {
        OnTaken(command, version != nullptr, by_command ? kill : nullptr);
      } else if (by_command) {
        violations_.push_back(
            fmt::format("{}: {} was carried out, and no command was taken", job_.name, FindString(*kill, "cause")));
      }
      kill_ = text;
    }
    if (const std::string_view next = PhaseOf(request); !next.empty()) phase_ = next;
  }

  void OnDelete(const std::string& uid) {
    if (std::find(taken_.begin(), taken_.end(), uid) == taken_.end()) {
      violations_.push_back(fmt::format("{}: a command was deleted before it was taken", job_.name));
    }
  }

  void End(const kubesim::ApiServer& api) {
    if (job_.deleted) return;
    for (const PlannedCommand& command : job_.commands) {
      if (command.uid.empty()) continue;
      const bool is_there = api.Get("commands.bus.volcano.sh", "default", CommandName(job_, command)) != nullptr;
      const bool taken = std::find(taken_.begin(), taken_.end(), command.uid) != taken_.end();
      if (command.for_older) {
        probes_.Hit("command for an older job");
      } else if (!taken) {
        violations_.push_back(fmt::format("{}: command {} was never taken", job_.name, command.action));
      } else if (is_there) {
        violations_.push_back(fmt::format("{}: command {} is done and still there", job_.name, command.action));
      }
    }
  }

 private:
  void OnTaken(const std::string& uid, bool kills, const json::value* kill) {
    last_ = uid;
    const auto command = std::find_if(job_.commands.begin(), job_.commands.end(),
                                      [&](const PlannedCommand& planned) { return planned.uid == uid; });
    if (command == job_.commands.end()) {
      violations_.push_back(fmt::format("{}: took a command that nobody gave", job_.name));
      return;
    }
    if (command->for_older) {
      violations_.push_back(fmt::format("{}: took {} for an older job of its name", job_.name, command->action));
    }
    if (std::find(taken_.begin(), taken_.end(), uid) != taken_.end()) {
      violations_.push_back(fmt::format("{}: command {} was taken twice", job_.name, command->action));
    }
    for (auto before = job_.commands.begin(); before != command; ++before) {
      if (before->for_older || before->uid.empty() ||
          std::find(taken_.begin(), taken_.end(), before->uid) != taken_.end()) {
        continue;
      }
      violations_.push_back(
          fmt::format("{}: command {} was taken before {}", job_.name, command->action, before->action));
    }
    taken_.push_back(uid);
    if (IsPart(command->action)) return CheckPart(*command, kills, kill);
    // A command that comes before the first sync may or may not kill pods.
    if (!phase_.empty() && CallsForKill(command->action, phase_) != kills) {
      violations_.push_back(fmt::format("{}: command {} {} while the job was {}", job_.name, command->action,
                                        kills ? "killed pods" : "did nothing", phase_));
    }
  }

  // Checks that a command about a task or a pod kills only the pods that it names.
  void CheckPart(const PlannedCommand& command, bool kills, const json::value* kill) {
    const json::value* targets = kill == nullptr ? nullptr : Find(*kill, "targets");
    if (kills) violations_.push_back(fmt::format("{}: command {} killed all pods", job_.name, command.action));
    if (targets == nullptr) return;
    probes_.Hit("command with a target");
    const std::set<std::string> known = TargetsIn(kill_);
    for (const json::value& target : targets->as_array()) {
      const std::string uid(target.as_string());
      const std::string& name = pods_[uid];
      const bool named = command.action == "RestartTask"
                             ? !command.task.empty() && fmt::format("t{}", PlaceOf(job_, name).task) == command.task
                             : name == command.pod && (command.pod_uid.empty() || uid == command.pod_uid);
      // The command also takes over the targets that the kill before has not finished.
      if (named || known.contains(uid)) continue;
      violations_.push_back(fmt::format("{}: command {} for {}{} is about pod {}", job_.name, command.action,
                                        command.task, command.pod, name));
    }
  }

  static std::set<std::string> TargetsIn(const std::string& kill) {
    std::set<std::string> uids;
    const auto parsed = ParseJson(kill);
    const json::value* targets = parsed.ok() && parsed->is_object() ? Find(*parsed, "targets") : nullptr;
    if (targets == nullptr) return uids;
    for (const json::value& uid : targets->as_array()) uids.emplace(uid.as_string());
    return uids;
  }

  const PlannedJob& job_;
  std::vector<std::string>& violations_;
  Probes& probes_;
  std::map<std::string, std::string> pods_;  // Names by UID.
  std::string phase_;
  std::string kill_;
  std::string last_;
  std::vector<std::string> taken_;
};

}  // namespace

void CheckCommands(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                   std::vector<std::string>& violations, Probes& probes) {
  std::map<std::string, CommandChecker> checkers;     // By the job's UID.
  std::map<std::string, CommandChecker*> of_command;  // By the command's UID.
  for (const PlannedJob& job : jobs) {
    CommandChecker& checker = checkers.try_emplace(job.uid, job, violations, probes).first->second;
    for (const PlannedCommand& command : job.commands) {
      if (!command.uid.empty()) of_command[command.uid] = &checker;
    }
  }
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (!Succeeded(request)) continue;
    if (request.resource == "jobs" && request.subresource == "status") {
      if (const auto checker = checkers.find(request.uid); checker != checkers.end()) checker->second.OnStatus(request);
    }
    if (request.resource == "commands" && request.verb == "delete" && IsOurs(request)) {
      if (const auto checker = of_command.find(request.uid); checker != of_command.end()) {
        checker->second->OnDelete(request.uid);
      }
    }
    if (request.resource == "pods" && request.verb == "create" && request.subresource.empty()) {
      if (const auto checker = checkers.find(OwnerIn(request)); checker != checkers.end())
        checker->second.OnMade(request);
    }
  }
  for (auto& [uid, checker] : checkers) checker.End(api);
}

}  // namespace basalt::simulation
