#include <fmt/format.h>

#include <algorithm>

#include "common/kube/names.h"
#include "tests/simulation/judge.h"

namespace basalt::simulation {
namespace {

// The UID of the last command that a status patch says was taken; empty: it says nothing of one.
std::string CommandIn(const json::value& body) {
  const json::value* resources = FindPath(body, {"status", "controlledResources"});
  if (resources == nullptr) return "";
  const auto state = ParseJson(FindString(*resources, kube::kControlledStateKey));
  return state.ok() ? std::string(FindString(*state, "command")) : std::string();
}

// The phases in which that action kills all pods.
bool CallsForKill(std::string_view action, std::string_view phase) {
  if (action == "ResumeJob") return phase == "Aborting" || phase == "Aborted";
  return phase == "Pending" || phase == "Running" || phase == "Restarting";
}

class CommandJudge {
 public:
  CommandJudge(const PlannedJob& job, std::vector<std::string>& violations) : job_(job), violations_(violations) {}

  void OnStatus(const kubesim::LoggedRequest& request) {
    const json::value* version = FindPath(request.body, {"status", "version"});
    const std::string command = CommandIn(request.body);
    const bool takes = !command.empty() && command != last_;
    if (takes) {
      OnTaken(command, version != nullptr);
    } else if (version != nullptr && version->is_int64() && version->as_int64() > 0) {
      violations_.push_back(fmt::format("{}: full kill {} without a command", job_.name, version->as_int64()));
    }
    if (const std::string_view next = PhaseOf(request); !next.empty()) phase_ = next;
  }

  void OnDelete(const std::string& uid) {
    if (std::find(taken_.begin(), taken_.end(), uid) == taken_.end()) {
      violations_.push_back(fmt::format("{}: a command was deleted before it was taken", job_.name));
    }
  }

  void End() {
    if (job_.deleted) return;
    for (const PlannedCommand& command : job_.commands) {
      if (command.uid.empty() || std::find(taken_.begin(), taken_.end(), command.uid) != taken_.end()) continue;
      violations_.push_back(fmt::format("{}: command {} was never taken", job_.name, command.action));
    }
  }

 private:
  void OnTaken(const std::string& uid, bool kills) {
    last_ = uid;
    const auto command = std::find_if(job_.commands.begin(), job_.commands.end(),
                                      [&](const PlannedCommand& planned) { return planned.uid == uid; });
    if (command == job_.commands.end()) {
      violations_.push_back(fmt::format("{}: took a command that nobody gave", job_.name));
      return;
    }
    if (std::find(taken_.begin(), taken_.end(), uid) != taken_.end()) {
      violations_.push_back(fmt::format("{}: command {} was taken twice", job_.name, command->action));
    }
    taken_.push_back(uid);
    // What comes before the first sync may go either way.
    if (!phase_.empty() && CallsForKill(command->action, phase_) != kills) {
      violations_.push_back(fmt::format("{}: command {} {} while the job was {}", job_.name, command->action,
                                        kills ? "killed pods" : "did nothing", phase_));
    }
  }

  const PlannedJob& job_;
  std::vector<std::string>& violations_;
  std::string phase_;
  std::string last_;
  std::vector<std::string> taken_;
};

}  // namespace

void JudgeCommands(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                   std::vector<std::string>& violations) {
  std::map<std::string, CommandJudge> judges;       // By the job's UID.
  std::map<std::string, CommandJudge*> of_command;  // By the command's.
  for (const PlannedJob& job : jobs) {
    if (job.commands.empty() || job.uid.empty()) continue;
    CommandJudge& judge = judges.try_emplace(job.uid, job, violations).first->second;
    for (const PlannedCommand& command : job.commands) {
      if (!command.uid.empty()) of_command[command.uid] = &judge;
    }
  }
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (!Succeeded(request)) continue;
    if (request.resource == "jobs" && request.subresource == "status") {
      if (const auto judge = judges.find(request.uid); judge != judges.end()) judge->second.OnStatus(request);
    }
    if (request.resource == "commands" && request.verb == "delete" && IsOurs(request)) {
      if (const auto judge = of_command.find(request.uid); judge != of_command.end()) {
        judge->second->OnDelete(request.uid);
      }
    }
  }
  for (auto& [uid, judge] : judges) judge.End();
}

}  // namespace basalt::simulation
