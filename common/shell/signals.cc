#include "common/shell/signals.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/synchronization/mutex.h"
#include "common/base/status.h"

namespace basalt::shell {
namespace {

sigset_t EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// The memory has data that users submit. RLIMIT_CORE is not enough: a program that gets core dumps by a pipe would
// still get them, unless the process cannot be dumped.
void KeepToOneself() {
  umask(S_IRWXG | S_IRWXO);
  const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace

void PrepareProcess() {
  KeepToOneself();
  // Debian builds Abseil without NDEBUG; gRPC's own locks would trip its deadlock detector.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const sigset_t set = EndSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool WaitForEnd(absl::Duration at_most) {
  const sigset_t set = EndSignals();
  const timespec timeout = absl::ToTimespec(at_most);
  return sigtimedwait(&set, nullptr, &timeout) > 0;
}

void WaitForEnd() {
  while (!WaitForEnd(absl::Hours(1))) continue;
}

absl::Status WriteFileWhole(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("'{}' cannot be written", path));
  }
  return absl::OkStatus();
}

}  // namespace basalt::shell
