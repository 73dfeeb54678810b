#pragma once

// Runs the suite as processes with kubesim, and makes jobs of one pod each that run a moment and complete. Made and
// used by one thread; calls block.
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/testing/temp_dir.h"
#include "dev/process_suite.h"
#include "kubesim/actors/client/api.h"
#include "tests/bench/jobs/collection.h"

namespace basalt::bench {

struct ProcessLoadOptions {
  std::string bin_dir;
  int replicas = 1;  // Replicas of each service.
  int gateways = 1;
  int queues = 1;  // Queues over which the jobs are spread.
  bool tls = false;
  std::vector<std::string> gateway_flags;
};

class ProcessLoad {
 public:
  explicit ProcessLoad(const ProcessLoadOptions& options);
  ~ProcessLoad();

  absl::Status Start();
  dev::ProcessSuite& suite() { return *suite_; }

  // Sends SIGTERM and waits until the process has ended. Returns an error if the process failed.
  absl::Status EndProcess(std::string_view name);

  // Makes the jobs at once. Their numbers continue those of earlier jobs.
  void MakeJobs(int count);
  // Makes `per_second` jobs a second until the next call. 0 stops.
  void KeepMaking(int per_second);
  // Waits until all jobs that were made are Completed. Returns FAILED_PRECONDITION if the API server refused one.
  absl::Status AwaitCompleted(absl::Duration limit);
  // Returns the time of the first pod that was first observed at `after` or later, or InfiniteFuture if there is none.
  absl::Time FirstPodSince(absl::Time after);

  // Returns the sum over the series of one metric of a process.
  absl::StatusOr<double> Metric(std::string_view process, std::string_view metric);

 private:
  void Do(actors::ApiRequest request);
  void Make();
  void MakeSteadily();

  const ProcessLoadOptions options_;
  const testing::TempDir dir_;
  SystemRandom random_;
  const std::unique_ptr<Loop> loop_;
  std::unique_ptr<dev::ProcessSuite> suite_;
  // These live on the loop.
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<actors::Api> api_;
  std::unique_ptr<Collection> jobs_, pods_;
  std::unordered_map<std::string, absl::Time> first_seen_;  // By the pod's name.
  std::string refused_;                                     // Why an object could not be made. Empty if all could.
  int made_ = 0;
  int per_second_ = 0;
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::bench
