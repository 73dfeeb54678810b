// That a job waits for its queue, for people.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

// A stored job is not refused for its queue: it waits, and says so, where nobody does what is needed by himself.
void JobController::ReportQueue(JobEntry& entry) {
  const bool wants_pods = !entry.pods.missing().empty() || !entry.pods.held().empty();
  std::string message;
  const std::string& name = entry.compiled->spec.queue();
  if (wants_pods && !entry.compiled->invalid() && WaitsForQueue(entry.job->status().phase(), GroupOf(entry))) {
    const QueueView view = QueueOf(entry);
    // The default queue is made for everybody, and a new one is opened. A cluster without any does not say which there
    // are.
    const bool comes =
        view.queue == nullptr ? name == kube::kDefaultQueue || queues_.all().empty() : view.queue->state().empty();
    if (!comes) message = QueueProblem(name, view);
  }
  const Problem* const told = entry.problems.Find(kQueueError);
  if (told != nullptr && told->words.message != message) entry.problems.End(kQueueError);
  if (message.empty()) return;
  host_.AddProblem(entry,
                   {.words = {std::string(kQueueError), std::move(message)}, .subject = fmt::format("queue {}", name)});
}

}  // namespace basalt::jobsvc
