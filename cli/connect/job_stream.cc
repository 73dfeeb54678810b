#include "cli/connect/job_stream.h"

#include <cstdint>

#include "cli/connect/client.h"
#include "common/rpc/grpc/status_bridge.h"

namespace basalt::cli {
namespace {

// gRPC hands these back.
void* Tag(intptr_t number) { return reinterpret_cast<void*>(number); }
void* const kStarted = Tag(1);
void* const kRead = Tag(2);
void* const kFinished = Tag(3);

}  // namespace

JobStream::JobStream(job::v1::JobService::Stub& stub, const job::v1::WatchJobsRequest& request, absl::Time deadline) {
  if (deadline != absl::InfiniteFuture()) context_.set_deadline(absl::ToChronoTime(deadline));
  reader_ = stub.AsyncWatchJobs(&context_, request, &queue_, kStarted);
}

JobStream::~JobStream() {
  context_.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

JobStream::Event JobStream::Next(absl::Time until, job::v1::WatchJobsResponse* message) {
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    const auto next = queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(until));
    if (next == grpc::CompletionQueue::TIMEOUT) return Event::kNothing;
    if (next == grpc::CompletionQueue::SHUTDOWN || tag == kFinished) return Event::kEnd;
    if (!ok) {
      reader_->Finish(&status_, kFinished);
      continue;
    }
    if (tag == kRead) message->Swap(&read_);
    reader_->Read(&read_, kRead);
    if (tag == kRead) return Event::kTold;
  }
}

absl::Status JobStream::status() const { return rpc::FromGrpc(status_); }

}  // namespace basalt::cli
