#pragma once

// The server's end of calls that travel in a stream (call_stream.h, which describes Protocol). Brings each call to a
// handler on its loop, and sends answers that are made together back together.
//
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/rpc/call_window.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/unary.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/peers.h"
#include "common/rpc/request_bounds.h"

namespace basalt::rpc {

// All streams of one server. Any thread. Loop and handler outlive the server.
template <typename Protocol>
class CallServer {
 public:
  using Batch = typename Protocol::Batch;
  using Call = typename Protocol::Call;
  using Answers = typename Protocol::Answers;
  using Answer = typename Protocol::Answer;

  CallServer(Loop& loop, typename Protocol::Handler& handler, std::shared_ptr<InflightLimiter> limiter)
      : loop_(loop), handler_(handler), limiter_(std::move(limiter)) {}

  // Refuses a call before a handler sees the call, on gRPC's threads.
  using Check = std::function<absl::Status(const Call&)>;

  // Serves one stream. `check` is applied to each call of the stream; without it every call passes.
  grpc::ServerBidiReactor<Batch, Answers>* Serve(Check check = nullptr) BASALT_EXCLUDES(mutex_) {
    const auto reactor = std::make_shared<Reactor>(*this, loop_, handler_, limiter_, std::move(check));
    MutexLock lock(mutex_);
    reactors_.insert(reactor.get());
    reactor->Begin();
    if (draining_) reactor->Drain();
    return reactor.get();
  }

  // Takes no more calls: a later call is answered as surely not handled. Each stream ends once all of its calls are
  // answered and the client has ended its side, which the server requests. May be repeated.
  void Drain() BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    draining_ = true;
    for (Reactor* reactor : reactors_) reactor->Drain();
  }

 private:
  // One stream. Keeps itself alive until gRPC is done with it. gRPC's callbacks post, and send the answers.
  class Reactor final : public grpc::ServerBidiReactor<Batch, Answers>, public std::enable_shared_from_this<Reactor> {
   public:
    Reactor(CallServer& server, Loop& loop, typename Protocol::Handler& handler,
            std::shared_ptr<InflightLimiter> limiter, Check check)
        : server_(server), loop_(loop), handler_(handler), limiter_(std::move(limiter)), check_(std::move(check)) {}

    void Begin() {
      self_ = this->shared_from_this();
      this->StartSendInitialMetadata();  // From here on the client may send.
      this->StartRead(&batch_);
      constructed_.Release();
    }

    void Drain() BASALT_EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      draining_ = true;
      SendNext();
    }

   private:
    // A handler's reference to a call. Answers the call when it is dropped unanswered.
    class End {
     public:
      End(std::shared_ptr<Reactor> reactor, uint64_t id, InflightLimiter::Place place)
          : reactor_(std::move(reactor)), id_(id), place_(std::move(place)) {}
      ~End() { Answer(MakeStatus(absl::StatusCode::kUnknown, "the server dropped the call")); }
      void Answer(absl::StatusOr<typename Protocol::Answer> answer) {
        if (const auto reactor = std::exchange(reactor_, nullptr)) reactor->Keep(id_, std::move(answer));
      }

     private:
      std::shared_ptr<Reactor> reactor_;
      const uint64_t id_;
      const InflightLimiter::Place place_;
    };
    // A call that the limiter has admitted.
    struct Taken {
      InflightLimiter::Place place;
      Call call;
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
        under_way_ += Protocol::CallsOf(batch_).size();
      }
      std::vector<Taken> taken;
      for (Call& call : Protocol::CallsOf(batch_)) {
        absl::Status wrong = CheckRequest(call);
        if (wrong.ok() && check_ != nullptr) wrong = check_(call);
        if (!wrong.ok()) {
          Keep(call.id(), wrong);
          continue;
        }
        const size_t bytes = call.ByteSizeLong();
        if (limiter_->TryAcquire(bytes)) {
          taken.push_back({InflightLimiter::Place(limiter_, bytes), std::move(call)});
        } else {
          Keep(call.id(), MakeStatus(absl::StatusCode::kResourceExhausted, kTooManyCalls));
        }
      }
      batch_ = Batch();
      loop_.Post([it = this->shared_from_this(), taken = std::move(taken)]() mutable { it->Handle(std::move(taken)); });
      MutexLock lock(mutex_);
      if (TooManyUnsent()) {
        paused_ = true;
      } else if (!finished_) {
        this->StartRead(&batch_);
      }
    }

    void OnWriteDone(bool ok) override {
      if (!ok) return EndOnTheLoop("the peer is gone");
      MutexLock lock(mutex_);
      sending_ = false;
      sent_ = Answers();
      SendNext();
      if (paused_ && !finished_ && !TooManyUnsent()) {
        paused_ = false;
        this->StartRead(&batch_);
      }
    }

    void OnCancel() override {
      constructed_.Acquire();
      EndOnTheLoop("the call was cancelled");
    }

    void OnDone() override {
      server_.Remove(this);
      self_.reset();
    }

    // ---- on the loop ----

    void Handle(std::vector<Taken> taken) BASALT_EXCLUDES(mutex_) {
      bool refuse;
      {
        MutexLock lock(mutex_);
        if (finished_) return;
        refuse = draining_;
      }
      for (Taken& next : taken) {
        const uint64_t id = next.call.id();
        if (refuse) {
          Keep(id, MakeStatus(absl::StatusCode::kUnavailable, "the server is stopping"));
          continue;
        }
        auto end = std::make_shared<End>(this->shared_from_this(), id, std::move(next.place));
        Protocol::Handle(handler_, std::move(next.call),
                         [end = std::move(end)](absl::StatusOr<Answer> answer) { end->Answer(std::move(answer)); });
      }
    }

    // ---- any thread ----

    // Runs after the calls read before were handled, and before the server that waits for this stream may be destroyed.
    void EndOnTheLoop(std::string_view why) {
      loop_.Post([it = this->shared_from_this(), why] {
        MutexLock lock(it->mutex_);
        it->EndNow(MakeStatus(absl::StatusCode::kCancelled, why));
      });
    }

    bool TooManyUnsent() const BASALT_REQUIRES(mutex_) {
      return answers_.size() > kMostUnsent || answers_bytes_ > kMostUnsentBytes;
    }

    void Keep(uint64_t id, absl::StatusOr<Answer> answer) BASALT_EXCLUDES(mutex_) {
      Answer kept;
      if (answer.ok()) {
        kept = *std::move(answer);
      } else {
        const grpc::Status status = ToGrpc(answer.status());
        kept.mutable_not_handled()->set_code(status.error_code());
        kept.mutable_not_handled()->set_message(status.error_message());
      }
      kept.set_id(id);
      {
        MutexLock lock(mutex_);
        --under_way_;
        if (finished_) return;
        answers_bytes_ += kept.ByteSizeLong();
        answers_.push_back(std::move(kept));
        if (std::exchange(flush_posted_, true)) return;
      }
      // Flushes after the tasks that the loop has by now, which may bring answers, too.
      loop_.Post([it = this->shared_from_this()] {
        MutexLock lock(it->mutex_);
        it->flush_posted_ = false;
        it->gathered_ = it->answers_.size();
        it->SendNext();
      });
    }

    void SendNext() BASALT_REQUIRES(mutex_) {
      if (sending_ || finished_) return;
      const bool announce = draining_ && !std::exchange(drain_sent_, true);
      if (gathered_ == 0 && !announce) {
        if (answers_.empty() && read_all_ && under_way_ == 0) EndNow(absl::OkStatus());
        return;
      }
      sent_.set_ending(announce);
      size_t calls = 0;
      size_t bytes = 0;
      while (gathered_ > 0 && calls < Protocol::kBounds.message_calls && bytes < Protocol::kBounds.message_bytes) {
        ++calls;
        bytes += answers_.front().ByteSizeLong();
        *sent_.add_answers() = std::move(answers_.front());
        answers_.pop_front();
        --gathered_;
      }
      answers_bytes_ -= bytes;
      sending_ = true;
      this->StartWrite(&sent_);
    }

    // The caller keeps this object alive: gRPC may be done with it at any moment after Finish.
    void EndNow(const absl::Status& status) BASALT_REQUIRES(mutex_) {
      if (std::exchange(finished_, true)) return;
      answers_.clear();
      gathered_ = 0;
      this->Finish(ToGrpc(status));
    }

    // With more unsent answers than this, the server stops reading from the peer.
    static constexpr size_t kMostUnsent = 1000;
    static constexpr size_t kMostUnsentBytes = 16 << 20;

    CallServer& server_;
    Loop& loop_;
    typename Protocol::Handler& handler_;
    const std::shared_ptr<InflightLimiter> limiter_;
    const Check check_;
    std::shared_ptr<Reactor> self_;
    Batch batch_;  // Belongs to gRPC while a read is under way.
    ConstructionFence constructed_;
    Mutex mutex_;
    std::deque<Answer> answers_ BASALT_GUARDED_BY(mutex_);
    size_t gathered_ BASALT_GUARDED_BY(mutex_) = 0;  // How many of the first `answers_` may be sent.
    size_t answers_bytes_ BASALT_GUARDED_BY(mutex_) = 0;
    Answers sent_ BASALT_GUARDED_BY(mutex_);
    int64_t under_way_ BASALT_GUARDED_BY(mutex_) = 0;  // Calls that were read and are not answered.
    bool flush_posted_ BASALT_GUARDED_BY(mutex_) = false;
    bool sending_ BASALT_GUARDED_BY(mutex_) = false;
    bool paused_ BASALT_GUARDED_BY(mutex_) = false;  // No read is under way.
    bool read_all_ BASALT_GUARDED_BY(mutex_) = false;
    bool draining_ BASALT_GUARDED_BY(mutex_) = false;
    bool drain_sent_ BASALT_GUARDED_BY(mutex_) = false;
    bool finished_ BASALT_GUARDED_BY(mutex_) = false;
  };

  void Remove(Reactor* reactor) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    reactors_.erase(reactor);
  }

  Loop& loop_;
  typename Protocol::Handler& handler_;
  const std::shared_ptr<InflightLimiter> limiter_;
  Mutex mutex_;
  std::set<Reactor*> reactors_ BASALT_GUARDED_BY(mutex_);
  bool draining_ BASALT_GUARDED_BY(mutex_) = false;
};

}  // namespace basalt::rpc
