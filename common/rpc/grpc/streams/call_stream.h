#pragma once

// The client's end of calls that travel in a stream. Calls made in one turn of the loop go out together, many to a
// message. Each call is answered by itself, and found again by its id. A Protocol describes the stream:
//
//   struct Protocol {
//     using Service, Batch, Call, Answers, Answer, Handler;  // Generated, but for Handler, which is the server's.
//     static constexpr CallBounds kBounds;                   // The limits of one stream.
//     static void Start(Service::Stub&, grpc::ClientContext*, grpc::ClientBidiReactor<Batch, Answers>*);
//     static google::protobuf::RepeatedPtrField<Call>& CallsOf(Batch&);
//     static void Age(Call&, absl::Duration waited);         // Called before the call is sent.
//     static void Handle(Handler&, Call, Done<Answer>);      // Called at the server, on its loop.
//   };
//
// A Call has an `id`; an Answer has one, too, and a `not_handled` for a status; Answers have `answers` and `ending`.
//
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/rpc/call_window.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/construction_fence.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Keeps itself alive until gRPC is done with it. Every call is answered once, also when the stream ends, as
// common/rpc/peers.h describes. Used on `loop`, but for Close (any thread) and gRPC's callbacks, which only post and
// send waiting calls. Loop and calls outlive it.
template <typename Protocol>
class CallStream final : public grpc::ClientBidiReactor<typename Protocol::Batch, typename Protocol::Answers>,
                         public std::enable_shared_from_this<CallStream<Protocol>> {
 public:
  using Call = typename Protocol::Call;
  using Answer = typename Protocol::Answer;

  CallStream(CallSet& calls, Loop& loop) : calls_(calls), loop_(loop) {}

  // Called once. `stub` need not outlive this call.
  void Begin(typename Protocol::Service::Stub& stub) {
    self_ = this->shared_from_this();
    calls_.Add(&context_);
    constructed_.Release();
    Protocol::Start(stub, &context_, this);
    this->AddHold();  // Messages start outside gRPC's callbacks, until the stream is over.
    this->StartRead(&answers_);
    this->StartCall();
  }

  // Requires: !ending(), no Close yet. RESOURCE_EXHAUSTED: the open calls reach a limit of Protocol::kBounds.
  void Ask(Call call, absl::Duration timeout, Done<Answer> done) {
    const uint64_t id = ++last_id_;
    call.set_id(id);
    const absl::Time now = loop_.Now();
    if (const absl::Status kept = Keep(id, now, std::move(call)); !kept.ok()) {
      return loop_.Post([done = std::move(done), kept]() mutable { done(kept); });
    }
    const absl::Time deadline = now + timeout;
    waiting_.emplace(id, Waiting{std::move(done), deadline});
    deadlines_.emplace(deadline, id);
    SetTimer();
    // Flushes after the tasks that have been posted by now, which may bring calls, too.
    if (std::exchange(flush_posted_, true)) return;
    loop_.Post([it = this->shared_from_this()] { it->Flush(); });
  }

  // No more calls follow. The stream ends when every call is answered. May be repeated.
  void Close() BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    closing_ = true;
    SendNext();
  }

  // Returns whether the stream is over, or the server takes no more calls.
  bool ending() const { return ending_; }
  // Requires: ending().
  absl::Time ended_at() const { return ended_at_; }
  bool was_of_use() const { return was_of_use_; }  // True once a call was answered.

 private:
  struct Waiting {
    Done<Answer> done;
    absl::Time deadline;
  };
  struct Queued {
    absl::Time since;
    Call call;
  };

  // ---- on the loop ----

  absl::Status Keep(uint64_t id, absl::Time now, Call call) BASALT_EXCLUDES(mutex_) {
    const size_t bytes = call.ByteSizeLong();
    MutexLock lock(mutex_);
    return window_.Add(id, bytes, Queued{now, std::move(call)});
  }

  void Flush() BASALT_EXCLUDES(mutex_) {
    flush_posted_ = false;
    MutexLock lock(mutex_);
    window_.EndTurn();
    SendNext();
  }

  void TakeAnswers(typename Protocol::Answers answers) BASALT_EXCLUDES(mutex_) {
    if (answers.ending()) {
      SetEnding();
      AnswerUnsent("the server takes no more calls");
    }
    {
      MutexLock lock(mutex_);
      for (const Answer& answer : answers.answers()) window_.Answered(answer.id());
      SendNext();
    }
    for (Answer& answer : *answers.mutable_answers()) {
      was_of_use_ = true;
      const uint64_t id = answer.id();
      if (!answer.has_not_handled()) {
        End(id, std::move(answer));
        continue;
      }
      const auto code = static_cast<absl::StatusCode>(answer.not_handled().code());
      End(id, MakeStatus(code == absl::StatusCode::kOk ? absl::StatusCode::kUnknown : code,
                         answer.not_handled().message()));
    }
  }

  void End(uint64_t id, absl::StatusOr<Answer> answer) {
    const auto it = waiting_.find(id);
    if (it == waiting_.end()) return;  // The deadline has passed before.
    Done<Answer> done = std::move(it->second.done);
    deadlines_.erase({it->second.deadline, id});
    waiting_.erase(it);
    done(std::move(answer));
  }

  // Answers UNAVAILABLE to the calls that were not sent, and will not be.
  void AnswerUnsent(std::string_view why) BASALT_EXCLUDES(mutex_) {
    std::vector<uint64_t> unsent;
    {
      MutexLock lock(mutex_);
      unsent = window_.TakeWaiting();
    }
    for (const uint64_t id : unsent) End(id, MakeStatus(absl::StatusCode::kUnavailable, why));
  }

  void SetTimer() {
    if (deadlines_.empty() || timer_at_ <= deadlines_.begin()->first) return;
    loop_.Cancel(timer_);
    timer_at_ = deadlines_.begin()->first;
    timer_ = loop_.RunAt(timer_at_, [it = this->shared_from_this()] { it->Expire(); });
  }

  void Expire() BASALT_EXCLUDES(mutex_) {
    timer_ = kNoTimer;
    timer_at_ = absl::InfiniteFuture();
    const absl::Time now = loop_.Now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const uint64_t id = deadlines_.begin()->second;
      if (Unqueue(id)) {
        End(id, MakeStatus(absl::StatusCode::kUnavailable, "the call could not be sent in time"));
      } else {
        End(id, MakeStatus(absl::StatusCode::kDeadlineExceeded, "no answer in time"));
      }
    }
    SetTimer();
  }

  // Takes the call back. Returns false if the call may be under way to the server.
  bool Unqueue(uint64_t id) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!window_.Remove(id)) return false;
    SendNext();  // The end of the stream may have waited only for this call.
    return true;
  }

  void SetEnding() {
    if (!std::exchange(ending_, true)) ended_at_ = loop_.Now();
  }

  void EndAll(const absl::Status& status) {
    SetEnding();
    loop_.Cancel(timer_);
    const std::string_view why = status.ok() ? std::string_view("the stream ended") : ToStd(status.message());
    AnswerUnsent(why);
    deadlines_.clear();
    for (auto& [id, waiting] : std::exchange(waiting_, {})) {
      waiting.done(MakeStatus(absl::StatusCode::kUnknown, why));
    }
  }

  // ---- gRPC's threads ----

  void OnReadInitialMetadataDone(bool ok) override {
    constructed_.Acquire();
    MutexLock lock(mutex_);
    open_ = ok;
    SendNext();
  }

  void OnReadDone(bool ok) override {
    constructed_.Acquire();
    if (!ok) {
      {
        MutexLock lock(mutex_);
        over_ = true;
      }
      // Ends the call if only a message could not be read. In other cases the call is over already.
      context_.TryCancel();
      this->RemoveHold();
      return;
    }
    if (answers_.ending()) {
      MutexLock lock(mutex_);
      refused_ = true;
      SendNext();
    }
    loop_.Post([it = this->shared_from_this(), answers = std::move(answers_)]() mutable {
      it->TakeAnswers(std::move(answers));
    });
    answers_.Clear();
    this->StartRead(&answers_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    sending_ = false;
    batch_ = typename Protocol::Batch();
    if (ok) {
      SendNext();
    } else {
      over_ = true;
    }
  }

  void OnDone(const grpc::Status& status) override {
    constructed_.Acquire();
    calls_.End(&context_,
               [&] { loop_.Post([it = std::move(self_), status = FromGrpc(status)] { it->EndAll(status); }); });
  }

  // ---- any thread ----

  void SendNext() BASALT_REQUIRES(mutex_) {
    if (!open_ || over_ || sending_) return;
    if (refused_ || (closing_ && window_.AllSent())) {
      over_ = true;
      return this->StartWritesDone();
    }
    std::vector<Queued> message = window_.NextMessage();
    if (message.empty()) return;
    const absl::Time now = loop_.Now();
    for (Queued& queued : message) {
      Protocol::Age(queued.call, now - queued.since);
      *Protocol::CallsOf(batch_).Add() = std::move(queued.call);
    }
    sending_ = true;
    this->StartWrite(&batch_);
  }

  CallSet& calls_;
  Loop& loop_;
  std::shared_ptr<CallStream> self_;
  grpc::ClientContext context_;
  ConstructionFence constructed_;

  // Used on the loop: the members up to `timer_at_`.
  std::map<uint64_t, Waiting> waiting_;
  std::set<std::pair<absl::Time, uint64_t>> deadlines_;  // The deadlines of `waiting_`.
  uint64_t last_id_ = 0;
  bool flush_posted_ = false;
  bool ending_ = false;
  bool was_of_use_ = false;
  absl::Time ended_at_;
  TimerId timer_ = kNoTimer;
  absl::Time timer_at_ = absl::InfiniteFuture();

  typename Protocol::Answers answers_;  // Belongs to gRPC while a read is under way.

  Mutex mutex_;
  CallWindow<Queued> window_ BASALT_GUARDED_BY(mutex_) = CallWindow<Queued>(Protocol::kBounds);
  typename Protocol::Batch batch_ BASALT_GUARDED_BY(mutex_);
  // The server has accepted the stream: a call sent from now on may be handled even if no answer arrives.
  bool open_ BASALT_GUARDED_BY(mutex_) = false;
  bool sending_ BASALT_GUARDED_BY(mutex_) = false;
  bool closing_ BASALT_GUARDED_BY(mutex_) = false;
  bool refused_ BASALT_GUARDED_BY(mutex_) = false;  // The server takes no more calls.
  bool over_ BASALT_GUARDED_BY(mutex_) = false;     // No more messages are to be sent.
};

}  // namespace basalt::rpc
