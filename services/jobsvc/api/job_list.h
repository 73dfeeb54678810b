#pragma once

// Jobs as they are listed over workers and replicas (common/rpc/list_part.h).
#include <string>

#include "basalt/job/v1/job_part.pb.h"
#include "common/kube/object_key.h"

namespace basalt::jobsvc {

struct JobList {
  using Item = job::v1::Job;
  using Page = job::v1::ListJobsResponse;
  using Part = job::v1::ListPartResponse;
  using PartRequest = job::v1::ListPartRequest;

  static auto& Items(Part& part) { return *part.mutable_jobs(); }
  static auto& Items(Page& page) { return *page.mutable_jobs(); }
  static std::string KeyOf(const Item& job) {
    return kube::ObjectKey(job.object().meta().namespace_(), job.object().meta().name());
  }
};

}  // namespace basalt::jobsvc
