#include "tests/bench/jobs/bed_figures.h"

#include <fmt/format.h>

#include "common/base/status_macros.h"

namespace basalt::bench {

Figure PercentileOf(const std::string& what, const std::vector<absl::Duration>& times, double part) {
  Figure figure;
  figure.name = fmt::format("{}: p{:.0f}", what, part * 100);
  figure.value = absl::ToDoubleMilliseconds(Percentile(times, part));
  figure.unit = "ms";
  return figure;
}

void SetTimeGoal(const std::vector<absl::Duration>& times, double part, absl::Duration most, Figure& figure) {
  figure.goal = fmt::format("<= {:.0f}", absl::ToDoubleMilliseconds(most));
  figure.met = Percentile(times, part) <= most;
}

absl::StatusOr<Figure> WritesOfRestart(Bed& bed, const std::string& what, bool with_disks) {
  // Writes that are still due before the restart, as the count of the last group in its queue, do not count.
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  BASALT_RETURN_IF_ERROR(bed.Restart(with_disks).status());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed.End());
  const Tally tally = Count(window.writes);
  Figure figure;
  figure.name = fmt::format("{}: writes of a restart, stores {}", what, with_disks ? "kept" : "lost");
  figure.value = tally.writes;
  figure.goal = "0";
  figure.met = tally.writes == 0;
  figure.notes = {KindsOf(tally), window.Processes()};
  return figure;
}

}  // namespace basalt::bench
