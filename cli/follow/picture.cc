#include "cli/follow/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/view/job_view.h"
#include "cli/view/table.h"

namespace basalt::cli {

void Picture::Put(const std::string& key, job::v1::Job&& job) {
  jobs_[key] = std::move(job);
  stale_ = true;
}

void Picture::Remove(const std::string& key) { stale_ |= jobs_.erase(key) > 0; }

absl::Time Picture::due() const { return complete_ && stale_ ? drawn_ + kPause : absl::InfiniteFuture(); }

std::string Picture::Draw(absl::Time now, const Screen& screen) {
  std::vector<const job::v1::Job*> rows;
  for (const auto& [key, job] : jobs_) {
    if (screen.height && rows.size() >= *screen.height) break;
    rows.push_back(&job);
  }
  const std::string picture = FitHeight(FormatJobs(rows, with_namespace_, absl::ToUnixMillis(now), screen.look),
                                        screen.height, screen.look.width, jobs_.size() - rows.size());
  // The window may have become smaller since the last table was drawn.
  const size_t up = screen.height ? std::min(lines_, *screen.height - 1) : lines_;
  lines_ = static_cast<size_t>(std::count(picture.begin(), picture.end(), '\n'));
  drawn_ = now;
  stale_ = false;
  return (up == 0 ? std::string() : fmt::format("\x1b[{}A\x1b[J", up)) + picture;
}

}  // namespace basalt::cli
