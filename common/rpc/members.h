#pragma once

// The replicas of one service, for code that calls them.
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
  // Returns the members of the newest assignment. Empty before the first assignment.
  virtual std::vector<gateway::v1::Member> all() const = 0;
  // The credentials for calls to other members. Null without TLS.
  virtual std::shared_ptr<const Credentials> credentials() const { return nullptr; }
  // Identifies callers of this replica, and checks the rights of users. Null without TLS.
  virtual std::shared_ptr<UserAccess> users() const { return nullptr; }
};

// Returns the index of the owner of each slot. Empty if there are no members.
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

// Compares processes, not only names.
inline bool IsSame(const gateway::v1::Member& a, const gateway::v1::Member& b) {
  return a.replica() == b.replica() && a.incarnation() == b.incarnation();
}

}  // namespace basalt::rpc
