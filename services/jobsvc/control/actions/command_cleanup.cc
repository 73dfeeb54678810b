#include "services/jobsvc/control/actions/command_cleanup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/requests.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

namespace {

// The Command is gone already, or about to go: the watch shows its end.
constexpr EffectPolicy kCommandDeletion{.done = Meaning::kAwaited,
                                        .already_exists = Meaning::kTryAgain,
                                        .not_found = Meaning::kAwaited,
                                        .conflict = Meaning::kTryAgain};

bool IsCarriedOut(const JobEntry& entry, const kube::v1::Command& command) {
  return command.meta().uid() == entry.persisted.last_command_uid;
}

}  // namespace

void CommandCleanup::Apply(JobEntry& entry, PartHost& host) {
  for (const auto& [name, command] : entry.commands) {
    if (!IsCarriedOut(entry, command) || command.meta().deletion_ms() != 0) continue;
    if (host.Waits(entry, effects_.retry())) return;
    const std::string& uid = command.meta().uid();
    if (!effects_.Begin(uid)) continue;
    auto request = kube::WriteOf(kube::kCommands, entry.ns, name);
    request.mutable_delete_()->set_uid(uid);
    host.Write(entry, std::move(request),
               [&host, uid, command_name = name](JobEntry& live, const runtime::WriteOutcome& outcome) {
                 live.command_cleanup.Answered(live, uid, command_name, outcome, host);
               });
  }
}

void CommandCleanup::Answered(JobEntry& entry, const std::string& uid, const std::string& name,
                              const runtime::WriteOutcome& outcome, PartHost& host) {
  const Meaning meaning = effects_.End(uid, AnswerOf(outcome), kCommandDeletion, host.Now(), host.context().random());
  if (meaning == Meaning::kAwaited) return;
  host.WakeAt(entry, effects_.retry().until());
  if (meaning != Meaning::kRefused || !runtime::ShouldReportToUser(outcome.error)) return;
  std::string message =
      fmt::format("command {} is carried out and cannot be deleted: {}", name, outcome.error.message());
  host.ReportProblem(entry,
                     {.words = {"CommandError", std::move(message)}, .subject = fmt::format("command {}", name)});
}

void CommandCleanup::EndProblem(JobEntry& entry) {
  const bool has_carried_out = std::any_of(entry.commands.begin(), entry.commands.end(), [&entry](const auto& command) {
    return IsCarriedOut(entry, command.second);
  });
  if (has_carried_out) return;
  effects_.retry().Succeed();
  entry.problems.End("CommandError");
}

}  // namespace basalt::jobsvc
