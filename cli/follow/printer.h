#pragma once

// Changes of jobs on standard output: a document each, a line each, or on a terminal a picture. For one thread.
#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/follow/picture.h"

namespace basalt::cli {

class Printer {
 public:
  // `output`: json or yaml, or empty for people. Quiet: nothing is printed.
  Printer(std::string output, bool quiet, bool with_namespace);

  void Show(job::v1::WatchJobsResponse&& state);
  void ShowGone(const job::v1::WatchJobsResponse& deletion);
  // Everything there is has been shown.
  void Complete() { picture_.Complete(); }
  // To stderr.
  void Remark(std::string_view line);

  // When something is to be drawn.
  absl::Time due() const { return picture_.due(); }
  void DrawWhatIsDue(absl::Time now);
  // What is not drawn yet.
  void Finish();

 private:
  enum class Mode { kQuiet, kDocuments, kLines, kPicture };
  void Draw(absl::Time now);

  const std::string output_;
  const Mode mode_;
  Picture picture_;
  std::map<std::string, std::string> lines_;  // The last of each job that is not gone, by key.
};

}  // namespace basalt::cli
