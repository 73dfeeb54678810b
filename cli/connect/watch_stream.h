#pragma once

// One call of a watch (watched.h). Each read has a time limit, so that the reader can do other work in between.
// Blocking; for one thread.
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/rpc/grpc/status_bridge.h"

namespace basalt::cli {

template <typename Watched>
class WatchStream {
 public:
  using Response = typename Watched::Response;
  enum class Event { kMessage, kNothing, kEnd };

  // Begins the call, which ends with DEADLINE_EXCEEDED at the deadline.
  WatchStream(typename Watched::Service::Stub& stub, const typename Watched::Request& request, absl::Time deadline) {
    if (deadline != absl::InfiniteFuture()) context_.set_deadline(absl::ToChronoTime(deadline));
    reader_ = Watched::Begin(stub, context_, request, queue_, Tag(kStarted));
  }
  ~WatchStream() {  // Cancels the call if it has not ended.
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  // Waits for the next message, at most until `until`. Must not be called after kEnd.
  Event Next(absl::Time until, Response* message) {
    while (true) {
      void* tag = nullptr;
      bool ok = false;
      const auto next = queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(until));
      if (next == grpc::CompletionQueue::TIMEOUT) return Event::kNothing;
      if (next == grpc::CompletionQueue::SHUTDOWN || tag == Tag(kFinished)) return Event::kEnd;
      if (!ok) {
        reader_->Finish(&status_, Tag(kFinished));
        continue;
      }
      const bool is_read = tag == Tag(kRead);
      if (is_read) message->Swap(&read_);
      reader_->Read(&read_, Tag(kRead));
      if (is_read) return Event::kMessage;
    }
  }
  // Why the call ended. Valid after kEnd.
  absl::Status status() const { return rpc::FromGrpc(status_); }

 private:
  // The tags of the operations, which gRPC returns when they are done.
  enum Step : intptr_t { kStarted = 1, kRead, kFinished };
  static void* Tag(Step step) { return reinterpret_cast<void*>(static_cast<intptr_t>(step)); }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  Response read_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReader<Response>> reader_;
};

}  // namespace basalt::cli
