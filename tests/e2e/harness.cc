#include "tests/e2e/harness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/exec/run_on.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/kubeconfig/kubeconfig.h"

namespace basalt::e2e {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);

std::string Text(const json::value& object, std::string_view name) { return std::string(FindString(object, name)); }

// Returns the phase as Kubernetes spells it: "Completed" for JOB_PHASE_COMPLETED.
std::string PhaseName(std::string_view proto) {
  constexpr std::string_view kPrefix = "JOB_PHASE_";
  if (!proto.starts_with(kPrefix) || proto == "JOB_PHASE_UNSPECIFIED") return "";
  std::string name(proto.substr(kPrefix.size()));
  for (size_t i = 1; i < name.size(); ++i) name[i] = static_cast<char>(std::tolower(name[i]));
  return name;
}

}  // namespace

bool Eventually(absl::Duration limit, const std::function<bool()>& condition) {
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(kPoll)) {
    if (condition()) return true;
  }
  return condition();
}

Child::Child(const std::vector<std::string>& command, std::string out, std::string err) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int null = open("/dev/null", O_RDONLY);
  if (dup2(null, 0) < 0 || dup2(out_file, 1) < 0 || dup2(err_file, 2) < 0) _exit(127);
  execv(arguments[0], arguments.data());
  _exit(127);
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<int> Child::Wait(absl::Duration limit) {
  int status = 0;
  if (!Eventually(limit, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return std::nullopt;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::Signal(int number) {
  if (pid_ > 0) kill(pid_, number);
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

Ran RunToEnd(const std::vector<std::string>& command, const std::string& dir, absl::Duration limit) {
  static std::atomic<int> runs = 0;
  const int run = ++runs;
  const std::string out = fmt::format("{}/out-{}", dir, run);
  const std::string err = fmt::format("{}/err-{}", dir, run);
  Child child(command, out, err);
  Ran ran;
  ran.exit_code = child.Wait(limit).value_or(-1);
  ran.out = ReadFile(out);
  ran.err = ReadFile(err);
  return ran;
}

std::string BinDir() { return BASALT_BIN_DIR; }

std::string FetchText(const http::CurlOptions& server, const std::string& path) {
  const std::unique_ptr<Loop> loop = MakeThreadLoop("fetch");
  std::unique_ptr<http::Client> client;
  RunOn(*loop, [&] { client = http::MakeCurlClient(*loop, server); });
  http::Request request;
  request.target = path;
  const absl::StatusOr<http::Response> response = http::FetchAndWait(*loop, *client, std::move(request));
  RunOn(*loop, [&] { client.reset(); });
  return response.ok() ? response->body : "";
}

namespace {

bool Says(const char* variable, std::string_view value) {
  const char* const said = std::getenv(variable);
  return said != nullptr && said == value;
}

// Returns true if this process brings nodes of its own. KWOK deletes and patches by name. If KWOK lags, a request for a
// pod hits the pod that was created under the same name afterwards. Tests that check recreated pods bring nodes that
// distinguish pods by UID.
bool OwnNodes() { return Says("BASALT_NODES", "own"); }

}  // namespace

bool OnReal() { return Says("BASALT_KUBE", "real"); }

namespace {

class SharedCluster : public ::testing::Environment {
 public:
  realkube::Cluster* Get() {
    if (!tried_) {
      tried_ = true;
      realkube::ClusterOptions options;
      if (OwnNodes()) options = {.nodes = 0, .kwok = false};
      if (const char* const version = std::getenv("BASALT_KUBERNETES")) options.kubernetes = version;
      absl::StatusOr<std::unique_ptr<realkube::Cluster>> started = realkube::Cluster::Start(options);
      if (started.ok()) {
        cluster_ = *std::move(started);
      } else {
        ADD_FAILURE() << started.status().ToString();
      }
    }
    return cluster_.get();
  }
  void TearDown() override { cluster_.reset(); }

 private:
  bool tried_ = false;
  std::unique_ptr<realkube::Cluster> cluster_;
};

SharedCluster& Shared() {
  static SharedCluster* const shared = new SharedCluster();
  return *shared;
}
// gtest owns the environment and tears it down after the last test.
[[maybe_unused]] ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(&Shared());

constexpr char kKai[] = "--kai_scheduler_name=kai-scheduler";

absl::StatusOr<http::CurlOptions> UseRealCluster(dev::ProcessSuiteOptions& options) {
  realkube::Cluster* const cluster = RealCluster();
  if (cluster == nullptr) return absl::UnavailableError("there is no real cluster");
  dev::ExternalKube& kube = options.kube.emplace();
  kube.server = cluster->kube_server();
  kube.admin_kubeconfig = cluster->kubeconfig();
  kube.gateway_kubeconfig = cluster->kubeconfig("gateway");
  kube.actors_kubeconfig = cluster->kubeconfig("actors");
  if (OwnNodes()) kube.actors_flags = {"--nodes=4"};
  return http::ReadKubeconfig(cluster->kubeconfig());
}

}  // namespace

realkube::Cluster* RealCluster() { return Shared().Get(); }

World::World(const WorldOptions& world_options) {
  dev::ProcessSuiteOptions options;
  options.bin_dir = BinDir();
  options.dir = dir_ / "suite";
  options.gateway_flags = world_options.gateway_flags;
  options.service_flags = world_options.service_flags;
  options.suite_flags = world_options.suite_flags;
  options.suite_bin_dir = world_options.suite_bin_dir;
  options.replicas = world_options.replicas;
  options.gateways = world_options.gateways;
  options.tls = world_options.tls;
  options.certificates_dir = world_options.certificates_dir;
  options.identity_mapping = world_options.identity_mapping;
  http::CurlOptions client;
  if (world_options.kai) options.gateway_flags.emplace_back(kKai);
  if (OnReal()) {
    absl::StatusOr<http::CurlOptions> admin = UseRealCluster(options);
    if (!admin.ok()) {
      ADD_FAILURE() << admin.status().ToString();
      return;
    }
    client = *std::move(admin);
    if (world_options.kai) {
      options.kube->actors_flags.emplace_back(kKai);
      for (const char* folder : {"/kubesim/definitions", "/deploy/rbac/kai"}) {
        const auto applied = RealCluster()->Kubectl({"apply", "-f", fmt::format("{}{}", BASALT_SOURCE_DIR, folder)});
        if (!applied.ok()) ADD_FAILURE() << applied.status().ToString();
      }
    }
    if (!world_options.gateway_kubeconfig.empty()) options.kube->gateway_kubeconfig = world_options.gateway_kubeconfig;
  } else {
    options.kubesim_flags = {"--crds=" BASALT_SOURCE_DIR "/deploy/crds", "--no_queues"};
    if (world_options.kai) {
      options.kubesim_flags = {"--crds=" BASALT_SOURCE_DIR "/deploy/crds," BASALT_SOURCE_DIR "/kubesim/definitions",
                               "--no_queues", kKai};
    }
  }
  absl::StatusOr<std::unique_ptr<dev::ProcessSuite>> suite = dev::ProcessSuite::Start(std::move(options));
  if (!suite.ok()) {
    ADD_FAILURE() << suite.status().ToString();
    return;
  }
  suite_ = *std::move(suite);
  loop_ = MakeThreadLoop("test");
  if (!OnReal()) client.base_url = suite_->kube_server();
  client.user_agent = "test";
  RunOn(*loop_, [&] { client_ = http::MakeCurlClient(*loop_, client); });
}

World::~World() {
  if (::testing::Test::HasFailure() && suite_ != nullptr) {
    for (const std::string& name : suite_->names()) {
      std::string log = ReadFile(suite_->log_file(name));
      if (log.size() > 4000) log.erase(0, log.size() - 4000);
      fmt::print(stderr, "---- the end of {}'s log\n{}\n", name, log);
    }
  }
  if (loop_ != nullptr) RunOn(*loop_, [&] { client_.reset(); });
}

Ran World::Run(const std::vector<std::string>& command, absl::Duration limit) {
  return RunToEnd(command, dir_.path(), limit);
}

Ran World::Ctl(const std::vector<std::string>& words, absl::Duration limit) {
  std::vector<std::string> command = {BinDir() + "/basaltctl"};
  for (std::string& flag : suite_->ctl_flags()) command.push_back(std::move(flag));
  command.insert(command.end(), words.begin(), words.end());
  return Run(command, limit);
}

absl::StatusOr<http::Response> World::Call(const std::string& method, const std::string& path, std::string body) {
  http::Request request;
  if (!body.empty()) request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  request.method = method;
  request.target = path;
  return http::FetchAndWait(*loop_, *client_, std::move(request));
}

json::value World::KubeGet(const std::string& path) {
  const absl::StatusOr<http::Response> response = Call("GET", path);
  if (!response.ok() || response->status != 200) return nullptr;
  absl::StatusOr<json::value> parsed = ParseJson(response->body);
  return parsed.ok() ? *std::move(parsed) : json::value();
}

std::vector<Write> WritesOf(const realkube::Cluster& cluster) {
  std::vector<Write> log;
  for (realkube::AuditLine& line : cluster.Audit()) {
    if (line.verb == "get" || line.verb == "list" || line.verb == "watch") continue;
    Write& write = log.emplace_back();
    write.time = line.received;
    write.ns = std::move(line.ns);
    write.verb = std::move(line.verb);
    write.resource = std::move(line.resource);
    write.subresource = std::move(line.subresource);
    write.name = std::move(line.name);
    write.user_agent = std::move(line.user_agent);
    write.status = line.code;
    write.dry_run = line.uri.find("dryRun=All") != std::string::npos;
    write.body = std::move(line.body);
  }
  return log;
}

std::vector<Write> World::Log() {
  std::vector<Write> log;
  if (OnReal()) return WritesOf(*RealCluster());
  const json::value all = KubeGet("/kubesim/log");
  const json::value* requests = all.is_object() ? Find(all, "requests") : nullptr;
  if (requests == nullptr) {
    ADD_FAILURE() << "kubesim's log cannot be read";
    return log;
  }
  for (const json::value& request : requests->get_array()) {
    Write& write = log.emplace_back();
    std::string ignored;
    (void)absl::ParseTime(absl::RFC3339_full, ToAbsl(FindString(request, "time")), &write.time, &ignored);
    write.ns = Text(request, "namespace");
    write.verb = Text(request, "verb");
    write.resource = Text(request, "resource");
    write.subresource = Text(request, "subresource");
    write.name = Text(request, "name");
    write.user_agent = Text(request, "userAgent");
    write.status = static_cast<int>(FindInt(request, "status"));
    const json::value* const dry_run = Find(request, "dryRun");
    write.dry_run = dry_run != nullptr && dry_run->is_bool() && dry_run->get_bool();
    write.body = *Find(request, "body");
  }
  return log;
}

std::string World::JobPhase(const std::string& name) {
  const json::value job = KubeGet("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/" + name);
  const json::value* const state = job.is_object() ? FindPath(job, {"status", "state"}) : nullptr;
  return state == nullptr ? "" : Text(*state, "phase");
}

size_t World::JobCount() {
  const json::value list = KubeGet("/apis/batch.volcano.sh/v1alpha1/jobs");
  const json::value* const items = list.is_object() ? Find(list, "items") : nullptr;
  return items == nullptr ? 0 : items->get_array().size();
}

std::string World::Submit(const std::string& name, std::string_view manifests) {
  std::string file = dir_ / (name + ".yaml");
  WriteFile(file, manifests);
  const Ran ran = Ctl({"job", "submit", "-f", file});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  return file;
}

std::string JobManifest(std::string_view name, int replicas, std::string_view runs, std::string_view spec,
                        std::string_view metadata) {
  return fmt::format(R"(---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: {}{}{}}}
spec:
  {}
  schedulerName: volcano
  tasks:
  - name: work
    replicas: {}
    template:
      metadata: {{annotations: {{kubesim.basalt.dev/duration: {}}}}}
      spec:
        restartPolicy: Never
        containers: [{{name: main, image: busybox, resources: {{requests: {{cpu: 100m}}}}}}]
)",
                     name, metadata.empty() ? "" : ", ", metadata, spec, replicas, runs);
}

std::string_view PhaseOf(const Write& status_write) {
  const json::value* const state =
      status_write.body.is_object() ? FindPath(status_write.body, {"status", "state"}) : nullptr;
  return state == nullptr ? std::string_view() : FindString(*state, "phase");
}

std::vector<std::string> PhaseChanges(const std::vector<Write>& log, const std::string& job,
                                      const std::vector<std::string>& recorded) {
  std::vector<std::string> changes;
  std::string phase;
  for (const Write& write : log) {
    if (write.resource != "jobs" || write.subresource != "status" || write.name != job) continue;
    if (!write.Succeeded() && !write.IsUncertain()) continue;
    const std::string next(PhaseOf(write));
    if (next.empty() || next == phase) continue;
    std::string change = fmt::format("{}>{}", phase, next);
    if (!write.Succeeded() && (changes.size() >= recorded.size() || recorded[changes.size()] != change)) continue;
    changes.push_back(std::move(change));
    phase = next;
  }
  return changes;
}

namespace {

// Returns true if `all` has the texts of `some`, in this order.
bool Contains(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  size_t found = 0;
  for (const std::string& text : all) {
    if (found < some.size() && some[found] == text) ++found;
  }
  return found == some.size();
}

std::vector<std::string> JudgeNow(Judged& suite, const std::string& name, Records records) {
  std::vector<std::string> violations;
  const std::vector<Write> log = suite.Log();
  std::map<std::string, int> creates;
  std::string phase;
  std::string status_writes;
  for (const Write& write : log) {
    if (write.resource == "jobs" && write.subresource == "status" && write.name == name) {
      const std::string next(PhaseOf(write));
      status_writes += fmt::format(" {}({})", next, write.status);
      if (write.Succeeded() && !next.empty()) phase = next;
    }
    if (!write.Succeeded()) continue;
    const bool pod = write.resource == "pods" && write.subresource.empty() && write.name.starts_with(name + "-");
    if (pod && write.verb == "create" && ++creates[write.name] == 2) {
      violations.push_back(fmt::format("pod {} was made twice", write.name));
    }
    if (pod && write.verb.starts_with("delete") && phase != "Completed") {
      violations.push_back(fmt::format("pod {} was deleted while the job was '{}'", write.name, phase));
    }
  }
  const Ran ran = suite.Ctl({"job", "history", name, "-o", "json"}, absl::Seconds(120));
  const absl::StatusOr<json::value> history = ParseJson(ran.out);
  if (ran.exit_code != 0 || !history.ok()) {
    violations.push_back(fmt::format("its history cannot be read: {}", ran.err));
    return violations;
  }
  std::vector<std::string> recorded;
  const json::value* const entries = Find(*history, "entries");
  if (entries != nullptr) {
    for (const json::value& entry : entries->get_array()) {
      const std::string from = PhaseName(FindString(entry, "from_phase"));
      const std::string to = PhaseName(FindString(entry, "to_phase"));
      if (from != to) recorded.push_back(fmt::format("{}>{}", from, to));
    }
  }
  const std::vector<std::string> happened = PhaseChanges(log, name, recorded);
  if (records == Records::kKept ? recorded != happened : !Contains(happened, recorded)) {
    violations.push_back(fmt::format("history tells [{}], what happened is [{}], status writes and their answers are{}",
                                     fmt::join(recorded, " "), fmt::join(happened, " "), status_writes));
  }
  return violations;
}

}  // namespace

std::vector<std::string> JudgeJob(Judged& suite, const std::string& name, Records records) {
  std::vector<std::string> violations;
  // A client can read a state before the API server has logged the write that set the state.
  Eventually(absl::Seconds(10), [&] {
    violations = JudgeNow(suite, name, records);
    return violations.empty();
  });
  return violations;
}

int CountJobWrites(const std::vector<Write>& log, const std::string& job) {
  int count = 0;
  for (const Write& write : log) {
    if (!write.IsOurs() || write.resource == "events" || write.resource == "queues") continue;
    if (write.resource == "jobs" && write.verb == "create") continue;  // The user made this write.
    count += write.name == job || write.name.starts_with(job + "-") ? 1 : 0;
  }
  return count;
}

}  // namespace basalt::e2e
