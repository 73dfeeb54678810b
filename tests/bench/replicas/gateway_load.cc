#include "tests/bench/replicas/replica_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "tests/bench/bench_gateway.h"
#include "tests/bench/child.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/replicas/readers.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(2);
constexpr absl::Duration kPace = absl::Milliseconds(20);
constexpr int kAtOnce = 100;  // Paced events in each kPace.
constexpr double kMostGrowth = 16 << 20;
constexpr double kMostDelay = 1.2;

struct Lap {
  absl::Duration wall;
  ProcessStats used;
  int64_t peak_bytes = 0;  // Growth of the resident memory, at its peak.
};

class GatewayLoad {
 public:
  GatewayLoad(const GatewayLoadOptions& options, int replicas)
      : options_(options), replicas_(replicas), gateway_({.shape = options.shape, .replicas = replicas}) {}

  // If `stuck`, the last replica runs in a process of its own, which StopOne can stop.
  absl::Status Start(bool stuck) {
    BASALT_RETURN_IF_ERROR(gateway_.Start());
    std::vector<std::string> names;
    for (int i = 0; i < replicas_; ++i) names.push_back(fmt::format("jobsvc-{}", i));
    if (stuck) {
      stuck_name_ = names.back();
      names.pop_back();
      BASALT_ASSIGN_OR_RETURN(stuck_, StartReaders({stuck_name_}));
    }
    BASALT_ASSIGN_OR_RETURN(readers_, StartReaders(names));
    gateway_.source().Release();
    return gateway_.AwaitSlots();
  }

  // Stops the last replica. From then on it reads nothing, and nothing waits for it.
  void StopOne() {
    stuck_->Signal(SIGSTOP);
    stopped_ = stuck_name_;
  }
  absl::Status ContinueOne() {
    stuck_->Signal(SIGCONT);
    stopped_.clear();
    return gateway_.AwaitSlots();
  }

  absl::StatusOr<Lap> RunLap() {
    up_ = !up_;
    Lap lap;
    const ProcessStats before = ReadProcessStats();
    const absl::Time begin = absl::Now();
    gateway_.source().RunLap(up_, up_);
    BASALT_RETURN_IF_ERROR(gateway_.AwaitSlots(stopped_, [&] {
      lap.peak_bytes = std::max(lap.peak_bytes, ReadProcessStats().resident_bytes - before.resident_bytes);
    }));
    lap.wall = absl::Now() - begin;
    lap.used = Difference(ReadProcessStats(), before);
    return lap;
  }

  absl::Status RunPaced(int events) {
    up_ = !up_;
    for (int done = 0; done < events; done += kAtOnce) {
      gateway_.source().RunLap(up_, up_, kAtOnce);
      Pause(gateway_.loop(), kPace);
      while (!gateway_.source().idle()) Pause(gateway_.loop(), kPoll);
    }
    return gateway_.AwaitSlots(stopped_);
  }

  // Returns the stats of the replicas that read, since the last call.
  absl::StatusOr<ReaderStats> Seen() {
    BASALT_ASSIGN_OR_RETURN(const std::string line, readers_->Ask());
    return ReaderStatsFromLine(line);
  }
  absl::StatusOr<int64_t> DirtyKeysOfStopped() {
    BASALT_ASSIGN_OR_RETURN(const gateway::v1::Topology topology, gateway_.AskTopology());
    for (const auto& member : topology.members()) {
      if (member.member().replica() == stuck_name_) return member.dirty_keys();
    }
    return absl::NotFoundError("the stopped replica is not there any more");
  }

 private:
  absl::StatusOr<std::unique_ptr<Child>> StartReaders(const std::vector<std::string>& names) {
    return Child::Start({options_.binary, "--role=readers", "--gateway=" + gateway_.address(),
                         fmt::format("--names={}", fmt::join(names, ","))});
  }

  const GatewayLoadOptions& options_;
  const int replicas_;
  BenchGateway gateway_;
  std::unique_ptr<Child> readers_;
  std::unique_ptr<Child> stuck_;
  std::string stuck_name_;
  std::string stopped_;
  bool up_ = true;
};

// The delays of events at the replicas that read.
struct Delays {
  std::vector<double> runs;  // The 99th percentile of each run, in milliseconds.
  absl::Duration half;       // The median of the last run.
  absl::Duration longest;
  int64_t events = 0;
  void Add(const ReaderStats& stats) {
    runs.push_back(absl::ToDoubleMilliseconds(stats.most_of));
    half = stats.half;
    longest = std::max(longest, stats.longest);
    events += stats.events;
  }
  std::string Note(std::string_view what) const {
    return fmt::format("{}: {} events, median of {} p99s {:.1f} ms, p50 {:.1f}, max {:.1f}", what,
                       Number(static_cast<double>(events)), runs.size(), Median(runs), absl::ToDoubleMilliseconds(half),
                       absl::ToDoubleMilliseconds(longest));
  }
};

struct Bursts {
  Delays burst, paced;
  int64_t peak_bytes = 0;  // The highest peak of all bursts.
  int64_t allocated_bytes = 0;
};

absl::Status RunBurst(GatewayLoad& load, const GatewayLoadOptions& options, Bursts& bursts) {
  BASALT_RETURN_IF_ERROR(load.Seen().status());
  BASALT_ASSIGN_OR_RETURN(const Lap lap, load.RunLap());
  bursts.peak_bytes = std::max(bursts.peak_bytes, lap.peak_bytes);
  bursts.allocated_bytes = std::max(bursts.allocated_bytes, lap.used.allocated_bytes);
  BASALT_ASSIGN_OR_RETURN(const ReaderStats burst, load.Seen());
  bursts.burst.Add(burst);
  BASALT_RETURN_IF_ERROR(load.RunPaced(options.paced_events));
  BASALT_ASSIGN_OR_RETURN(const ReaderStats paced, load.Seen());
  bursts.paced.Add(paced);
  return absl::OkStatus();
}

Figure Compare(std::string_view what, const Delays& with, const Delays& without) {
  const double least = Median(without.runs);
  const double ratio = least > 0 ? Median(with.runs) / least : 0;
  return {.name = fmt::format("{}: p99 at healthy replicas, with to without", what),
          .value = ratio,
          .goal = "<= 1.2",
          .met = ratio > 0 && ratio <= kMostDelay,
          .notes = {with.Note("with"), without.Note("without")}};
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureFanOut(const GatewayLoadOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  std::vector<std::pair<int, double>> costs;  // Number of replicas, and microseconds of CPU time per event.
  const int events = options.shape.pods();
  for (const int replicas : options.replicas) {
    progress(fmt::format("fan-out to {} replicas", replicas));
    GatewayLoad load(options, replicas);
    BASALT_RETURN_IF_ERROR(load.Start(false));
    std::vector<double> rates;
    std::vector<double> cpu;
    std::vector<double> loop;
    for (int lap = 0; lap <= options.laps; ++lap) {
      BASALT_ASSIGN_OR_RETURN(const Lap measured, load.RunLap());
      if (lap == 0) continue;  // The first lap warms up.
      rates.push_back(events / absl::ToDoubleSeconds(measured.wall));
      cpu.push_back(absl::ToDoubleMicroseconds(measured.used.cpu) / events);
      loop.push_back(absl::ToDoubleMicroseconds(measured.used.Of("gateway")) / events);
    }
    BASALT_ASSIGN_OR_RETURN(const ReaderStats seen, load.Seen());
    Figure rate = MedianOf(fmt::format("gateway: pod events to {} replicas", replicas), std::move(rates), "events/s");
    rate.notes = {
        fmt::format("{:.2f} us of CPU per event in the gateway with its source of events, {:.2f} of them in "
                    "its loop; the readers saw {} states",
                    Median(cpu), Median(loop), Number(static_cast<double>(seen.events)))};
    figures.push_back(std::move(rate));
    costs.emplace_back(replicas, Median(cpu));
  }
  if (costs.size() > 1) {
    const auto& [few, cheap] = costs.front();
    const auto& [many, dear] = costs.back();
    figures.push_back(
        {.name = "gateway: each further replica, per event",
         .value = (dear - cheap) / (many - few),
         .unit = "us",
         .notes = {fmt::format("of CPU, all threads of the gateway, from {} to {} replicas", few, many)}});
  }
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureBurst(const GatewayLoadOptions& options, const Progress& progress) {
  progress("bursts, with and without a replica that reads nothing");
  constexpr int kReplicas = 3;
  GatewayLoad load(options, kReplicas);
  BASALT_RETURN_IF_ERROR(load.Start(true));
  BASALT_RETURN_IF_ERROR(load.RunLap().status());  // Warms up.
  Bursts healthy;
  Bursts stuck;
  int64_t dirty = 0;
  // The two alternate, so that both run under the same load of the machine.
  for (int i = 0; i < options.bursts; ++i) {
    BASALT_RETURN_IF_ERROR(RunBurst(load, options, healthy));
    load.StopOne();
    BASALT_RETURN_IF_ERROR(RunBurst(load, options, stuck));
    BASALT_ASSIGN_OR_RETURN(dirty, load.DirtyKeysOfStopped());
    BASALT_RETURN_IF_ERROR(load.ContinueOne());
  }

  const double mebi = 1 << 20;
  Figure memory{.name = "burst: gateway RSS growth, 1 of 3 reads nothing",
                .value = static_cast<double>(stuck.peak_bytes) / mebi,
                .unit = "MiB",
                .goal = "<= 16",
                .met = static_cast<double>(stuck.peak_bytes) <= kMostGrowth && dirty > 0};
  memory.notes = {
      fmt::format("{} bursts of {} changed objects each, the most of a burst; {:.1f} MiB where all read",
                  options.bursts, Number(options.shape.pods()), static_cast<double>(healthy.peak_bytes) / mebi),
      fmt::format("then {} dirty keys wait for it, {:.2f} MiB more are allocated", Number(static_cast<double>(dirty)),
                  static_cast<double>(stuck.allocated_bytes) / mebi),
      "afterwards it reads again, and everything is acknowledged"};
  return std::vector<Figure>{
      std::move(memory), Compare("burst", stuck.burst, healthy.burst),
      Compare(fmt::format("{:.0f} events/s", kAtOnce / absl::ToDoubleSeconds(kPace)), stuck.paced, healthy.paced)};
}

}  // namespace basalt::bench
