#pragma once

// Prints changes of jobs on standard output: a document each, a line each, or on a terminal a table. For one thread.
#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/follow/picture.h"

namespace basalt::cli {

class Printer {
 public:
  // `output` is "json", "yaml", or empty for people. If `quiet`, only remarks are printed.
  Printer(std::string output, bool quiet, bool with_namespace);

  void Show(job::v1::WatchJobsResponse&& state);
  void ShowGone(const job::v1::WatchJobsResponse& deletion);
  // Must be called when all existing jobs have been shown.
  void Complete() { picture_.Complete(); }
  // Prints a line to stderr.
  void Remark(std::string_view line);

  // When the table is to be drawn. Infinite future if nothing is to be drawn.
  absl::Time due() const { return picture_.due(); }
  void DrawWhatIsDue(absl::Time now);
  // Draws the changes that are not drawn yet.
  void Finish();

 private:
  enum class Mode { kQuiet, kDocuments, kLines, kPicture };
  void Draw(absl::Time now);

  const std::string output_;
  const Mode mode_;
  Picture picture_;
  std::map<std::string, std::string> lines_;  // The last line of each job that is not gone, by key.
};

}  // namespace basalt::cli
