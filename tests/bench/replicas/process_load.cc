#include "tests/bench/replicas/process_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "kubesim/actors/client/informer.h"
#include "tests/bench/replicas/http_get.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);
constexpr absl::Duration kLeaveLimit = absl::Seconds(30);
constexpr std::string_view kJobs = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
constexpr std::string_view kQueues = "/apis/scheduling.volcano.sh/v1beta1/queues";
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

std::string QueueName(int number) { return fmt::format("queue-{}", number); }

std::string QueueText(int number) {
  return fmt::format(
      R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{"weight":1}}}})",
      QueueName(number));
}

std::string JobText(int number, int queues) {
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"work-{}"}},"spec":{{)"
      R"("schedulerName":"volcano","queue":"{}","minAvailable":1,"tasks":[{{"name":"t","replicas":1,"template":)"
      R"({{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"busybox","resources":{{"requests":)"
      R"({{"cpu":"10m"}}}}}}]}}}}}}]}}}})",
      number, QueueName(number % queues));
}

bool IsCompleted(const json::value& job) {
  const json::value* const phase = FindPath(job, {"status", "state", "phase"});
  return phase != nullptr && phase->is_string() && phase->get_string() == "Completed";
}
bool Any(const json::value&) { return true; }

}  // namespace

// Records when each object of a collection was first observed for which `counts` is true.
class ProcessLoad::Watcher : public actors::InformerListener {
 public:
  Watcher(Loop& loop, http::Client& client, Random& random, std::string_view path, bool (*counts)(const json::value&))
      : counts_(counts), informer_(loop, client, random, Options(path)) {
    informer_.Listen(*this);
    informer_.Start();
  }
  size_t count() const { return seen_.size(); }
  absl::Time FirstSince(absl::Time after) const {
    absl::Time first = absl::InfiniteFuture();
    for (const auto& [name, when] : seen_) {
      if (when >= after) first = std::min(first, when);
    }
    return first;
  }

 private:
  static actors::InformerOptions Options(std::string_view path) {
    actors::InformerOptions options;
    options.path = path;
    return options;
  }
  void OnObject(const json::value& object) override {
    if (counts_(object)) seen_.emplace(FindString(object.at("metadata"), "name"), absl::Now());
  }
  void OnGone(const actors::ObjectName&) override {}
  void OnSynced() override {}

  bool (*const counts_)(const json::value&);
  std::unordered_map<std::string, absl::Time> seen_;
  actors::Informer informer_;
};

ProcessLoad::ProcessLoad(const ProcessLoadOptions& options) : options_(options), loop_(MakeThreadLoop("bench")) {}

ProcessLoad::~ProcessLoad() {
  RunOn(*loop_, [this] {
    loop_->Cancel(timer_);
    jobs_.reset();
    pods_.reset();
    api_.reset();
    client_.reset();
  });
}

absl::Status ProcessLoad::Start() {
  dev::ProcessSuiteOptions suite;
  suite.bin_dir = options_.bin_dir;
  suite.dir = dir_ / "suite";
  suite.replicas = options_.replicas;
  suite.gateways = options_.gateways;
  suite.tls = options_.tls;
  suite.gateway_flags = options_.gateway_flags;
  suite.kubesim_flags = {"--crds=" BASALT_SOURCE_DIR "/deploy/crds", "--nodes=10", "--default_duration=100ms",
                         "--log_level=error"};
  BASALT_ASSIGN_OR_RETURN(suite_, dev::ProcessSuite::Start(std::move(suite)));
  http::CurlOptions admin;
  admin.base_url = suite_->kube_server();
  admin.user_agent = "bench";
  RunOn(*loop_, [&] {
    client_ = http::MakeCurlClient(*loop_, admin);
    api_ = std::make_unique<actors::Api>(*loop_, *client_, random_, actors::ApiOptions{.user_agent = "bench"});
    for (int queue = 0; queue < options_.queues; ++queue) {
      Post(kQueues, QueueText(queue));
    }
    jobs_ = std::make_unique<Watcher>(*loop_, *client_, random_, kJobs, IsCompleted);
    pods_ = std::make_unique<Watcher>(*loop_, *client_, random_, kPods, Any);
  });
  return absl::OkStatus();
}

absl::Status ProcessLoad::EndProcess(std::string_view name) {
  BASALT_RETURN_IF_ERROR(suite_->Leave(name));
  for (const absl::Time end = absl::Now() + kLeaveLimit; absl::Now() < end; absl::SleepFor(kPoll)) {
    if (const std::optional<absl::Status> ended = suite_->Ended(name); ended.has_value()) return *ended;
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded, fmt::format("{} does not end", name));
}

void ProcessLoad::Post(std::string_view path, std::string body) {
  api_->Do({"POST", std::string(path), std::move(body)}, [this](const actors::ApiAnswer& answer) {
    // 409 answers a create that the client repeated, and that had succeeded before.
    if (!answer.ok() && answer.status != 409) refused_ = fmt::format("{}: {}", answer.status, ToText(answer.body));
  });
}

void ProcessLoad::Make() { Post(kJobs, JobText(made_++, options_.queues)); }

void ProcessLoad::MakeJobs(int count) {
  RunOn(*loop_, [&] {
    for (int i = 0; i < count; ++i) Make();
  });
}

void ProcessLoad::KeepMaking(int per_second) {
  RunOn(*loop_, [&] {
    per_second_ = per_second;
    loop_->Cancel(std::exchange(timer_, kNoTimer));
    if (per_second_ > 0) MakeSteadily();
  });
}

void ProcessLoad::MakeSteadily() {
  Make();
  timer_ = loop_->RunAfter(absl::Seconds(1) / per_second_, [this] { MakeSteadily(); });
}

size_t ProcessLoad::completed() {
  size_t count = 0;
  RunOn(*loop_, [&] { count = jobs_->count(); });
  return count;
}

absl::Status ProcessLoad::AwaitCompleted(absl::Duration limit) {
  int made = 0;
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(kPoll)) {
    std::string refused;
    RunOn(*loop_, [&] {
      made = made_;
      refused = refused_;
    });
    if (!refused.empty()) return MakeStatus(absl::StatusCode::kFailedPrecondition, refused);
    if (completed() >= static_cast<size_t>(made)) return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded, fmt::format("{} of {} jobs are completed after {}",
                                                                     completed(), made, absl::FormatDuration(limit)));
}

absl::Time ProcessLoad::FirstPodSince(absl::Time after) {
  absl::Time first;
  RunOn(*loop_, [&] { first = pods_->FirstSince(after); });
  return first;
}

absl::StatusOr<double> ProcessLoad::Metric(std::string_view process, std::string_view metric) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, HttpGet(*loop_, suite_->pages(process), "/metrics"));
  return SumOf(text, metric);
}

}  // namespace basalt::bench
