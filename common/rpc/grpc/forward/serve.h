#pragma once

// How the gRPC services of a replica answer, where keys have owners: a call about a key at its owner, a list from all
// members, a watch of all of them, and what concerns this replica alone here.
//
// `Core` is what the services of a replica share, and what each call holds until it is over. It has `Loop& loop`, on
// which calls are handled, `ConnectionShares watches` where it serves any, and `api`, whose methods take a request and
// a Done that they call on any thread; its WatchPart makes the feed of a part.
//
// Heavy (gRPC), as forward.h.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/rpc/error_details.h"
#include "common/rpc/grpc/forward/connection_shares.h"
#include "common/rpc/grpc/forward/feed.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/grpc/forward/list_all.h"
#include "common/rpc/grpc/forward/watch_all.h"
#include "common/rpc/grpc/unary.h"
#include "common/rpc/request_bounds.h"

namespace basalt::rpc {

// That method of the API, as a handler.
template <typename Request, typename Response, typename Core, typename Method>
auto HandlerOf(std::shared_ptr<Core> core, Method method) {
  return [core = std::move(core), method](Request asked, Done<Response> done) {
    (core->api.*method)(std::move(asked), std::move(done));
  };
}

template <typename Core, typename Request, typename Response, typename Method>
grpc::ServerUnaryReactor* ServeHere(const std::shared_ptr<Core>& core, grpc::CallbackServerContext* context,
                                    const Request* request, Response* response, Method method) {
  return ServeUnary(core->loop, context, request, response, HandlerOf<Request, Response>(core, method));
}

// The object of a call: "job", "default/a".
struct Subject {
  std::string kind;
  std::string key;
};

// By that method of the owner's API; `start(stub, context, request, response, callback)` asks another replica.
// `question`: it does no harm when it is asked twice. INVALID_ARGUMENT: the request has no name.
template <typename Core, typename Service, typename Request, typename Response, typename Method, typename Start>
grpc::ServerUnaryReactor* ServeAtOwner(const std::shared_ptr<Core>& core,
                                       const std::shared_ptr<Forwarder<Service>>& owners,
                                       grpc::CallbackServerContext* context, const Request* request, Response* response,
                                       Subject subject, bool question, Method method, Start start) {
  return ServeUnary(core->loop, context, request, response,
                    [core, owners, caller = CallerOf(*context), subject = std::move(subject), question, method, start](
                        Request asked, Done<Response> done) {
                      if (asked.name().empty()) return done(InvalidField("name", "is required"));
                      owners->Route(caller, SlotOf(subject.key), fmt::format("{} {}", subject.kind, subject.key),
                                    question, std::move(asked), std::move(done),
                                    HandlerOf<Request, Response>(core, method), Remote<Response>(start));
                    });
}

// A page of what ListPart of all members' APIs has. Errors: as ListAll, and of `check`, before anybody is asked.
template <typename List, typename Core, typename PartService, typename Request>
grpc::ServerUnaryReactor* ServeList(const std::shared_ptr<Core>& core,
                                    const std::shared_ptr<Forwarder<PartService>>& parts,
                                    grpc::CallbackServerContext* context, const Request* request,
                                    typename List::Page* response, absl::Status (*check)(const Request&) = nullptr) {
  return ServeUnary(
      core->loop, context, request, response,
      [core, parts, caller = CallerOf(*context), check](const Request& asked, Done<typename List::Page> done) {
        if (check != nullptr) {
          if (const absl::Status refused = check(asked); !refused.ok()) return done(refused);
        }
        const auto local = [core](typename List::PartRequest part, Done<typename List::Part> answered) {
          core->api.ListPart(std::move(part), std::move(answered));
        };
        ListAll<List>(*parts, caller, asked, std::move(done), local,
                      [](auto& stub, auto... arguments) { stub.async()->ListPart(arguments...); });
      });
}

// Serves WatchPart of all members' APIs as one feed. `Watched`: see common/rpc/watch/merged_watch.h.
// RESOURCE_EXHAUSTED: the connection has taken its share of `core->watches` (ConnectionShares).
template <typename Watched, typename Core, typename PartService>
grpc::ServerWriteReactor<typename Watched::Response>* ServeWatch(const std::shared_ptr<Core>& core,
                                                                 const Members& members,
                                                                 const std::shared_ptr<Forwarder<PartService>>& parts,
                                                                 const grpc::CallbackServerContext* context,
                                                                 const typename Watched::Request* request) {
  using Refused = RefusedFeed<typename Watched::Response>;
  if (const absl::Status wrong = CheckRequest(*request); !wrong.ok()) return new Refused(wrong);
  const std::string connection = context->peer();
  if (!core->watches.Take(connection)) {
    return new Refused(
        MakeStatus(absl::StatusCode::kResourceExhausted,
                   fmt::format("this connection has {} watches open, which is its share: end some of them",
                               core->watches.most())));
  }
  // Given back when the last who may begin a part of it has gone.
  const std::shared_ptr<void> share(nullptr, [core, connection](void*) { core->watches.GiveBack(connection); });
  const auto local = [core, share](const typename Watched::PartRequest& part, std::function<void()> notify) {
    return core->api.WatchPart(part, std::move(notify));
  };
  return WatchAll<Watched>(core->loop, members, parts, *request, local,
                           [](auto& stub, auto... arguments) { stub.async()->WatchPart(arguments...); });
}

// Serves WatchPart of this replica's API.
template <typename Watched, typename Core>
grpc::ServerWriteReactor<typename Watched::PartResponse>* ServeWatchPart(const std::shared_ptr<Core>& core,
                                                                         const typename Watched::PartRequest* request) {
  if (const absl::Status wrong = CheckRequest(*request); !wrong.ok()) {
    return new RefusedFeed<typename Watched::PartResponse>(wrong);
  }
  return new FeedReactor<typename Watched::PartResponse>(
      core->loop,
      [core, asked = *request](std::function<void()> notify) { return core->api.WatchPart(asked, std::move(notify)); });
}

}  // namespace basalt::rpc
