#pragma once

// Paging of ListQueues. Pure.
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/queue/v1/queue.pb.h"

namespace basalt::queuesvc {

inline constexpr int kDefaultPageSize = 500;
inline constexpr int kMaxPageSize = 1000;

// The page of `all` (in any order) that `request` asks for. The token is the name of the last queue shown, so that
// queues that come or go between two pages make no other queue appear twice or not at all. INVALID_ARGUMENT: a negative
// page size.
absl::StatusOr<queue::v1::ListQueuesResponse> PageOfQueues(std::vector<queue::v1::Queue> all,
                                                           const queue::v1::ListQueuesRequest& request);

}  // namespace basalt::queuesvc
