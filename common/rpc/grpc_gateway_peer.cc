#include "common/rpc/grpc_gateway_peer.h"

#include <deque>
#include <utility>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/rpc/grpc_calls.h"

namespace basalt::rpc {
namespace {

using gateway::v1::AttachBatch;
using gateway::v1::AttachRequest;
using gateway::v1::GatewayService;

// One stream. gRPC's callbacks only post; the observer is on the loop. Keeps itself until gRPC is done with it.
class AttachReactor final : public grpc::ClientBidiReactor<AttachRequest, AttachBatch>,
                            public std::enable_shared_from_this<AttachReactor> {
 public:
  AttachReactor(CallSet& calls, Loop& loop, AttachObserver& observer)
      : calls_(calls), loop_(loop), observer_(&observer) {}

  void Begin(GatewayService::Stub& stub) {
    self_ = shared_from_this();
    calls_.Add(&context_);
    stub.async()->Attach(&context_, this);
    AddHold();  // Writes start outside gRPC's callbacks, until the stream is over.
    StartRead(&batch_);
    StartCall();
  }

  // ---- on the loop ----

  void Send(AttachRequest request) {
    MutexLock lock(mutex_);
    if (over_) return;
    requests_.push_back(std::move(request));
    if (requests_.size() == 1) StartWrite(&requests_.front());
  }

  void Drop() {
    observer_ = nullptr;
    context_.TryCancel();
  }

  bool had_batch() const { return had_batch_; }

  // ---- gRPC's threads ----

  void OnReadDone(bool ok) override {
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
    calls_.End(&context_, [&] {
      loop_.Post([it = std::move(self_), status = FromGrpc(status)] {
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
  std::shared_ptr<AttachReactor> self_;
  grpc::ClientContext context_;
  AttachObserver* observer_;  // On the loop; null once it hears nothing more.
  bool had_batch_ = false;    // On the loop.
  AttachBatch batch_;
  Mutex mutex_;
  std::deque<AttachRequest> requests_ BASALT_GUARDED_BY(mutex_);  // The first is being written.
  bool over_ BASALT_GUARDED_BY(mutex_) = false;
};

class Peer final : public GatewayPeer {
 public:
  Peer(Loop& loop, const std::vector<std::string>& addresses) : loop_(loop) {
    for (const std::string& address : addresses) stubs_.push_back(GatewayService::NewStub(MakeChannel(address)));
  }
  ~Peer() override { calls_.EndAll(); }

  std::unique_ptr<AttachStream> Attach(AttachObserver& observer) override {
    if (last_ != nullptr && !last_->had_batch()) current_ = (current_ + 1) % stubs_.size();
    last_ = std::make_shared<AttachReactor>(calls_, loop_, observer);
    last_->Begin(*stubs_[current_]);
    return std::make_unique<Stream>(last_);
  }

  void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
             Done<gateway::v1::WriteResponse> done) override {
    CallUnary(calls_, loop_, std::move(request), timeout, std::move(done),
              [&](auto... arguments) { stubs_[current_]->async()->Write(arguments...); });
  }

  void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) override {
    CallUnary(calls_, loop_, std::move(request), timeout, std::move(done),
              [&](auto... arguments) { stubs_[current_]->async()->Get(arguments...); });
  }

 private:
  class Stream final : public AttachStream {
   public:
    explicit Stream(std::shared_ptr<AttachReactor> reactor) : reactor_(std::move(reactor)) {}
    ~Stream() override { reactor_->Drop(); }
    void Send(AttachRequest request) override { reactor_->Send(std::move(request)); }

   private:
    const std::shared_ptr<AttachReactor> reactor_;
  };

  Loop& loop_;
  CallSet calls_;
  std::vector<std::unique_ptr<GatewayService::Stub>> stubs_;
  size_t current_ = 0;
  std::shared_ptr<AttachReactor> last_;
};

}  // namespace

std::unique_ptr<GatewayPeer> MakeGrpcGatewayPeer(Loop& loop, std::vector<std::string> addresses) {
  return std::make_unique<Peer>(loop, addresses);
}

}  // namespace basalt::rpc
