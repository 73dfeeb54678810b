#include <fmt/format.h>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "tests/bench/queues/queue_figures.h"
#include "tests/bench/queues/queue_load.h"

namespace basalt::bench {
namespace {

constexpr std::string_view kParent = "parent";
constexpr int kMade = 2;  // The suite makes the queues root and default.
// A queue's state, which is in its status, and the mark that its parent closed it, which is outside of the status.
constexpr int kWritesOfQueue = 2;

struct Turn {
  std::string_view action, state;
  int in_state = 0;  // Queues that are in the state afterwards.
};

absl::Status Operate(Bed& bed, const Turn& turn, int queues, std::vector<Figure>& figures) {
  const std::string uid = bed.UidOf(&View::queues, kParent);
  BASALT_RETURN_IF_ERROR(bed.Begin());
  const absl::Time begin = absl::Now();
  bed.Send({OperateQueue(std::string(kParent), uid, turn.action)});
  BASALT_RETURN_IF_ERROR(
      bed.Await(turn.state, [&](const View& view) { return view.queues.In(turn.state) == turn.in_state; }));
  const absl::Duration wall = absl::Now() - begin;
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed.End());

  const std::string what = fmt::format("{}, {} queues", turn.action, Number(queues));
  figures.push_back({.name = fmt::format("{}: until all are {}", what, turn.state),
                     .value = absl::ToDoubleSeconds(wall),
                     .unit = "s",
                     .notes = {window.Machine()}});
  const double states = static_cast<double>(StatusWritesOf(window.writes).writes) / queues;
  figures.push_back(
      {.name = fmt::format("{}: writes of the state of each", what), .value = states, .goal = "1", .met = states == 1});
  const Tally tally = Count(window.writes);
  figures.push_back({.name = fmt::format("{}: writes for each", what),
                     .value = static_cast<double>(tally.queues) / queues,
                     .goal = fmt::format("<= {}", kWritesOfQueue),
                     .met = tally.queues <= kWritesOfQueue * queues,
                     .notes = {KindsOf(tally), fmt::format("{} Events", tally.events)}});
  for (const char* const program : {"queuesvc", "gateway"}) {
    figures.push_back({.name = fmt::format("{}: CPU of {} for each", what, program),
                       .value = absl::ToDoubleMicroseconds(window.usage.at(program).cpu) / queues,
                       .unit = "us"});
  }
  figures.back().notes = {window.Processes()};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureClose(const QueueBenchOptions& options, const Progress& progress) {
  const int queues = options.children + 1;
  progress(fmt::format("{} queues below one", Number(options.children)));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  std::vector<actors::ApiRequest> requests = {CreateQueue(std::string(kParent), "root")};
  for (int i = 0; i < options.children; ++i) requests.push_back(CreateQueue(QueueName(i), kParent));
  bed->Send(std::move(requests));
  BASALT_RETURN_IF_ERROR(bed->AwaitSent());
  BASALT_RETURN_IF_ERROR(
      bed->Await("Open", [&](const View& view) { return view.queues.In("Open") == queues + kMade; }));
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  std::vector<Figure> figures;
  for (const Turn& turn : {Turn{"CloseQueue", "Closed", queues}, Turn{"OpenQueue", "Open", queues + kMade}}) {
    progress(fmt::format("{} of all of them", turn.action));
    BASALT_RETURN_IF_ERROR(Operate(*bed, turn, queues, figures));
  }
  return figures;
}

}  // namespace basalt::bench
