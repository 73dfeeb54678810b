#include "tests/bench/replicas/replica_figures.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/identity.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/credentials.h"
#include "common/testing/temp_dir.h"
#include "dev/certificates.h"
#include "tests/bench/bench_gateway.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/replicas/process_load.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kLimit = absl::Minutes(5);
constexpr double kMostRatio = 1.15;

// Returns the CPU time that all processes of the suite have used so far.
absl::StatusOr<absl::Duration> SuiteCpu(ProcessLoad& load) {
  absl::Duration cpu;
  for (const std::string& name : load.suite().names()) {
    if (name == "kubesim") continue;
    BASALT_ASSIGN_OR_RETURN(const ProcessUsage usage, ReadProcessUsage(load.suite().pid(name)));
    cpu += usage.cpu;
  }
  return cpu;
}

// Returns the microseconds of CPU time for each object state that the gateway sends to a replica.
absl::StatusOr<double> CpuPerEvent(const TlsOptions& options, bool tls) {
  ProcessLoad load({.bin_dir = options.bin_dir, .tls = tls, .gateway_flags = {"--log_level=error"}});
  BASALT_RETURN_IF_ERROR(load.Start());
  load.MakeJobs(options.jobs / 10);  // Warms up.
  BASALT_RETURN_IF_ERROR(load.AwaitCompleted(kLimit));
  BASALT_ASSIGN_OR_RETURN(const absl::Duration cpu_before, SuiteCpu(load));
  BASALT_ASSIGN_OR_RETURN(const double states_before, load.Metric("gateway-0", "basalt_gateway_states_total"));
  load.MakeJobs(options.jobs);
  BASALT_RETURN_IF_ERROR(load.AwaitCompleted(kLimit));
  BASALT_ASSIGN_OR_RETURN(const absl::Duration cpu, SuiteCpu(load));
  BASALT_ASSIGN_OR_RETURN(const double states, load.Metric("gateway-0", "basalt_gateway_states_total"));
  if (states <= states_before) return MakeStatus(absl::StatusCode::kInternal, "the gateway has sent no state");
  return absl::ToDoubleMicroseconds(cpu - cpu_before) / (states - states_before);
}

absl::StatusOr<Figure> MeasureCost(const TlsOptions& options, const Progress& progress) {
  std::vector<double> with;
  std::vector<double> without;
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    progress(fmt::format("{} jobs without TLS and with TLS, round {}", options.jobs, round + 1));
    BASALT_ASSIGN_OR_RETURN(const double plain, CpuPerEvent(options, /*tls=*/false));
    BASALT_ASSIGN_OR_RETURN(const double secured, CpuPerEvent(options, /*tls=*/true));
    without.push_back(plain);
    with.push_back(secured);
    ratios.push_back(secured / plain);
  }
  Figure figure = MedianOf("CPU per event of the suite, with TLS to without", std::move(ratios), "");
  SetMost(kMostRatio, figure);
  figure.notes = {
      fmt::format("{:.0f} us of gateway, jobsvc, pgsvc and queuesvc for each state that the gateway sends, "
                  "{:.0f} us without TLS; {} jobs of one pod a round",
                  Median(with), Median(without), options.jobs)};
  return figure;
}

// A replica that connects and stays until it is destroyed.
class Newcomer {
 public:
  Newcomer(const std::string& gateway, std::string name, std::shared_ptr<const rpc::Credentials> credentials,
           std::latch& start)
      : stub_(gateway::v1::GatewayService::NewStub(
            rpc::MakeChannel(gateway, identity::Only({identity::Role::kGateway}), std::move(credentials)))),
        thread_([this, name = std::move(name), &start] {
          start.arrive_and_wait();
          Run(name);
        }) {}
  ~Newcomer() {
    context_.TryCancel();
    thread_.join();
  }
  // Waits for the session and returns the time of its begin, or the reason why there is no session.
  absl::StatusOr<absl::Time> AwaitSession() {
    known_.wait();
    return session_;
  }

 private:
  void Run(const std::string& name) {
    context_.set_wait_for_ready(true);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
    const auto stream = stub_->Attach(&context_);
    gateway::v1::AttachRequest request = HelloOf(name);
    stream->Write(request);
    bool begun = false;
    for (gateway::v1::AttachBatch batch; stream->Read(&batch);) {
      for (const gateway::v1::Item& item : batch.items()) {
        if (begun || !item.has_session_start()) continue;
        begun = true;
        session_ = absl::Now();
        known_.count_down();
      }
      request.mutable_ack()->set_sequence(batch.sequence());
      if (!stream->Write(request)) break;
    }
    const grpc::Status status = stream->Finish();
    if (begun) return;
    session_ = MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: {}", name, status.error_message()));
    known_.count_down();
  }

  const std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
  grpc::ClientContext context_;
  absl::StatusOr<absl::Time> session_ = absl::UnknownError("");
  std::latch known_{1};
  std::thread thread_;  // Must be the last member, since the thread uses the others.
};

class Storms {
 public:
  explicit Storms(const TlsOptions& options) : options_(options) {}

  absl::Status Start() {
    BASALT_ASSIGN_OR_RETURN(certificates_,
                            dev::Certificates::Make(dir_ / "certs", std::string(kBenchCluster), options_.replicas, 1));
    BASALT_ASSIGN_OR_RETURN(std::shared_ptr<const rpc::Credentials> credentials,
                            certificates_->CredentialsOf("gateway", "gateway-0"));
    gateway_ = std::make_unique<BenchGateway>(BenchGatewayOptions{.shape = {.jobs = 10, .pods_per_job = 10},
                                                                  .replicas = options_.replicas,
                                                                  .credentials = std::move(credentials)});
    BASALT_RETURN_IF_ERROR(gateway_->Start());
    gateway_->source().Release();
    return absl::OkStatus();
  }

  // Returns for each replica the milliseconds from the start of all replicas until its session.
  absl::StatusOr<std::vector<double>> Run() {
    std::latch start(options_.replicas + 1);
    std::vector<std::unique_ptr<Newcomer>> newcomers;
    for (int number = 0; number < options_.replicas; ++number) {
      const std::string name = fmt::format("jobsvc-{}", number);
      BASALT_ASSIGN_OR_RETURN(std::shared_ptr<const rpc::Credentials> credentials,
                              certificates_->CredentialsOf("jobsvc", name));
      newcomers.push_back(std::make_unique<Newcomer>(gateway_->address(), name, std::move(credentials), start));
    }
    start.arrive_and_wait();
    const absl::Time begin = absl::Now();
    std::vector<double> times;
    for (const auto& newcomer : newcomers) {
      BASALT_ASSIGN_OR_RETURN(const absl::Time session, newcomer->AwaitSession());
      times.push_back(absl::ToDoubleMilliseconds(session - begin));
    }
    std::sort(times.begin(), times.end());
    return times;
  }

 private:
  const TlsOptions& options_;
  const testing::TempDir dir_;
  std::unique_ptr<dev::Certificates> certificates_;
  std::unique_ptr<BenchGateway> gateway_;
};

absl::StatusOr<Figure> MeasureStorm(const TlsOptions& options, const Progress& progress) {
  progress(fmt::format("{} replicas that connect at once", options.replicas));
  Storms storms(options);
  BASALT_RETURN_IF_ERROR(storms.Start());
  std::vector<double> last, halves, cpu;
  for (int storm = 0; storm < options.storms; ++storm) {
    const ProcessStats before = ReadProcessStats();
    BASALT_ASSIGN_OR_RETURN(const std::vector<double> times, storms.Run());
    cpu.push_back(absl::ToDoubleMilliseconds(Difference(ReadProcessStats(), before).cpu) / options.replicas);
    halves.push_back(times[times.size() / 2]);
    last.push_back(times.back());
  }
  Figure figure =
      MedianOf(fmt::format("{} replicas connect at once by TLS: until the last has its session", options.replicas),
               std::move(last), "ms");
  figure.notes = {fmt::format("median replica {:.0f} ms; {:.1f} ms of CPU for each replica, its own end included",
                              Median(halves), Median(cpu))};
  return figure;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureTls(const TlsOptions& options, const Progress& progress) {
  BASALT_ASSIGN_OR_RETURN(Figure cost, MeasureCost(options, progress));
  BASALT_ASSIGN_OR_RETURN(Figure storm, MeasureStorm(options, progress));
  return std::vector<Figure>{std::move(cost), std::move(storm)};
}

}  // namespace basalt::bench
