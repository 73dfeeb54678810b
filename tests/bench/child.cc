#include "tests/bench/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "common/base/status.h"

extern char** environ;

namespace basalt::bench {

absl::StatusOr<std::unique_ptr<Child>> Child::Start(std::vector<std::string> command) {
  int to[2];
  int from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return absl::InternalError("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  auto child = std::unique_ptr<Child>(new Child());
  const int error = posix_spawn(&child->pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  child->to_ = fdopen(to[1], "w");
  child->from_ = fdopen(from[0], "r");
  if (error != 0) {
    child->pid_ = 0;
    return MakeStatus(absl::StatusCode::kNotFound, fmt::format("cannot start {}", command[0]));
  }
  return child;
}

Child::~Child() {
  if (to_ != nullptr) fclose(to_);
  if (pid_ > 0) {
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }
  if (from_ != nullptr) fclose(from_);
}

absl::StatusOr<std::string> Child::Ask(const std::string& line) {
  std::fputs((line + "\n").c_str(), to_);
  std::fflush(to_);
  char* answer = nullptr;
  size_t size = 0;
  const ssize_t length = getline(&answer, &size, from_);
  std::string text(answer == nullptr || length < 0 ? "" : answer);
  std::free(answer);
  if (text.empty()) return absl::UnavailableError("another process of the run has ended");
  return text;
}

void Child::Signal(int number) {
  if (pid_ > 0) kill(pid_, number);
}

void Child::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace basalt::bench
