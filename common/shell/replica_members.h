#pragma once

// Lists the members of a replica's own service, for calls to them (common/rpc/members.h).
#include <memory>
#include <utility>
#include <vector>

#include "common/rpc/members.h"
#include "common/runtime/replica.h"

namespace basalt::shell {

class ReplicaMembers final : public rpc::Members {
 public:
  explicit ReplicaMembers(const runtime::Replica& replica,
                          std::shared_ptr<const rpc::Credentials> credentials = nullptr,
                          std::shared_ptr<rpc::UserAccess> users = nullptr)
      : replica_(replica), credentials_(std::move(credentials)), users_(std::move(users)) {}
  gateway::v1::Member self() const override { return replica_.self(); }
  std::vector<gateway::v1::Member> all() const override { return replica_.Members(replica_.self().service()); }
  std::shared_ptr<const rpc::Credentials> credentials() const override { return credentials_; }
  std::shared_ptr<rpc::UserAccess> users() const override { return users_; }

 private:
  const runtime::Replica& replica_;
  const std::shared_ptr<const rpc::Credentials> credentials_;
  const std::shared_ptr<rpc::UserAccess> users_;
};

}  // namespace basalt::shell
