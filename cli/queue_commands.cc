#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

absl::StatusOr<int> List(const GlobalOptions& options) {
  QueueClient client(options.gateway);
  queue::v1::ListQueuesRequest request;
  queue::v1::ListQueuesResponse all;
  do {
    queue::v1::ListQueuesResponse page;
    BASALT_RETURN_IF_ERROR(
        client.Ask([&](auto& stub, auto* context) { return stub.ListQueues(context, request, &page); }));
    all.mutable_queues()->MergeFrom(page.queues());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  if (!options.output.empty()) {
    std::fputs(FormatList(all, options.output).c_str(), stdout);
    return kExitDone;
  }
  std::vector<Row> rows;
  for (const queue::v1::Queue& queue : all.queues()) {
    const queue::v1::PodGroupCounts& counts = queue.pod_groups();
    rows.push_back({queue.object().meta().name(), queue.object().state().empty() ? "-" : queue.object().state(),
                    queue.object().parent().empty() ? "-" : queue.object().parent(),
                    std::to_string(queue.object().weight()), std::to_string(counts.pending()),
                    std::to_string(counts.inqueue()), std::to_string(counts.running()),
                    std::to_string(counts.unknown()), std::to_string(counts.completed())});
  }
  std::fputs(FormatTable({"NAME", "STATE", "PARENT", "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "UNKNOWN", "COMPLETED"},
                         rows, StandardLook())
                 .c_str(),
             stdout);
  return kExitDone;
}

}  // namespace

void AddQueueCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App* queue = app.add_subcommand("queue", "Queues");
  queue->require_subcommand(1);
  queue->fallthrough();
  CLI::App* list = queue->add_subcommand("list", "List queues with the pod groups they hold, by phase");
  list->fallthrough();
  Runs(*list, exit_code, [&options] { return List(options); });
}

}  // namespace basalt::cli
