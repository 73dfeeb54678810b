#pragma once

// A client's watch of the objects of all replicas of a service: each replica publishes the slots that it owns.
//
// Heavy (gRPC), as forward.h.
#include <functional>
#include <memory>
#include <utility>

#include "common/exec/loop.h"
#include "common/rpc/grpc/forward/feed.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/members.h"
#include "common/rpc/watch/merged_watch.h"

namespace basalt::rpc {

// Opens the watch on `loop`, for a FeedReactor. `Watched`: see common/rpc/watch/merged_watch.h. `local(part_request,
// notify)` makes the part of this replica, and keeps everything alive that loop, members and parts need; `start(stub,
// context, part_request, reactor)` begins the call to another replica.
template <typename Watched, typename PartService, typename Local, typename Start>
typename FeedReactor<typename Watched::Response>::Open OpenWatchOfAll(Loop& loop, const Members& members,
                                                                      std::shared_ptr<Forwarder<PartService>> parts,
                                                                      typename Watched::Request request, Local local,
                                                                      Start start) {
  using PartRequest = typename Watched::PartRequest;
  using PartResponse = typename Watched::PartResponse;
  const auto open_part = [&loop, &members, parts = std::move(parts), local = std::move(local), start](
                             const gateway::v1::Member& member, PartRequest part,
                             std::function<void()> notify) -> std::unique_ptr<Feed<PartResponse>> {
    const gateway::v1::Member self = members.self();
    if (IsSame(member, self)) return local(part, std::move(notify));
    auto feed = std::make_unique<StreamFeed<PartRequest, PartResponse>>(loop, std::move(part), std::move(notify));
    const bool begun = parts->Begin(member, [&](auto& stub, CallSet& calls) {
      feed->Begin(calls, self.replica(), [&](auto... arguments) { start(stub, arguments...); });
    });
    if (!begun) return nullptr;
    return feed;
  };
  return [&loop, &members, open_part, asked = std::move(request)](std::function<void()> notify) {
    return std::make_unique<MergedWatch<Watched>>(loop, members, open_part, asked, std::move(notify));
  };
}

}  // namespace basalt::rpc
