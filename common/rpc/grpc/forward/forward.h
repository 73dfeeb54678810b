#pragma once

// Any replica answers for any key: it forwards a call to the owner of the key's slot, or gathers the parts of all
// members.
//
// A call is forwarded once: a forwarded call carries the metadata "basalt-forwarded: <replica>" and is never forwarded
// again. A replica that does not own the slot answers UNAVAILABLE and names the owner by its own assignment. The
// forwarder then looks at its newest assignment and calls again, for as long as a move may take and the caller waits.
// It repeats an idempotent call after any such failure, any other call only if it was surely not handled.
//
// Heavy (gRPC): only in .cc files of api/ and common/rpc.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/slot_set.h"
#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/user_access.h"
#include "common/rpc/grpc/user_token_key.h"
#include "common/rpc/members.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

inline constexpr char kForwardedKey[] = "basalt-forwarded";

// The caller of a call, as the handler knows it.
struct Caller {
  absl::Time deadline = absl::InfiniteFuture();
  std::string forwarded_by;  // Empty if the call comes from a client.
  Client client;
};
Caller CallerOf(const grpc::CallbackServerContext& context, const Members& members);

// Whether a call may be handled twice.
enum class Repeat {
  kIdempotent,  // The second time changes nothing more: the call is also sent again if it may have been handled.
  kOnce,        // The call is sent again only if it was surely not handled.
};

// Calls to the other replicas of one service; `Service` is the generated one, with its Stub. Held by shared_ptr: calls
// under way keep it. All methods but Stop run on the loop.
template <typename Service>
class Forwarder : public std::enable_shared_from_this<Forwarder<Service>> {
 public:
  using Stub = typename Service::Stub;
  static constexpr absl::Duration kPatience = absl::Seconds(5);  // More than a move takes.
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
  static constexpr absl::Duration kLongestPause = absl::Milliseconds(500);
  static constexpr absl::Duration kCallLimit = absl::Seconds(30);  // For a caller without a deadline.

  // Loop and members outlive the loop's last task.
  Forwarder(Loop& loop, const Members& members) : loop_(loop), members_(members) {}

  // Ends the calls under way and waits for them; no call is sent after that. Any thread but gRPC's. May be repeated.
  void Stop() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    calls_.EndAll();
  }

  // Answers a call about a key of the slot. `what` names the key. `local(request, done)` answers here, its `done` on
  // any thread; `remote(stub, context, request, response, callback)` starts the call.
  template <typename Request, typename Response, typename Local, typename Remote>
  void Route(Caller caller, uint32_t slot, std::string what, Repeat repeat, Request request, Done<Response> done,
             Local local, Remote remote) {
    auto call = std::make_shared<Routed<Request, Response, Local, Remote>>(
        Routed<Request, Response, Local, Remote>{std::move(caller), slot, std::move(what), repeat, std::move(request),
                                                 std::move(done), std::move(local), std::move(remote), Attempts()});
    Try(std::move(call));
  }

  // Returns whether this replica owns the slot by the newest assignment, so that Route would answer here.
  bool IsHere(uint32_t slot) const {
    const std::vector<gateway::v1::Member> members = members_.all();
    return !members.empty() && IsSame(members[OwnerOf(members, slot)], members_.self());
  }

  // Calls every member for the part in the slots that it owns. All have to answer under one assignment, or the call
  // fails and names a member that did not. `make(slots)` makes the request. The call must be idempotent.
  template <typename Request, typename Response, typename Make, typename Local, typename Remote>
  void Gather(Caller caller, Make make, Done<std::vector<Response>> done, Local local, Remote remote) {
    using Call = Gathered<Request, Response, Make, Local, Remote>;
    auto call = std::make_shared<Call>(Call{std::move(caller),
                                            std::move(make),
                                            std::move(done),
                                            std::move(local),
                                            std::move(remote),
                                            Attempts(),
                                            0,
                                            {},
                                            absl::OkStatus()});
    TryAll(std::move(call));
  }

  // Starts a call that is not unary by `start(stub, calls)`. Returns false if Stop was called before.
  template <typename Start>
  bool Begin(const gateway::v1::Member& member, Start start) {
    const std::shared_ptr<Stub> stub = StubOf(member);
    MutexLock lock(mutex_);
    if (stopped_) return false;
    start(*stub, calls_);
    return true;
  }

  const Members& members() const { return members_; }

 private:
  struct Attempts {
    absl::Time began = absl::Now();
    absl::Duration pause = kFirstPause;
  };
  template <typename Request, typename Response, typename Local, typename Remote>
  struct Routed {
    Caller caller;
    uint32_t slot;
    std::string what;
    Repeat repeat;
    Request request;
    Done<Response> done;
    Local local;
    Remote remote;
    Attempts attempts;
  };
  template <typename Request, typename Response, typename Make, typename Local, typename Remote>
  struct Gathered {
    Caller caller;
    Make make;
    Done<std::vector<Response>> done;
    Local local;
    Remote remote;
    Attempts attempts;
    size_t left;
    std::vector<Response> parts;
    absl::Status failure;
  };

  static absl::Status NotAttached() {
    return MakeStatus(absl::StatusCode::kUnavailable, "this replica is not attached to a gateway yet; try again");
  }
  static std::string NameOf(const gateway::v1::Member& member) {
    return fmt::format("{} at {}", member.replica(), member.address());
  }
  // Returns whether the call may be repeated. UNKNOWN: it may have been handled (a broken connection, a dropped
  // handler).
  static bool MayBeAskedAgain(const absl::Status& status, Repeat repeat) {
    return absl::IsUnavailable(status) || (repeat == Repeat::kIdempotent && absl::IsUnknown(status));
  }

  template <typename Call>
  void Try(std::shared_ptr<Call> call) {
    const std::vector<gateway::v1::Member> members = members_.all();
    if (members.empty()) return call->done(NotAttached());
    const gateway::v1::Member& owner = members[OwnerOf(members, call->slot)];
    const gateway::v1::Member self = members_.self();
    if (IsSame(owner, self)) return call->local(std::move(call->request), std::move(call->done));
    if (!call->caller.forwarded_by.empty()) {
      return call->done(
          MakeStatus(absl::StatusCode::kUnavailable,
                     fmt::format("{} belongs to {}, not to {}; try again", call->what, NameOf(owner), self.replica())));
    }
    Send(owner, call->caller, call->request, call->remote,
         [self = this->shared_from_this(), call, owner](auto answer) mutable {
           if (answer.ok()) return call->done(std::move(answer));
           const absl::Status status = Annotate(answer.status(), NameOf(owner));
           if (MayBeAskedAgain(answer.status(), call->repeat)) {
             if (self->Pause(*call, [self, call] { self->Try(call); })) return;
             if (call->repeat == Repeat::kIdempotent) {
               return call->done(MakeStatus(absl::StatusCode::kUnavailable, ToStd(status.message())));
             }
           }
           call->done(status);
         });
  }

  template <typename Request, typename Response, typename Make, typename Local, typename Remote>
  void TryAll(std::shared_ptr<Gathered<Request, Response, Make, Local, Remote>> call) {
    const std::vector<gateway::v1::Member> members = members_.all();
    if (members.empty()) return call->done(NotAttached());
    std::vector<SlotSet> slots(members.size());
    const std::vector<size_t> owners = OwnersOf(members);
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) slots[owners[slot]].Insert(slot);
    call->left = members.size();
    call->parts.clear();
    call->failure = absl::OkStatus();
    const gateway::v1::Member self = members_.self();
    for (size_t i = 0; i < members.size(); ++i) {
      const auto take = [self = this->shared_from_this(), call, member = members[i]](absl::StatusOr<Response> answer) {
        self->TakePart(call, member, std::move(answer));
      };
      if (slots[i].empty()) {
        take(Response());
      } else if (IsSame(members[i], self)) {
        call->local(call->make(slots[i]),
                    Done<Response>([&loop = loop_, take](absl::StatusOr<Response> answer) mutable {
                      loop.Post([take, answer = std::move(answer)]() mutable { take(std::move(answer)); });
                    }));
      } else {
        Send(members[i], call->caller, Request(call->make(slots[i])), call->remote, take);
      }
    }
  }

  template <typename Call, typename Response>
  void TakePart(std::shared_ptr<Call> call, const gateway::v1::Member& member, absl::StatusOr<Response> answer) {
    if (answer.ok()) {
      call->parts.push_back(*std::move(answer));
    } else {
      const absl::Status status = Annotate(answer.status(), NameOf(member));
      // A failure that another try does not cure takes precedence.
      if (call->failure.ok() || !MayBeAskedAgain(status, Repeat::kIdempotent)) call->failure = status;
    }
    if (--call->left > 0) return;
    if (call->failure.ok()) return call->done(std::move(call->parts));
    if (!MayBeAskedAgain(call->failure, Repeat::kIdempotent)) return call->done(call->failure);
    if (Pause(*call, [self = this->shared_from_this(), call] { self->TryAll(call); })) return;
    call->done(MakeStatus(absl::StatusCode::kUnavailable, ToStd(call->failure.message())));
  }

  // Returns false if there is no time left for another try.
  template <typename Call, typename Again>
  bool Pause(Call& call, Again again) {
    const absl::Time end = std::min(call.attempts.began + kPatience, call.caller.deadline);
    if (absl::Now() + call.attempts.pause >= end) return false;
    {
      MutexLock lock(mutex_);
      if (stopped_) return false;
    }
    loop_.RunAfter(call.attempts.pause, std::move(again));
    call.attempts.pause = std::min(call.attempts.pause * 2, kLongestPause);
    return true;
  }

  template <typename Request, typename Remote, typename Take>
  void Send(const gateway::v1::Member& member, const Caller& caller, Request request, const Remote& remote, Take take) {
    using Response = typename Remote::Response;
    const std::shared_ptr<Stub> stub = StubOf(member);
    const absl::Duration timeout = std::min(caller.deadline - absl::Now(), kCallLimit);
    const std::string self = members_.self().replica();
    MutexLock lock(mutex_);
    if (stopped_) return;  // The caller's own call has ended.
    CallUnary(calls_, loop_, std::move(request), timeout, Done<Response>(std::move(take)),
              [&](grpc::ClientContext* context, auto... arguments) {
                context->AddMetadata(kForwardedKey, self);
                if (!caller.client.user_token.empty()) context->AddMetadata(kUserTokenKey, caller.client.user_token);
                remote.start(*stub, context, arguments...);
              });
  }

  // The stubs of members that are gone are dropped when another stub is made.
  std::shared_ptr<Stub> StubOf(const gateway::v1::Member& member) {
    if (const auto it = stubs_.find(member.address()); it != stubs_.end()) return it->second;
    std::set<std::string> addresses;
    for (const gateway::v1::Member& present : members_.all()) addresses.insert(present.address());
    std::erase_if(stubs_, [&addresses](const auto& stub) { return !addresses.contains(stub.first); });
    std::shared_ptr<Stub> stub = Service::NewStub(
        MakeChannel(member.address(), identity::Only({RoleOf(members_.self().service())}), members_.credentials()));
    stubs_.emplace(member.address(), stub);
    return stub;
  }

  Loop& loop_;
  const Members& members_;
  std::map<std::string, std::shared_ptr<Stub>> stubs_;  // By address.
  CallSet calls_;
  Mutex mutex_;
  bool stopped_ BASALT_GUARDED_BY(mutex_) = false;
};

// Has `start(stub, context, request, response, callback)`, which starts a call to another replica.
template <typename Answer, typename Start>
struct RemoteMethod {
  using Response = Answer;
  Start start;
};
template <typename Answer, typename Start>
RemoteMethod<Answer, Start> Remote(Start start) {
  return {std::move(start)};
}

}  // namespace basalt::rpc
