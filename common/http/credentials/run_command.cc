#include "common/http/credentials/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "common/base/status.h"

namespace basalt::http {
namespace {

constexpr size_t kMaxWords = 2000;  // Limits the bytes of standard error that a message contains.

class Pipe {
 public:
  Pipe() { open_ = pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    CloseWrite();
    if (open_) close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool open() const { return open_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWrite() {
    if (open_ && ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }

 private:
  int ends_[2] = {-1, -1};
  bool open_ = false;
};

std::vector<std::string> Environment(const Command& command) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) merged[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : command.environment) merged[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : merged) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

absl::StatusOr<pid_t> Spawn(const Command& command, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write_end(), 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::vector<std::string> environment = Environment(command);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, command.words[0].c_str(), &actions, &attributes, Pointers(command.words).data(),
                                 Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return MakeStatus(error == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kUnknown,
                    fmt::format("cannot run '{}': {}", command.words[0], strerror(error)));
}

// Reads the bytes that have come. Returns false if the other end is closed.
bool Drain(int fd, std::string& into) {
  char buffer[4096];
  const ssize_t bytes = read(fd, buffer, sizeof(buffer));
  if (bytes > 0) into.append(buffer, static_cast<size_t>(bytes));
  return bytes > 0 || (bytes < 0 && errno == EINTR);
}

absl::Status TooLong(const Command& command) {
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("'{}' did not end within {}", command.words[0], absl::FormatDuration(command.limit)));
}

}  // namespace

CommandStop::CommandStop() {
  if (pipe2(fds_, O_CLOEXEC | O_NONBLOCK) != 0) fds_[0] = fds_[1] = -1;
}

CommandStop::~CommandStop() {
  for (const int fd : fds_) {
    if (fd >= 0) close(fd);
  }
}

void CommandStop::Stop() {
  // A failed write needs no handling: a full pipe, too, wakes the reader.
  [[maybe_unused]] const ssize_t written = write(fds_[1], "", 1);
}

absl::StatusOr<std::string> RunCommand(const Command& command, const CommandStop& stop) {
  Pipe out, err;
  if (command.words.empty() || !out.open() || !err.open()) {
    return MakeStatus(absl::StatusCode::kUnknown, "a program cannot be run: no name or no pipe");
  }
  absl::StatusOr<pid_t> pid = Spawn(command, out, err);
  if (!pid.ok()) return pid.status();
  out.CloseWrite();
  err.CloseWrite();
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(command.limit);
  std::string output, words;
  pollfd watched[] = {{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
  absl::Status failed;
  while (failed.ok() && (watched[0].fd >= 0 || watched[1].fd >= 0)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      failed = TooLong(command);
      break;
    }
    if (poll(watched, 3, static_cast<int>(std::min<int64_t>(left, 60'000))) <= 0) continue;
    if (watched[2].revents != 0) failed = MakeStatus(absl::StatusCode::kCancelled, "stopped");
    if (watched[0].revents != 0 && !Drain(watched[0].fd, output)) watched[0].fd = -1;
    if (watched[1].revents != 0 && !Drain(watched[1].fd, words)) watched[1].fd = -1;
    if (output.size() > command.max_output) {
      failed = MakeStatus(absl::StatusCode::kResourceExhausted,
                          fmt::format("'{}' wrote more than {} bytes", command.words[0], command.max_output));
    }
    if (words.size() > 2 * kMaxWords) words.erase(0, words.size() - kMaxWords);
  }
  int status = 0;
  pid_t ended = 0;
  // The program may have closed both outputs and still run.
  while (failed.ok() && (ended = waitpid(*pid, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() >= end) failed = TooLong(command);
    if (poll(&watched[2], 1, 10) > 0) failed = MakeStatus(absl::StatusCode::kCancelled, "stopped");
  }
  const int unread = ended < 0 ? errno : 0;
  // Kill the whole group, since a plugin may be a script that started another program.
  if (!failed.ok()) kill(-*pid, SIGKILL);
  while (ended == 0 && waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (unread != 0) {
    failed = MakeStatus(absl::StatusCode::kUnknown,
                        fmt::format("the exit status of '{}' cannot be read: {}", command.words[0], strerror(unread)));
  }
  if (words.size() > kMaxWords) words.erase(0, words.size() - kMaxWords);
  while (!words.empty() && static_cast<unsigned char>(words.back()) <= ' ') words.pop_back();
  const std::string said = words.empty() ? std::string() : ": " + words;
  if (!failed.ok()) return MakeStatus(failed.code(), fmt::format("{}{}", ToStd(failed.message()), said));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  const std::string how = WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WTERMSIG(status));
  return MakeStatus(absl::StatusCode::kUnknown, fmt::format("'{}' failed with {}{}", command.words[0], how, said));
}

}  // namespace basalt::http
