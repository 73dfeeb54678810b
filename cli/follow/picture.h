#pragma once

// Jobs as a table on a terminal, drawn over the one before. Time and terminal are handed in. For one thread.
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

struct Screen {
  std::optional<size_t> height;  // Lines; nothing: it does not say.
  Look look;
};

class Picture {
 public:
  static constexpr absl::Duration kPause = absl::Milliseconds(100);  // Nobody reads faster.

  explicit Picture(bool with_namespace) : with_namespace_(with_namespace) {}

  void Put(const std::string& key, job::v1::Job&& job);
  void Remove(const std::string& key);
  // All there is has been put: before, no picture is due.
  void Complete() { complete_ = true; }
  // Something else was written below it; the next stands below that.
  void StartAnew() { lines_ = 0; }

  // It shows less than there is.
  bool stale() const { return stale_; }
  // When it is to be drawn; in the infinite future where it need not.
  absl::Time due() const;
  // What draws it, at whatever time.
  std::string Draw(absl::Time now, const Screen& screen);

 private:
  const bool with_namespace_;
  std::map<std::string, job::v1::Job> jobs_;  // By key.
  bool complete_ = false;
  bool stale_ = false;
  absl::Time drawn_ = absl::InfinitePast();
  size_t lines_ = 0;  // Of the picture before.
};

}  // namespace basalt::cli
