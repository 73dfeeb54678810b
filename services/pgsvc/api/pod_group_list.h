#pragma once

// Pod groups as they are listed over workers and replicas (common/rpc/list_part.h).
#include <string>

#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "common/kube/object_key.h"

namespace basalt::pgsvc {

struct PodGroupList {
  using Item = podgroup::v1::PodGroup;
  using Page = podgroup::v1::ListPodGroupsResponse;
  using Part = podgroup::v1::ListPartResponse;
  using PartRequest = podgroup::v1::ListPartRequest;

  static auto& Items(Part& part) { return *part.mutable_pod_groups(); }
  static auto& Items(Page& page) { return *page.mutable_pod_groups(); }
  static std::string KeyOf(const Item& group) {
    return kube::ObjectKey(group.object().meta().namespace_(), group.object().meta().name());
  }
};

}  // namespace basalt::pgsvc
