#include "tests/bench/replicas/replica_figures.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/testing/temp_dir.h"
#include "tests/bench/bench_gateway.h"
#include "tests/bench/child.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/replicas/http_get.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kPoll = absl::Milliseconds(5);
constexpr double kGoalOnDisk = 3;
constexpr double kGoalEmpty = 6;

// Runs jobsvc and measures the time from its start to the answer 200 of /readyz.
class Restarted {
 public:
  explicit Restarted(const RestartOptions& options) : options_(options), gateway_({.shape = options.shape}) {}
  ~Restarted() { Kill(); }

  absl::Status Start() {
    BASALT_RETURN_IF_ERROR(gateway_.Start());
    gateway_.source().Release();
    return absl::OkStatus();
  }

  // Restarts jobsvc and returns the seconds until it is ready.
  absl::StatusOr<double> Run(bool keep_disk) {
    Kill();
    if (!keep_disk) std::filesystem::remove_all(data_dir());
    const std::string port_file = dir_ / "port";
    std::filesystem::remove(port_file);
    const absl::Time begin = absl::Now();
    BASALT_ASSIGN_OR_RETURN(
        jobsvc_, Child::Start({options_.bin_dir + "/jobsvc", "--gateway=" + gateway_.address(), "--cluster=bench",
                               "--data_dir=" + data_dir(), "--metrics_listen=127.0.0.1:0",
                               "--metrics_port_file=" + port_file, "--log_level=error"}));
    int port = 0;
    std::string last = "no port";
    while (absl::Now() < begin + kPatience) {
      Pause(gateway_.loop(), kPoll);
      if (port == 0) std::ifstream(port_file) >> port;
      if (port == 0) continue;
      http::CurlOptions server;
      server.base_url = fmt::format("http://127.0.0.1:{}", port);
      const absl::StatusOr<std::string> ready = HttpGet(gateway_.loop(), server, "/readyz");
      if (ready.ok()) return absl::ToDoubleSeconds(absl::Now() - begin);
      last = std::string(ready.status().message());
    }
    return MakeStatus(absl::StatusCode::kDeadlineExceeded, fmt::format("jobsvc is not ready: {}", last));
  }
  // Waits until everything is recorded.
  absl::Status AwaitSlots() { return gateway_.AwaitSlots(); }
  absl::Status Lap() {
    up_ = !up_;
    gateway_.source().RunLap(up_, up_);
    return AwaitSlots();
  }

 private:
  std::string data_dir() const { return dir_ / "data"; }
  void Kill() {
    if (jobsvc_) jobsvc_->Kill();
    jobsvc_.reset();
  }

  const RestartOptions& options_;
  const testing::TempDir dir_;
  BenchGateway gateway_;
  std::unique_ptr<Child> jobsvc_;
  bool up_ = true;
};

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureReplicaRestart(const RestartOptions& options, const Progress& progress) {
  progress(fmt::format("restarts of jobsvc with {} pods", options.shape.pods()));
  Restarted jobsvc(options);
  BASALT_RETURN_IF_ERROR(jobsvc.Start());
  BASALT_RETURN_IF_ERROR(jobsvc.Run(false).status());
  BASALT_RETURN_IF_ERROR(jobsvc.AwaitSlots());
  std::vector<double> kept;
  std::vector<double> lost;
  for (int i = 0; i < options.runs; ++i) {
    // Each restart finds records that the last event of every pod has changed.
    BASALT_RETURN_IF_ERROR(jobsvc.Lap());
    for (const bool keep_disk : {true, false}) {
      BASALT_ASSIGN_OR_RETURN(const double seconds, jobsvc.Run(keep_disk));
      (keep_disk ? kept : lost).push_back(seconds);
      BASALT_RETURN_IF_ERROR(jobsvc.AwaitSlots());
    }
  }
  std::vector<Figure> figures = {MedianOf("restart of jobsvc on its disk, to ready", std::move(kept), "s"),
                                 MedianOf("restart of jobsvc on an empty disk, to ready", std::move(lost), "s")};
  SetMost(kGoalOnDisk, figures[0]);
  SetMost(kGoalEmpty, figures[1]);
  figures[0].notes = {
      fmt::format("{} jobs of {} pods in its slots, kill -9, from exec to /readyz: every slot's snapshot "
                  "is there; the gateway's cache is warm",
                  options.shape.jobs, options.shape.pods_per_job)};
  return figures;
}

}  // namespace basalt::bench
