#pragma once

// The members of a replica's own service, for those who ask them (common/rpc/members.h).
#include <vector>

#include "common/rpc/members.h"
#include "common/runtime/replica.h"

namespace basalt::shell {

class ReplicaMembers final : public rpc::Members {
 public:
  explicit ReplicaMembers(const runtime::Replica& replica) : replica_(replica) {}
  gateway::v1::Member self() const override { return replica_.self(); }
  std::vector<gateway::v1::Member> all() const override { return replica_.Members(replica_.self().service()); }

 private:
  const runtime::Replica& replica_;
};

}  // namespace basalt::shell
