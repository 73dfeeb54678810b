#include "common/rpc/grpc/gateway/gateway_service.h"

#include <utility>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/gateway/write_protocol.h"
#include "common/rpc/grpc/streams/call_server.h"
#include "common/rpc/grpc/unary.h"
#include "common/rpc/grpc/users.h"
#include "common/rpc/leader_hint.h"
#include "common/rpc/request_bounds.h"

namespace basalt::rpc {
namespace {

using gateway::v1::AttachRequest;

// Wraps the bytes without a copy. They live until gRPC has sent them.
grpc::ByteBuffer ToBuffer(std::string bytes) {
  auto kept = std::make_unique<std::string>(std::move(bytes));
  const auto drop = [](void* text) { delete static_cast<std::string*>(text); };
  void* const data = kept->data();
  const size_t size = kept->size();
  const grpc::Slice slice(data, size, drop, kept.release());
  return {&slice, 1};
}

constexpr std::string_view kWritePath = "/basalt.gateway.v1.GatewayService/Write";

// A replica that writes for a user has to prove that the user has called. PERMISSION_DENIED, since UNAUTHENTICATED
// makes the replica send the write again with the token of its next session.
absl::Status CheckUserToken(const CallGuard* guard, const std::string& token) {
  if (token.empty()) return absl::OkStatus();
  if (guard == nullptr || guard->users() == nullptr) {
    return MakeStatus(absl::StatusCode::kPermissionDenied, "this gateway takes no users (--kubernetes_users)");
  }
  const absl::Status known = guard->users()->Verify(token).status();
  if (known.ok()) return known;
  return guard->RefuseUser(MakeStatus(absl::StatusCode::kPermissionDenied, ToStd(known.message())), "", kWritePath,
                           "identity");
}

// Users get the addresses to call, and nothing else about the suite.
gateway::v1::Topology ForUsers(const gateway::v1::Topology& topology) {
  gateway::v1::Topology reduced;
  reduced.set_gateway(topology.gateway());
  reduced.set_version(topology.version());
  reduced.set_leads(topology.leads());
  reduced.set_leader(topology.leader());
  reduced.set_leader_address(topology.leader_address());
  for (const gateway::v1::MemberStatus& member : topology.members()) {
    gateway::v1::MemberStatus& one = *reduced.add_members();
    one.mutable_member()->set_service(member.member().service());
    one.mutable_member()->set_replica(member.member().replica());
    one.mutable_member()->set_address(member.member().address());
    one.set_attached(member.attached());
  }
  return reduced;
}

// One stream. gRPC's callbacks come on its own threads and only post; the session lives on the loop. The reactor keeps
// itself alive until gRPC is done with it.
class AttachServerReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                  public AttachSink,
                                  public std::enable_shared_from_this<AttachServerReactor> {
 public:
  AttachServerReactor(grpc::CallbackServerContext& context, Loop& loop, GatewayHandler& handler,
                      const std::shared_ptr<const CallGuard>& guard)
      : context_(context),
        loop_(loop),
        handler_(handler),
        check_member_(guard, context, "/basalt.gateway.v1.GatewayService/Attach") {}

  void Begin() {
    self_ = shared_from_this();
    OnTheLoop([](AttachServerReactor& it) { it.session_ = it.handler_.OnAttach(it); });
    StartRead(&request_);
    constructed_.Release();
  }

  // ---- AttachSink: on the loop ----

  void Send(std::string batch) override {
    batch_ = ToBuffer(std::move(batch));
    MutexLock lock(mutex_);
    if (!finished_) StartWrite(&batch_);
  }

  bool is_name_proven() const override { return check_member_.names_one(); }
  void Close(const absl::Status& status) override { End(status); }

  // ---- gRPC's threads ----

  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus());  // The client has closed its half or is gone.
    AttachRequest request;
    if (!grpc::SerializationTraits<AttachRequest>::Deserialize(&request_, &request).ok()) {
      return End(absl::InvalidArgumentError("what was sent is no AttachRequest"));
    }
    if (const absl::Status wrong = CheckRequest(request); !wrong.ok()) return End(wrong);
    if (request.has_hello()) {
      if (const absl::Status wrong = check_member_(request.hello().self()); !wrong.ok()) return End(wrong);
    }
    OnTheLoop([request = std::move(request)](AttachServerReactor& it) mutable {
      if (it.session_ != nullptr) it.session_->OnRequest(std::move(request));
    });
    StartRead(&request_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::UnavailableError("the peer is gone"));
    OnTheLoop([](AttachServerReactor& it) {
      if (it.session_ != nullptr) it.session_->OnSent();
    });
  }

  void OnCancel() override {
    constructed_.Acquire();
    End(absl::CancelledError("the peer is gone"));
  }

  void OnDone() override {
    OnTheLoop([](AttachServerReactor& it) {
      if (it.session_ == nullptr) return;
      it.session_->OnClosed();
      it.session_.reset();
    });
    self_.reset();
  }

 private:
  template <typename F>
  void OnTheLoop(F task) {
    loop_.Post([it = shared_from_this(), task = std::move(task)]() mutable { task(*it); });
  }

  // After Finish gRPC may be done at any moment, so nothing is written after `finished_` is set.
  void End(const absl::Status& status) {
    const std::shared_ptr<AttachServerReactor> keep = shared_from_this();
    {
      MutexLock lock(mutex_);
      if (finished_) return;
      finished_ = true;
    }
    if (const std::string leader = LeaderOf(status); !leader.empty()) context_.AddTrailingMetadata(kLeaderKey, leader);
    Finish(ToGrpc(status));
  }

  grpc::CallbackServerContext& context_;
  Loop& loop_;
  GatewayHandler& handler_;
  const MemberCheck check_member_;
  std::shared_ptr<AttachServerReactor> self_;
  std::unique_ptr<AttachSession> session_;  // Used on the loop.
  grpc::ByteBuffer request_;
  grpc::ByteBuffer batch_;
  ConstructionFence constructed_;
  Mutex mutex_;
  bool finished_ BASALT_GUARDED_BY(mutex_) = false;
};

// Attach is raw: batches come as bytes.
using GatewayService = gateway::v1::GatewayService;
using RawAttachService = GatewayService::WithRawCallbackMethod_Attach<GatewayService::WithCallbackMethod_Write<
    GatewayService::WithCallbackMethod_Get<GatewayService::WithCallbackMethod_GetTopology<GatewayService::Service>>>>;

class Service final : public RawAttachService {
 public:
  Service(Loop& loop, GatewayHandler& handler, std::shared_ptr<InflightLimiter> limiter,
          std::shared_ptr<const CallGuard> guard)
      : loop_(loop),
        handler_(handler),
        limiter_(std::move(limiter)),
        guard_(std::move(guard)),
        writes_(loop, handler, limiter_) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop_.Post([] {});
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(grpc::CallbackServerContext* context) override {
    auto reactor = std::make_shared<AttachServerReactor>(*context, loop_, handler_, guard_);
    reactor->Begin();
    return reactor.get();
  }

  grpc::ServerBidiReactor<gateway::v1::WriteBatch, gateway::v1::WriteAnswers>* Write(
      grpc::CallbackServerContext* context) override {
    return writes_.Serve([guard = guard_, check = MemberCheck(guard_, *context, kWritePath)](
                             const WriteProtocol::Call& call) -> absl::Status {
      BASALT_RETURN_IF_ERROR(check(call.request().owner().member()));
      return CheckUserToken(guard.get(), call.request().user_token());
    });
  }
  void Drain() { writes_.Drain(); }

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const gateway::v1::GetRequest* request,
                                gateway::v1::GetResponse* response) override {
    const absl::Status wrong =
        MemberCheck(guard_, *context, "/basalt.gateway.v1.GatewayService/Get")(request->owner().member());
    return ServeUnary(loop_, limiter_, context, request, response,
                      [this, wrong](gateway::v1::GetRequest message, Done<gateway::v1::GetResponse> done) {
                        if (!wrong.ok()) return done(wrong);
                        handler_.Get(std::move(message), std::move(done));
                      });
  }

  grpc::ServerUnaryReactor* GetTopology(grpc::CallbackServerContext* context,
                                        const gateway::v1::GetTopologyRequest* request,
                                        gateway::v1::Topology* response) override {
    const bool is_user = guard_ != nullptr && !guard_->ClientOf(*context->auth_context()).ok();
    return ServeUnary(loop_, limiter_, context, request, response,
                      [this, is_user](gateway::v1::GetTopologyRequest message, Done<gateway::v1::Topology> done) {
                        if (!is_user) return handler_.GetTopology(std::move(message), std::move(done));
                        message.clear_slots_of();
                        handler_.GetTopology(
                            std::move(message),
                            [done = std::move(done)](absl::StatusOr<gateway::v1::Topology> topology) mutable {
                              if (topology.ok()) topology = ForUsers(*topology);
                              done(std::move(topology));
                            });
                      });
  }

 private:
  Loop& loop_;
  GatewayHandler& handler_;
  const std::shared_ptr<InflightLimiter> limiter_;
  const std::shared_ptr<const CallGuard> guard_;
  CallServer<WriteProtocol> writes_;
};

}  // namespace

std::unique_ptr<GrpcService> MakeGatewayService(Loop& loop, GatewayHandler& handler,
                                                std::shared_ptr<InflightLimiter> limiter,
                                                std::shared_ptr<const CallGuard> guard) {
  return WrapService(std::make_unique<Service>(loop, handler, std::move(limiter), std::move(guard)));
}

}  // namespace basalt::rpc
