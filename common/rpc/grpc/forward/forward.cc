#include "common/rpc/grpc/forward/forward.h"

namespace basalt::rpc {

Caller CallerOf(const grpc::CallbackServerContext& context, const Members& members) {
  Caller caller;
  if (context.deadline() != std::chrono::system_clock::time_point::max()) {
    caller.deadline = absl::FromChrono(context.deadline());
  }
  const auto& metadata = context.client_metadata();
  if (const auto forwarded = metadata.find(kForwardedKey); forwarded != metadata.end()) {
    caller.forwarded_by.assign(forwarded->second.data(), forwarded->second.size());
  }
  if (const std::shared_ptr<UserAccess> users = members.users(); users != nullptr) {
    caller.client = users->ClientOf(context);
  }
  return caller;
}

}  // namespace basalt::rpc
