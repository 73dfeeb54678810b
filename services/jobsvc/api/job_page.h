#pragma once

// Paging of ListJobs over parts that come from several workers or replicas. Pure.
//
// The token is the key of the last job shown: jobs that come or go between two pages make no other job appear twice or
// not at all, and any replica can go on with it.
#include <cstddef>
#include <vector>

#include "basalt/job/v1/job_part.pb.h"

namespace basalt::jobsvc {

inline constexpr int kDefaultPageSize = 500;
inline constexpr int kMaxPageSize = 1000;

size_t PageSizeOf(const job::v1::ListJobsRequest& request);

// The first page of what the parts have together; each is sorted, and no longer than the page.
job::v1::ListPartResponse MergeParts(std::vector<job::v1::ListPartResponse> parts, size_t page_size);
job::v1::ListJobsResponse ToPage(job::v1::ListPartResponse merged);

}  // namespace basalt::jobsvc
