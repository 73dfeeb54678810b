#include "services/pgsvc/api/pod_group_watch.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/runtime/watch/watch_part.h"
#include "services/pgsvc/api/pod_group_api.h"

namespace basalt::pgsvc {

watch::WatchHub::Message WatchedPodGroups::Make(PodGroupController& controller, const std::string& key) {
  std::optional<podgroup::v1::PodGroup> group = controller.Show(key);
  return group ? std::make_shared<podgroup::v1::PodGroup>(*std::move(group)) : nullptr;
}

std::unique_ptr<rpc::Feed<podgroup::v1::WatchPartResponse>> PodGroupApi::WatchPart(
    const podgroup::v1::WatchPartRequest& request, std::function<void()> notify) {
  return runtime::MakeWatchPart<WatchedPodGroups>(workers_, hub_, request, std::move(notify));
}

}  // namespace basalt::pgsvc
