#include "tests/bench/jobs/bed_figures.h"

#include <fmt/format.h>

#include "common/base/status_macros.h"

namespace basalt::bench {

Figure PercentileOf(std::string_view what, const std::vector<absl::Duration>& times, double part, absl::Duration most) {
  Figure figure{.name = fmt::format("{}: p{:.0f}", what, part * 100),
                .value = absl::ToDoubleMilliseconds(Percentile(times, part)),
                .unit = "ms"};
  if (most < absl::InfiniteDuration()) SetMost(absl::ToDoubleMilliseconds(most), figure);
  return figure;
}

absl::StatusOr<Figure> WritesOfRestart(Bed& bed, const std::string& what, bool with_disks) {
  // Writes that are still due before the restart, as the count of the last group in its queue, do not count.
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  BASALT_RETURN_IF_ERROR(bed.Restart(with_disks).status());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed.End());
  const Tally tally = Count(window.writes);
  return Figure{.name = fmt::format("{}: writes of a restart, stores {}", what, with_disks ? "kept" : "lost"),
                .value = static_cast<double>(tally.writes),
                .goal = "0",
                .met = tally.writes == 0,
                .notes = {KindsOf(tally), window.Processes()}};
}

}  // namespace basalt::bench
