#pragma once

// A table of jobs on a terminal, each drawn over the previous one. Time and terminal are parameters. For one thread.
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

struct Screen {
  std::optional<size_t> height;  // Number of lines. Nullopt if the terminal does not state it.
  Look look;
};

class Picture {
 public:
  static constexpr absl::Duration kPause =
      absl::Milliseconds(100);  // The shortest time between two tables: nobody reads faster.

  explicit Picture(bool with_namespace) : with_namespace_(with_namespace) {}

  void Put(const std::string& key, job::v1::Job&& job);
  void Remove(const std::string& key);
  // Must be called when all existing jobs have been put. No table is due before.
  void Complete() { complete_ = true; }
  // Must be called when other text was written below the table. The next table is drawn below that text.
  void StartAnew() { lines_ = 0; }

  // Returns whether a change is not drawn yet.
  bool stale() const { return stale_; }
  // When the table is to be drawn. Infinite future if nothing is to be drawn.
  absl::Time due() const;
  // Returns the text that draws the table, whether it is due or not.
  std::string Draw(absl::Time now, const Screen& screen);

 private:
  const bool with_namespace_;
  std::map<std::string, job::v1::Job> jobs_;  // By key.
  bool complete_ = false;
  bool stale_ = false;
  absl::Time drawn_ = absl::InfinitePast();
  size_t lines_ = 0;  // Number of lines of the previous table.
};

}  // namespace basalt::cli
