#include "common/rpc/grpc/gateway/serve_writes.h"

#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/rpc/grpc/gateway/write_limits.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/unary.h"

namespace basalt::rpc {

using gateway::v1::WriteAnswers;
using gateway::v1::WriteBatch;
using gateway::v1::WriteResponse;

// One stream. Keeps itself until gRPC is done with it. gRPC's callbacks post, and send what has been answered.
class WriteReactor final : public grpc::ServerBidiReactor<WriteBatch, WriteAnswers>,
                           public std::enable_shared_from_this<WriteReactor> {
 public:
  WriteReactor(WriteStreams& streams, Loop& loop, GatewayHandler& handler)
      : streams_(streams), loop_(loop), handler_(handler) {}

  void Begin() {
    self_ = shared_from_this();
    StartSendInitialMetadata();  // From here on the other side may send.
    StartRead(&batch_);
    constructed_.Tell();
  }

  void Drain() {
    MutexLock lock(mutex_);
    draining_ = true;
    SendNext();
  }

 private:
  // What the handler holds of a write. Answers it when it is dropped.
  class End {
   public:
    End(std::shared_ptr<WriteReactor> reactor, uint64_t id, InflightLimiter::Place place)
        : reactor_(std::move(reactor)), id_(id), place_(std::move(place)) {}
    ~End() { Answer(MakeStatus(absl::StatusCode::kUnknown, "the server dropped the write")); }
    void Answer(absl::StatusOr<WriteResponse> answer) {
      if (const auto reactor = std::exchange(reactor_, nullptr)) reactor->Keep(id_, std::move(answer));
    }

   private:
    std::shared_ptr<WriteReactor> reactor_;
    const uint64_t id_;
    const InflightLimiter::Place place_;
  };
  // A write that there was room for.
  struct Taken {
    uint64_t id;
    InflightLimiter::Place place;
    gateway::v1::WriteRequest request;
  };

  // ---- gRPC's threads ----

  void OnReadDone(bool ok) override {
    if (!ok) {
      MutexLock lock(mutex_);
      read_all_ = true;
      return SendNext();
    }
    {
      MutexLock lock(mutex_);
      under_way_ += batch_.writes_size();
    }
    std::vector<Taken> taken;
    for (WriteBatch::Write& write : *batch_.mutable_writes()) {
      const size_t bytes = write.request().ByteSizeLong();
      if (InflightLimiter::Get().TryAcquire(bytes)) {
        taken.push_back({write.id(), InflightLimiter::Place(bytes), std::move(*write.mutable_request())});
      } else {
        Keep(write.id(), MakeStatus(absl::StatusCode::kResourceExhausted, kTooManyCalls));
      }
    }
    batch_ = WriteBatch();
    loop_.Post([it = shared_from_this(), taken = std::move(taken)]() mutable { it->Handle(std::move(taken)); });
    MutexLock lock(mutex_);
    if (TooManyUnsent()) {
      paused_ = true;
    } else if (!finished_) {
      StartRead(&batch_);
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return EndOnTheLoop("the peer is gone");
    MutexLock lock(mutex_);
    sending_ = false;
    sent_ = WriteAnswers();
    SendNext();
    if (paused_ && !finished_ && !TooManyUnsent()) {
      paused_ = false;
      StartRead(&batch_);
    }
  }

  void OnCancel() override {
    constructed_.See();
    EndOnTheLoop("the call was cancelled");
  }

  void OnDone() override {
    streams_.Remove(this);
    self_.reset();
  }

  // ---- on the loop ----

  void Handle(std::vector<Taken> taken) {
    bool refuse;
    {
      MutexLock lock(mutex_);
      if (finished_) return;
      refuse = draining_;
    }
    for (Taken& write : taken) {
      if (refuse) {
        Keep(write.id, MakeStatus(absl::StatusCode::kUnavailable, "the server is stopping"));
        continue;
      }
      auto end = std::make_shared<End>(shared_from_this(), write.id, std::move(write.place));
      handler_.Write(std::move(write.request),
                     [end = std::move(end)](absl::StatusOr<WriteResponse> answer) { end->Answer(std::move(answer)); });
    }
  }

  // ---- any thread ----

  // After what has been read before was handled, and before the server that waits for this may go.
  void EndOnTheLoop(std::string_view why) {
    loop_.Post([it = shared_from_this(), why] {
      MutexLock lock(it->mutex_);
      it->EndNow(MakeStatus(absl::StatusCode::kCancelled, why));
    });
  }

  bool TooManyUnsent() const BASALT_REQUIRES(mutex_) {
    return answers_.size() > kMostUnsent || answers_bytes_ > kMostUnsentBytes;
  }

  void Keep(uint64_t id, absl::StatusOr<WriteResponse> answer) {
    WriteAnswers::Answer kept;
    kept.set_id(id);
    if (answer.ok()) {
      *kept.mutable_response() = *std::move(answer);
    } else {
      const grpc::Status status = ToGrpc(answer.status());
      kept.mutable_not_handled()->set_code(status.error_code());
      kept.mutable_not_handled()->set_message(status.error_message());
    }
    {
      MutexLock lock(mutex_);
      --under_way_;
      if (finished_) return;
      answers_bytes_ += kept.ByteSizeLong();
      answers_.push_back(std::move(kept));
      // The end of a message takes what there is by then. Else after what else the loop has to do by now.
      if (sending_ || std::exchange(flush_posted_, true)) return;
    }
    loop_.Post([it = shared_from_this()] {
      MutexLock lock(it->mutex_);
      it->flush_posted_ = false;
      it->SendNext();
    });
  }

  void SendNext() BASALT_REQUIRES(mutex_) {
    if (sending_ || finished_) return;
    const bool tell = draining_ && !std::exchange(told_, true);
    if (answers_.empty() && !tell) {
      if (read_all_ && under_way_ == 0) EndNow(absl::OkStatus());
      return;
    }
    sent_.set_ending(tell);
    size_t bytes = 0;
    while (!answers_.empty() && bytes < kMaxBatchBytes) {
      bytes += answers_.front().ByteSizeLong();
      *sent_.add_answers() = std::move(answers_.front());
      answers_.pop_front();
    }
    answers_bytes_ -= bytes;
    sending_ = true;
    StartWrite(&sent_);
  }

  // Whoever calls keeps this: gRPC may be done with it at any moment after Finish.
  void EndNow(const absl::Status& status) BASALT_REQUIRES(mutex_) {
    if (std::exchange(finished_, true)) return;
    answers_.clear();
    Finish(ToGrpc(status));
  }

  // So many answers that the peer does not take, and it is not listened to any more.
  static constexpr size_t kMostUnsent = 1000;
  static constexpr size_t kMostUnsentBytes = 16 << 20;

  WriteStreams& streams_;
  Loop& loop_;
  GatewayHandler& handler_;
  std::shared_ptr<WriteReactor> self_;
  WriteBatch batch_;  // gRPC's while a read is under way.
  ConstructionFence constructed_;
  Mutex mutex_;
  std::deque<WriteAnswers::Answer> answers_ BASALT_GUARDED_BY(mutex_);
  size_t answers_bytes_ BASALT_GUARDED_BY(mutex_) = 0;
  WriteAnswers sent_ BASALT_GUARDED_BY(mutex_);
  int64_t under_way_ BASALT_GUARDED_BY(mutex_) = 0;  // Read and not answered.
  bool flush_posted_ BASALT_GUARDED_BY(mutex_) = false;
  bool sending_ BASALT_GUARDED_BY(mutex_) = false;
  bool paused_ BASALT_GUARDED_BY(mutex_) = false;  // No read is under way.
  bool read_all_ BASALT_GUARDED_BY(mutex_) = false;
  bool draining_ BASALT_GUARDED_BY(mutex_) = false;
  bool told_ BASALT_GUARDED_BY(mutex_) = false;  // That it is.
  bool finished_ BASALT_GUARDED_BY(mutex_) = false;
};

grpc::ServerBidiReactor<WriteBatch, WriteAnswers>* WriteStreams::Serve() {
  const auto reactor = std::make_shared<WriteReactor>(*this, loop_, handler_);
  MutexLock lock(mutex_);
  reactors_.insert(reactor.get());
  reactor->Begin();
  if (draining_) reactor->Drain();
  return reactor.get();
}

void WriteStreams::Drain() {
  MutexLock lock(mutex_);
  draining_ = true;
  for (WriteReactor* reactor : reactors_) reactor->Drain();
}

void WriteStreams::Remove(WriteReactor* reactor) {
  MutexLock lock(mutex_);
  reactors_.erase(reactor);
}

}  // namespace basalt::rpc
