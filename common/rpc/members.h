#pragma once

// Who the replicas of one service are, for those who ask them for what they own.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/slots.h"

namespace basalt::rpc {

class Credentials;
class UserAccess;

// Thread-safe.
class Members {
 public:
  virtual ~Members() = default;
  virtual gateway::v1::Member self() const = 0;
  // As of the newest assignment; none before the first one.
  virtual std::vector<gateway::v1::Member> all() const = 0;
  // With which the others are called; null: without TLS.
  virtual std::shared_ptr<const Credentials> credentials() const { return nullptr; }
  // Who calls this replica, and what users may do; null: without TLS.
  virtual std::shared_ptr<UserAccess> users() const { return nullptr; }
};

// Index of the owner of each slot; empty where there are no members.
inline std::vector<size_t> OwnersOf(const std::vector<gateway::v1::Member>& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const gateway::v1::Member& member : members) names.push_back(member.replica());
  return RendezvousOwners(names);
}

inline size_t OwnerOf(const std::vector<gateway::v1::Member>& members, uint32_t slot) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const gateway::v1::Member& member : members) names.push_back(member.replica());
  return RendezvousOwner(names, slot);
}

// One process, not only one name.
inline bool IsSame(const gateway::v1::Member& a, const gateway::v1::Member& b) {
  return a.replica() == b.replica() && a.incarnation() == b.incarnation();
}

}  // namespace basalt::rpc
