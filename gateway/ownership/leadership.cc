#include "gateway/ownership/leadership.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/rpc/leader_hint.h"

namespace basalt::gateway {

void Leadership::Lead(const OwnershipOptions& options, const storage::v1::AssignmentRecord& saved, absl::Time now) {
  ++term_;
  leader_ = self_;
  leader_address_.clear();
  ownership_ = std::make_unique<Ownership>(options);
  ownership_->Restore(saved, now);
}

void Leadership::Follow(std::string leader, std::string address) {
  if (leads()) ++term_;
  leader_ = std::move(leader);
  leader_address_ = std::move(address);
  ownership_.reset();
}

absl::Status Leadership::Check() const {
  if (leads()) return absl::OkStatus();
  if (leader_.empty()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("gateway '{}' does not lead; nobody is known to", self_));
  }
  return rpc::WithLeader(
      MakeStatus(absl::StatusCode::kUnavailable,
                 fmt::format("gateway '{}' does not lead, '{}' at {} does", self_, leader_, leader_address_)),
      leader_address_);
}

}  // namespace basalt::gateway
