#include "services/jobsvc/api/job_page.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/kube/object_key.h"

namespace basalt::jobsvc {

namespace {

std::string PageKey(const job::v1::Job& job) {
  return kube::ObjectKey(job.object().meta().namespace_(), job.object().meta().name());
}

}  // namespace

size_t PageSizeOf(const job::v1::ListJobsRequest& request) {
  return static_cast<size_t>(request.page_size() <= 0 ? kDefaultPageSize : std::min(request.page_size(), kMaxPageSize));
}

job::v1::ListPartResponse MergeParts(std::vector<job::v1::ListPartResponse> parts, size_t page_size) {
  job::v1::ListPartResponse merged;
  std::vector<std::pair<std::string, job::v1::Job*>> all;
  for (job::v1::ListPartResponse& part : parts) {
    if (part.more()) merged.set_more(true);
    for (job::v1::Job& job : *part.mutable_jobs()) all.emplace_back(PageKey(job), &job);
  }
  std::sort(all.begin(), all.end());
  for (auto& [key, job] : all) {
    if (static_cast<size_t>(merged.jobs_size()) == page_size) {
      merged.set_more(true);
      break;
    }
    *merged.add_jobs() = std::move(*job);
  }
  return merged;
}

job::v1::ListJobsResponse ToPage(job::v1::ListPartResponse merged) {
  job::v1::ListJobsResponse page;
  page.mutable_jobs()->Swap(merged.mutable_jobs());
  if (merged.more() && page.jobs_size() > 0) page.set_next_page_token(PageKey(page.jobs(page.jobs_size() - 1)));
  return page;
}

}  // namespace basalt::jobsvc
