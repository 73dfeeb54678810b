#include "tests/bench/replicas/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/replicas/process_load.h"
#include "tests/bench/replicas/slot_watch.h"

namespace basalt::bench {
namespace {

constexpr int kReplicas = 3;
constexpr int kGateways = 2;
constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kRest = absl::Seconds(1);
constexpr absl::Duration kLast = absl::Milliseconds(300);  // What a killed gateway has begun is over after that.
constexpr double kGraceful = 100;                          // Milliseconds.
constexpr double kAfterGrace = 500;
constexpr double kOfLease = 1.5;
constexpr std::string_view kVictim = "jobsvc-2";

class Moves {
 public:
  explicit Moves(const MoveOptions& options)
      : options_(options),
        load_({.bin_dir = options.bin_dir,
               .replicas = kReplicas,
               .gateways = kGateways,
               .queues = 1,
               .gateway_flags = {fmt::format("--grace={}", absl::FormatDuration(options.grace)),
                                 fmt::format("--lease_duration={}", absl::FormatDuration(options.lease_duration)),
                                 "--log_level=error"}}) {}

  absl::Status Start() {
    BASALT_RETURN_IF_ERROR(load_.Start());
    load_.MakeJobs(options_.jobs);
    BASALT_RETURN_IF_ERROR(load_.AwaitCompleted(absl::Minutes(5)));
    load_.KeepMaking(options_.per_second);
    watch_ = std::make_unique<SlotWatch>(
        std::vector<std::string>{load_.suite().address("gateway-0"), load_.suite().address("gateway-1")});
    return Await([this] { return watch_->AllOpenAt(kReplicas); }, "slots open at all replicas");
  }

  absl::Status LeaveAndJoin() {
    BASALT_RETURN_IF_ERROR(Step([this] { return load_.EndProcess(kVictim); }, kReplicas - 1, leave_));
    return Step([this] { return load_.suite().Restart(kVictim); }, kReplicas, join_);
  }

  absl::Status Crash() {
    BASALT_RETURN_IF_ERROR(Step([this] { return load_.suite().Kill(kVictim); }, kReplicas - 1, crash_));
    std::vector<double> not_counted;
    return Step([this] { return load_.suite().Restart(kVictim); }, kReplicas, not_counted);
  }

  absl::Status TakeOver() {
    const std::string leader = watch_->leader();
    absl::SleepFor(kRest);
    watch_->Take();
    const absl::Time begin = absl::Now();
    BASALT_RETURN_IF_ERROR(load_.suite().Kill(leader));
    BASALT_RETURN_IF_ERROR(Await([&] { return watch_->leader() != leader && watch_->AllOpenAt(kReplicas); },
                                 "another gateway that leads and serves every slot"));
    for (const Gap& gap : watch_->Take()) reopened_.push_back(absl::ToDoubleSeconds(gap.time));
    const auto first = [&] { return load_.FirstPodSince(begin + kLast); };
    BASALT_RETURN_IF_ERROR(Await([&] { return first() < absl::InfiniteFuture(); }, "a pod that the next leader makes"));
    take_over_.push_back(absl::ToDoubleSeconds(first() - begin));
    return load_.suite().Restart(leader);
  }

  // Everything that was made while all this happened completes.
  absl::Status End() {
    load_.KeepMaking(0);
    BASALT_RETURN_IF_ERROR(load_.AwaitCompleted(kPatience));
    const std::vector<std::string> dead = load_.suite().Casualties();
    if (dead.empty()) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} ended", fmt::join(dead, ", ")));
  }

  std::vector<Figure> Figures() {
    std::vector<Figure> figures;
    const auto gaps = [&](std::string name, std::vector<double>& times, double most) {
      if (times.empty()) return;
      std::sort(times.begin(), times.end());
      const auto at = [&](double part) {
        return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
      };
      Figure figure;
      figure.name = std::move(name);
      figure.value = at(0.99);
      figure.unit = "ms";
      figure.goal = fmt::format("<= {:.0f}", most);
      figure.met = figure.value <= most;
      figure.notes = {fmt::format("{} moves of a slot: p50 {:.1f}, p99 {:.1f}, max {:.1f} ms", times.size(), at(0.5),
                                  at(0.99), times.back())};
      figures.push_back(std::move(figure));
    };
    gaps("slot without an owner, replica leaves (SIGTERM), p99", leave_, kGraceful);
    gaps("slot without an owner, replica joins, p99", join_, kGraceful);
    gaps(fmt::format("slot without an owner, kill -9, grace {}, p99", absl::FormatDuration(options_.grace)), crash_,
         absl::ToDoubleMilliseconds(options_.grace) + kAfterGrace);
    if (!figures.empty()) {
      figures.front().notes.push_back(
          fmt::format("{} jobs there, {} a second made meanwhile; from open at one replica to open at the next as the "
                      "gateway tells it, asked every few ms (at worst {:.0f} ms)",
                      options_.jobs, options_.per_second, absl::ToDoubleMilliseconds(watch_->resolution())));
    }
    if (!take_over_.empty()) {
      const double lease = absl::ToDoubleSeconds(options_.lease_duration);
      Figure figure;
      figure.name =
          fmt::format("gateway take-over, lease of {}, longest", absl::FormatDuration(options_.lease_duration));
      figure.value = *std::max_element(take_over_.begin(), take_over_.end());
      figure.unit = "s";
      figure.goal = fmt::format("<= {}", Number(kOfLease * lease));
      figure.met = figure.value <= kOfLease * lease;
      figure.runs = take_over_;
      figure.notes = {"from kill -9 of the leader to the first pod that the next one makes",
                      fmt::format("slots were not served for {:.2f} s at most",
                                  reopened_.empty() ? 0 : *std::max_element(reopened_.begin(), reopened_.end()))};
      figures.push_back(std::move(figure));
    }
    return figures;
  }

 private:
  absl::Status Await(const std::function<bool()>& condition, std::string_view what) const {
    for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; absl::SleepFor(kPoll)) {
      if (condition()) return absl::OkStatus();
    }
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      fmt::format("not within {}: {}", absl::FormatDuration(kPatience), what));
  }

  // Milliseconds without an owner of the slots that went to another replica.
  absl::Status Step(const std::function<absl::Status()>& change, int replicas, std::vector<double>& times) {
    absl::SleepFor(kRest);
    watch_->Take();
    BASALT_RETURN_IF_ERROR(change());
    BASALT_RETURN_IF_ERROR(
        Await([&] { return watch_->AllOpenAt(replicas); }, "slots open at the replicas that are there"));
    for (const Gap& gap : watch_->Take()) {
      if (gap.moved) times.push_back(absl::ToDoubleMilliseconds(gap.time));
    }
    return absl::OkStatus();
  }

  const MoveOptions options_;
  ProcessLoad load_;
  std::unique_ptr<SlotWatch> watch_;
  std::vector<double> leave_, join_, crash_;  // Milliseconds.
  std::vector<double> take_over_, reopened_;  // Seconds.
};

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureMoves(const MoveOptions& options, const Progress& progress) {
  progress("replicas that leave, join and are killed; gateways that are killed");
  Moves moves(options);
  BASALT_RETURN_IF_ERROR(moves.Start());
  for (int i = 0; i < options.rounds; ++i) BASALT_RETURN_IF_ERROR(moves.LeaveAndJoin());
  for (int i = 0; i < options.crashes; ++i) BASALT_RETURN_IF_ERROR(moves.Crash());
  for (int i = 0; i < options.take_overs; ++i) BASALT_RETURN_IF_ERROR(moves.TakeOver());
  BASALT_RETURN_IF_ERROR(moves.End());
  return moves.Figures();
}

}  // namespace basalt::bench
