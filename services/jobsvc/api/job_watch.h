#pragma once

// A client's watch of jobs over the parts of all owners (common/rpc/watch/merged_watch.h).
#include "basalt/job/v1/job_part.pb.h"
#include "common/rpc/watch/merged_watch.h"

namespace basalt::jobsvc {

struct JobWatchMessages {
  using Request = job::v1::WatchJobsRequest;
  using Response = job::v1::WatchJobsResponse;
  using PartRequest = job::v1::WatchPartRequest;
  using PartResponse = job::v1::WatchPartResponse;
  static void MoveObject(PartResponse& told, Response& response) { response.mutable_job()->Swap(told.mutable_job()); }
  static void CopyObject(const google::protobuf::Message& job, PartResponse& told) {
    told.mutable_job()->CopyFrom(job);
  }
};

using JobWatch = rpc::MergedWatch<JobWatchMessages>;

}  // namespace basalt::jobsvc
