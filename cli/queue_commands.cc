#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/connect/watched.h"
#include "cli/follow/watch_changes.h"
#include "cli/view/output.h"
#include "cli/view/queue_view.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kQueuesThereAre = "basaltctl queue list tells those that there are";

struct QueueFlags {
  std::string name;
  std::string uid;
};

absl::StatusOr<int> List(const GlobalOptions& options, const QueueFlags&) {
  QueueClient client(options.gateway);
  const auto list = [](auto& stub, const auto&... arguments) { return stub.ListQueues(arguments...); };
  BASALT_ASSIGN_OR_RETURN(const auto all,
                          AskAllPages<queue::v1::ListQueuesResponse>(client, queue::v1::ListQueuesRequest(), list));
  if (!options.output.empty()) {
    Print(FormatList(all, options.output));
    return kExitDone;
  }
  Print(FormatQueues(all, StandardLook()));
  return kExitDone;
}

absl::StatusOr<queue::v1::QueueHistory> FetchHistory(QueueClient& client, const std::string& name,
                                                     const std::string& uid) {
  queue::v1::GetQueueHistoryRequest request;
  request.set_name(name);
  request.set_uid(uid);
  queue::v1::QueueHistory history;
  BASALT_RETURN_IF_ERROR(
      client.Ask([&](auto& stub, auto* context) { return stub.GetQueueHistory(context, request, &history); }));
  return history;
}

absl::StatusOr<int> Get(const GlobalOptions& options, const QueueFlags& flags) {
  QueueClient client(options.gateway);
  queue::v1::GetQueueRequest request;
  request.set_name(flags.name);
  queue::v1::Queue queue;
  const absl::Status got =
      client.Ask([&](auto& stub, auto* context) { return stub.GetQueue(context, request, &queue); });
  if (got.code() == absl::StatusCode::kNotFound) {
    const bool is_remembered = FetchHistory(client, flags.name, "").ok();
    return OrLookAt(got, is_remembered ? fmt::format("basaltctl queue history {} tells what became of it", flags.name)
                                       : std::string(kQueuesThereAre));
  }
  BASALT_RETURN_IF_ERROR(got);
  if (!options.output.empty()) {
    Print(FormatMessage(queue, options.output));
    return kExitDone;
  }
  // The queue can be told without it.
  const absl::StatusOr<queue::v1::QueueHistory> history = FetchHistory(client, flags.name, queue.object().meta().uid());
  Print(
      FormatQueue(queue, history.value_or(queue::v1::QueueHistory()), absl::ToUnixMillis(absl::Now()), StandardLook()));
  return kExitDone;
}

absl::StatusOr<int> Watch(const GlobalOptions& options, const QueueFlags& flags) {
  QueueClient client(options.gateway);
  queue::v1::WatchQueuesRequest request;
  request.set_name(flags.name);
  const std::string what = fmt::format("queue {}", flags.name);
  return OrLookAt(WatchChanges<WatchedQueues>(client, request, what, options.output, FormatQueueChange),
                  kQueuesThereAre);
}

absl::StatusOr<int> History(const GlobalOptions& options, const QueueFlags& flags) {
  QueueClient client(options.gateway);
  const absl::StatusOr<queue::v1::QueueHistory> history = FetchHistory(client, flags.name, flags.uid);
  BASALT_RETURN_IF_ERROR(OrLookAt(history.status(), kQueuesThereAre));
  if (!options.output.empty()) {
    Print(FormatMessage(*history, options.output));
    return kExitDone;
  }
  if (!history->entries().empty()) Print(FormatHistory(*history, StandardLook()));
  if (history->entries().empty()) {
    std::fprintf(stderr,
                 "No decisions about queue %s are kept: none has been taken, or they were lost with their disk\n",
                 flags.name.c_str());
  }
  return kExitDone;
}

}  // namespace

void AddQueueCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  const Commands<QueueFlags> queue(AddGroup(app, "queue", "Queues"), options, exit_code);
  QueueFlags& flags = queue.flags();
  queue.Add("list", "List queues with the pod groups they hold, by phase", List);
  queue.Add("get", "Show one queue and what was last decided of it", Get)
      ->add_option("name", flags.name, "Name of the queue")
      ->required();
  queue.Add("watch", "Follow one queue, or all", Watch)->add_option("name", flags.name, "Name of the queue");
  CLI::App* history = queue.Add("history", "Every decision about a queue, and what others made of its state", History);
  history->add_option("name", flags.name, "Name of the queue")->required();
  history->add_option("--uid", flags.uid, "UID, for an older queue of the same name");
}

}  // namespace basalt::cli
