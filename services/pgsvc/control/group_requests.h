#pragma once

// Requests about the group of a key, namespace/name.
#include <string>
#include <string_view>
#include <utility>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"

namespace basalt::pgsvc {

inline gateway::v1::WriteRequest GroupWrite(std::string_view key) {
  const auto [ns, name] = kube::SplitKey(key);
  return kube::WriteOf(kube::kPodGroups, ns, name);
}

// A JSON merge patch, for the group of that UID and no other one of the name.
inline gateway::v1::WriteRequest GroupPatch(std::string_view key, const std::string& uid, std::string body) {
  gateway::v1::WriteRequest write = GroupWrite(key);
  kube::SetMergePatch(std::move(body), uid, write);
  return write;
}

inline gateway::v1::WriteRequest GroupDeletion(std::string_view key, const std::string& uid) {
  gateway::v1::WriteRequest write = GroupWrite(key);
  write.mutable_delete_()->set_uid(uid);
  write.mutable_delete_()->set_propagation_policy("Background");
  return write;
}

}  // namespace basalt::pgsvc
