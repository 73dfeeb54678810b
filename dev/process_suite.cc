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
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "dev/attached.h"
#include "dev/certificates.h"

namespace basalt::dev {
namespace {

constexpr std::string_view kKubesim = "kubesim";
constexpr std::string_view kActors = "kube-actors";
constexpr std::string_view kGateway = "gateway";
constexpr char kCluster[] = "default";  // The programs' default of --cluster.
constexpr int kServices = 3;
constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kStartLimit = absl::Seconds(30);
constexpr absl::Duration kStopLimit = absl::Seconds(5);

bool IsService(std::string_view program) { return program == "jobsvc" || program == "pgsvc" || program == "queuesvc"; }

std::string HowItEnded(int status) {
  return WIFEXITED(status) ? fmt::format("exit {}", WEXITSTATUS(status)) : fmt::format("signal {}", WTERMSIG(status));
}

absl::Status Failed(std::string_view what) { return MakeStatus(absl::StatusCode::kInternal, what); }

pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  // Make only async-signal-safe calls from here on. PR_SET_PDEATHSIG ends the child with us, however we end.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0 || null < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0 || dup2(null, 0) < 0) _exit(127);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

ProcessSuite::ProcessSuite(ProcessSuiteOptions options) : options_(std::move(options)) {
  const auto add = [this](std::string_view program, int count) {
    for (int i = 0; i < count; ++i) {
      Process& process = processes_.emplace_back();
      process.program = program;
      process.name = fmt::format("{}-{}", program, i);
      process.bin_dir = options_.suite_bin_dir.empty() ? options_.bin_dir : options_.suite_bin_dir;
    }
  };
  const auto add_kube = [this](std::string_view program) {
    Process& process = processes_.emplace_back();
    process.name = process.program = program;
    process.bin_dir = options_.bin_dir;
  };
  if (!options_.kube.has_value()) {
    add_kube(kKubesim);
  } else if (!options_.kube->actors_kubeconfig.empty()) {
    add_kube(kActors);
  }
  for (const std::string_view program : kOurs) {
    add(program, program == kGateway ? options_.gateways : options_.replicas);
  }
}

absl::StatusOr<std::unique_ptr<ProcessSuite>> ProcessSuite::Start(ProcessSuiteOptions options) {
  std::error_code error;
  std::filesystem::create_directories(options.dir, error);
  if (error) return Failed(fmt::format("{} cannot be made: {}", options.dir, error.message()));
  auto suite = std::unique_ptr<ProcessSuite>(new ProcessSuite(std::move(options)));
  BASALT_RETURN_IF_ERROR(suite->StartAll());
  return suite;
}

absl::Status ProcessSuite::StartAll() {
  if (options_.tls) {
    if (!options_.certificates_dir.empty()) {
      certificates_ = Certificates::Use(options_.certificates_dir, kCluster, options_.identity_mapping);
    } else {
      BASALT_ASSIGN_OR_RETURN(certificates_,
                              Certificates::Make(certificates_dir(), kCluster, options_.replicas, options_.gateways));
    }
  }
  // Later processes need the ports of kubesim and of the gateways in their flags, so these start one by one. Services
  // start side by side.
  for (Process& process : processes_) {
    BASALT_RETURN_IF_ERROR(Launch(process));
    if (!IsService(process.program)) BASALT_RETURN_IF_ERROR(Await(process));
  }
  for (Process& process : processes_) {
    if (IsService(process.program)) BASALT_RETURN_IF_ERROR(Await(process));
  }
  return WaitAttached(kStartLimit);
}

ProcessSuite::~ProcessSuite() {
  End([](const Process& process) { return IsService(process.program); });
  End([](const Process& process) { return process.program == kGateway; });
  End([](const Process&) { return true; });
}

void ProcessSuite::End(absl::FunctionRef<bool(const Process&)> which) {
  for (const Process& process : processes_) {
    if (process.pid <= 0 || !which(process)) continue;
    kill(process.pid, SIGTERM);
    kill(process.pid, SIGCONT);
  }
  const absl::Time end = absl::Now() + kStopLimit;
  for (Process& process : processes_) {
    if (process.pid <= 0 || !which(process)) continue;
    while (waitpid(process.pid, nullptr, WNOHANG) == 0) {
      if (absl::Now() > end) {
        kill(process.pid, SIGKILL);
        waitpid(process.pid, nullptr, 0);
        break;
      }
      absl::SleepFor(kPoll);
    }
    process.pid = 0;
  }
}

const ProcessSuite::Process* ProcessSuite::Find(std::string_view name) const {
  for (const Process& process : processes_) {
    if (process.name == name || process.program == name) return &process;
  }
  return nullptr;
}

absl::StatusOr<ProcessSuite::Process*> ProcessSuite::Running(std::string_view name) {
  auto* const process = const_cast<Process*>(Find(name));
  if (process == nullptr || process->pid <= 0) return Failed(fmt::format("{} does not run", name));
  return process;
}

std::string ProcessSuite::PortFile(std::string_view name) const {
  return fmt::format("{}/{}.port", options_.dir, name);
}
std::string ProcessSuite::MetricsPortFile(std::string_view name) const {
  return fmt::format("{}/{}.metrics-port", options_.dir, name);
}
std::string ProcessSuite::log_file(std::string_view name) const {
  const Process* const process = Find(name);
  return fmt::format("{}/{}.log", options_.dir, process == nullptr ? name : process->name);
}
std::string ProcessSuite::data_dir(std::string_view name) const {
  const Process* const process = Find(name);
  return fmt::format("{}/{}-data", options_.dir, process == nullptr ? name : process->name);
}

std::vector<std::string> ProcessSuite::names() const {
  std::vector<std::string> names;
  for (const Process& process : processes_) names.push_back(process.name);
  return names;
}

pid_t ProcessSuite::pid(std::string_view name) const {
  const Process* const process = Find(name);
  return process == nullptr ? 0 : process->pid;
}

bool ProcessSuite::stopped(std::string_view name) const {
  const Process* const process = Find(name);
  return process != nullptr && process->stopped;
}

std::string ProcessSuite::kubeconfig() const {
  return options_.kube.has_value() ? options_.kube->admin_kubeconfig : options_.dir + "/kubeconfig";
}
std::string ProcessSuite::kube_server() const {
  return options_.kube.has_value() ? options_.kube->server : "http://" + address(kKubesim);
}
std::string ProcessSuite::gateway() const {
  std::vector<std::string> addresses;
  for (const Process& process : processes_) {
    if (process.program == kGateway) addresses.push_back(address(process.name));
  }
  return absl::StrJoin(addresses, ",");
}
std::vector<std::string> ProcessSuite::ctl_flags() const {
  return Certificates::CtlFlags(certificates_.get(), gateway());
}
std::string ProcessSuite::certificates_dir() const {
  if (!options_.certificates_dir.empty()) return options_.certificates_dir;
  return options_.tls ? options_.dir + "/certificates" : "";
}
std::vector<std::string> ProcessSuite::tls_flags(std::string_view program, std::string_view name) const {
  return certificates_ == nullptr ? std::vector<std::string>() : certificates_->FlagsFor(program, name);
}
std::string ProcessSuite::address(std::string_view name) const {
  const Process* const process = Find(name);
  return fmt::format("127.0.0.1:{}", process == nullptr ? 0 : process->port);
}

http::CurlOptions ProcessSuite::pages(std::string_view name) const {
  http::CurlOptions options;
  const Process* const process = Find(name);
  if (process == nullptr) return options;
  int port = 0;
  std::ifstream(MetricsPortFile(process->name)) >> port;
  options.base_url = fmt::format("{}://127.0.0.1:{}", options_.tls ? "https" : "http", port);
  if (certificates_ != nullptr) {
    options.ca_file = certificates_->FileOf(process->program, process->name, "ca.crt");
    options.tls_server_name = process->program;
  }
  return options;
}

std::vector<std::string> ProcessSuite::Command(const Process& process) const {
  const std::string& program = process.program;
  std::vector<std::string> command = {fmt::format("{}/{}", process.bin_dir, program)};
  const auto append = [&](const std::vector<std::string>& flags) {
    command.insert(command.end(), flags.begin(), flags.end());
  };
  if (program == kActors) {
    command.push_back(fmt::format("--kubeconfig={}", options_.kube->actors_kubeconfig));
    append(options_.kube->actors_flags);
    return command;
  }
  command.push_back(fmt::format("--port_file={}", PortFile(process.name)));
  if (program == kKubesim) {
    command.push_back(fmt::format("--port={}", process.port));
    command.push_back(fmt::format("--kubeconfig_out={}", kubeconfig()));
    append(options_.kubesim_flags);
    return command;
  }
  command.push_back(fmt::format("--listen=127.0.0.1:{}", process.port));
  command.emplace_back("--metrics_listen=127.0.0.1:0");
  command.push_back(fmt::format("--metrics_port_file={}", MetricsPortFile(process.name)));
  command.push_back(fmt::format("--replica={}", process.name));
  append(tls_flags(program, process.name));
  append(options_.suite_flags);
  if (program == kGateway) {
    command.push_back(options_.kube.has_value() ? fmt::format("--kubeconfig={}", options_.kube->gateway_kubeconfig)
                                                : fmt::format("--kube_server={}", kube_server()));
    if (options_.kube.has_value()) {
      command.push_back(fmt::format("--lease_namespace={}", options_.kube->lease_namespace));
    }
    append(options_.gateway_flags);
    return command;
  }
  command.push_back(fmt::format("--gateway={}", gateway()));
  command.push_back(fmt::format("--data_dir={}", data_dir(process.name)));
  const auto flags = options_.service_flags.find(program);
  if (flags != options_.service_flags.end()) append(flags->second);
  return command;
}

absl::Status ProcessSuite::Launch(Process& process) {
  std::error_code ignored;
  std::filesystem::remove(PortFile(process.name), ignored);
  const pid_t pid = Spawn(Command(process), log_file(process.name));
  if (pid < 0) return Failed(fmt::format("{} cannot be started: {}", process.name, std::strerror(errno)));
  process.pid = pid;
  process.stopped = process.leaves = false;
  return absl::OkStatus();
}

absl::Status ProcessSuite::Await(Process& process) {
  if (process.program == kActors) return absl::OkStatus();  // kube-actors serves no port.
  for (const absl::Time end = absl::Now() + kStartLimit; absl::Now() < end; absl::SleepFor(kPoll)) {
    std::ifstream file(PortFile(process.name));
    if (file >> process.port && process.port > 0) return absl::OkStatus();
    int status = 0;
    if (waitpid(process.pid, &status, WNOHANG) == process.pid) {
      process.pid = 0;
      return Failed(fmt::format("{} ended with {} before it served; see {}", process.name, HowItEnded(status),
                                log_file(process.name)));
    }
  }
  return Failed(fmt::format("{} did not serve within {}; see {}", process.name, absl::FormatDuration(kStartLimit),
                            log_file(process.name)));
}

absl::Status ProcessSuite::WaitAttached(absl::Duration limit) {
  const absl::Status attached = WaitUntilAttached(gateway(), kServices * options_.replicas, limit);
  return attached.ok() ? attached : Failed(fmt::format("{}; logs are in {}", ToStd(attached.message()), options_.dir));
}

absl::Status ProcessSuite::Kill(std::string_view name) {
  BASALT_ASSIGN_OR_RETURN(Process* const process, Running(name));
  kill(process->pid, SIGKILL);
  waitpid(process->pid, nullptr, 0);
  process->pid = 0;
  process->stopped = false;
  return absl::OkStatus();
}

absl::Status ProcessSuite::Restart(std::string_view name) {
  auto* const process = const_cast<Process*>(Find(name));
  if (process == nullptr || process->pid > 0) return Failed(fmt::format("{} is nothing that could start", name));
  // Another process may have been given the port meanwhile. A service may have a new port, since the gateway answers
  // where services are. The ports of gateways and of kubesim stand in the flags of running processes and must stay.
  if (IsService(process->program)) process->port = 0;
  BASALT_RETURN_IF_ERROR(Launch(*process));
  return Await(*process);
}

absl::Status ProcessSuite::Stop(std::string_view name) {
  BASALT_ASSIGN_OR_RETURN(Process* const process, Running(name));
  kill(process->pid, SIGSTOP);
  process->stopped = true;
  return absl::OkStatus();
}

absl::Status ProcessSuite::Continue(std::string_view name) {
  BASALT_ASSIGN_OR_RETURN(Process* const process, Running(name));
  kill(process->pid, SIGCONT);
  process->stopped = false;
  return absl::OkStatus();
}

absl::Status ProcessSuite::Leave(std::string_view name) {
  BASALT_ASSIGN_OR_RETURN(Process* const process, Running(name));
  kill(process->pid, SIGTERM);
  kill(process->pid, SIGCONT);
  process->stopped = false;
  process->leaves = true;
  return absl::OkStatus();
}

std::optional<absl::Status> ProcessSuite::Ended(std::string_view name) {
  const absl::StatusOr<Process*> found = Running(name);
  if (!found.ok()) return found.status();
  Process& process = **found;
  int status = 0;
  if (waitpid(process.pid, &status, WNOHANG) == 0) return std::nullopt;
  process.pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return Failed(fmt::format("{} ended with {}; see {}", process.name, HowItEnded(status), log_file(process.name)));
}

absl::Status ProcessSuite::RemoveDisk(std::string_view name) {
  const Process* const process = Find(name);
  if (process == nullptr || !IsService(process->program) || process->pid > 0) {
    return Failed(fmt::format("{} has no disk to lose now", name));
  }
  std::error_code error;
  std::filesystem::remove_all(data_dir(name), error);
  return error ? Failed(fmt::format("{}: {}", data_dir(name), error.message())) : absl::OkStatus();
}

void ProcessSuite::SetBinDir(std::string_view name, std::string bin_dir) {
  if (auto* const process = const_cast<Process*>(Find(name)); process != nullptr) process->bin_dir = std::move(bin_dir);
}

std::vector<std::string> ProcessSuite::Casualties() {
  std::vector<std::string> names;
  for (Process& process : processes_) {
    int status = 0;
    if (process.pid > 0 && !process.leaves && waitpid(process.pid, &status, WNOHANG) == process.pid) {
      process.pid = 0;
      names.push_back(fmt::format("{} ({})", process.name, HowItEnded(status)));
    }
  }
  return names;
}

}  // namespace basalt::dev
