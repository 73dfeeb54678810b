#pragma once

// Calls another service: the member of it that owns a key.
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/rpc/peers.h"
#include "common/runtime/controller.h"

namespace basalt::runtime {

// Call it on the worker's loop. `done` runs there, too: after this call has returned, within `timeout`, and never once
// the worker has stopped. `method` is one of the peer type that members of `service` have. Returns false if no member
// owns the key: no call is made, and `done` is dropped. The statuses of an answer are those of common/rpc/peers.h. May
// be repeated if `method` may.
template <typename Peer, typename Request, typename Response>
bool AskOwner(Context& context, gateway::v1::ServiceKind service, std::string_view key,
              void (Peer::*method)(Request, absl::Duration, rpc::Done<Response>), std::type_identity_t<Request> request,
              absl::Duration timeout, std::type_identity_t<rpc::Done<Response>> done) {
  return context.CallOwner(
      service, key,
      [method, timeout, request = std::move(request), done = std::move(done)](rpc::ServicePeer& peer,
                                                                              ToWorker back) mutable {
        (static_cast<Peer&>(peer).*method)(
            std::move(request), timeout,
            [back = std::move(back), done = std::move(done)](absl::StatusOr<Response> answer) mutable {
              back([done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
            });
      });
}

}  // namespace basalt::runtime
