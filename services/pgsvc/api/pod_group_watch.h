#pragma once

// The traits of the watch of pod groups (common/rpc/watch/merged_watch.h, common/runtime/watch/watch_part.h).
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "common/base/slots.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/runtime/watch/publisher.h"
#include "common/watch/watch_hub.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {

struct WatchedPodGroups {
  using Request = podgroup::v1::WatchPodGroupsRequest;
  using Response = podgroup::v1::WatchPodGroupsResponse;
  using PartRequest = podgroup::v1::WatchPartRequest;
  using PartResponse = podgroup::v1::WatchPartResponse;
  using Object = podgroup::v1::PodGroup;
  using Controller = PodGroupController;

  // KAI's groups are watched beside Volcano's.
  static constexpr std::string_view kOtherGroup = kube::kKaiPodGroups.group;
  static bool IsOfOtherGroup(const Response& response) {
    return response.pod_group().profile() == podgroup::v1::PROFILE_KAI;
  }

  // Returns the slots in which a group of that name may be, depending on its profile.
  static std::vector<uint32_t> SlotsOf(std::string_view ns, std::string_view name) {
    return {SlotOf(kube::ObjectKey(ns, name)), SlotOf(kube::NamespaceKey(ns, kube::GroupProfile::kRich)),
            SlotOf(kube::NamespaceKey(ns, kube::GroupProfile::kKai))};
  }
  static void MoveObject(PartResponse& part, Response& response) {
    response.mutable_pod_group()->Swap(part.mutable_pod_group());
  }
  static void CopyObject(const google::protobuf::Message& group, PartResponse& part) {
    part.mutable_pod_group()->CopyFrom(group);
  }

  static void MarkGone(std::string_view key, Object& group) {
    group.set_profile(static_cast<podgroup::v1::Profile>(kube::ProfileOfShown(key)));
  }

  static watch::WatchHub::Message Make(Controller& controller, const std::string& key);
};

}  // namespace basalt::pgsvc
