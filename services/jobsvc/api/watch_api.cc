// Publishes the changes of the jobs of this replica's slots.
#include <memory>
#include <utility>

#include "common/runtime/watch/watch_part.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/job_watch.h"

namespace basalt::jobsvc {

using watch::WatchHub;

// The message, with its sentence on what the job waits for, is made only if somebody watches.
WatchHub::Message WatchedJobs::Make(JobController& controller, const std::string& key) {
  const JobEntry* const entry = controller.Find(key);
  return entry == nullptr ? nullptr : std::make_shared<job::v1::Job>(ToMessage(controller, *entry));
}

std::unique_ptr<rpc::Feed<job::v1::WatchPartResponse>> JobApi::WatchPart(const job::v1::WatchPartRequest& request,
                                                                         std::function<void()> notify) {
  return runtime::MakeWatchPart<WatchedJobs>(workers_, hub_, request, std::move(notify));
}

}  // namespace basalt::jobsvc
