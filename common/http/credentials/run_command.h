#pragma once

// Runs a program to its end, without a terminal and without a shell. Any thread; blocks.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::http {

struct Command {
  // The program and its arguments. A program without a slash in its name is looked up in PATH.
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;  // Is added to this process's own environment.
  absl::Duration limit = absl::Minutes(1);
  size_t max_output = 1 << 20;
};

// Ends a RunCommand from another thread: kills the program and its process group.
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

// Returns the program's standard output. NOT_FOUND: the program does not exist. DEADLINE_EXCEEDED: the program ran
// longer than the limit and was killed. CANCELLED: `stop` ended the program. RESOURCE_EXHAUSTED: the program wrote too
// much. UNKNOWN: the program failed, or its exit status cannot be read (this process ignores SIGCHLD); the message has
// the exit status and the end of the program's standard error.
absl::StatusOr<std::string> RunCommand(const Command& command, const CommandStop& stop);

}  // namespace basalt::http
