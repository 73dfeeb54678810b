#include "services/pgsvc/api/pod_group_watch.h"

#include <memory>
#include <utility>

#include "common/kube/object_key.h"
#include "common/runtime/watch/watch_part.h"
#include "services/pgsvc/api/pod_group_api.h"

namespace basalt::pgsvc {

watch::WatchHub::Message WatchedPodGroups::Make(PodGroupController& controller, const std::string& key) {
  return std::make_shared<podgroup::v1::PodGroup>(*controller.Show(key));
}

watch::WatchHub::Message WatchedPodGroups::MakeGone(const std::string& key, const std::string& uid) {
  auto message = std::make_shared<podgroup::v1::PodGroup>();
  kube::v1::ObjectMeta& meta = *message->mutable_object()->mutable_meta();
  const auto [ns, name] = kube::SplitKey(key);
  meta.set_namespace_(std::string(ns));
  meta.set_name(std::string(name));
  meta.set_uid(uid);
  return message;
}

std::unique_ptr<rpc::Feed<podgroup::v1::WatchPartResponse>> PodGroupApi::WatchPart(
    const podgroup::v1::WatchPartRequest& request, std::function<void()> notify) {
  return runtime::MakeWatchPart<WatchedPodGroups>(workers_, hub_, request, std::move(notify));
}

}  // namespace basalt::pgsvc
