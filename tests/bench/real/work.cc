#include "tests/bench/real/work.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/testing/temp_dir.h"
#include "dev/process_suite.h"
#include "kubesim/actors/client/api.h"
#include "kubesim/actors/client/informer.h"
#include "tests/bench/real/process_usage.h"
#include "tests/e2e/writer.h"
#include "tests/realkube/cluster.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(100);
constexpr absl::Duration kLimit = absl::Minutes(4);
constexpr absl::Duration kQuiet = absl::Seconds(4);  // Longer than every delay of a status write.
constexpr absl::Duration kAfterRestart = absl::Seconds(8);
constexpr std::string_view kJobsPath = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
constexpr std::string_view kGroupsPath = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";
constexpr std::string_view kPodsPath = "/api/v1/namespaces/default/pods";

std::string JobText(int number, int pods) {
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"work-{}"}},"spec":{{)"
      R"("schedulerName":"volcano","queue":"default","minAvailable":{},"tasks":[{{"name":"t","replicas":{},"template":)"
      R"({{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"busybox","resources":{{"requests":)"
      R"({{"cpu":"10m"}}}}}}]}}}}}}]}}}})",
      number, pods, pods);
}

std::string PodText(int number) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"bare-{}"}},"spec":{{"schedulerName":"volcano",)"
      R"("containers":[{{"name":"c","image":"busybox","resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}})",
      number);
}

// The names of those objects of a collection for which `counts`.
class Counter : public actors::InformerListener {
 public:
  Counter(Loop& loop, http::Client& client, Random& random, std::string_view path,
          std::function<bool(const json::value&)> counts)
      : counts_(std::move(counts)), informer_(loop, client, random, Options(path)) {
    informer_.Listen(*this);
    informer_.Start();
  }
  size_t count() const { return names_.size(); }

 private:
  static actors::InformerOptions Options(std::string_view path) {
    actors::InformerOptions options;
    options.path = path;
    return options;
  }
  void OnObject(const json::value& object) override {
    if (counts_(object)) names_.emplace(FindString(object.at("metadata"), "name"));
  }
  void OnGone(const actors::ObjectName&) override {}
  void OnSynced() override {}

  const std::function<bool(const json::value&)> counts_;
  std::set<std::string> names_;
  actors::Informer informer_;
};

bool IsCompleted(const json::value& job) {
  const json::value* const phase = FindPath(job, {"status", "state", "phase"});
  return phase != nullptr && phase->is_string() && phase->get_string() == "Completed";
}
bool HasGroup(const json::value& pod) {
  return FindPath(pod, {"metadata", "annotations", "scheduling.k8s.io/group-name"}) != nullptr;
}
bool Any(const json::value&) { return true; }

class Bed {
 public:
  ~Bed() {
    RunOn(*loop_, [this] {
      completed_.reset();
      groups_.reset();
      grouped_.reset();
      api_.reset();
      client_.reset();
    });
  }

  absl::Status Start(const WorkOptions& options) {
    BASALT_ASSIGN_OR_RETURN(cluster_, realkube::Cluster::Start({.nodes = options.nodes, .crds = ""}));
    BASALT_ASSIGN_OR_RETURN(http::CurlOptions admin, http::ReadKubeconfig(cluster_->kubeconfig()));
    admin.user_agent = "bench";
    RunOn(*loop_, [&] {
      client_ = http::MakeCurlClient(*loop_, admin);
      actors::ApiOptions api;
      api.user_agent = "bench";
      api_ = std::make_unique<actors::Api>(*loop_, *client_, random_, api);
      completed_ = std::make_unique<Counter>(*loop_, *client_, random_, kJobsPath, IsCompleted);
      groups_ = std::make_unique<Counter>(*loop_, *client_, random_, kGroupsPath, Any);
      grouped_ = std::make_unique<Counter>(*loop_, *client_, random_, kPodsPath, HasGroup);
    });
    dev::ProcessSuiteOptions suite;
    suite.bin_dir = options.bin_dir;
    suite.dir = dir_ / "suite";
    suite.kube = dev::ExternalKube{.server = cluster_->kube_server(),
                                   .admin_kubeconfig = cluster_->kubeconfig(),
                                   .gateway_kubeconfig = cluster_->kubeconfig("gateway"),
                                   .actors_kubeconfig = cluster_->kubeconfig("actors"),
                                   .actors_flags = {}};
    BASALT_ASSIGN_OR_RETURN(suite_, dev::ProcessSuite::Start(std::move(suite)));
    // The queues are made, and nothing is left to do.
    return AwaitQuiet();
  }

  absl::StatusOr<Measured> Run(const Work& work) {
    Measured out;
    out.name = work.name;
    out.jobs = work.jobs;
    out.pods = work.pods();
    Begin();
    RunOn(*loop_, [&] {
      for (int job = 0; job < work.jobs; ++job) {
        api_->Do({"POST", std::string(kJobsPath), JobText(job, work.pods_per_job)}, nullptr);
      }
      for (int pod = 0; pod < work.bare_pods; ++pod) {
        api_->Do({"POST", std::string(kPodsPath), PodText(pod)}, nullptr);
      }
    });
    const absl::Time begin = absl::Now();
    size_t jobs = 0;
    size_t groups = 0;
    size_t grouped = 0;
    while (true) {
      RunOn(*loop_, [&] {
        jobs = completed_->count();
        groups = groups_->count();
        grouped = grouped_->count();
      });
      const auto bare = static_cast<size_t>(work.bare_pods);
      if (jobs >= static_cast<size_t>(work.jobs) && groups >= bare && grouped >= bare) break;
      if (absl::Now() - begin > kLimit) {
        return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                          fmt::format("{}: {} jobs completed, {} groups, {} pods that have one, after {}", work.name,
                                      jobs, groups, grouped, absl::FormatDuration(kLimit)));
      }
      absl::SleepFor(kPoll);
    }
    out.wall = absl::Now() - begin;
    BASALT_RETURN_IF_ERROR(AwaitQuiet());
    BASALT_RETURN_IF_ERROR(End(out));
    return out;
  }

  // kill -9 of all of ours, and a start from nothing but what Kubernetes and, `with_disks`, their stores know.
  absl::StatusOr<Measured> Restart(const Work& work, bool with_disks) {
    Measured out;
    out.name = fmt::format("restart after {}, {}", work.name, with_disks ? "stores kept" : "stores lost");
    out.jobs = work.jobs;
    out.pods = work.pods();
    for (const std::string_view program : dev::ProcessSuite::kOurs) BASALT_RETURN_IF_ERROR(suite_->Kill(program));
    if (!with_disks) {
      for (const std::string_view program : dev::ProcessSuite::kOurs) {
        std::filesystem::remove_all(suite_->data_dir(program));
      }
    }
    Begin();
    before_ = {};
    const absl::Time begin = absl::Now();
    for (const std::string_view program : dev::ProcessSuite::kOurs) BASALT_RETURN_IF_ERROR(suite_->Restart(program));
    BASALT_RETURN_IF_ERROR(suite_->WaitAttached(absl::Seconds(30)));
    out.wall = absl::Now() - begin;
    absl::SleepFor(kAfterRestart);
    BASALT_RETURN_IF_ERROR(AwaitQuiet());
    BASALT_RETURN_IF_ERROR(End(out));
    return out;
  }

 private:
  std::map<std::string, ProcessUsage> Usage() const {
    std::map<std::string, ProcessUsage> usage;
    for (const std::string_view program : dev::ProcessSuite::kOurs) {
      const absl::StatusOr<ProcessUsage> one = ReadProcessUsage(suite_->pid(program));
      if (one.ok()) usage[std::string(program)] = *one;
    }
    return usage;
  }

  // The log as it is written: its length stays the same for a while.
  absl::Status AwaitQuiet() {
    const std::string log = cluster_->dir() + "/audit.log";
    uintmax_t size = 0;
    absl::Time since = absl::Now();
    for (const absl::Time end = absl::Now() + kLimit; absl::Now() < end; absl::SleepFor(kPoll)) {
      std::error_code ignored;
      const uintmax_t now = std::filesystem::file_size(log, ignored);
      if (std::exchange(size, now) != now) since = absl::Now();
      if (absl::Now() - since > kQuiet) return absl::OkStatus();
    }
    return MakeStatus(absl::StatusCode::kDeadlineExceeded, "the cluster does not come to rest");
  }

  void Begin() {
    lines_ = cluster_->Audit().size();
    before_ = Usage();
  }

  absl::Status End(Measured& out) {
    if (const std::vector<std::string> dead = suite_->Casualties(); !dead.empty()) {
      return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} ended", fmt::join(dead, ", ")));
    }
    for (const auto& [program, used] : Usage()) {
      const absl::Duration cpu = used.cpu - before_[program].cpu;
      out.cpu += cpu;
      out.peak_bytes += used.peak_bytes;
      out.cpu_by_program[program] = cpu;
      out.peak_by_program[program] = used.peak_bytes;
    }
    const std::vector<realkube::AuditLine> log = cluster_->Audit();
    for (size_t i = lines_; i < log.size(); ++i) {
      const realkube::AuditLine& line = log[i];
      if (!e2e::IsByOwner(line.user_agent) || line.resource == "events") continue;
      if (line.verb == "get" || line.verb == "list" || line.verb == "watch") continue;
      ++out.writes;
      if (line.subresource == "status") ++out.status_updates;
      if (line.verb == "create" && line.code == 409) ++out.conflicts;
      if (line.code >= 400) ++out.refused;
      ++out.by_kind[fmt::format("{} {}{}{}{}", line.verb, line.resource, line.subresource.empty() ? "" : "/",
                                line.subresource, line.code >= 400 ? fmt::format(" -> {}", line.code) : "")];
    }
    return absl::OkStatus();
  }

  const testing::TempDir dir_;
  SystemRandom random_;
  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("bench");
  std::unique_ptr<realkube::Cluster> cluster_;
  std::unique_ptr<dev::ProcessSuite> suite_;
  // These live on the loop.
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<actors::Api> api_;
  std::unique_ptr<Counter> completed_, groups_, grouped_;
  size_t lines_ = 0;
  std::map<std::string, ProcessUsage> before_;
};

}  // namespace

absl::StatusOr<std::vector<Measured>> Measure(const Work& work, const WorkOptions& options) {
  Bed bed;
  BASALT_RETURN_IF_ERROR(bed.Start(options));
  std::vector<Measured> all;
  BASALT_ASSIGN_OR_RETURN(Measured done, bed.Run(work));
  all.push_back(std::move(done));
  if (!work.restarts) return all;
  for (const bool with_disks : {true, false}) {
    BASALT_ASSIGN_OR_RETURN(Measured restarted, bed.Restart(work, with_disks));
    all.push_back(std::move(restarted));
  }
  return all;
}

}  // namespace basalt::bench
