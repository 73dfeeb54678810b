#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/connect/watched.h"
#include "cli/follow/watch_changes.h"
#include "cli/manifest.h"
#include "cli/verbs.h"
#include "cli/view/output.h"
#include "cli/view/queue_tree.h"
#include "cli/view/queue_view.h"
#include "cli/view/table.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"

namespace basalt::cli {
namespace {

absl::StatusOr<queue::v1::ListQueuesResponse> FetchQueues(QueueClient& client) {
  return AskAllPages<queue::v1::ListQueuesResponse>(client, queue::v1::ListQueuesRequest(), &QueueStub::ListQueues);
}

absl::StatusOr<int> ListQueues(const GlobalOptions& options, const Flags&) {
  QueueClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const queue::v1::ListQueuesResponse all, FetchQueues(client));
  Print(options.output.empty() ? FormatQueues(all, StandardLook()) : FormatList(all, options.output));
  return kExitDone;
}

absl::StatusOr<queue::v1::QueueHistory> FetchHistory(QueueClient& client, const std::string& name,
                                                     const std::string& uid) {
  queue::v1::GetQueueHistoryRequest request;
  request.set_name(name);
  request.set_uid(uid);
  return client.Ask(&QueueStub::GetQueueHistory, request);
}

absl::StatusOr<int> GetQueue(const GlobalOptions& options, const Flags& flags) {
  QueueClient client(options.gateway);
  const absl::StatusOr<queue::v1::Queue> queue =
      client.Ask(&QueueStub::GetQueue, About<queue::v1::GetQueueRequest>(options, flags));
  if (queue.status().code() == absl::StatusCode::kNotFound && FetchHistory(client, flags.name, "").ok()) {
    return kQueue.OrHistory(queue.status(), options, flags.name);
  }
  BASALT_RETURN_IF_ERROR(kQueue.OrList(queue.status(), options));
  return Show(options, *queue, [&] {
    if (queue->has_kai()) return FormatKaiQueue(queue->kai(), StandardLook());
    // The queue is printed even if its history cannot be fetched.
    const auto history = FetchHistory(client, flags.name, queue->object().meta().uid());
    return FormatQueue(*queue, history.value_or(queue::v1::QueueHistory()), absl::ToUnixMillis(absl::Now()),
                       StandardLook());
  });
}

absl::StatusOr<int> ShowQueueTree(const GlobalOptions& options, const Flags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "queue tree"));
  QueueClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const queue::v1::ListQueuesResponse all, FetchQueues(client));
  const bool is_there = std::any_of(all.queues().begin(), all.queues().end(), [&flags](const queue::v1::Queue& queue) {
    return QueueNameOf(queue) == flags.name;
  });
  if (!flags.name.empty() && !is_there) {
    return kQueue.OrList(MakeStatus(absl::StatusCode::kNotFound, fmt::format("queue {} does not exist", flags.name)),
                         options);
  }
  Print(FormatQueueTree(all, flags.name, StandardLook()));
  return kExitDone;
}

// Waits for the entry of the queue's history that states how the Command ended.
absl::StatusOr<queue::v1::QueueHistoryEntry> AwaitEntry(QueueClient& client, const Flags& flags,
                                                        const std::string& command) {
  std::string uid;
  queue::v1::QueueHistoryEntry found;
  const auto look = [&]() -> absl::StatusOr<bool> {
    BASALT_ASSIGN_OR_RETURN(const queue::v1::QueueHistory history, FetchHistory(client, flags.name, uid));
    uid = history.uid();
    for (const queue::v1::QueueHistoryEntry& entry : history.entries()) {
      if (entry.command() != command) continue;
      found = entry;
      return true;
    }
    if (!history.has_gone_time()) return false;
    return MakeStatus(absl::StatusCode::kNotFound,
                      fmt::format("queue {} is gone, before command {} was carried out", flags.name, command));
  };
  const std::string advice = fmt::format("; basaltctl queue explain {} tells what the queue waits for", flags.name);
  BASALT_RETURN_IF_ERROR(AwaitCommand(command, flags.timeout, advice, look));
  return found;
}

absl::StatusOr<int> CommandQueue(const GlobalOptions& options, const Flags& flags, std::string_view action) {
  QueueClient client(options.gateway);
  auto request = About<queue::v1::CommandQueueRequest>(options, flags);
  request.set_action(std::string(action));
  BASALT_ASSIGN_OR_RETURN(const std::string command,
                          SendCommand(kQueue, client, &QueueStub::CommandQueue, std::move(request), options, flags));
  if (!flags.wait) return kExitDone;
  BASALT_ASSIGN_OR_RETURN(const queue::v1::QueueHistoryEntry entry, AwaitEntry(client, flags, command));
  if (!options.output.empty()) Print(FormatMessage(entry, options.output));
  if (entry.kind() == queue::v1::QueueHistoryEntry::KIND_COMMAND_REFUSED) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("queue {}: {}", flags.name, entry.cause()));
  }
  if (options.output.empty()) PrintLine(fmt::format("queue {} is {}", flags.name, StateText(entry.to_state())));
  return kExitDone;
}

// Returns the function of a command that carries out the action.
Verb::Run QueueCommand(std::string_view action) {
  return [action](const GlobalOptions& options, const Flags& flags) { return CommandQueue(options, flags, action); };
}

// Parses "cpu=4,memory=8Gi" into the members of a resource list.
absl::StatusOr<json::object> ResourcesOf(std::string_view flag, const std::vector<std::string>& given) {
  json::object resources;
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == one.size()) {
      return Invalid(fmt::format("{}: '{}' is not RESOURCE=AMOUNT, like cpu=8", flag, one));
    }
    resources[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return resources;
}

absl::StatusOr<std::string> ManifestOf(const Flags& flags) {
  json::object spec;
  if (!flags.parent.empty()) spec["parent"] = flags.parent;
  if (flags.weight) spec["weight"] = *flags.weight;
  BASALT_ASSIGN_OR_RETURN(json::object capability, ResourcesOf("--capability", flags.capability));
  if (!capability.empty()) spec["capability"] = std::move(capability);
  BASALT_ASSIGN_OR_RETURN(json::object deserved, ResourcesOf("--deserved", flags.deserved));
  if (!deserved.empty()) spec["deserved"] = std::move(deserved);
  return ToText(json::object{{"apiVersion", json::string(kube::kSchedulingApiVersion)},
                             {"kind", "Queue"},
                             {"metadata", json::object{{"name", flags.name}}},
                             {"spec", std::move(spec)}});
}

absl::StatusOr<int> CreateQueues(const GlobalOptions& options, const Flags& flags) {
  std::vector<ObjectManifest> manifests;
  if (flags.file.empty() == flags.name.empty()) return Invalid("give the name of the queue, or a manifest with -f");
  if (flags.file.empty()) {
    BASALT_ASSIGN_OR_RETURN(manifests.emplace_back().json, ManifestOf(flags));
  } else {
    BASALT_ASSIGN_OR_RETURN(manifests, ReadObjects(flags.file));
  }
  QueueClient client(options.gateway);
  for (const ObjectManifest& manifest : manifests) {
    queue::v1::CreateQueueRequest request;
    request.set_manifest_json(manifest.json);
    request.set_dry_run(flags.dry_run);
    const absl::StatusOr<queue::v1::Queue> queue =
        flags.dry_run ? client.Ask(&QueueStub::CreateQueue, request) : client.Order(&QueueStub::CreateQueue, request);
    const absl::Status& created = queue.status();
    BASALT_RETURN_IF_ERROR(manifest.source.empty() ? created : AnnotateLines(created, manifest.source));
    if (!options.output.empty()) {
      Print(manifests.size() == 1 ? FormatMessage(*queue, options.output) : FormatDocument(*queue, options.output));
      continue;
    }
    PrintLine(
        fmt::format("queue {} {}", queue->object().meta().name(), flags.dry_run ? "is valid (dry run)" : "created"));
  }
  return kExitDone;
}

// Returns an error if the queue is open and has pod groups. The API server would delete it all the same, and its jobs
// would wait for a queue that does not exist.
absl::Status CheckHoldsNothing(QueueClient& client, const GlobalOptions& options, const Flags& flags) {
  // Root and default need no check: queuesvc itself refuses to delete them.
  if (flags.force || flags.name == kube::kRootQueue || flags.name == kube::kDefaultQueue) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const queue::v1::Queue queue,
                          client.Ask(&QueueStub::GetQueue, About<queue::v1::GetQueueRequest>(options, flags)));
  const queue::v1::PodGroupCounts& counts = queue.pod_groups();
  const int64_t groups =
      int64_t{counts.pending()} + counts.inqueue() + counts.running() + counts.unknown() + counts.completed();
  if (queue.object().state() != "Open" || groups == 0) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("queue {} is Open, and {} pod groups name it ({}): their jobs would wait for a queue that "
                  "does not exist; close the queue and delete or move the jobs first, or give --force",
                  flags.name, groups, CountsText(counts)));
}

absl::StatusOr<int> WatchQueues(const GlobalOptions& options, const Flags& flags) {
  QueueClient client(options.gateway);
  const absl::Status ended =
      WatchChanges<WatchedQueues>(client, About<queue::v1::WatchQueuesRequest>(options, flags),
                                  kQueue.Named(options, flags.name), options.output, FormatQueueChange);
  return kQueue.OrList(ended, options);
}

absl::StatusOr<int> ShowQueueHistory(const GlobalOptions& options, const Flags& flags) {
  QueueClient client(options.gateway);
  const absl::StatusOr<queue::v1::QueueHistory> history = FetchHistory(client, flags.name, flags.uid);
  BASALT_RETURN_IF_ERROR(kQueue.OrList(history.status(), options));
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

std::vector<Verb> QueueVerbs() {
  const auto explain =
      Asks<QueueClient>(kQueue, &QueueStub::ExplainQueue, [](const queue::v1::QueueExplanation& explanation) {
        return FormatQueueExplanation(explanation, TerminalWidth());
      });
  const Switch name = kQueue.Name();
  const Switch uid = kQueue.Uid();
  const Switch wait("--wait", &Flags::wait, "Wait until the command has been carried out");
  const Switch timeout = CommandTimeout();
  return {
      Verb("list", "List queues with the pod groups they hold, by phase", ListQueues),
      Verb("get", "Show one queue and what was last decided of it", GetQueue, {name}),
      Verb("tree", "Show queues below their parents, with state and pod groups", ShowQueueTree,
           {Switch("name", &Flags::name, "Name of the queue to begin with; else all are shown")}),
      Verb("explain", "Explain why a queue is in its state, and what can be done", explain, {name}),
      Verb("create", "Make a queue, or those of a manifest", CreateQueues,
           {kQueue.OptionalName(),
            Switch("-f,--filename", &Flags::file, "Manifest, YAML or JSON; - reads standard input", {.type = "FILE"}),
            Switch("--parent", &Flags::parent, "The queue above; else root", {.excludes = "--filename"}),
            Switch("--weight", &Flags::weight, "Share where resources are divided by weight, from 1",
                   {.excludes = "--filename"}),
            Switch("--capability", &Flags::capability,
                   "The most that the queue may take: RESOURCE=AMOUNT, comma separated",
                   {.delimiter = ',', .excludes = "--filename"}),
            Switch("--deserved", &Flags::deserved,
                   "The amounts that the queue deserves: RESOURCE=AMOUNT, comma separated",
                   {.delimiter = ',', .excludes = "--filename"}),
            Switch("--dry-run", &Flags::dry_run, "Check only; change nothing")}),
      Verb("delete", "Delete a queue that no other queue is below",
           Deletes<QueueClient>(kQueue, &QueueStub::DeleteQueue, CheckHoldsNothing),
           {name, uid, Switch("--force", &Flags::force, "Delete the queue even if it is open and holds pod groups")}),
      Verb("open", "Open a queue, and those that were closed with it", QueueCommand("OpenQueue"),
           {name, uid, wait, timeout}),
      Verb("close", "Close a queue and those below it: no job is admitted any more", QueueCommand("CloseQueue"),
           {name, uid, wait, timeout}),
      Verb("watch", "Follow one queue, or all", WatchQueues, {kQueue.OptionalName()}),
      Verb("history", "Show every decision about a queue, and each state that others wrote", ShowQueueHistory,
           {name, kQueue.OlderUid()}),
  };
}

}  // namespace

void AddQueueCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  AddVerbs(AddGroup(app, "queue", "Queues"), options, exit_code, QueueVerbs());
}

}  // namespace basalt::cli
