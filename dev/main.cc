// basalt-dev: the whole suite over an embedded Kubernetes, for a laptop, or over a Kubernetes that runs already. Runs a
// manifest to its end, or stays up.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "cli/commands.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/obs/log.h"
#include "common/shell/help.h"
#include "common/shell/log_level.h"
#include "common/shell/signals.h"
#include "dev/in_process_suite.h"
#include "dev/process_suite.h"
#include "dev/run_manifest.h"
#include "kubesim/main/crds.h"

ABSL_FLAG(std::string, run, "",
          "manifest of jobs, or of workloads that get pods, to carry to their end; empty: just stay up");
ABSL_FLAG(bool, keep, false, "stay up after --run, until SIGINT or SIGTERM, and keep the folder");
ABSL_FLAG(bool, processes, false,
          "start kubesim, gateways, jobsvc, pgsvc and queuesvc as processes of their own, not in one process");
ABSL_FLAG(bool, tls, false, "mutual TLS on every gRPC port, with certificates that are made in the folder");
ABSL_FLAG(int, replicas, 1, "number of replicas of each service, which share the work");
ABSL_FLAG(int, gateways, 1, "number of gateways, of which one leads");
ABSL_FLAG(std::string, real, "",
          "folder of a cluster that scripts/realkube has started: the suite runs on it, as processes");
ABSL_FLAG(std::string, dir, "", "folder for stores, logs and the kubeconfig; empty: a fresh one, removed at the end");
ABSL_FLAG(std::vector<std::string>, crds,
          std::vector<std::string>({BASALT_SOURCE_DIR "/deploy/crds", BASALT_SOURCE_DIR "/kubesim/definitions"}),
          "folders of the custom resource definitions");
ABSL_FLAG(std::string, volcano_profile, "compat", "as the gateway's: how pods of Volcano's scheduler are grouped");
ABSL_FLAG(int, nodes, 4, "number of simulated nodes");
ABSL_FLAG(absl::Duration, default_duration, absl::Seconds(2),
          "how long a container runs if its command states no duration");
ABSL_FLAG(std::string, log_level, "error",
          "level from which on messages are logged to stderr: debug, info, warning or error");

namespace basalt::dev {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);
constexpr int kInterrupted = 130;
constexpr char kKai[] = "--kai_scheduler_name=kai-scheduler";
constexpr int kMost = 50;  // The most replicas, and gateways, on one machine.

std::string ProfileFlag() { return fmt::format("--volcano_profile={}", absl::GetFlag(FLAGS_volcano_profile)); }

// The suite in one of its two forms. Exactly one of the pointers is set.
struct Suite {
  std::unique_ptr<InProcessSuite> in_process;
  std::unique_ptr<ProcessSuite> processes;

  std::string gateway() const { return processes ? processes->gateway() : in_process->gateway(); }
  std::vector<std::string> ctl_flags() const { return processes ? processes->ctl_flags() : in_process->ctl_flags(); }
  std::string kubeconfig() const { return processes ? processes->kubeconfig() : in_process->kubeconfig(); }
  std::string kube_server() const { return processes ? processes->kube_server() : in_process->kube_server(); }
  absl::Status Failure() const {
    if (!processes) return in_process->Failure();
    const std::vector<std::string> dead = processes->Casualties();
    if (dead.empty()) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} ended", fmt::join(dead, ", ")));
  }
  void Stop() {
    in_process.reset();
    processes.reset();
  }
};

// Returns the folder of this program, in which the other programs are, too.
std::string BinDir() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length <= 0 ? "."
                     : std::filesystem::path(std::string(path, static_cast<size_t>(length))).parent_path().string();
}

bool AsProcesses() { return absl::GetFlag(FLAGS_processes) || !absl::GetFlag(FLAGS_real).empty(); }

absl::StatusOr<ExternalKube> RealKube(const std::string& cluster) {
  const auto config = [&](const char* who) {
    return std::filesystem::absolute(fmt::format("{}/kubeconfig/{}.yaml", cluster, who)).string();
  };
  ExternalKube kube;
  kube.admin_kubeconfig = config("admin");
  kube.gateway_kubeconfig = config("gateway");
  kube.actors_kubeconfig = config("actors");
  BASALT_ASSIGN_OR_RETURN(const http::CurlOptions admin, http::ReadKubeconfig(kube.admin_kubeconfig));
  kube.server = admin.base_url;
  return kube;
}

absl::StatusOr<Suite> StartSuite(const std::string& dir) {
  Suite suite;
  if (const std::string cluster = absl::GetFlag(FLAGS_real); !cluster.empty()) {
    ProcessSuiteOptions options;
    options.bin_dir = BinDir();
    options.dir = dir;
    options.replicas = absl::GetFlag(FLAGS_replicas);
    options.gateways = absl::GetFlag(FLAGS_gateways);
    options.tls = absl::GetFlag(FLAGS_tls);
    BASALT_ASSIGN_OR_RETURN(options.kube, RealKube(cluster));
    options.kube->actors_flags = {kKai};
    options.gateway_flags = {kKai, ProfileFlag()};
    BASALT_ASSIGN_OR_RETURN(suite.processes, ProcessSuite::Start(std::move(options)));
    return suite;
  }
  if (absl::GetFlag(FLAGS_processes)) {
    ProcessSuiteOptions options;
    options.bin_dir = BinDir();
    options.dir = dir;
    options.replicas = absl::GetFlag(FLAGS_replicas);
    options.gateways = absl::GetFlag(FLAGS_gateways);
    options.tls = absl::GetFlag(FLAGS_tls);
    options.kubesim_flags = {
        fmt::format("--crds={}", fmt::join(absl::GetFlag(FLAGS_crds), ",")), kKai,
        fmt::format("--nodes={}", absl::GetFlag(FLAGS_nodes)),
        fmt::format("--default_duration={}", absl::FormatDuration(absl::GetFlag(FLAGS_default_duration))),
        "--no_queues"};
    options.gateway_flags = {kKai, ProfileFlag()};
    BASALT_ASSIGN_OR_RETURN(suite.processes, ProcessSuite::Start(std::move(options)));
    return suite;
  }
  InProcessOptions options;
  options.dir = dir;
  options.crds = absl::GetFlag(FLAGS_crds);
  options.replicas = absl::GetFlag(FLAGS_replicas);
  options.gateways = absl::GetFlag(FLAGS_gateways);
  options.tls = absl::GetFlag(FLAGS_tls);
  options.is_rich = absl::GetFlag(FLAGS_volcano_profile) == "rich";
  options.nodes = absl::GetFlag(FLAGS_nodes);
  options.default_duration = absl::GetFlag(FLAGS_default_duration);
  BASALT_ASSIGN_OR_RETURN(suite.in_process, InProcessSuite::Start(std::move(options)));
  return suite;
}

// Returns "one process", "five processes" or "12 processes". The count includes kubesim or kube-actors.
std::string Form() {
  if (!AsProcesses()) return "one process";
  const int count = 1 + absl::GetFlag(FLAGS_gateways) + 3 * absl::GetFlag(FLAGS_replicas);
  return count == 5 ? "five processes" : fmt::format("{} processes", count);
}

// Returns an error that names the flag with an invalid value.
absl::Status CheckFlags() {
  if (const std::string profile = absl::GetFlag(FLAGS_volcano_profile); profile != "compat" && profile != "rich") {
    return Invalid(fmt::format("--volcano_profile: '{}' is neither compat nor rich", profile));
  }
  for (const auto& [flag, count] : {std::pair("--replicas", absl::GetFlag(FLAGS_replicas)),
                                    std::pair("--gateways", absl::GetFlag(FLAGS_gateways))}) {
    if (count >= 1 && count <= kMost) continue;
    return Invalid(fmt::format("{}: {} is not between 1 and {}", flag, count, kMost));
  }
  return absl::OkStatus();
}

// Returns a line "export BASALT_TLS_CA_FILE=x" for a flag "--tls-ca-file=x", and so on.
std::string ExportsOf(const std::vector<std::string>& ctl_flags) {
  std::string lines;
  for (const std::string& flag : ctl_flags) {
    const size_t equals = flag.find('=');
    const std::string name = absl::AsciiStrToUpper(absl::StrReplaceAll(flag.substr(2, equals - 2), {{"-", "_"}}));
    lines += fmt::format("  export BASALT_{}={}\n", name, flag.substr(equals + 1));
  }
  return lines;
}

void SayHowToReach(const Suite& suite, const std::string& dir) {
  const std::string ctl = fmt::format("{}/basaltctl {}", BinDir(), fmt::join(suite.ctl_flags(), " "));
  fmt::print(
      "\nThe suite is up; end it with Ctrl-C. Its files are in {}.\n\n"
      "  export KUBECONFIG={}      # the API server is {}\n"
      "  kubectl get jobs.batch.volcano.sh -w\n"
      "  kubectl get pods,podgroups.scheduling.volcano.sh,queues\n\n"
      "{}"
      "  {} job submit -f MANIFEST --watch\n"
      "  {} topology\n\n",
      dir, suite.kubeconfig(), suite.kube_server(), ExportsOf(suite.ctl_flags()), ctl, ctl);
  std::fflush(stdout);
}

// Runs the manifest on a thread while this one watches for signals and checks the suite's health. Returns the
// manifest's exit code, kInterrupted after a signal, or -1 if a part of the suite has failed.
int RunBeside(const Suite& suite, const std::string& manifest) {
  std::atomic<bool> done = false;
  int exit_code = 1;
  std::thread runner([&] {
    exit_code = RunManifest(suite.ctl_flags(), suite.kubeconfig(), manifest);
    done = true;
  });
  while (!done) {
    const bool interrupted = shell::WaitForEnd(kLook);
    const absl::Status failure = suite.Failure();
    if (!interrupted && failure.ok()) continue;
    if (!failure.ok()) std::fprintf(stderr, "error: %s\n", std::string(failure.message()).c_str());
    // The runner may wait for a job that never ends. The caller ends the process without joining it.
    runner.detach();
    return interrupted ? kInterrupted : -1;
  }
  runner.join();
  return exit_code;
}

int Serve() {
  if (const absl::Status counts = CheckFlags(); !counts.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(counts.message()).c_str());
    return 2;
  }
  std::string dir = absl::GetFlag(FLAGS_dir);
  const bool own_dir = dir.empty();
  if (own_dir) {
    std::string pattern = (std::filesystem::temp_directory_path() / "basalt-dev-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      std::fprintf(stderr, "error: no temporary folder can be made\n");
      return 1;
    }
    dir = pattern;
  } else {
    dir = std::filesystem::absolute(dir).string();
  }
  const bool keep = absl::GetFlag(FLAGS_keep);
  const auto clean_up = [&] {
    std::error_code ignored;
    if (own_dir && !keep) std::filesystem::remove_all(dir, ignored);
  };

  const absl::Time begin = absl::Now();
  absl::StatusOr<Suite> suite = StartSuite(dir);
  if (!suite.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(suite.status().message()).c_str());
    // Keep the folder of processes: their logs contain the cause.
    if (!AsProcesses()) clean_up();
    return 1;
  }
  fmt::print("basalt {} is up after {:.1f} s: {}, gateway {}, Kubernetes {}\n", Version(),
             absl::ToDoubleSeconds(absl::Now() - begin), Form(), suite->gateway(), suite->kube_server());
  if (absl::GetFlag(FLAGS_real).empty()) fmt::print("{}\n", kubesim::kRulesNotice);
  std::fflush(stdout);

  int exit_code = 0;
  if (const std::string manifest = absl::GetFlag(FLAGS_run); !manifest.empty()) {
    exit_code = RunBeside(*suite, manifest);
    if (exit_code == kInterrupted || exit_code < 0) {
      if (exit_code < 0) fmt::print(stderr, "the files are in {}\n", dir);
      suite->processes.reset();
      if (exit_code == kInterrupted) clean_up();
      std::_Exit(exit_code < 0 ? 1 : exit_code);
    }
  }
  if (keep || absl::GetFlag(FLAGS_run).empty()) {
    SayHowToReach(*suite, dir);
    while (!shell::WaitForEnd(kLook)) {
      if (const absl::Status failure = suite->Failure(); !failure.ok()) {
        std::fprintf(stderr, "error: %s\n", std::string(failure.message()).c_str());
        exit_code = 1;
        break;
      }
    }
  }
  suite->Stop();
  clean_up();
  return exit_code;
}

}  // namespace
}  // namespace basalt::dev

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  basalt::shell::SetUpHelp("basalt-dev");
  absl::SetProgramUsageMessage("basalt-dev: the whole suite over an embedded Kubernetes, or over a real one");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "basalt-dev: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("basalt-dev", basalt::shell::LevelOf(absl::GetFlag(FLAGS_log_level)));
  return basalt::dev::Serve();
}
