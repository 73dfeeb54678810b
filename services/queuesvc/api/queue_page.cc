#include "services/queuesvc/api/queue_page.h"

#include <algorithm>

#include "common/rpc/error_details.h"

namespace basalt::queuesvc {

absl::StatusOr<queue::v1::ListQueuesResponse> PageOfQueues(std::vector<queue::v1::Queue> all,
                                                           const queue::v1::ListQueuesRequest& request) {
  if (request.page_size() < 0) {
    return rpc::InvalidField("page_size", "must not be negative");
  }
  const size_t size =
      static_cast<size_t>(request.page_size() == 0 ? kDefaultPageSize : std::min(request.page_size(), kMaxPageSize));
  const auto name = [](const queue::v1::Queue& queue) -> const std::string& { return queue.object().meta().name(); };
  std::sort(all.begin(), all.end(),
            [&](const queue::v1::Queue& a, const queue::v1::Queue& b) { return name(a) < name(b); });
  queue::v1::ListQueuesResponse page;
  for (queue::v1::Queue& queue : all) {
    if (!request.page_token().empty() && name(queue) <= request.page_token()) continue;
    if (page.queues().size() == static_cast<int>(size)) {
      page.set_next_page_token(name(page.queues(page.queues_size() - 1)));
      break;
    }
    *page.add_queues() = std::move(queue);
  }
  return page;
}

}  // namespace basalt::queuesvc
