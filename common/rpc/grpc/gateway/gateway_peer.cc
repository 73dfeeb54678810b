#include "common/rpc/grpc/gateway/gateway_peer.h"

#include <deque>
#include <utility>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "basalt/gateway/v1/user.grpc.pb.h"
#include "common/discovery/gateway_ring.h"
#include "common/exec/run_on.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/construction_fence.h"
#include "common/rpc/grpc/gateway/write_protocol.h"
#include "common/rpc/grpc/streams/call_stream.h"
#include "common/rpc/leader_hint.h"

namespace basalt::rpc {
namespace {

using gateway::v1::AttachBatch;
using gateway::v1::AttachRequest;
using gateway::v1::GatewayService;
using WriteStream = CallStream<WriteProtocol>;

std::string LeaderIn(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(kLeaderKey);
  return found == metadata.end() ? std::string() : std::string(found->second.data(), found->second.size());
}

// One stream. gRPC's callbacks only post; the observer is used on the loop. Keeps itself alive until gRPC is done with
// it.
class AttachClientReactor final : public grpc::ClientBidiReactor<AttachRequest, AttachBatch>,
                                  public std::enable_shared_from_this<AttachClientReactor> {
 public:
  AttachClientReactor(CallSet& calls, Loop& loop, AttachObserver& observer)
      : calls_(calls), loop_(loop), observer_(&observer) {}

  // ---- on the loop ----

  // `stub` outlives the stream.
  void Begin(GatewayService::Stub& stub) {
    if (observer_ == nullptr) return;
    self_ = shared_from_this();
    calls_.Add(&context_);
    constructed_.Release();
    stub.async()->Attach(&context_, this);
    AddHold();  // Writes start outside gRPC's callbacks, until the stream is over.
    StartRead(&batch_);
    StartCall();
    MutexLock lock(mutex_);
    begun_ = true;
    if (!over_ && !requests_.empty()) StartWrite(&requests_.front());
  }

  // Called instead of Begin if no gateway can be called.
  void Refuse(const absl::Status& status) {
    AttachObserver* observer = std::exchange(observer_, nullptr);
    if (observer != nullptr) observer->OnClosed(status);
  }

  void Send(AttachRequest request) {
    MutexLock lock(mutex_);
    if (over_) return;
    requests_.push_back(std::move(request));
    if (begun_ && requests_.size() == 1) StartWrite(&requests_.front());
  }

  void Drop() {
    observer_ = nullptr;
    context_.TryCancel();
  }

  bool had_batch() const { return had_batch_; }
  // The leader, as the gateway that refused the stream knows it.
  const std::string& leader() const { return leader_; }

  // ---- gRPC's threads ----

  void OnReadDone(bool ok) override {
    constructed_.Acquire();
    if (!ok) return SetOver();
    loop_.Post([it = shared_from_this(), batch = std::move(batch_)]() mutable {
      it->had_batch_ = true;
      if (it->observer_ != nullptr) it->observer_->OnBatch(std::move(batch));
    });
    batch_.Clear();
    StartRead(&batch_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    requests_.pop_front();
    if (ok && !over_ && !requests_.empty()) StartWrite(&requests_.front());
  }

  void OnDone(const grpc::Status& status) override {
    constructed_.Acquire();
    calls_.End(&context_, [&] {
      loop_.Post([it = std::move(self_), status = FromGrpc(status), leader = LeaderIn(context_)] {
        it->leader_ = leader;
        AttachObserver* observer = std::exchange(it->observer_, nullptr);
        if (observer != nullptr) observer->OnClosed(status);
      });
    });
  }

 private:
  void SetOver() {
    {
      MutexLock lock(mutex_);
      over_ = true;
    }
    RemoveHold();
  }

  CallSet& calls_;
  Loop& loop_;
  std::shared_ptr<AttachClientReactor> self_;
  grpc::ClientContext context_;
  AttachObserver* observer_;  // Used on the loop. Null once the observer gets no more calls.
  bool had_batch_ = false;    // Used on the loop.
  std::string leader_;        // Used on the loop.
  AttachBatch batch_;
  ConstructionFence constructed_;
  Mutex mutex_;
  std::deque<AttachRequest> requests_ BASALT_GUARDED_BY(mutex_);  // The first is being written.
  bool begun_ BASALT_GUARDED_BY(mutex_) = false;
  bool over_ BASALT_GUARDED_BY(mutex_) = false;
};

class Peer final : public GatewayPeer {
 public:
  Peer(Loop& loop, std::vector<discovery::GatewayName> names, std::unique_ptr<discovery::Resolver> resolver,
       std::shared_ptr<const Credentials> credentials)
      : loop_(loop),
        credentials_(std::move(credentials)),
        ring_(std::make_unique<discovery::GatewayRing>(loop, std::move(names), std::move(resolver))) {}
  ~Peer() override {
    const auto end = [this] {
      *alive_ = false;
      ring_.reset();
    };
    if (loop_.IsCurrent()) {
      end();
    } else {
      RunOn(loop_, end);
    }
    calls_.EndAll();
  }

  std::unique_ptr<AttachStream> Attach(AttachObserver& observer) override {
    if (last_ != nullptr && !last_->had_batch()) ring_->Failed(last_->leader());
    last_ = std::make_shared<AttachClientReactor>(calls_, loop_, observer);
    if (ring_->Current().has_value()) {
      last_->Begin(Current());
    } else {
      ring_->Await([this, reactor = last_](const absl::Status& status) {
        if (status.ok()) return reactor->Begin(Current());
        reactor->Refuse(status);
      });
    }
    return std::make_unique<Stream>(last_);
  }

  void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
             Done<gateway::v1::WriteResponse> done) override {
    if (!ring_->Current().has_value()) return Refuse(std::move(done));
    gateway::v1::WriteBatch::Write write;
    *write.mutable_request() = std::move(request);
    Writes().Ask(std::move(write), timeout,
                 [done = std::move(done)](absl::StatusOr<gateway::v1::WriteAnswers::Answer> answer) mutable {
                   if (!answer.ok()) return done(answer.status());
                   if (!answer->has_response()) return done(absl::UnknownError("the answer has no response"));
                   done(std::move(*answer->mutable_response()));
                 });
  }

  void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) override {
    if (!ring_->Current().has_value()) return Refuse(std::move(done));
    CallUnary(calls_, loop_, std::move(request), timeout, std::move(done),
              [stub = &Current()](auto... arguments) { stub->async()->Get(arguments...); });
  }

  void ReviewAccess(gateway::v1::ReviewAccessRequest request, absl::Duration timeout,
                    Done<gateway::v1::ReviewAccessResponse> done) override {
    if (!ring_->Current().has_value()) return Refuse(std::move(done));
    Current();
    CallUnary(calls_, loop_, std::move(request), timeout, std::move(done),
              [stub = users_stub_.get()](auto... arguments) { stub->async()->ReviewAccess(arguments...); });
  }

 private:
  class Stream final : public AttachStream {
   public:
    explicit Stream(std::shared_ptr<AttachClientReactor> reactor) : reactor_(std::move(reactor)) {}
    ~Stream() override { reactor_->Drop(); }
    void Send(AttachRequest request) override { reactor_->Send(std::move(request)); }

   private:
    const std::shared_ptr<AttachClientReactor> reactor_;
  };

  // Requires: ring_->Current(). Another address means another stub; calls under way on the old stub hold its channel.
  GatewayService::Stub& Current() {
    if (const std::string address = *ring_->Current(); stub_ == nullptr || address != address_) {
      CloseWrites();
      const auto channel = MakeChannel(address, identity::Only({identity::Role::kGateway}), credentials_);
      stub_ = GatewayService::NewStub(channel);
      users_stub_ = gateway::v1::UserService::NewStub(channel);
      address_ = address;
    }
    return *stub_;
  }

  // The stream of writes to the gateway of the last Attach.
  WriteStream& Writes() {
    GatewayService::Stub& stub = Current();
    if (writes_ != nullptr && writes_->ending()) CloseWrites();
    if (writes_ == nullptr) {
      writes_ = std::make_shared<WriteStream>(calls_, loop_);
      writes_->Begin(stub);
    }
    return *writes_;
  }
  void CloseWrites() {
    if (const auto writes = std::exchange(writes_, nullptr)) writes->Close();
  }

  template <typename T>
  void Refuse(Done<T> done) {
    loop_.Post([alive = alive_, done = std::move(done)]() mutable {
      if (*alive) done(absl::UnavailableError("no address of a gateway is known yet"));
    });
  }

  Loop& loop_;
  const std::shared_ptr<const Credentials> credentials_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  CallSet calls_;
  std::unique_ptr<discovery::GatewayRing> ring_;
  std::unique_ptr<GatewayService::Stub> stub_;
  std::unique_ptr<gateway::v1::UserService::Stub> users_stub_;
  std::string address_;  // The address of the stubs.
  std::shared_ptr<WriteStream> writes_;
  std::shared_ptr<AttachClientReactor> last_;
};

}  // namespace

std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, std::vector<discovery::GatewayName> names,
                                                 std::unique_ptr<discovery::Resolver> resolver,
                                                 std::shared_ptr<const Credentials> credentials) {
  return std::make_unique<Peer>(loop, std::move(names), std::move(resolver), std::move(credentials));
}

std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, const std::vector<std::string>& addresses) {
  std::vector<discovery::GatewayName> names;
  for (const std::string& address : addresses) {
    names.push_back({address, ParseHostPort(address).value_or(HostPort())});
  }
  return MakeGrpcGatewayPeer(loop, std::move(names), nullptr);
}

}  // namespace basalt::rpc
