#pragma once

// One call of WatchJobs that is read with a bound in time, so that who reads can do something else meanwhile. Blocking;
// for one thread.
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/job/v1/job.grpc.pb.h"

namespace basalt::cli {

class JobStream {
 public:
  enum class Event { kTold, kNothing, kEnd };

  // DEADLINE_EXCEEDED ends it at the deadline.
  JobStream(job::v1::JobService::Stub& stub, const job::v1::WatchJobsRequest& request, absl::Time deadline);
  ~JobStream();  // Cancels what has not ended.
  JobStream(const JobStream&) = delete;
  JobStream& operator=(const JobStream&) = delete;

  // The next message, for which it waits until then at most. Not after kEnd.
  Event Next(absl::Time until, job::v1::WatchJobsResponse* message);
  // Why it ended. After kEnd.
  absl::Status status() const;

 private:
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  job::v1::WatchJobsResponse read_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReader<job::v1::WatchJobsResponse>> reader_;
};

}  // namespace basalt::cli
