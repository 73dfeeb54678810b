// Reports to users that a job waits for its queue.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

// A stored job is not refused because of its queue: it waits. That is reported unless the queue will be created or
// opened without the user.
void JobController::ReportQueue(JobEntry& entry) {
  const bool wants_pods = !entry.pods.missing().empty() || !entry.pods.held().empty();
  std::string message;
  const std::string& name = entry.compiled->spec.queue();
  if (wants_pods && !entry.compiled->invalid() && WaitsForQueue(entry.job->status().phase(), GroupOf(entry))) {
    const QueueView view = QueueOf(entry);
    // The default queue is created for everybody, and a new queue is opened. While no queue is known, none can be
    // called missing.
    const bool comes =
        view.queue == nullptr ? name == kube::kDefaultQueue || queues_.all().empty() : view.queue->state().empty();
    if (!comes) message = QueueProblem(name, view);
  }
  const Problem* const reported = entry.problems.Find(kQueueError);
  if (reported != nullptr && reported->words.message != message) entry.problems.End(kQueueError);
  if (message.empty()) return;
  host_.AddProblem(entry,
                   {.words = {std::string(kQueueError), std::move(message)}, .subject = fmt::format("queue {}", name)});
}

}  // namespace basalt::jobsvc
