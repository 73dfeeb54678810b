#include "dev/process_suite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "dev/attached.h"

namespace basalt::dev {
namespace {

constexpr std::string_view kKubesim = "kubesim";
constexpr std::string_view kActors = "kube-actors";
constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kStartLimit = absl::Seconds(30);
constexpr absl::Duration kStopLimit = absl::Seconds(5);

absl::Status Failed(std::string_view what) { return MakeStatus(absl::StatusCode::kInternal, what); }

pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  // Only async-signal-safe calls from here. The child ends with us, however we end.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0 || null < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0 || dup2(null, 0) < 0) _exit(127);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessSuite>> ProcessSuite::Start(ProcessSuiteOptions options) {
  std::error_code error;
  std::filesystem::create_directories(options.dir, error);
  if (error) return Failed(fmt::format("{} cannot be made: {}", options.dir, error.message()));
  auto suite = std::unique_ptr<ProcessSuite>(new ProcessSuite(std::move(options)));
  for (const std::string_view program : suite->programs()) BASALT_RETURN_IF_ERROR(suite->Launch(program));
  BASALT_RETURN_IF_ERROR(suite->WaitAttached(kStartLimit));
  return suite;
}

ProcessSuite::~ProcessSuite() {
  for (const auto& [name, process] : processes_) {
    if (process.pid > 0) kill(process.pid, SIGTERM);
  }
  const absl::Time end = absl::Now() + kStopLimit;
  for (auto& [name, process] : processes_) {
    if (process.pid <= 0) continue;
    while (waitpid(process.pid, nullptr, WNOHANG) == 0) {
      if (absl::Now() > end) {
        kill(process.pid, SIGKILL);
        waitpid(process.pid, nullptr, 0);
        break;
      }
      absl::SleepFor(kPoll);
    }
  }
}

std::string ProcessSuite::PortFile(std::string_view program) const {
  return fmt::format("{}/{}.port", options_.dir, program);
}
std::string ProcessSuite::log_file(std::string_view program) const {
  return fmt::format("{}/{}.log", options_.dir, program);
}
std::string ProcessSuite::data_dir(std::string_view program) const {
  return fmt::format("{}/{}-data", options_.dir, program);
}
std::vector<std::string_view> ProcessSuite::programs() const {
  std::vector<std::string_view> names(std::begin(kOurs), std::end(kOurs));
  if (!options_.kube.has_value()) names.insert(names.begin(), kKubesim);
  if (options_.kube.has_value() && !options_.kube->actors_kubeconfig.empty()) names.insert(names.begin(), kActors);
  return names;
}

pid_t ProcessSuite::pid(std::string_view program) const {
  const auto found = processes_.find(program);
  return found == processes_.end() ? 0 : found->second.pid;
}

std::string ProcessSuite::kubeconfig() const {
  return options_.kube.has_value() ? options_.kube->admin_kubeconfig : options_.dir + "/kubeconfig";
}
std::string ProcessSuite::kube_server() const {
  if (options_.kube.has_value()) return options_.kube->server;
  return fmt::format("http://127.0.0.1:{}", processes_.find(kKubesim)->second.port);
}
std::string ProcessSuite::gateway() const {
  return fmt::format("127.0.0.1:{}", processes_.find("gateway")->second.port);
}

std::vector<std::string> ProcessSuite::Command(std::string_view program) const {
  const auto process = processes_.find(program);
  const int port = process == processes_.end() ? 0 : process->second.port;
  std::vector<std::string> command = {fmt::format("{}/{}", options_.bin_dir, program)};
  if (program == kActors) {
    command.push_back(fmt::format("--kubeconfig={}", options_.kube->actors_kubeconfig));
    command.insert(command.end(), options_.kube->actors_flags.begin(), options_.kube->actors_flags.end());
    return command;
  }
  command.push_back(fmt::format("--port_file={}", PortFile(program)));
  if (program == kKubesim) {
    command.push_back(fmt::format("--port={}", port));
    command.push_back(fmt::format("--kubeconfig_out={}", kubeconfig()));
    command.insert(command.end(), options_.kubesim_flags.begin(), options_.kubesim_flags.end());
    return command;
  }
  command.push_back(fmt::format("--listen=127.0.0.1:{}", port));
  command.emplace_back("--metrics_listen=127.0.0.1:0");
  command.push_back(fmt::format("--replica={}-0", program));
  if (program == "gateway") {
    command.push_back(options_.kube.has_value() ? fmt::format("--kubeconfig={}", options_.kube->gateway_kubeconfig)
                                                : fmt::format("--kube_server={}", kube_server()));
    command.insert(command.end(), options_.gateway_flags.begin(), options_.gateway_flags.end());
  } else {
    command.push_back(fmt::format("--gateway={}", gateway()));
    command.push_back(fmt::format("--data_dir={}", data_dir(program)));
    if (program == "jobsvc") {
      command.insert(command.end(), options_.jobsvc_flags.begin(), options_.jobsvc_flags.end());
    }
  }
  return command;
}

absl::Status ProcessSuite::Launch(std::string_view program) {
  std::error_code ignored;
  std::filesystem::remove(PortFile(program), ignored);
  const pid_t pid = Spawn(Command(program), log_file(program));
  if (pid < 0) return Failed(fmt::format("{} cannot be started: {}", program, std::strerror(errno)));
  processes_[std::string(program)].pid = pid;
  if (program == kActors) return absl::OkStatus();  // It serves nobody.
  BASALT_ASSIGN_OR_RETURN(const int port, WaitForPort(program));
  processes_[std::string(program)].port = port;
  return absl::OkStatus();
}

absl::StatusOr<int> ProcessSuite::WaitForPort(std::string_view program) {
  Process& process = processes_[std::string(program)];
  for (const absl::Time end = absl::Now() + kStartLimit; absl::Now() < end; absl::SleepFor(kPoll)) {
    std::ifstream file(PortFile(program));
    int port = 0;
    if (file >> port && port > 0) return port;
    int status = 0;
    if (waitpid(process.pid, &status, WNOHANG) == process.pid) {
      process.pid = 0;
      return Failed(fmt::format("{} ended with {} before it served; see {}", program,
                                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), log_file(program)));
    }
  }
  return Failed(
      fmt::format("{} did not serve within {}; see {}", program, absl::FormatDuration(kStartLimit), log_file(program)));
}

absl::Status ProcessSuite::WaitAttached(absl::Duration limit) {
  const absl::Status attached = WaitUntilAttached(gateway(), limit);
  return attached.ok() ? attached : Failed(fmt::format("{}; logs are in {}", ToStd(attached.message()), options_.dir));
}

absl::Status ProcessSuite::Kill(std::string_view program) {
  const auto found = processes_.find(program);
  if (found == processes_.end() || found->second.pid <= 0) return Failed(fmt::format("{} does not run", program));
  kill(found->second.pid, SIGKILL);
  waitpid(found->second.pid, nullptr, 0);
  found->second.pid = 0;
  return absl::OkStatus();
}

absl::Status ProcessSuite::Restart(std::string_view program) { return Launch(program); }

std::vector<std::string> ProcessSuite::Casualties() {
  std::vector<std::string> names;
  for (auto& [name, process] : processes_) {
    int status = 0;
    if (process.pid > 0 && waitpid(process.pid, &status, WNOHANG) == process.pid) {
      process.pid = 0;
      names.push_back(fmt::format("{} ({})", name,
                                  WIFEXITED(status) ? fmt::format("exit {}", WEXITSTATUS(status))
                                                    : fmt::format("signal {}", WTERMSIG(status))));
    }
  }
  return names;
}

}  // namespace basalt::dev
