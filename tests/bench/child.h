#pragma once

// Another process of a run, with a pipe in either direction. Used by one thread; calls block.
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace basalt::bench {

class Child {
 public:
  // NOT_FOUND: there is no such program.
  static absl::StatusOr<std::unique_ptr<Child>> Start(std::vector<std::string> command);
  // Ends its standard input, by which a role of ours ends, and waits for it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Writes a line to its standard input, returns the line that it answers. UNAVAILABLE: it has ended.
  absl::StatusOr<std::string> Ask(const std::string& line = "");
  void Signal(int number);
  // kill -9, and reaped.
  void Kill();
  pid_t pid() const { return pid_; }  // 0: it was killed.

 private:
  Child() = default;
  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace basalt::bench
