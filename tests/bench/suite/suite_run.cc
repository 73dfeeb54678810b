#include "tests/bench/suite/suite_run.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/exec/run_on.h"
#include "common/http/direct_client.h"
#include "common/obs/log.h"
#include "common/rpc/grpc/calls.h"
#include "common/shell/service_process.h"
#include "gateway/main/process.h"
#include "services/jobsvc/main/parts.h"
#include "tests/bench/child.h"
#include "tests/bench/pod_source.h"
#include "tests/bench/scripted_kube.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);
constexpr absl::Duration kRest = absl::Seconds(1);
constexpr absl::Duration kPoll = absl::Milliseconds(2);

absl::StatusOr<ProcessStats> StatsOf(Child& child) {
  BASALT_ASSIGN_OR_RETURN(const std::string line, child.Ask());
  return FromLine(line);
}

class SuiteRun {
 public:
  explicit SuiteRun(const SuiteRunOptions& options)
      : options_(options), kube_loop_(MakeThreadLoop("kube")), kube_(version_) {}
  ~SuiteRun() {
    child_.reset();
    gateway_.reset();
  }

  absl::StatusOr<SuiteResult> Run() {
    BASALT_RETURN_IF_ERROR(kube_.Fill(options_.shape));
    BASALT_RETURN_IF_ERROR(StartGateway());
    BASALT_ASSIGN_OR_RETURN(
        child_, Child::Start({options_.binary, "--role=jobsvc", fmt::format("--gateway=127.0.0.1:{}", gateway_->port()),
                              fmt::format("--data_dir={}/jobsvc", options_.data_dir)}));
    const ProcessStats gateway_before = ReadProcessStats();
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_before, StatsOf(*child_));
    SuiteResult result;
    result.events = options_.shape.pods();
    const absl::Time begin = absl::Now();
    source_->Release();
    BASALT_RETURN_IF_ERROR(AwaitSnapshot(result.events));
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
    result.status_writes = kube_.status_writes();
    if (kube_.unexpected() > 0) {
      std::string first;
      RunOn(*kube_loop_, [&] { first = kube_.first_unexpected(); });
      return MakeStatus(
          absl::StatusCode::kFailedPrecondition,
          fmt::format("{} requests that no pod event asks for, the first: {}", kube_.unexpected(), first));
    }
    return result;
  }

 private:
  absl::Status StartGateway() {
    gateway::ProcessOptions options;
    options.gateway.hub.cluster = "bench";
    options.gateway.hub.version = std::string(Version());
    BASALT_ASSIGN_OR_RETURN(gateway_, gateway::Process::Start(options, [this](Loop& loop) {
                              others_ = std::make_unique<http::DirectClient>(loop, *kube_loop_, kube_);
                              auto source = std::make_unique<PodSource>(loop, *others_, version_, options_.shape);
                              source_ = source.get();
                              return source;
                            }));
    stub_ = gateway::v1::GatewayService::NewStub(rpc::MakeChannel(fmt::format("127.0.0.1:{}", gateway_->port())));
    return absl::OkStatus();
  }

  absl::StatusOr<Lap> RunLap(bool up) {
    const ProcessStats gateway_before = ReadProcessStats();
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_before, StatsOf(*child_));
    const int64_t sent_before = sent_;
    const absl::Time begin = absl::Now();
    source_->RunLap(up || !options_.phases, up);
    BASALT_RETURN_IF_ERROR(AwaitSlots(options_.shape.pods()));
    Lap lap;
    lap.wall = absl::Now() - begin;
    lap.batches = sent_ - sent_before;
    lap.gateway = Difference(ReadProcessStats(), gateway_before);
    BASALT_ASSIGN_OR_RETURN(const ProcessStats jobsvc_after, StatsOf(*child_));
    lap.jobsvc = Difference(jobsvc_after, jobsvc_before);
    return lap;
  }

  // Slots are opened one after the other, and between two of them there may be nothing to send. Therefore the suite
  // must be at rest for a while.
  absl::Status AwaitSnapshot(int pods) {
    int64_t sent = -1;
    do {
      BASALT_RETURN_IF_ERROR(AwaitSlots(pods));
      if (std::exchange(sent, sent_) != sent_) rest_since_ = absl::Now();
      Pause(*kube_loop_, absl::Milliseconds(20));
    } while (absl::Now() < rest_since_ + kRest);
    return absl::OkStatus();
  }

  // Waits until every pod is in the gateway's cache, no change waits to be sent, and everything sent is recorded.
  absl::Status AwaitSlots(int pods) {
    const absl::Time end = absl::Now() + kPatience;
    gateway::v1::Topology topology;
    while (absl::Now() < end) {
      Pause(*kube_loop_, kPoll);
      if (!source_->idle()) continue;
      grpc::ClientContext context;
      topology.Clear();
      if (!stub_->GetTopology(&context, {}, &topology).ok()) continue;
      if (!HasSlots(topology, pods)) continue;
      sent_ = topology.members(0).sent_sequence();
      return absl::OkStatus();
    }
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      "the suite does not come to rest: " + topology.ShortDebugString());
  }

  static bool HasSlots(const gateway::v1::Topology& topology, int pods) {
    bool known = false;
    for (const auto& watch : topology.watches()) known |= watch.watch() == "pods/job" && watch.objects() == pods;
    if (!known || topology.members_size() != 1) return false;
    const gateway::v1::MemberStatus& member = topology.members(0);
    return member.attached() && member.slots() == kSlotCount && member.dirty_keys() == 0 &&
           member.acknowledged_sequence() == member.sent_sequence();
  }

  bool AwaitCounts(bool running) {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    do {
      int agree = 0;
      RunOn(*kube_loop_, [&] { agree = kube_.JobsThatCount(running, options_.shape.pods_per_job); });
      if (agree == options_.shape.jobs) return true;
      Pause(*kube_loop_, absl::Milliseconds(100));
    } while (absl::Now() < end);
    return false;
  }

  const SuiteRunOptions options_;
  std::atomic<int64_t> version_ = 1000;
  const std::unique_ptr<Loop> kube_loop_;
  ScriptedKube kube_;
  std::unique_ptr<http::DirectClient> others_;
  PodSource* source_ = nullptr;  // Owned by `gateway_`.
  std::unique_ptr<gateway::Process> gateway_;
  std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
  std::unique_ptr<Child> child_;
  int64_t sent_ = 0;  // Batches that the gateway had sent when the suite was last at rest.
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
