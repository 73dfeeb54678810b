#include "tests/realkube/cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::realkube {
namespace {

constexpr char kScript[] = BASALT_SOURCE_DIR "/scripts/realkube";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Runs the command to its end. Returns the output of both streams, as the message of the error if the command fails.
absl::StatusOr<std::string> Run(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const int null = open("/dev/null", O_RDONLY);
    if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(127);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) {
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} cannot be run", command[0]));
  }
  std::string text = ReadFile(output);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: {}", fmt::join(command, " "), text));
}

// Returns the value of NAME=value in the cluster's file of facts.
std::string Fact(std::string_view text, std::string_view name) {
  const std::string begin = fmt::format("\n{}=", name);
  const size_t at = text.find(begin);
  if (at == std::string_view::npos) return "";
  const size_t from = at + begin.size();
  return std::string(text.substr(from, text.find('\n', from) - from));
}

absl::Time TimeIn(const json::value& event, std::string_view name) {
  absl::Time time;
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, ToAbsl(FindString(event, name)), &time, &error) ? time
                                                                                             : absl::InfinitePast();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(const ClusterOptions& options) {
  std::unique_ptr<Cluster> cluster(new Cluster());
  cluster->dir_ = cluster->temp_ / "cluster";
  std::vector<std::string> command = {kScript,           "up",
                                      "--dir",           cluster->dir_,
                                      "--nodes",         fmt::to_string(options.nodes),
                                      "--inflight",      fmt::to_string(options.inflight),
                                      "--goaway-chance", fmt::to_string(options.goaway_chance)};
  if (!options.kubernetes.empty()) command.insert(command.end(), {"--kubernetes", options.kubernetes});
  if (!options.crds.empty()) command.insert(command.end(), {"--crds", options.crds});
  if (options.kai) command.emplace_back("--kai");
  if (options.node) command.emplace_back("--node");
  if (!options.kwok) command.push_back("--no-kwok");
  BASALT_RETURN_IF_ERROR(Run(command, cluster->temp_ / "up.log").status());
  cluster->server_ = Fact(ReadFile(cluster->dir_ + "/env"), "KUBE_SERVER");
  return cluster;
}

Cluster::~Cluster() {
  if (!dir_.empty()) Run({kScript, "down", "--dir", dir_}, temp_ / "down.log").IgnoreError();
}

std::string Cluster::kubeconfig(std::string_view who) const { return fmt::format("{}/kubeconfig/{}.yaml", dir_, who); }

absl::StatusOr<std::string> Cluster::Kubectl(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"kubectl", "--kubeconfig", kubeconfig()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Run(command, temp_ / "kubectl.log");
}

absl::Status Cluster::Kill(std::string_view program) {
  return Run({kScript, "kill", std::string(program), "--dir", dir_}, temp_ / "kill.log").status();
}

absl::Status Cluster::Stop(std::string_view program) {
  return Run({kScript, "stop", std::string(program), "--dir", dir_}, temp_ / "stop.log").status();
}

absl::Status Cluster::Restart(std::string_view program) {
  return Run({kScript, "start", std::string(program), "--dir", dir_}, temp_ / "start.log").status();
}

absl::Status Cluster::LoadImage(const std::string& archive) {
  return Run({kScript, "load", archive, "--dir", dir_}, temp_ / "load.log").status();
}

pid_t Cluster::pid(std::string_view program) const {
  std::ifstream file(fmt::format("{}/pids/{}", dir_, program));
  pid_t pid = 0;
  return file >> pid ? pid : 0;
}

std::vector<AuditLine> Cluster::Audit() const {
  std::vector<AuditLine> lines;
  std::ifstream file(dir_ + "/audit.log");
  for (std::string line; std::getline(file, line);) {
    const absl::StatusOr<json::value> event = ParseJson(line);
    if (!event.ok()) continue;  // The last line may be incomplete.
    AuditLine& out = lines.emplace_back();
    out.verb = FindString(*event, "verb");
    out.uri = FindString(*event, "requestURI");
    out.user_agent = FindString(*event, "userAgent");
    out.received = TimeIn(*event, "requestReceivedTimestamp");
    out.answered = TimeIn(*event, "stageTimestamp");
    if (const json::value* body = Find(*event, "requestObject")) out.body = *body;
    if (const json::value* user = Find(*event, "user")) out.user = FindString(*user, "username");
    if (const json::value* user = Find(*event, "impersonatedUser")) out.impersonated = FindString(*user, "username");
    if (const json::value* object = Find(*event, "objectRef")) {
      out.group = FindString(*object, "apiGroup");
      out.resource = FindString(*object, "resource");
      out.subresource = FindString(*object, "subresource");
      out.ns = FindString(*object, "namespace");
      out.name = FindString(*object, "name");
    }
    if (const json::value* status = Find(*event, "responseStatus")) {
      if (const json::value* code = Find(*status, "code"); code != nullptr && code->is_int64()) {
        out.code = static_cast<int>(code->get_int64());
      }
    }
  }
  return lines;
}

absl::StatusOr<std::string> DefinitionsOf(const std::string& project) {
  const testing::TempDir dir;
  BASALT_ASSIGN_OR_RETURN(std::string folder, Run({kScript, "definitions", project}, dir / "out"));
  folder.pop_back();  // This removes the line break. Lines before the last one may report the downloads of Go.
  return folder.substr(folder.rfind('\n') + 1);
}

}  // namespace basalt::realkube
