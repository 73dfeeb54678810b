#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed_figures.h"
#include "tests/bench/queues/queue_figures.h"
#include "tests/bench/queues/queue_load.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kMostStale = absl::Milliseconds(1'200);
// The share by which the path to the server may shorten the second between two writes of a queue.
constexpr double kJitter = 0.05;

std::string WhatOf(const QueueBenchOptions& options) {
  return fmt::format("{} pod groups in {} queues", Number(options.queues * options.groups_of_queue),
                     Number(options.queues));
}

absl::StatusOr<std::unique_ptr<Bed>> StartWithGroups(const QueueBenchOptions& options) {
  BASALT_ASSIGN_OR_RETURN(std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  std::vector<actors::ApiRequest> requests;
  for (int i = 0; i < options.queues; ++i) requests.push_back(CreateQueue(QueueName(i), "root"));
  for (int i = 0; i < options.queues; ++i) {
    std::vector<actors::ApiRequest> groups = CreateGroups(QueueName(i), options.groups_of_queue);
    std::move(groups.begin(), groups.end(), std::back_inserter(requests));
  }
  bed->Send(std::move(requests));
  BASALT_RETURN_IF_ERROR(bed->AwaitSent());
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  return bed;
}

// Returns the changes, each of another pod group, in an order in which a queue has sometimes several at once and
// sometimes none.
std::vector<actors::ApiRequest> ChangesOf(const QueueBenchOptions& options) {
  std::vector<actors::ApiRequest> changes;
  for (int i = 0; i < options.queues; ++i) {
    std::vector<actors::ApiRequest> of_queue =
        ChangePhases(QueueName(i), options.groups_of_queue, 0, options.groups_of_queue);
    std::move(of_queue.begin(), of_queue.end(), std::back_inserter(changes));
  }
  SeededRandom random(1);
  for (size_t i = changes.size(); i > 1; --i) std::swap(changes[i - 1], changes[random.Uniform(i)]);
  changes.resize(std::min(changes.size(), static_cast<size_t>(options.changes)));
  return changes;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureLoad(const QueueBenchOptions& options, const Progress& progress) {
  const std::string what = WhatOf(options);
  progress(what);
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, StartWithGroups(options));
  std::vector<actors::ApiRequest> changes = ChangesOf(options);
  const size_t count = changes.size();
  progress(fmt::format("{}, {} changes of phase a second", what, Number(options.per_second)));
  BASALT_RETURN_IF_ERROR(bed->Begin());
  bed->SendSteadily(std::move(changes), options.per_second);
  BASALT_RETURN_IF_ERROR(bed->AwaitSent());
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());

  std::vector<Figure> figures;
  for (const char* const program : {"queuesvc", "gateway"}) {
    const ProcessUsage& used = window.usage.at(program);
    figures.push_back(
        {.name = fmt::format("{} changes a second: CPU of {} for each", Number(options.per_second), program),
         .value = absl::ToDoubleMicroseconds(used.cpu) / static_cast<double>(count),
         .unit = "us"});
    figures.push_back({.name = fmt::format("{}: peak memory of {}", what, program),
                       .value = static_cast<double>(used.peak_bytes) / (1 << 20),
                       .unit = "MiB",
                       .notes = {fmt::format("{} anonymous", used.anonymous_bytes / (1 << 20))}});
  }
  figures[0].notes = {window.Processes(), window.Machine()};

  const StatusWrites writes = StatusWritesOf(window.writes);
  const double seconds = static_cast<double>(count) / options.per_second;
  figures.push_back({.name = "status writes a second",
                     .value = writes.writes / seconds,
                     .notes = {fmt::format("of {} queues; {:.2f} for each change", writes.queues,
                                           static_cast<double>(writes.writes) / static_cast<double>(count)),
                               KindsOf(Count(window.writes))}});
  figures.push_back({.name = "status writes a second, of the queue with the most",
                     .value = writes.most_per_second,
                     .goal = "<= 1",
                     .met = writes.most_per_second <= 1 + kJitter,
                     .notes = {fmt::format("at least {:.0f} ms between two of one queue",
                                           absl::ToDoubleMilliseconds(writes.least))}});

  const std::vector<absl::Duration> times = TimesToCount(window.writes, kBenchAgent);
  if (times.size() != count) {
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} changes of {} are in the log", times.size(), count));
  }
  figures.push_back(PercentileOf("from a change of phase to its count", times, 0.5));
  Figure& most = figures.emplace_back(PercentileOf("from a change of phase to its count", times, 0.99, kMostStale));
  most.notes = {fmt::format("longest {:.0f} ms", absl::ToDoubleMilliseconds(Percentile(times, 1)))};
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureQueueRestart(const QueueBenchOptions& options, const Progress& progress) {
  const std::string what = WhatOf(options);
  progress(what);
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, StartWithGroups(options));
  std::vector<Figure> figures;
  for (const bool with_disks : {true, false}) {
    progress(fmt::format("{}: restart, stores {}", what, with_disks ? "kept" : "lost"));
    BASALT_ASSIGN_OR_RETURN(Figure figure, WritesOfRestart(*bed, what, with_disks));
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace basalt::bench
