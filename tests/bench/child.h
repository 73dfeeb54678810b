#pragma once

// A child process of a run, with a pipe to its standard input and one from its standard output. Used by one thread;
// calls block.
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace basalt::bench {

class Child {
 public:
  // Returns NOT_FOUND if the program cannot be started.
  static absl::StatusOr<std::unique_ptr<Child>> Start(std::vector<std::string> command);
  // Closes the child's standard input, at which our own roles exit, and waits for the child.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Writes a line to the child's standard input and returns the line that the child answers. Returns UNAVAILABLE if the
  // child has ended.
  absl::StatusOr<std::string> Ask(const std::string& line = "");
  void Signal(int number);
  // Kills the child with SIGKILL and reaps it.
  void Kill();
  pid_t pid() const { return pid_; }  // 0 after Kill().

 private:
  Child() = default;
  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace basalt::bench
