#include "tests/bench/suite/suite_run.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/run_on.h"
#include "common/obs/log.h"
#include "common/shell/service_process.h"
#include "services/jobsvc/main/parts.h"
#include "tests/bench/bench_gateway.h"
#include "tests/bench/child.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kRest = absl::Seconds(1);

absl::StatusOr<ProcessStats> StatsOf(Child& child) {
  BASALT_ASSIGN_OR_RETURN(const std::string line, child.Ask());
  return FromLine(line);
}

class SuiteRun {
 public:
  explicit SuiteRun(const SuiteRunOptions& options)
      : options_(options), gateway_({.shape = options.shape, .expects = false, .stamps = false}) {}

  absl::StatusOr<SuiteResult> Run() {
    BASALT_RETURN_IF_ERROR(gateway_.Start());
    BASALT_ASSIGN_OR_RETURN(child_, Child::Start({options_.binary, "--role=jobsvc", "--gateway=" + gateway_.address(),
                                                  fmt::format("--data_dir={}/jobsvc", options_.data_dir)}));
    const ProcessStats gateway_before = ReadProcessStats();
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_before, StatsOf(*child_));
    SuiteResult result;
    result.events = options_.shape.pods();
    const absl::Time begin = absl::Now();
    gateway_.source().Release();
    BASALT_RETURN_IF_ERROR(AwaitSnapshot());
    result.snapshot = rest_since_ - begin;
    result.gateway_growth = Difference(ReadProcessStats(), gateway_before);
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_after, StatsOf(*child_));
    result.jobsvc_growth = Difference(jobsvc_after, jobsvc_before);
    bool up = true;
    for (int lap = 0; lap < options_.warm_laps + options_.laps; ++lap) {
      up = !up;
      BASALT_ASSIGN_OR_RETURN(const Lap measured, RunLap(up));
      if (lap >= options_.warm_laps) result.laps.push_back(measured);
    }
    result.counts_agree = AwaitCounts(up || !options_.phases);
    const ScriptedKube& kube = gateway_.kube();
    result.status_writes = kube.status_writes();
    if (kube.unexpected() > 0) {
      std::string first;
      RunOn(gateway_.loop(), [&] { first = kube.first_unexpected(); });
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        fmt::format("{} requests that no pod event asks for, the first: {}", kube.unexpected(), first));
    }
    return result;
  }

 private:
  absl::StatusOr<Lap> RunLap(bool up) {
    const ProcessStats gateway_before = ReadProcessStats();
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_before, StatsOf(*child_));
    const int64_t sent_before = gateway_.sent();
    const absl::Time begin = absl::Now();
    gateway_.source().RunLap(up || !options_.phases, up);
    BASALT_RETURN_IF_ERROR(gateway_.AwaitSlots());
    Lap lap;
    lap.wall = absl::Now() - begin;
    lap.batches = gateway_.sent() - sent_before;
    lap.gateway = Difference(ReadProcessStats(), gateway_before);
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_after, StatsOf(*child_));
    lap.jobsvc = Difference(jobsvc_after, jobsvc_before);
    return lap;
  }

  // Slots are opened one after the other, and between two of them there may be nothing to send. Therefore the suite
  // must be at rest for a while.
  absl::Status AwaitSnapshot() {
    int64_t sent = -1;
    do {
      BASALT_RETURN_IF_ERROR(gateway_.AwaitSlots());
      if (std::exchange(sent, gateway_.sent()) != gateway_.sent()) rest_since_ = absl::Now();
      Pause(gateway_.loop(), absl::Milliseconds(20));
    } while (absl::Now() < rest_since_ + kRest);
    return absl::OkStatus();
  }

  bool AwaitCounts(bool running) {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    do {
      int agree = 0;
      RunOn(gateway_.loop(), [&] { agree = gateway_.kube().JobsThatCount(running, options_.shape.pods_per_job); });
      if (agree == options_.shape.jobs) return true;
      Pause(gateway_.loop(), absl::Milliseconds(100));
    } while (absl::Now() < end);
    return false;
  }

  const SuiteRunOptions options_;
  BenchGateway gateway_;
  std::unique_ptr<Child> child_;  // Below the gateway, since it ends first.
  absl::Time rest_since_;
};

}  // namespace

absl::StatusOr<SuiteResult> RunSuite(const SuiteRunOptions& options) { return SuiteRun(options).Run(); }

int RunJobsvc(const std::string& gateway, const std::string& data_dir) {
  obs::SetUpLogging("jobsvc", obs::Level::kWarning);
  shell::ServiceOptions options;
  options.name = "jobsvc";
  options.kind = gateway::v1::SERVICE_KIND_JOB;
  options.cluster = "bench";
  options.gateways = {gateway};
  options.data_dir = data_dir;
  const absl::StatusOr<std::unique_ptr<shell::ServiceProcess>> process =
      shell::ServiceProcess::Start(options, &jobsvc::MakeParts);
  if (!process.ok()) {
    fmt::print(stderr, "jobsvc: {}\n", process.status().ToString());
    return 1;
  }
  std::string line;
  while (std::getline(std::cin, line)) fmt::print("{}\n", ToLine(ReadProcessStats())), std::fflush(stdout);
  return 0;
}

}  // namespace basalt::bench
