// gateway_bench measures the cost of a pod event in the gateway alone, without gRPC. The gateway decodes and caches
// lines of a watch and makes batches of them for one replica, all in one thread under simulated time that stands still.
// Every run does the same work, so that the work can be counted (valgrind --tool=callgrind
// --toggle-collect='*RunLap*') as well as timed.
//   gateway_bench [--jobs=1000] [--pods=100] [--laps=5]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/http/direct_client.h"
#include "common/obs/log.h"
#include "common/rpc/protocols.h"
#include "gateway/server/gateway.h"
#include "tests/bench/cluster.h"
#include "tests/bench/pod_source.h"
#include "tests/bench/scripted_kube.h"

ABSL_FLAG(int, jobs, 1000, "jobs");
ABSL_FLAG(int, pods, 100, "pods of a job");
ABSL_FLAG(int, laps, 5, "laps over all pods; the median is told");

namespace basalt::bench {
namespace {

// Takes each batch as soon as the loop runs the sink's task, and acknowledges the batch.
class Sink final : public rpc::AttachSink {
 public:
  Sink(Loop& loop, gateway::Gateway& gateway) : loop_(loop), session_(gateway.OnAttach(*this)) {
    gateway::v1::AttachRequest request;
    gateway::v1::Hello& hello = *request.mutable_hello();
    hello.set_slot_count(kSlotCount);
    *hello.mutable_protocols() = rpc::RangeOf(rpc::kProtocols);
    hello.mutable_self()->set_service(gateway::v1::SERVICE_KIND_JOB);
    hello.mutable_self()->set_replica("jobsvc-0");
    hello.mutable_self()->set_incarnation("a");
    hello.set_name_secret("for measurements only");
    session_->OnRequest(std::move(request));
  }
  ~Sink() override { session_->OnClosed(); }

  void Send(std::string batch) override {
    bytes_ += batch.size();
    ++sequence_;
    loop_.Post([this] {
      session_->OnSent();
      gateway::v1::AttachRequest request;
      request.mutable_ack()->set_sequence(sequence_);
      session_->OnRequest(std::move(request));
    });
  }
  void Close(const absl::Status& status) override { fmt::print(stderr, "closed: {}\n", status.ToString()); }

  int64_t batches() const { return sequence_; }
  size_t bytes() const { return bytes_; }

 private:
  Loop& loop_;
  int64_t sequence_ = 0;
  size_t bytes_ = 0;
  std::unique_ptr<rpc::AttachSession> session_;
};

double CpuMicros() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Not inlined, since valgrind's command line names this function.
[[gnu::noinline]] void RunLap(PodSource& source, SimTime& time, bool up) {
  source.RunLap(up, up);
  time.RunDueTasks();
}

int Measure() {
  const ClusterShape shape{absl::GetFlag(FLAGS_jobs), absl::GetFlag(FLAGS_pods)};
  SimTime time;
  SimLoop loop(time, "gateway");
  SeededRandom random(1);
  std::atomic<int64_t> version = 1000;
  ScriptedKube kube(version);
  if (const absl::Status status = kube.Fill(shape); !status.ok()) {
    fmt::print(stderr, "gateway_bench: {}\n", status.ToString());
    return 1;
  }
  http::DirectClient others(loop, loop, kube);
  PodSource source(loop, others, version, shape);
  const std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  obs::Health health;
  gateway::Gateway gateway(loop, source, random, *metrics, health, {});
  Sink sink(loop, gateway);
  gateway.Start();
  source.Release();
  time.Advance(absl::Seconds(2));

  std::vector<double> laps;
  for (int lap = 0; lap <= absl::GetFlag(FLAGS_laps); ++lap) {
    const int64_t batches = sink.batches();
    const size_t bytes = sink.bytes();
    const double begin = CpuMicros();
    RunLap(source, time, lap % 2 == 1);
    const double micros = (CpuMicros() - begin) / shape.pods();
    time.Advance(absl::Seconds(1));  // Timers run outside of the measured time.
    fmt::print("{}: {:.3f} us of CPU per event with its source, {:.0f} events in a batch, {:.0f} B each\n",
               lap == 0 ? "warm up" : fmt::format("lap {}", lap), micros,
               static_cast<double>(shape.pods()) / static_cast<double>(std::max<int64_t>(1, sink.batches() - batches)),
               static_cast<double>(sink.bytes() - bytes) / shape.pods());
    if (lap > 0) laps.push_back(micros);
  }
  std::sort(laps.begin(), laps.end());
  fmt::print("median: {:.3f} us\n", laps[laps.size() / 2]);
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("gateway_bench: what an event of a pod costs the gateway alone.");
  absl::ParseCommandLine(argc, argv);
  basalt::obs::SetUpLogging("gateway_bench", basalt::obs::Level::kError);
  return basalt::bench::Measure();
}
