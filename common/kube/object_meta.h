#pragma once

// Answers questions about an object by its metadata. Pure.
#include <algorithm>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::kube {

// Returns whether an object of that UID is among the owners.
inline bool IsOwnedBy(const v1::ObjectMeta& meta, std::string_view uid) {
  const auto& owners = meta.owner_references();
  return std::any_of(owners.begin(), owners.end(),
                     [uid](const v1::OwnerReference& owner) { return owner.uid() == uid; });
}

}  // namespace basalt::kube
