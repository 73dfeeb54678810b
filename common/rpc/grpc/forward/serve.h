#pragma once

// How the gRPC services of a replica answer if keys have owners: a call about a key at its owner, a list from all
// members, a watch of all of them, and a call about this replica alone here.
//
// `Core` is shared by the services of a replica, and held by each call until it is over. It has `Loop& loop`, on which
// calls are handled, `limiter`, the InflightLimiter of the server, `ConnectionShares watches` if the services have
// watches, and `api`, whose methods take a request and a Done that they call on any thread; its WatchPart makes the
// feed of a part.
//
// Heavy (gRPC), as forward.h.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
#include "common/rpc/list_part.h"
#include "common/rpc/request_bounds.h"

namespace basalt::rpc {

// Returns that method of the API as a handler. A method that writes for the client gets the token of the client's user,
// too.
template <typename Request, typename Response, typename Core, typename Method>
auto HandlerOf(std::shared_ptr<Core> core, Method method, std::string user_token = "") {
  return [core = std::move(core), method, user_token = std::move(user_token)](Request asked, Done<Response> done) {
    if constexpr (requires { (core->api.*method)(std::move(asked), user_token, std::move(done)); }) {
      (core->api.*method)(std::move(asked), user_token, std::move(done));
    } else {
      (core->api.*method)(std::move(asked), std::move(done));
    }
  };
}

template <typename Core, typename Request, typename Response, typename Method>
grpc::ServerUnaryReactor* ServeHere(const std::shared_ptr<Core>& core, grpc::CallbackServerContext* context,
                                    const Request* request, Response* response, Method method) {
  return ServeUnary(core->loop, core->limiter, context, request, response, HandlerOf<Request, Response>(core, method));
}

// Returns the object that the request names.
template <typename Request>
Target TargetOf(const Request& request) {
  Target target;
  if constexpr (requires { request.namespace_(); }) target.ns = request.namespace_();
  if constexpr (requires { request.name(); }) target.name = request.name();
  if constexpr (requires { request.dry_run(); }) target.dry_run = request.dry_run();
  return target;
}
// Returns TargetOf for a request about one object, whose namespace is "default" if the request names none.
template <typename Request>
Target TargetOfOne(const Request& request) {
  Target target = TargetOf(request);
  if constexpr (requires { request.namespace_(); }) {
    if (target.ns.empty()) target.ns = "default";
  }
  return target;
}

// Returns the row of the calls that have such requests. Requires: there is one.
template <typename Request>
const identity::Right& RightOf() {
  static const identity::Right* const right = identity::FindRightOfRequest(ToStd(Request::descriptor()->full_name()));
  return *right;
}

// A call for which the audit log gets a line with the outcome that the client gets. If the call is dropped unanswered,
// as when the process shuts down, it is unknown whether something was changed, and the outcome is UNKNOWN.
template <typename Response>
class AuditedCall {
 public:
  AuditedCall(std::shared_ptr<const UserAccess> users, const identity::Right& right, Client client, Target target,
              Done<Response> done)
      : users_(std::move(users)),
        right_(right),
        client_(std::move(client)),
        target_(std::move(target)),
        done_(std::move(done)) {}
  AuditedCall(const AuditedCall&) = delete;
  AuditedCall& operator=(const AuditedCall&) = delete;
  ~AuditedCall() {
    if (done_ != nullptr) users_->Audit(client_, right_, target_, absl::UnknownError("nobody answered the call"));
  }

  // Only the first answer counts.
  void Answer(absl::StatusOr<Response> answer) {
    if (done_ == nullptr) return;
    users_->Audit(client_, right_, target_, answer.status());
    std::exchange(done_, nullptr)(std::move(answer));
  }

 private:
  const std::shared_ptr<const UserAccess> users_;
  const identity::Right& right_;
  const Client client_;
  const Target target_;
  Done<Response> done_;  // Null once the call is answered.
};

// Every unary call of a client about objects of the cluster passes here once, or in VisibleList, before any object is
// read. `serve(done)` runs on `loop` if the client may do that to `target`. The audit log gets a line for a call that
// changes something, whatever the outcome. A call that another replica forwards has passed there. Runs on `loop`, which
// outlives the answer.
template <typename Request, typename Response, typename Serve>
void Admit(Loop& loop, const Members& members, const Caller& caller, Target target, Done<Response> done, Serve serve) {
  const std::shared_ptr<UserAccess> users = members.users();
  if (users == nullptr) return serve(std::move(done));
  const identity::Right& right = RightOf<Request>();
  auto call = std::make_unique<AuditedCall<Response>>(users, right, caller.client, target, std::move(done));
  Done<Response> audited = [call = std::move(call)](absl::StatusOr<Response> answer) {
    call->Answer(std::move(answer));
  };
  if (!caller.client.is_user) return serve(std::move(audited));
  users->Check(
      caller.client, right, target,
      [&loop, audited = std::move(audited), serve = std::move(serve)](absl::StatusOr<bool> may) mutable {
        if (!may.ok()) return audited(may.status());
        loop.Post([audited = std::move(audited), serve = std::move(serve)]() mutable { serve(std::move(audited)); });
      });
}

// The object of a call: "job", "default/a".
struct Subject {
  std::string kind;
  std::string key;
  std::string group = {};  // The API group, if it is not that of the call's row.
};

// Serves a call by that method of the owner's API; `start(stub, context, request, response, callback)` calls another
// replica. INVALID_ARGUMENT: the request has no name.
template <typename Core, typename Service, typename Request, typename Response, typename Method, typename Start>
grpc::ServerUnaryReactor* ServeAtOwner(const std::shared_ptr<Core>& core,
                                       const std::shared_ptr<Forwarder<Service>>& owners,
                                       grpc::CallbackServerContext* context, const Request* request, Response* response,
                                       Subject subject, Repeat repeat, Method method, Start start) {
  return ServeUnary(core->loop, core->limiter, context, request, response,
                    [core, owners, caller = CallerOf(*context, owners->members()), subject = std::move(subject), repeat,
                     method, start](Request asked, Done<Response> done) {
                      if (asked.name().empty()) return done(InvalidField("name", "is required"));
                      Target target = TargetOfOne(asked);
                      target.group = subject.group;
                      auto serve = [=, asked = std::move(asked)](Done<Response> answered) mutable {
                        owners->Route(caller, SlotOf(subject.key), fmt::format("{} {}", subject.kind, subject.key),
                                      repeat, std::move(asked), std::move(answered),
                                      HandlerOf<Request, Response>(core, method, caller.client.user_token),
                                      Remote<Response>(start));
                      };
                      Admit<Request, Response>(core->loop, owners->members(), caller, std::move(target),
                                               std::move(done), std::move(serve));
                    });
}

// Makes a page of the items that a user may list. An item that the user may not list is treated as if it did not exist:
// the items that follow fill the page, and no page token names a hidden item. `List`: see common/rpc/list_part.h; if
// its items are of several API groups, its GroupOf(item) names the group that is not the row's. Runs on the loop of
// `core`.
template <typename List, typename Core, typename PartService, typename Request>
class VisibleList : public std::enable_shared_from_this<VisibleList<List, Core, PartService, Request>> {
 public:
  using Page = typename List::Page;
  static constexpr int kMostRounds = 200;

  VisibleList(std::shared_ptr<Core> core, std::shared_ptr<Forwarder<PartService>> parts, Caller caller, Request asked,
              Done<Page> done)
      : core_(std::move(core)),
        parts_(std::move(parts)),
        caller_(std::move(caller)),
        asked_(std::move(asked)),
        size_(PageSizeOf(asked_.page_size())),
        done_(std::move(done)) {}

  // `target` is the object that the request names. If `may_refuse` is false, a user who may not list all of it gets a
  // part. Called once.
  void Check(const Target& target, bool may_refuse) {
    parts_->members().users()->Check(
        caller_.client, RightOf<Request>(), target,
        [self = this->shared_from_this()](absl::StatusOr<bool> may) {
          self->core_->loop.Post([self, may] {
            if (!may.ok()) return self->done_(may.status());
            self->may_all_ = *may;
            self->asked_.set_page_size(kMaxPageSize);
            self->Next();
          });
        },
        may_refuse);
  }

 private:
  static Target TargetOfItem(const typename List::Item& item) {
    const std::string key = List::KeyOf(item);
    Target target;
    if constexpr (requires(Request request) { request.namespace_(); }) target.ns = key.substr(0, key.find('/'));
    if constexpr (requires { List::GroupOf(item); }) target.group = List::GroupOf(item);
    return target;
  }
  bool IsAdmitted(const Target& target) const { return may_all_ && target.group.empty(); }

  void Next() {
    if (++rounds_ > kMostRounds) {
      return done_(MakeStatus(absl::StatusCode::kResourceExhausted,
                              "there are too many objects that the user may not list: name a namespace"));
    }
    const auto local = [core = core_](typename List::PartRequest part, Done<typename List::Part> answered) {
      core->api.ListPart(std::move(part), std::move(answered));
    };
    ListAll<List>(*parts_, caller_, asked_, Done<Page>([self = this->shared_from_this()](absl::StatusOr<Page> page) {
      self->core_->loop.Post([self, page = std::move(page)]() mutable { self->Take(std::move(page)); });
    }),
                  local, [](auto& stub, auto... arguments) { stub.async()->ListPart(arguments...); });
  }

  void Take(absl::StatusOr<Page> page) {
    if (!page.ok()) return done_(page.status());
    std::vector<Target> open;
    for (const auto& item : List::Items(*page)) {
      Target target = TargetOfItem(item);
      if (IsAdmitted(target) || answers_.contains({target.ns, target.group})) continue;
      answers_[{target.ns, target.group}] = false;
      open.push_back(std::move(target));
    }
    if (open.empty()) return Add(*page);
    parts_->members().users()->CheckAll(
        caller_.client, RightOf<Request>(), open,
        [self = this->shared_from_this(), open,
         page = *std::move(page)](absl::StatusOr<std::vector<bool>> may) mutable {
          self->core_->loop.Post([self, open, page = std::move(page), may = std::move(may)]() mutable {
            if (!may.ok()) return self->done_(may.status());
            for (size_t i = 0; i < open.size(); ++i) self->answers_[{open[i].ns, open[i].group}] = (*may)[i];
            self->Add(page);
          });
        });
  }

  void Add(Page& page) {
    for (auto& item : List::Items(page)) {
      const Target target = TargetOfItem(item);
      if (!IsAdmitted(target) && !answers_[{target.ns, target.group}]) continue;
      if (static_cast<size_t>(List::Items(visible_).size()) == size_) {
        visible_.set_next_page_token(List::KeyOf(*List::Items(visible_).rbegin()));
        return done_(std::move(visible_));
      }
      List::Items(visible_).Add(std::move(item));
    }
    if (page.next_page_token().empty()) return done_(std::move(visible_));
    asked_.set_page_token(page.next_page_token());
    Next();
  }

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Forwarder<PartService>> parts_;
  const Caller caller_;
  Request asked_;  // Its page token is the place from which the search goes on.
  const size_t size_;
  Done<Page> done_;
  bool may_all_ = false;  // The user may list each item that has the row's API group.
  std::map<std::pair<std::string, std::string>, bool> answers_;  // By namespace and group.
  Page visible_;
  int rounds_ = 0;
};

// Serves a page of the items that ListPart of all members' APIs has. A user who may not list all namespaces gets those
// that the user may list. Errors: as for ListAll, and those of `check`, before any member is called.
template <typename List, typename Core, typename PartService, typename Request>
grpc::ServerUnaryReactor* ServeList(const std::shared_ptr<Core>& core,
                                    const std::shared_ptr<Forwarder<PartService>>& parts,
                                    grpc::CallbackServerContext* context, const Request* request,
                                    typename List::Page* response, absl::Status (*check)(const Request&) = nullptr) {
  using Page = typename List::Page;
  return ServeUnary(
      core->loop, core->limiter, context, request, response,
      [core, parts, caller = CallerOf(*context, parts->members()), check](const Request& asked, Done<Page> done) {
        if (check != nullptr) {
          if (const absl::Status refused = check(asked); !refused.ok()) return done(refused);
        }
        if (!caller.client.is_user) {
          const auto local = [core](typename List::PartRequest part, Done<typename List::Part> answered) {
            core->api.ListPart(std::move(part), std::move(answered));
          };
          return ListAll<List>(*parts, caller, asked, std::move(done), local,
                               [](auto& stub, auto... arguments) { stub.async()->ListPart(arguments...); });
        }
        if (asked.page_size() < 0) return done(InvalidField("page_size", "must not be negative"));
        bool is_everywhere = false;
        if constexpr (requires { asked.namespace_(); }) is_everywhere = asked.namespace_().empty();
        const Target target = TargetOf(asked);
        auto list = std::make_shared<VisibleList<List, Core, PartService, Request>>(core, parts, caller, asked,
                                                                                    std::move(done));
        list->Check(target, /*may_refuse=*/!is_everywhere);
      });
}

// A watch of a user. It begins once the user may watch the target, and ends with the user's token, so that rights are
// reviewed again; the client resumes with a new token. If objects are of several API groups, `Watched::kOtherGroup` is
// the one that is not the row's, and `Watched::IsOfOtherGroup(message)` decides which objects have it: they are
// published only to users who may watch the objects of that group. Runs on `loop`.
template <typename Watched>
class AdmittedFeed final : public Feed<typename Watched::Response> {
 public:
  using Message = typename Watched::Response;
  using Open = typename FeedReactor<Message>::Open;

  AdmittedFeed(Loop& loop, UserAccess& users, const Client& client, const Target& target, Open open,
               std::function<void()> notify)
      : loop_(loop), end_of_token_(loop.Now() + client.left), open_(std::move(open)), notify_(std::move(notify)) {
    const identity::Right& right = RightOf<typename Watched::Request>();
    std::vector<Target> others;
    if constexpr (requires { Watched::kOtherGroup; }) {
      others.push_back(target);
      others.back().group = Watched::kOtherGroup;
    }
    users.Check(client, right, target, [&loop, &users, &right, client, others, self = self_](absl::StatusOr<bool> may) {
      if (!may.ok() || others.empty()) return Begin(loop, self, may.status(), false);
      users.CheckAll(client, right, others, [&loop, self](absl::StatusOr<std::vector<bool>> other) {
        Begin(loop, self, other.status(), other.ok() && other->front());
      });
    });
  }
  ~AdmittedFeed() override { *self_ = nullptr; }

  bool Take(Message* message) override {
    while (feed_ != nullptr && !end_ && feed_->Take(message)) {
      if (!IsHidden(*message)) return true;
      message->Clear();
    }
    return false;
  }
  std::optional<absl::Status> End() override { return end_ || feed_ == nullptr ? end_ : feed_->End(); }
  void Tick() override {
    if (feed_ != nullptr) feed_->Tick();
    if (end_ || loop_.Now() < end_of_token_) return;
    end_ = MakeStatus(absl::StatusCode::kUnauthenticated, "the time of the user's token is over: log in and resume");
    notify_();
  }

 private:
  using Self = std::shared_ptr<AdmittedFeed*>;  // Null once the feed is destroyed. Only touched on the loop.

  static void Begin(Loop& loop, const Self& self, const absl::Status& may, bool shows_others) {
    loop.Post([self, may, shows_others] {
      AdmittedFeed* const feed = *self;
      if (feed == nullptr) return;
      feed->shows_others_ = shows_others;
      if (may.ok()) {
        feed->feed_ = feed->open_(feed->notify_);
      } else {
        feed->end_ = may;
      }
      feed->notify_();
    });
  }
  bool IsHidden(const Message& message) const {
    if constexpr (requires { Watched::kOtherGroup; }) {
      return !shows_others_ && Watched::IsOfOtherGroup(message);
    } else {
      return false;
    }
  }

  Loop& loop_;
  const absl::Time end_of_token_;
  const Open open_;
  const std::function<void()> notify_;
  const Self self_ = std::make_shared<AdmittedFeed*>(this);
  std::unique_ptr<Feed<Message>> feed_;
  std::optional<absl::Status> end_;
  bool shows_others_ = false;
};

// Serves WatchPart of all members' APIs as one feed. `Watched`: see common/rpc/watch/merged_watch.h.
// RESOURCE_EXHAUSTED: the connection has taken its share of `core->watches` (ConnectionShares).
template <typename Watched, typename Core, typename PartService>
grpc::ServerWriteReactor<typename Watched::Response>* ServeWatch(const std::shared_ptr<Core>& core,
                                                                 const Members& members,
                                                                 const std::shared_ptr<Forwarder<PartService>>& parts,
                                                                 const grpc::CallbackServerContext* context,
                                                                 const typename Watched::Request* request) {
  using Message = typename Watched::Response;
  using Refused = RefusedFeed<Message>;
  if (const absl::Status wrong = CheckRequest(*request); !wrong.ok()) return new Refused(wrong);
  const std::string connection = context->peer();
  if (!core->watches.Take(connection)) {
    return new Refused(
        MakeStatus(absl::StatusCode::kResourceExhausted,
                   fmt::format("this connection has {} watches open, which is its share: end some of them",
                               core->watches.most())));
  }
  // Given back when the last object that can begin a part of the watch has gone.
  const std::shared_ptr<void> share(nullptr, [core, connection](void*) { core->watches.GiveBack(connection); });
  const auto local = [core, share](const typename Watched::PartRequest& part, std::function<void()> notify) {
    return core->api.WatchPart(part, std::move(notify));
  };
  auto open = OpenWatchOfAll<Watched>(core->loop, members, parts, *request, local,
                                      [](auto& stub, auto... arguments) { stub.async()->WatchPart(arguments...); });
  const Caller caller = CallerOf(*context, members);
  if (!caller.client.is_user) return new FeedReactor<Message>(core->loop, std::move(open));
  return new FeedReactor<Message>(
      core->loop,
      [core, users = members.users(), client = caller.client, target = TargetOf(*request),
       open = std::move(open)](std::function<void()> notify) -> std::unique_ptr<Feed<Message>> {
        return std::make_unique<AdmittedFeed<Watched>>(core->loop, *users, client, target, open, std::move(notify));
      });
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
