#include "cli/follow/printer.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "absl/time/clock.h"
#include "cli/follow/followed_objects.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"

namespace basalt::cli {

Printer::Printer(std::string output, bool quiet, bool with_namespace)
    : output_(std::move(output)),
      mode_(quiet              ? Mode::kQuiet
            : !output_.empty() ? Mode::kDocuments
            : CanRedraw()      ? Mode::kPicture
                               : Mode::kLines),
      picture_(with_namespace) {}

void Printer::Show(job::v1::WatchJobsResponse&& state) {
  const std::string key = KeyOf(state.job());
  switch (mode_) {
    case Mode::kQuiet:
      return;
    case Mode::kDocuments:
      return Print(FormatDocument(state, output_));
    case Mode::kPicture:
      return picture_.Put(key, std::move(*state.mutable_job()));
    case Mode::kLines:
      // A change of the job may leave its line unchanged.
      if (std::string line = FormatChange(state.job()); line != lines_[key]) Print(lines_[key] = std::move(line));
  }
}

void Printer::ShowGone(const job::v1::WatchJobsResponse& deletion) {
  const std::string key = KeyOf(deletion.job());
  switch (mode_) {
    case Mode::kQuiet:
      return;
    case Mode::kDocuments:
      return Print(FormatDocument(deletion, output_));
    case Mode::kPicture:
      return picture_.Remove(key);
    case Mode::kLines:
      // A deletion is printed once, and only of a job of which a line was printed.
      if (lines_.erase(key) > 0) Print(fmt::format("{}  deleted\n", Printable(key)));
  }
}

void Printer::Remark(std::string_view line) {
  if (picture_.due() < absl::InfiniteFuture()) Draw(absl::Now());
  std::fprintf(stderr, "%s\n", Printable(line).c_str());
  picture_.StartAnew();
}

void Printer::Draw(absl::Time now) { Print(picture_.Draw(now, {.height = TerminalHeight(), .look = StandardLook()})); }

void Printer::DrawWhatIsDue(absl::Time now) {
  if (now >= picture_.due()) Draw(now);
}

void Printer::Finish() {
  if (picture_.stale()) Draw(absl::Now());
}

}  // namespace basalt::cli
