#pragma once

// The suite as processes over the embedded Kubernetes, with jobs of one pod each that are made, run a moment and
// complete. Made and used by one thread; calls block.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
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

namespace basalt::bench {

struct ProcessLoadOptions {
  std::string bin_dir;
  int replicas = 1;  // Of each service.
  int gateways = 1;
  int queues = 1;  // That the jobs are spread over.
  bool tls = false;
  std::vector<std::string> gateway_flags;
};

class ProcessLoad {
 public:
  explicit ProcessLoad(const ProcessLoadOptions& options);
  ~ProcessLoad();

  absl::Status Start();
  dev::ProcessSuite& suite() { return *suite_; }

  // SIGTERM, and waits until it has ended well.
  absl::Status EndProcess(std::string_view name);

  // All at once. They are named on from those before.
  void MakeJobs(int count);
  // So many a second, until it is told another number.
  void KeepMaking(int per_second);
  // All jobs that were made. FAILED_PRECONDITION: the API server has refused one.
  absl::Status AwaitCompleted(absl::Duration limit);
  size_t completed();
  // When the pod was seen that was made first at `after` or later; InfiniteFuture: none yet.
  absl::Time FirstPodSince(absl::Time after);

  // The sum over the series of one metric of a process.
  absl::StatusOr<double> Metric(std::string_view process, std::string_view metric);

 private:
  class Watcher;
  void Post(std::string_view path, std::string body);
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
  std::unique_ptr<Watcher> jobs_, pods_;
  std::string refused_;  // Why something could not be made; empty: everything could.
  int made_ = 0;
  int per_second_ = 0;
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::bench
