#include "services/jobsvc/control/cluster/queue_problem.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

void ReportQueue(JobEntry& entry, PartHost& host) {
  const bool wants_pods = !entry.pods.missing().empty() || !entry.pods.held().empty();
  std::string message;
  const std::string& name = entry.compiled->spec.queue();
  if (wants_pods && !entry.compiled->invalid() &&
      WaitsForQueue(entry.job->status().phase(), entry.group_sync.View(entry))) {
    const QueueView view = host.QueueOf(entry);
    // The default queue is created for everybody, and a new queue is opened. While no queue is known, none can be
    // called missing.
    const bool comes = view.queue == nullptr ? name == kube::kDefaultQueue || host.queues().all().empty()
                                             : view.queue->state().empty();
    if (!comes) message = QueueProblem(name, view);
  }
  const Problem* const reported = entry.problems.Find(kQueueError);
  if (reported != nullptr && reported->words.message != message) entry.problems.End(kQueueError);
  if (message.empty()) return;
  host.AddProblem(entry,
                  {.words = {std::string(kQueueError), std::move(message)}, .subject = fmt::format("queue {}", name)});
}

}  // namespace basalt::jobsvc
