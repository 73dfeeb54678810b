#include "tests/bench/jobs/bed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);
constexpr absl::Duration kAttached = absl::Seconds(30);
constexpr absl::Duration kQuietAtFirst = absl::Seconds(1);
constexpr absl::Duration kLongAnswer = absl::Minutes(1);
constexpr std::string_view kLogPath = "/kubesim/log";

constexpr std::string_view kServerPrograms[] = {"kube-apiserver", "etcd", "kube-controller-manager", "kwok"};
constexpr std::string_view kSimulatedPrograms[] = {"kubesim", "kube-actors"};

absl::Duration CpuOf(pid_t pid) {
  const absl::StatusOr<ProcessUsage> usage = ReadProcessUsage(pid);
  return usage.ok() ? usage->cpu : absl::ZeroDuration();
}

}  // namespace

View::View(Loop& loop, http::Client& client, Random& random, bool kai)
    : jobs(loop, client, random, kJobsPath),
      pods(loop, client, random, kPodsPath),
      groups(loop, client, random, kGroupsPath),
      queues(loop, client, random, kQueuesPath),
      commands(loop, client, random, kCommandsPath) {
  if (kai) kai_groups.emplace(loop, client, random, kKaiGroupsPath);
}

absl::Time View::last_change() const {
  return std::max({jobs.last_change(), pods.last_change(), groups.last_change(), queues.last_change(),
                   commands.last_change(), kai_groups ? kai_groups->last_change() : absl::InfinitePast()});
}

bool View::synced() const {
  return jobs.synced() && pods.synced() && groups.synced() && queues.synced() && commands.synced() &&
         (!kai_groups || kai_groups->synced());
}

std::string Window::Processes() const {
  std::vector<std::string> parts;
  for (const auto& [program, used] : usage) {
    parts.push_back(fmt::format("{} {:.2f} s, {} MiB ({} anonymous)", program, absl::ToDoubleSeconds(used.cpu),
                                used.peak_bytes / (1 << 20), used.anonymous_bytes / (1 << 20)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string Window::Machine() const {
  std::vector<std::string> parts = {fmt::format("ours {:.2f}", absl::FDivDuration(cpu, wall))};
  for (const auto& [program, used] : others) {
    parts.push_back(fmt::format("{} {:.2f}", program, absl::FDivDuration(used, wall)));
  }
  parts.push_back(fmt::format("the bench {:.2f}", absl::FDivDuration(bench_cpu, wall)));
  return fmt::format("cores taken: {}", fmt::join(parts, ", "));
}

absl::StatusOr<std::unique_ptr<Bed>> Bed::Start(const BedOptions& options) {
  auto bed = std::unique_ptr<Bed>(new Bed(options));
  BASALT_RETURN_IF_ERROR(bed->StartAll());
  return bed;
}

Bed::~Bed() {
  RunOn(*loop_, [this] {
    loop_->Cancel(timer_);
    view_.reset();
    bare_.reset();
    api_.reset();
    client_.reset();
  });
}

absl::Status Bed::StartAll() {
  dev::ProcessSuiteOptions suite;
  suite.bin_dir = options_.bin_dir;
  suite.dir = dir_ / "suite";
  suite.tls = options_.tls;
  http::CurlOptions admin;
  if (options_.real) {
    BASALT_ASSIGN_OR_RETURN(cluster_,
                            realkube::Cluster::Start({.nodes = options_.nodes, .crds = "", .kai = options_.kai}));
    BASALT_ASSIGN_OR_RETURN(admin, http::ReadKubeconfig(cluster_->kubeconfig()));
    suite.kube = dev::ExternalKube{.server = cluster_->kube_server(),
                                   .admin_kubeconfig = cluster_->kubeconfig(),
                                   .gateway_kubeconfig = cluster_->kubeconfig("gateway"),
                                   .actors_kubeconfig = cluster_->kubeconfig("actors"),
                                   .actors_flags = {}};
    if (!options_.places_pods) suite.kube->actors_kubeconfig.clear();
  } else {
    suite.kubesim_flags = {"--crds=" BASALT_SOURCE_DIR "/deploy/crds", fmt::format("--nodes={}", options_.nodes),
                           "--log_level=error"};
    if (options_.kai) suite.kubesim_flags.front() += "," BASALT_SOURCE_DIR "/kubesim/definitions";
    if (!options_.places_pods) suite.kubesim_flags.emplace_back("--no_scheduler");
  }
  if (options_.kai) suite.gateway_flags.emplace_back("--kai_scheduler_name=kai-scheduler");
  BASALT_ASSIGN_OR_RETURN(suite_, dev::ProcessSuite::Start(std::move(suite)));
  if (!options_.real) admin.base_url = suite_->kube_server();
  admin.user_agent = kBenchAgent;
  RunOn(*loop_, [&] {
    client_ = http::MakeCurlClient(*loop_, admin);
    api_ = std::make_unique<actors::Api>(*loop_, *client_, random_,
                                         actors::ApiOptions{.user_agent = std::string(kBenchAgent)});
    view_ = std::make_unique<View>(*loop_, *client_, random_, options_.kai);
  });
  BASALT_RETURN_IF_ERROR(Await("the first lists", [](const View& view) { return view.synced(); }));
  // The suite makes the queues first.
  return AwaitQuiet(kQuietAtFirst);
}

void Bed::Do(actors::ApiRequest request) {
  const std::string target = request.target;
  api_->Do(std::move(request), [this, target](const actors::ApiAnswer& answer) {
    // 409 answers a create that the client repeated, and that had succeeded before.
    if (!answer.ok() && answer.status != 409) {
      refused_ = fmt::format("{}: {}: {}", target, answer.status, ToText(answer.body));
    }
  });
}

void Bed::Send(std::vector<actors::ApiRequest> requests) {
  RunOn(*loop_, [&] {
    for (actors::ApiRequest& request : requests) Do(std::move(request));
  });
}

void Bed::SendSteadily(std::vector<actors::ApiRequest> requests, int per_second) {
  RunOn(*loop_, [&] {
    steady_ = std::move(requests);
    steady_at_ = 0;
    steady_begin_ = loop_->Now();
    steady_step_ = absl::Seconds(1) / per_second;
    SendNext();
  });
}

// Each request is due by the clock and not by the request before it, so that a late request does not delay the others.
void Bed::SendNext() {
  while (steady_at_ < steady_.size()) {
    const absl::Time due = steady_begin_ + steady_step_ * static_cast<int64_t>(steady_at_);
    if (loop_->Now() < due) {
      timer_ = loop_->RunAt(due, [this] { SendNext(); });
      return;
    }
    Do(std::move(steady_[steady_at_++]));
  }
}

absl::Status Bed::Await(std::string_view what, const std::function<bool(const View&)>& met, absl::Duration limit) {
  std::string refused;
  std::string state;
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(kPoll)) {
    bool done = false;
    RunOn(*loop_, [&] {
      done = met(*view_);
      refused = refused_;
      state = fmt::format("{} jobs ({} Running, {} Completed), {} pods ({} Running, {} Succeeded)", view_->jobs.size(),
                          view_->jobs.In("Running"), view_->jobs.In("Completed"), view_->pods.size(),
                          view_->pods.In("Running"), view_->pods.In("Succeeded"));
    });
    if (!refused.empty()) return MakeStatus(absl::StatusCode::kFailedPrecondition, refused);
    if (done) return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("{} did not come within {}: {}", what, absl::FormatDuration(limit), state));
}

absl::Status Bed::AwaitQuiet(absl::Duration quiet) {
  return Await("rest", [&](const View& view) { return absl::Now() - view.last_change() > quiet; });
}

absl::Status Bed::AwaitSent() {
  return Await("answers to all that was sent",
               [this](const View&) { return steady_at_ == steady_.size() && api_->in_flight() + api_->queued() == 0; });
}

std::string Bed::UidOf(Collection View::*kind, std::string_view name) {
  std::string uid;
  RunOn(*loop_, [&] { uid = ((*view_).*kind).UidOf(name); });
  return uid;
}

std::map<std::string, ProcessUsage> Bed::Usage() const {
  std::map<std::string, ProcessUsage> usage;
  for (const std::string_view program : dev::ProcessSuite::kOurs) {
    const absl::StatusOr<ProcessUsage> one = ReadProcessUsage(suite_->pid(program));
    if (one.ok()) usage[std::string(program)] = *one;
  }
  return usage;
}

std::map<std::string, absl::Duration> Bed::OthersCpu() const {
  std::map<std::string, absl::Duration> used;
  if (cluster_ != nullptr) {
    for (const std::string_view program : kServerPrograms) used[std::string(program)] = CpuOf(cluster_->pid(program));
  }
  for (const std::string_view program : kSimulatedPrograms) {
    if (const pid_t pid = suite_->pid(program); pid != 0) used[std::string(program)] = CpuOf(pid);
  }
  return used;
}

absl::StatusOr<http::Response> Bed::Call(const std::string& method, const std::string& path) {
  http::Request request;
  request.method = method;
  request.target = path;
  request.timeout = kLongAnswer;
  return http::FetchAndWait(*loop_, *client_, std::move(request));
}

absl::Status Bed::Begin() {
  before_ = Usage();
  others_before_ = OthersCpu();
  bench_before_ = OwnCpu();
  begin_ = absl::Now();
  if (cluster_ != nullptr) {
    lines_ = cluster_->Audit().size();
    return absl::OkStatus();
  }
  return Call("DELETE", std::string(kLogPath)).status();
}

absl::StatusOr<Window> Bed::End() {
  if (const std::vector<std::string> dead = suite_->Casualties(); !dead.empty()) {
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} ended", fmt::join(dead, ", ")));
  }
  Window window;
  window.wall = absl::Now() - begin_;
  window.bench_cpu = OwnCpu() - bench_before_;
  window.others = OthersCpu();
  for (auto& [program, used] : window.others) used -= others_before_[program];
  window.usage = Usage();
  for (auto& [program, used] : window.usage) {
    if (const auto before = before_.find(program); before != before_.end()) used.cpu -= before->second.cpu;
    window.cpu += used.cpu;
    window.peak_bytes += used.peak_bytes;
  }
  if (cluster_ != nullptr) {
    window.writes = WritesOfAudit(cluster_->Audit(), lines_);
    return window;
  }
  BASALT_ASSIGN_OR_RETURN(const http::Response response, Call("GET", std::string(kLogPath)));
  BASALT_ASSIGN_OR_RETURN(const json::value log, ParseJson(response.body));
  window.writes = WritesOfKubesim(log);
  return window;
}

absl::Status Bed::KillOurs() {
  for (const std::string_view program : dev::ProcessSuite::kOurs) BASALT_RETURN_IF_ERROR(suite_->Kill(program));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<json::value>> Bed::AwaitItems(const std::string& path, size_t count) {
  std::vector<json::value> items;
  for (const absl::Time end = absl::Now() + kAttached; absl::Now() < end; absl::SleepFor(kPoll)) {
    BASALT_ASSIGN_OR_RETURN(const http::Response response, Call("GET", path));
    if (response.status != 200) continue;
    BASALT_ASSIGN_OR_RETURN(const json::value list, ParseJson(response.body));
    const json::value* const found = Find(list, "items");
    items.clear();
    if (found != nullptr && found->is_array()) items.assign(found->get_array().begin(), found->get_array().end());
    if (items.size() >= count) return items;
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded, fmt::format("{} has {} of {}", path, items.size(), count));
}

void Bed::DoBare(std::vector<actors::ApiRequest> requests) {
  if (requests.empty()) return;
  actors::ApiRequest first = std::move(requests.front());
  requests.erase(requests.begin());
  bare_->Do(std::move(first), [this, rest = std::move(requests)](const actors::ApiAnswer&) { DoBare(rest); });
}

absl::Status Bed::ReplaceOurs(BareWrites writes) {
  BASALT_RETURN_IF_ERROR(KillOurs());
  RunOn(*loop_, [this, &writes] {
    bare_ = std::make_unique<actors::Api>(*loop_, *client_, random_,
                                          actors::ApiOptions{.user_agent = std::string(kBareAgent)});
    view_->pods.set_on_phase([this, writes = std::move(writes)](std::string_view pod, std::string_view phase) {
      DoBare(writes(*view_, pod, phase));
    });
  });
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> Bed::Restart(bool with_disks) {
  BASALT_RETURN_IF_ERROR(KillOurs());
  if (!with_disks) {
    for (const std::string_view program : dev::ProcessSuite::kOurs) {
      std::filesystem::remove_all(suite_->data_dir(program));
    }
  }
  BASALT_RETURN_IF_ERROR(Begin());
  before_.clear();
  const absl::Time begin = absl::Now();
  for (const std::string_view program : dev::ProcessSuite::kOurs) BASALT_RETURN_IF_ERROR(suite_->Restart(program));
  BASALT_RETURN_IF_ERROR(suite_->WaitAttached(kAttached));
  const absl::Duration wall = absl::Now() - begin;
  absl::SleepFor(options_.quiet);
  BASALT_RETURN_IF_ERROR(AwaitQuiet());
  return wall;
}

}  // namespace basalt::bench
