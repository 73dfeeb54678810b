#pragma once

// The traits of a watch of jobs (common/rpc/watch/merged_watch.h, common/runtime/watch/watch_part.h).
#include <string>

#include "basalt/job/v1/job_part.pb.h"
#include "common/rpc/watch/merged_watch.h"
#include "common/runtime/watch/publisher.h"
#include "common/watch/watch_hub.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

struct WatchedJobs {
  using Request = job::v1::WatchJobsRequest;
  using Response = job::v1::WatchJobsResponse;
  using PartRequest = job::v1::WatchPartRequest;
  using PartResponse = job::v1::WatchPartResponse;
  using Object = job::v1::Job;
  using Controller = JobController;

  static void MoveObject(PartResponse& part, Response& response) { response.mutable_job()->Swap(part.mutable_job()); }
  static void CopyObject(const google::protobuf::Message& job, PartResponse& part) {
    part.mutable_job()->CopyFrom(job);
  }

  static watch::WatchHub::Message Make(Controller& controller, const std::string& key);
};

using JobWatch = rpc::MergedWatch<WatchedJobs>;

}  // namespace basalt::jobsvc
