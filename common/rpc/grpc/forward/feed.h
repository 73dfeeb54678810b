#pragma once

// Feeds over gRPC: served as a stream, and read from a stream.
//
// Heavy (gRPC): only in .cc files of api/ and common/rpc.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/rpc/feed.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/construction_fence.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/unary.h"

namespace basalt::rpc {

// Ends a stream whose request is refused.
template <typename Message>
class RefusedFeed final : public grpc::ServerWriteReactor<Message> {
 public:
  explicit RefusedFeed(const absl::Status& why) { this->Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

// One stream that sends the messages of a feed, one at a time. Lives on the loop: gRPC's reactions and the feed's
// notices are posted there.
template <typename Message>
class FeedReactor final : public grpc::ServerWriteReactor<Message> {
 public:
  static constexpr absl::Duration kTick = absl::Milliseconds(200);
  // Makes the feed, on the loop.
  using Open = std::function<std::unique_ptr<Feed<Message>>(std::function<void()> notify)>;

  FeedReactor(Loop& loop, Open open) : loop_(loop), self_(std::make_shared<FeedReactor*>(this)) {
    loop_.Post([self = self_, open = std::move(open)] {
      if (*self != nullptr) (*self)->Start(open);
    });
    constructed_.Release();
  }

  void OnWriteDone(bool ok) override {
    loop_.Post([self = self_, ok] {
      FeedReactor& reactor = **self;
      reactor.writing_ = false;
      if (ok) {
        reactor.Next();
      } else {
        reactor.End(grpc::Status::CANCELLED);
      }
    });
  }
  void OnCancel() override {
    constructed_.Acquire();
    loop_.Post([self = self_] {
      FeedReactor* reactor = *self;
      if (reactor == nullptr) return;
      reactor->cancelled_ = true;
      if (!reactor->writing_) reactor->End(grpc::Status::CANCELLED);
    });
  }
  void OnDone() override {
    loop_.Post([self = self_] {
      FeedReactor* reactor = *self;
      *self = nullptr;
      delete reactor;
    });
  }

 private:
  void Start(const Open& open) {
    if (finished_) return;
    feed_ = open([&loop = loop_, self = self_] {
      loop.Post([self] {
        if (*self != nullptr) (*self)->Next();
      });
    });
    RunTicks();
    Next();
  }
  void RunTicks() {
    loop_.RunAfter(kTick, [self = self_] {
      FeedReactor* reactor = *self;
      if (reactor == nullptr || reactor->finished_) return;
      reactor->feed_->Tick();
      reactor->RunTicks();
    });
  }
  void Next() {
    if (finished_ || writing_ || feed_ == nullptr) return;
    if (cancelled_) return End(grpc::Status::CANCELLED);
    message_.Clear();
    if (!feed_->Take(&message_)) {
      if (const std::optional<absl::Status> end = feed_->End()) End(ToGrpc(*end));
      return;
    }
    writing_ = true;
    this->StartWrite(&message_);
  }
  void End(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    // Destroyed now, not in OnDone: a server that has drained its calls may end, and the source of this feed with it,
    // before OnDone's task runs.
    feed_.reset();
    this->Finish(status);
  }

  Loop& loop_;
  const std::shared_ptr<FeedReactor*> self_;  // Null once the reactor is destroyed. Only touched on the loop.
  std::unique_ptr<Feed<Message>> feed_;
  Message message_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  ConstructionFence constructed_;
};

// One stream that is read one message ahead of Take. gRPC's callbacks only post. Destroying the feed ends the stream.
template <typename Request, typename Message>
class StreamFeed final : public Feed<Message> {
 public:
  StreamFeed(Loop& loop, Request request, std::function<void()> notify)
      : reader_(std::make_shared<Reader>(loop, std::move(request), std::move(notify))) {}
  ~StreamFeed() override { reader_->Drop(); }

  // `start(context, request, reactor)` starts the call, for Forwarder::Begin.
  template <typename Start>
  void Begin(CallSet& calls, const std::string& self, Start start) {
    reader_->Begin(calls, self, std::move(start));
  }

  bool Take(Message* message) override { return reader_->Take(message); }
  std::optional<absl::Status> End() override { return reader_->end(); }

 private:
  class Reader final : public grpc::ClientReadReactor<Message>, public std::enable_shared_from_this<Reader> {
   public:
    Reader(Loop& loop, Request request, std::function<void()> notify)
        : loop_(loop), request_(std::move(request)), notify_(std::move(notify)) {}

    template <typename Start>
    void Begin(CallSet& calls, const std::string& self, Start start) {
      calls_ = &calls;
      self_ = this->shared_from_this();
      calls.Add(&context_);
      context_.AddMetadata(kForwardedKey, self);
      constructed_.Release();
      start(&context_, &request_, this);
      this->AddHold();  // Reads start outside gRPC's callbacks, until the stream is over.
      this->StartRead(&incoming_);
      this->StartCall();
    }

    // ---- on the loop ----
    bool Take(Message* message) {
      if (!has_message_) return false;
      has_message_ = false;
      message->Swap(&message_);
      message_.Clear();
      this->StartRead(&incoming_);
      return true;
    }
    std::optional<absl::Status> end() const { return has_message_ ? std::nullopt : end_; }
    void Drop() {
      dropped_ = true;
      context_.TryCancel();
      // Another read, whose result is dropped, lets the stream end and release the hold.
      if (std::exchange(has_message_, false)) this->StartRead(&incoming_);
    }

    // ---- gRPC's threads ----
    void OnReadDone(bool ok) override {
      constructed_.Acquire();
      if (!ok) return this->RemoveHold();
      loop_.Post([it = this->shared_from_this()] {
        it->message_.Swap(&it->incoming_);
        it->incoming_.Clear();
        it->has_message_ = true;
        if (it->dropped_) {
          it->has_message_ = false;
          it->StartRead(&it->incoming_);
        } else {
          it->notify_();
        }
      });
    }
    void OnDone(const grpc::Status& status) override {
      constructed_.Acquire();
      calls_->End(&context_, [&] {
        loop_.Post([it = std::move(self_), status = FromGrpc(status)] {
          it->end_ = status;
          if (!it->dropped_) it->notify_();
        });
      });
    }

   private:
    Loop& loop_;
    CallSet* calls_ = nullptr;
    std::shared_ptr<Reader> self_;
    grpc::ClientContext context_;
    Request request_;
    const std::function<void()> notify_;
    Message incoming_;  // Belongs to gRPC while a read is under way.
    Message message_;
    bool has_message_ = false;
    bool dropped_ = false;
    std::optional<absl::Status> end_;
    ConstructionFence constructed_;
  };

  const std::shared_ptr<Reader> reader_;
};

}  // namespace basalt::rpc
