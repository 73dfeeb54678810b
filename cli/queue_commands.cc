#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
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
#include "cli/view/output.h"
#include "cli/view/queue_tree.h"
#include "cli/view/queue_view.h"
#include "cli/view/table.h"
#include "common/base/json.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kQueuesThereAre = "basaltctl queue list tells those that there are";

struct QueueFlags {
  std::string name;
  std::string uid;
  std::string parent;
  std::optional<int> weight;
  std::vector<std::string> capability;  // RESOURCE=AMOUNT
  std::vector<std::string> deserved;
  std::string file;
  bool dry_run = false;
  bool force = false;
  bool wait = false;
  std::string timeout;
};

absl::StatusOr<queue::v1::ListQueuesResponse> FetchQueues(QueueClient& client) {
  const auto list = [](auto& stub, const auto&... arguments) { return stub.ListQueues(arguments...); };
  return AskAllPages<queue::v1::ListQueuesResponse>(client, queue::v1::ListQueuesRequest(), list);
}

absl::StatusOr<int> List(const GlobalOptions& options, const QueueFlags&) {
  QueueClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const queue::v1::ListQueuesResponse all, FetchQueues(client));
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
  if (queue.has_kai()) {
    Print(FormatKaiQueue(queue.kai(), StandardLook()));
    return kExitDone;
  }
  // The queue is printed even if its history cannot be fetched.
  const absl::StatusOr<queue::v1::QueueHistory> history = FetchHistory(client, flags.name, queue.object().meta().uid());
  Print(
      FormatQueue(queue, history.value_or(queue::v1::QueueHistory()), absl::ToUnixMillis(absl::Now()), StandardLook()));
  return kExitDone;
}

absl::StatusOr<int> Tree(const GlobalOptions& options, const QueueFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "queue tree"));
  QueueClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const queue::v1::ListQueuesResponse all, FetchQueues(client));
  const bool is_there = std::any_of(all.queues().begin(), all.queues().end(), [&flags](const queue::v1::Queue& queue) {
    return QueueNameOf(queue) == flags.name;
  });
  if (!flags.name.empty() && !is_there) {
    return OrLookAt(MakeStatus(absl::StatusCode::kNotFound, fmt::format("queue {} does not exist", flags.name)),
                    kQueuesThereAre);
  }
  Print(FormatQueueTree(all, flags.name, StandardLook()));
  return kExitDone;
}

absl::StatusOr<int> Explain(const GlobalOptions& options, const QueueFlags& flags) {
  QueueClient client(options.gateway);
  queue::v1::ExplainQueueRequest request;
  request.set_name(flags.name);
  queue::v1::QueueExplanation explanation;
  const absl::Status asked =
      client.Ask([&](auto& stub, auto* context) { return stub.ExplainQueue(context, request, &explanation); });
  BASALT_RETURN_IF_ERROR(OrLookAt(asked, kQueuesThereAre));
  Print(options.output.empty() ? FormatQueueExplanation(explanation, TerminalWidth())
                               : FormatMessage(explanation, options.output));
  return kExitDone;
}

// Waits for the entry of the queue's history that states how the Command ended.
absl::StatusOr<queue::v1::QueueHistoryEntry> AwaitCommand(QueueClient& client, const std::string& name,
                                                          const std::string& command, const std::string& timeout) {
  BASALT_ASSIGN_OR_RETURN(const absl::Duration patience, TimeoutOf(timeout));
  const absl::Time deadline = absl::Now() + patience;
  std::string uid;
  while (true) {
    BASALT_ASSIGN_OR_RETURN(const queue::v1::QueueHistory history, FetchHistory(client, name, uid));
    uid = history.uid();
    for (const queue::v1::QueueHistoryEntry& entry : history.entries()) {
      if (entry.command() == command) return entry;
    }
    if (history.has_gone_time()) {
      return MakeStatus(absl::StatusCode::kNotFound,
                        fmt::format("queue {} is gone, before command {} was carried out", name, command));
    }
    if (absl::Now() >= deadline) {
      return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                        fmt::format("command {} was not seen to be carried out within {}; basaltctl queue explain {} "
                                    "tells what the queue waits for",
                                    command, timeout, name));
    }
    absl::SleepFor(std::clamp(deadline - absl::Now(), absl::ZeroDuration(), absl::Milliseconds(200)));
  }
}

absl::StatusOr<int> Command(const GlobalOptions& options, const QueueFlags& flags, std::string_view action) {
  const std::string timeout = flags.timeout.empty() ? "5m" : flags.timeout;
  BASALT_RETURN_IF_ERROR(TimeoutOf(timeout).status());
  QueueClient client(options.gateway);
  SystemRandom random;
  queue::v1::CommandQueueRequest request;
  request.set_name(flags.name);
  request.set_uid(flags.uid);
  request.set_action(std::string(action));
  request.set_request_id(MakeUuid(random));
  queue::v1::CommandQueueResponse response;
  const auto order = [&](auto& stub, auto* context) { return stub.CommandQueue(context, request, &response); };
  BASALT_RETURN_IF_ERROR(OrLookAt(client.Order(order), kQueuesThereAre));
  if (options.output.empty()) {
    PrintLine(fmt::format("queue {}: {} asked for (command {})", flags.name, action, response.command()));
  } else if (!flags.wait) {
    Print(FormatMessage(response, options.output));
  }
  if (!flags.wait) return kExitDone;
  BASALT_ASSIGN_OR_RETURN(const queue::v1::QueueHistoryEntry entry,
                          AwaitCommand(client, flags.name, response.command(), timeout));
  if (!options.output.empty()) Print(FormatMessage(entry, options.output));
  if (entry.kind() == queue::v1::QueueHistoryEntry::KIND_COMMAND_REFUSED) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("queue {}: {}", flags.name, entry.cause()));
  }
  if (options.output.empty()) PrintLine(fmt::format("queue {} is {}", flags.name, StateText(entry.to_state())));
  return kExitDone;
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

absl::StatusOr<std::string> ManifestOf(const QueueFlags& flags) {
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

absl::StatusOr<int> Create(const GlobalOptions& options, const QueueFlags& flags) {
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
    queue::v1::Queue queue;
    const auto create = [&](auto& stub, auto* context) { return stub.CreateQueue(context, request, &queue); };
    const absl::Status created = flags.dry_run ? client.Ask(create) : client.Order(create);
    BASALT_RETURN_IF_ERROR(manifest.source.empty() ? created : AnnotateLines(created, manifest.source));
    if (!options.output.empty()) {
      Print(manifests.size() == 1 ? FormatMessage(queue, options.output) : FormatDocument(queue, options.output));
      continue;
    }
    PrintLine(
        fmt::format("queue {} {}", queue.object().meta().name(), flags.dry_run ? "is valid (dry run)" : "created"));
  }
  return kExitDone;
}

// Returns an error if the queue is open and has pod groups. The API server would delete it all the same, and its jobs
// would wait for a queue that does not exist.
absl::Status CheckHoldsNothing(QueueClient& client, const std::string& name) {
  queue::v1::GetQueueRequest request;
  request.set_name(name);
  queue::v1::Queue queue;
  BASALT_RETURN_IF_ERROR(
      client.Ask([&](auto& stub, auto* context) { return stub.GetQueue(context, request, &queue); }));
  const queue::v1::PodGroupCounts& counts = queue.pod_groups();
  const int64_t groups =
      int64_t{counts.pending()} + counts.inqueue() + counts.running() + counts.unknown() + counts.completed();
  if (queue.object().state() != "Open" || groups == 0) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("queue {} is Open, and {} pod groups name it ({}): their jobs would wait for a queue that "
                  "does not exist; close the queue and delete or move the jobs first, or give --force",
                  name, groups, CountsText(counts)));
}

absl::StatusOr<int> Delete(const GlobalOptions& options, const QueueFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "queue delete"));
  QueueClient client(options.gateway);
  // Root and default need no check: queuesvc itself refuses to delete them.
  const bool is_deletable = flags.name != kube::kRootQueue && flags.name != kube::kDefaultQueue;
  if (!flags.force && is_deletable) {
    BASALT_RETURN_IF_ERROR(OrLookAt(CheckHoldsNothing(client, flags.name), kQueuesThereAre));
  }
  queue::v1::DeleteQueueRequest request;
  request.set_name(flags.name);
  request.set_uid(flags.uid);
  queue::v1::DeleteQueueResponse response;
  const auto order = [&](auto& stub, auto* context) { return stub.DeleteQueue(context, request, &response); };
  BASALT_RETURN_IF_ERROR(OrLookAt(client.Order(order), kQueuesThereAre));
  PrintLine(fmt::format("queue {} deleted", flags.name));
  return kExitDone;
}

absl::StatusOr<int> Open(const GlobalOptions& options, const QueueFlags& flags) {
  return Command(options, flags, "OpenQueue");
}

absl::StatusOr<int> Close(const GlobalOptions& options, const QueueFlags& flags) {
  return Command(options, flags, "CloseQueue");
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
  queue.Add("tree", "Show queues below their parents, with state and pod groups", Tree)
      ->add_option("name", flags.name, "Name of the queue to begin with; else all are shown");
  queue.Add("explain", "Explain why a queue is in its state, and what can be done", Explain)
      ->add_option("name", flags.name, "Name of the queue")
      ->required();
  const auto with_command_flags = [&flags](CLI::App* sub) {
    sub->add_option("name", flags.name, "Name of the queue")->required();
    sub->add_option("--uid", flags.uid, "Only if the queue has this UID");
    CLI::Option* wait = sub->add_flag("--wait", flags.wait, "Wait until the command has been carried out");
    sub->add_option("--timeout", flags.timeout, "How long to wait at most, like 90s or 10m; else 5m")->needs(wait);
  };
  CLI::App* create = queue.Add("create", "Make a queue, or those of a manifest", Create);
  create->add_option("name", flags.name, "Name of the queue");
  CLI::Option* const file =
      create->add_option("-f,--filename", flags.file, "Manifest, YAML or JSON; - reads standard input")
          ->type_name("FILE");
  create->add_option("--parent", flags.parent, "The queue above; else root")->excludes(file);
  create->add_option("--weight", flags.weight, "Share where resources are divided by weight, from 1")->excludes(file);
  create
      ->add_option("--capability", flags.capability,
                   "The most that the queue may take: RESOURCE=AMOUNT, comma separated")
      ->delimiter(',')
      ->excludes(file);
  create
      ->add_option("--deserved", flags.deserved,
                   "The amounts that the queue deserves: RESOURCE=AMOUNT, comma separated")
      ->delimiter(',')
      ->excludes(file);
  create->add_flag("--dry-run", flags.dry_run, "Check only; change nothing");
  CLI::App* remove = queue.Add("delete", "Delete a queue that no other queue is below", Delete);
  remove->add_option("name", flags.name, "Name of the queue")->required();
  remove->add_option("--uid", flags.uid, "Only if the queue has this UID");
  remove->add_flag("--force", flags.force, "Delete the queue even if it is open and holds pod groups");
  with_command_flags(queue.Add("open", "Open a queue, and those that were closed with it", Open));
  with_command_flags(queue.Add("close", "Close a queue and those below it: no job is admitted any more", Close));
  queue.Add("watch", "Follow one queue, or all", Watch)->add_option("name", flags.name, "Name of the queue");
  CLI::App* history =
      queue.Add("history", "Show every decision about a queue, and each state that others wrote", History);
  history->add_option("name", flags.name, "Name of the queue")->required();
  history->add_option("--uid", flags.uid, "UID, for an older queue of the same name");
}

}  // namespace basalt::cli
