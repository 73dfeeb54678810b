#include "services/queuesvc/api/queue_watch.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/runtime/watch/watch_part.h"
#include "services/queuesvc/api/queue_api.h"

namespace basalt::queuesvc {

watch::WatchHub::Message WatchedQueues::Make(QueueController& controller, const std::string& name) {
  std::optional<queue::v1::Queue> queue = controller.Find(name);
  return queue ? std::make_shared<queue::v1::Queue>(*std::move(queue)) : nullptr;
}

std::unique_ptr<rpc::Feed<queue::v1::WatchPartResponse>> QueueApi::WatchPart(const queue::v1::WatchPartRequest& request,
                                                                             std::function<void()> notify) {
  return runtime::MakeWatchPart<WatchedQueues>(workers_, hub_, request, std::move(notify));
}

}  // namespace basalt::queuesvc
