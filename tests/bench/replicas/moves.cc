#include "tests/bench/replicas/replica_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "cli/connect/channel.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/identity.h"
#include "tests/bench/replicas/process_load.h"
#include "tests/bench/replicas/slot_watch.h"

namespace basalt::bench {
namespace {

constexpr int kReplicas = 3;
constexpr int kGateways = 2;
constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kRest = absl::Seconds(1);
constexpr absl::Duration kLast = absl::Milliseconds(300);  // After so long, a killed gateway's last requests are over.
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
               .tls = true,
               .gateway_flags = {fmt::format("--grace={}", absl::FormatDuration(options.grace)),
                                 fmt::format("--lease_duration={}", absl::FormatDuration(options.lease_duration)),
                                 "--log_level=error"}}) {}

  absl::Status Start() {
    BASALT_RETURN_IF_ERROR(load_.Start());
    load_.MakeJobs(options_.jobs);
    BASALT_RETURN_IF_ERROR(load_.AwaitCompleted(absl::Minutes(5)));
    load_.KeepMaking(options_.per_second);
    std::vector<std::shared_ptr<grpc::Channel>> gateways;
    for (const char* gateway : {"gateway-0", "gateway-1"}) {
      BASALT_ASSIGN_OR_RETURN(gateways.emplace_back(),
                              cli::MakeChannel(load_.suite().address(gateway), identity::Role::kGateway));
    }
    watch_ = std::make_unique<SlotWatch>([gateways = std::move(gateways)] { return gateways; });
    return AwaitOpen(kReplicas);
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

  // Upgrades as docs/upgrade.md describes: one process after the other, the services first, then the gateways.
  absl::Status Upgrade() {
    absl::SleepFor(kRest);
    watch_->Take();
    for (const bool gateways : {false, true}) {
      for (const std::string& name : load_.suite().names()) {
        if (name == "kubesim" || name.starts_with("gateway") != gateways) continue;
        BASALT_RETURN_IF_ERROR(load_.EndProcess(name));
        BASALT_RETURN_IF_ERROR(load_.suite().Restart(name));
        BASALT_RETURN_IF_ERROR(AwaitOpen(kReplicas));
      }
    }
    for (const Gap& gap : watch_->Take()) upgrade_.push_back(absl::ToDoubleMilliseconds(gap.time));
    return absl::OkStatus();
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

  // Checks that every job that was made meanwhile completes, and that no process has ended by itself.
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
      Figure& figure = figures.emplace_back(Figure{.name = std::move(name), .value = at(0.99), .unit = "ms"});
      SetMost(most, figure);
      figure.notes = {fmt::format("{} moves of a slot: p50 {:.1f}, p99 {:.1f}, max {:.1f} ms", times.size(), at(0.5),
                                  at(0.99), times.back())};
    };
    gaps("slot without an owner, replica leaves (SIGTERM), p99", leave_, kGraceful);
    gaps("slot without an owner, replica joins, p99", join_, kGraceful);
    gaps(fmt::format("slot without an owner, kill -9, grace {}, p99", absl::FormatDuration(options_.grace)), crash_,
         absl::ToDoubleMilliseconds(options_.grace) + kAfterGrace);
    if (!upgrade_.empty()) {
      figures.push_back(
          {.name = "slot without an owner, rolling upgrade of every process, longest",
           .value = *std::max_element(upgrade_.begin(), upgrade_.end()),
           .unit = "ms",
           .notes = {fmt::format("{} times that a slot was without an owner in {} upgrades, median {:.1f} ms",
                                 upgrade_.size(), options_.upgrades, Median(upgrade_))}});
    }
    if (!figures.empty()) {
      figures.front().notes.push_back(
          fmt::format("{} jobs there, {} a second made meanwhile; from open at one replica to open at the next as the "
                      "gateway tells it, asked every few ms (at worst {:.0f} ms)",
                      options_.jobs, options_.per_second, absl::ToDoubleMilliseconds(watch_->resolution())));
    }
    if (!take_over_.empty()) {
      const double lease = absl::ToDoubleSeconds(options_.lease_duration);
      figures.push_back(
          {.name =
               fmt::format("gateway take-over, lease of {}, longest", absl::FormatDuration(options_.lease_duration)),
           .value = *std::max_element(take_over_.begin(), take_over_.end()),
           .unit = "s",
           .runs = take_over_,
           .notes = {"from kill -9 of the leader to the first pod that the next one makes",
                     fmt::format("slots were not served for {:.2f} s at most",
                                 reopened_.empty() ? 0 : *std::max_element(reopened_.begin(), reopened_.end()))}});
      SetMost(kOfLease * lease, figures.back(), Number(kOfLease * lease));
    }
    return figures;
  }

 private:
  absl::Status Await(const std::function<bool()>& condition, std::string_view what) const {
    for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; absl::SleepFor(kPoll)) {
      if (condition()) return absl::OkStatus();
    }
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      fmt::format("not within {}: {}; {}", absl::FormatDuration(kPatience), what, watch_->Summary()));
  }

  // Waits for an answer from after this call. An earlier answer may come from a gateway that has ended.
  absl::Status AwaitOpen(int replicas) const {
    const absl::Time begin = absl::Now();
    return Await([&] { return watch_->last() > begin && watch_->AllOpenAt(replicas); },
                 fmt::format("slots open at {} replicas", replicas));
  }

  // Adds to `times`, for each slot that went to another replica, the milliseconds without an owner.
  absl::Status Step(const std::function<absl::Status()>& change, int replicas, std::vector<double>& times) {
    absl::SleepFor(kRest);
    watch_->Take();
    BASALT_RETURN_IF_ERROR(change());
    BASALT_RETURN_IF_ERROR(AwaitOpen(replicas));
    for (const Gap& gap : watch_->Take()) {
      if (gap.moved) times.push_back(absl::ToDoubleMilliseconds(gap.time));
    }
    return absl::OkStatus();
  }

  const MoveOptions options_;
  ProcessLoad load_;
  std::unique_ptr<SlotWatch> watch_;
  std::vector<double> leave_, join_, crash_, upgrade_;  // Milliseconds.
  std::vector<double> take_over_, reopened_;            // Seconds.
};

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureMoves(const MoveOptions& options, const Progress& progress) {
  progress("replicas that leave, join and are killed; gateways that are killed");
  Moves moves(options);
  BASALT_RETURN_IF_ERROR(moves.Start());
  for (int i = 0; i < options.rounds; ++i) BASALT_RETURN_IF_ERROR(moves.LeaveAndJoin());
  for (int i = 0; i < options.upgrades; ++i) BASALT_RETURN_IF_ERROR(moves.Upgrade());
  for (int i = 0; i < options.crashes; ++i) BASALT_RETURN_IF_ERROR(moves.Crash());
  for (int i = 0; i < options.take_overs; ++i) BASALT_RETURN_IF_ERROR(moves.TakeOver());
  BASALT_RETURN_IF_ERROR(moves.End());
  return moves.Figures();
}

}  // namespace basalt::bench
