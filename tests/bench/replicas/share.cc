#include "tests/bench/replicas/replica_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/replicas/process_load.h"

namespace basalt::bench {
namespace {

constexpr std::array<std::string_view, 3> kServices = {"jobsvc", "pgsvc", "queuesvc"};
constexpr absl::Duration kLimit = absl::Minutes(10);
constexpr double kMost = 1.2;
constexpr double kLeast = 0.8;

// One replica's share of the load.
struct Work {
  double cpu = 0;     // Seconds, without those that an idle replica uses in the same time.
  double keys = 0;    // Passes.
  double memory = 0;  // MiB more than before the load.
};

struct Measure {
  std::string_view name;
  double Work::*of;
  double least;  // If one replica alone uses less, the measure is noise and has no goal.
};
constexpr Measure kMeasures[] = {{"CPU", &Work::cpu, 1}, {"keys", &Work::keys, 100}, {"memory", &Work::memory, 16}};

// The work of each service's replicas.
using Shares = std::map<std::string, std::vector<Work>, std::less<>>;

double ResidentMebibytes(pid_t pid) {
  double total = 0;
  double resident = 0;
  std::ifstream(fmt::format("/proc/{}/statm", pid)) >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

absl::StatusOr<Shares> Read(ProcessLoad& load, int replicas) {
  Shares shares;
  for (const std::string_view service : kServices) {
    for (int i = 0; i < replicas; ++i) {
      const std::string name = fmt::format("{}-{}", service, i);
      BASALT_ASSIGN_OR_RETURN(const ProcessUsage usage, ReadProcessUsage(load.suite().pid(name)));
      BASALT_ASSIGN_OR_RETURN(const double passes, load.Metric(name, "basalt_passes_total"));
      shares[std::string(service)].push_back({.cpu = absl::ToDoubleSeconds(usage.cpu),
                                              .keys = passes,
                                              .memory = ResidentMebibytes(load.suite().pid(name))});
    }
  }
  return shares;
}

struct Run {
  Shares shares;
  absl::Duration wall;
};

absl::StatusOr<Run> RunWith(const ShareOptions& options, int replicas) {
  ProcessLoad load({.bin_dir = options.bin_dir,
                    .replicas = replicas,
                    .gateways = 1,
                    .queues = options.queues,
                    .gateway_flags = {"--log_level=error"}});
  BASALT_RETURN_IF_ERROR(load.Start());
  absl::SleepFor(options.rest);
  BASALT_ASSIGN_OR_RETURN(const Shares earlier, Read(load, replicas));
  const absl::Time idle_from = absl::Now();
  absl::SleepFor(options.rest);
  BASALT_ASSIGN_OR_RETURN(const Shares before, Read(load, replicas));
  const absl::Time begin = absl::Now();
  const double idle = absl::ToDoubleSeconds(begin - idle_from);
  load.MakeJobs(options.jobs);
  BASALT_RETURN_IF_ERROR(load.AwaitCompleted(kLimit));
  Run run;
  run.wall = absl::Now() - begin;
  absl::SleepFor(options.rest);
  BASALT_ASSIGN_OR_RETURN(run.shares, Read(load, replicas));
  const double time = absl::ToDoubleSeconds(absl::Now() - begin);
  for (auto& [service, works] : run.shares) {
    for (size_t i = 0; i < works.size(); ++i) {
      const Work& base = before.at(service)[i];
      works[i].cpu -= base.cpu + (base.cpu - earlier.at(service)[i].cpu) / idle * time;
      works[i].keys -= base.keys;
      works[i].memory -= base.memory;
    }
  }
  if (const std::vector<std::string> dead = load.suite().Casualties(); !dead.empty()) {
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} ended", fmt::join(dead, ", ")));
  }
  return run;
}

double Busiest(const std::vector<Work>& works, double Work::*measure) {
  double most = 0;
  for (const Work& work : works) most = std::max(most, work.*measure);
  return most;
}

Figure BusiestFigure(std::string_view service, const Measure& measure, const Run& run, const Run& alone) {
  const std::vector<Work>& works = run.shares.find(service)->second;
  const double whole = Busiest(alone.shares.find(service)->second, measure.of);
  const auto replicas = static_cast<double>(works.size());
  Figure figure;
  figure.name = fmt::format("{} of the busiest {} of {}, to 1/{}", measure.name, service, works.size(), works.size());
  figure.value = whole > 0 ? Busiest(works, measure.of) / whole * replicas : 0;
  std::string each;
  for (const Work& work : works) each += fmt::format(" {}", Number(work.*measure.of));
  figure.notes = {fmt::format("alone {}, now{}", Number(whole), each)};
  if (whole < measure.least) {
    figure.notes.emplace_back("too little to be judged");
    return figure;
  }
  figure.goal = "0.8 to 1.2";
  figure.met = figure.value >= kLeast && figure.value <= kMost;
  return figure;
}

// Describes the run for the people who wait for the bench.
std::string Summary(const Run& run) {
  std::string text =
      fmt::format("  done in {:.0f} s; each replica's CPU in s, keys, memory in MiB:", absl::ToDoubleSeconds(run.wall));
  for (const auto& [service, works] : run.shares) {
    text += " " + service;
    for (const Work& work : works) text += fmt::format(" ({:.1f}, {:.0f}, {:.0f})", work.cpu, work.keys, work.memory);
  }
  return text;
}

// Measures how many slots of jobsvc move when each further replica joins.
absl::StatusOr<std::vector<Figure>> MeasureJoins(const ShareOptions& options, int most) {
  ProcessLoad load({.bin_dir = options.bin_dir,
                    .replicas = most,
                    .gateways = 1,
                    .queues = 1,
                    .gateway_flags = {"--log_level=error"}});
  BASALT_RETURN_IF_ERROR(load.Start());
  for (int i = most - 1; i > 0; --i) BASALT_RETURN_IF_ERROR(load.EndProcess(fmt::format("jobsvc-{}", i)));
  std::vector<Figure> figures;
  for (int there = 1; there < most; ++there) {
    absl::SleepFor(options.rest);
    BASALT_ASSIGN_OR_RETURN(const double before, load.Metric("gateway-0", "basalt_gateway_slots_moved_total"));
    BASALT_RETURN_IF_ERROR(load.suite().Restart(fmt::format("jobsvc-{}", there)));
    absl::SleepFor(options.rest);
    BASALT_ASSIGN_OR_RETURN(const double after, load.Metric("gateway-0", "basalt_gateway_slots_moved_total"));
    const double part = (after - before) / kSlotCount * (there + 1);
    figures.push_back({.name = fmt::format("slots moved when replica {} joins, to 1/{}", there + 1, there + 1),
                       .value = part,
                       .goal = "<= 1.2",
                       .met = part <= kMost && part >= kLeast,
                       .notes = {fmt::format("{} of {}", Number(after - before), kSlotCount)}});
  }
  return figures;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureShare(const ShareOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  std::vector<Run> runs;
  for (const int replicas : options.replicas) {
    progress(fmt::format("{} jobs with {} replicas of each service", options.jobs, replicas));
    BASALT_ASSIGN_OR_RETURN(Run run, RunWith(options, replicas));
    runs.push_back(std::move(run));
    progress(Summary(runs.back()));
    if (runs.size() == 1) continue;
    for (const std::string_view service : kServices) {
      for (const Measure& measure : kMeasures) {
        figures.push_back(BusiestFigure(service, measure, runs.back(), runs.front()));
      }
    }
    figures.back().notes.push_back(fmt::format(
        "{} jobs of one pod in {} queues, all at once: {} until the last is "
        "completed, {} with one replica",
        options.jobs, options.queues, absl::FormatDuration(absl::Trunc(runs.back().wall, absl::Milliseconds(1))),
        absl::FormatDuration(absl::Trunc(runs.front().wall, absl::Milliseconds(1)))));
  }
  progress("replicas that join");
  BASALT_ASSIGN_OR_RETURN(std::vector<Figure> joins, MeasureJoins(options, options.replicas.back()));
  std::move(joins.begin(), joins.end(), std::back_inserter(figures));
  return figures;
}

}  // namespace basalt::bench
