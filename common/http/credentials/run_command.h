#pragma once

// Runs a program to its end, without a terminal and without a shell. Any thread; it blocks.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::http {

struct Command {
  std::vector<std::string> words;  // The program, looked for in PATH where its name has no slash, and its arguments.
  std::vector<std::pair<std::string, std::string>> environment;  // On top of this process's own.
  absl::Duration limit = absl::Minutes(1);
  size_t max_output = 1 << 20;
};

// Ends a Run from another thread: the program is killed with all that it started.
class CommandStop {
 public:
  CommandStop();
  ~CommandStop();
  CommandStop(const CommandStop&) = delete;
  CommandStop& operator=(const CommandStop&) = delete;
  void Stop();
  int fd() const { return fds_[0]; }

 private:
  int fds_[2];
};

// Its standard output. NOT_FOUND: there is no such program. DEADLINE_EXCEEDED: it ran longer than the limit and was
// killed. CANCELLED: stopped. RESOURCE_EXHAUSTED: too much output. UNKNOWN: it failed; the message has its exit status
// and the end of what it said on standard error.
absl::StatusOr<std::string> RunCommand(const Command& command, const CommandStop& stop);

}  // namespace basalt::http
