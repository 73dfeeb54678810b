// What this replica tells of changes to the jobs of its slots.
#include <memory>
#include <utility>

#include "common/kube/object_key.h"
#include "common/runtime/watch/watch_part.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/job_watch.h"

namespace basalt::jobsvc {

using watch::WatchHub;

// The sentence that tells what a job waits for is only made for those who watch.
WatchHub::Message WatchedJobs::Make(JobController& controller, const std::string& key) {
  return std::make_shared<job::v1::Job>(ToMessage(controller, *controller.Find(key)));
}

WatchHub::Message WatchedJobs::MakeGone(const std::string& key, const std::string& uid) {
  auto message = std::make_shared<job::v1::Job>();
  kube::v1::ObjectMeta& meta = *message->mutable_object()->mutable_meta();
  const auto [ns, name] = kube::SplitKey(key);
  meta.set_namespace_(std::string(ns));
  meta.set_name(std::string(name));
  meta.set_uid(uid);
  return message;
}

std::unique_ptr<rpc::Feed<job::v1::WatchPartResponse>> JobApi::WatchPart(const job::v1::WatchPartRequest& request,
                                                                         std::function<void()> notify) {
  return runtime::MakeWatchPart<WatchedJobs>(workers_, hub_, request, std::move(notify));
}

}  // namespace basalt::jobsvc
