#pragma once

// The traits by which pod groups are listed over workers and replicas (common/rpc/list_part.h).
#include <string>
#include <string_view>

#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"

namespace basalt::pgsvc {

struct PodGroupList {
  using Item = podgroup::v1::PodGroup;
  using Page = podgroup::v1::ListPodGroupsResponse;
  using Part = podgroup::v1::ListPartResponse;
  using PartRequest = podgroup::v1::ListPartRequest;

  static auto& Items(Part& part) { return *part.mutable_pod_groups(); }
  static auto& Items(Page& page) { return *page.mutable_pod_groups(); }
  // KAI's groups are listed beside Volcano's.
  static std::string GroupOf(const Item& group) {
    return group.profile() == podgroup::v1::PROFILE_KAI ? std::string(kube::kKaiPodGroups.group) : "";
  }
  // Groups of one name are in the order of their profiles: no character of a name comes before a space.
  static std::string KeyOf(const Item& group) {
    const std::string name = kube::ObjectKey(group.object().meta().namespace_(), group.object().meta().name());
    return group.profile() <= podgroup::v1::PROFILE_COMPAT ? name : name + " " + std::to_string(int{group.profile()});
  }
  // Returns namespace and name of the group that has that list key; views into the key.
  static kube::KeyParts NameIn(std::string_view key) { return kube::SplitKey(key.substr(0, key.find(' '))); }
};

}  // namespace basalt::pgsvc
