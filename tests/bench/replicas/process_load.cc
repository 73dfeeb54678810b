#include "tests/bench/replicas/process_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/jobs/workload.h"
#include "tests/bench/replicas/http_get.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);
constexpr absl::Duration kLeaveLimit = absl::Seconds(30);

std::string QueueName(int number) { return fmt::format("queue-{}", number); }

std::string QueueText(int number) {
  return fmt::format(
      R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{"weight":1}}}})",
      QueueName(number));
}

}  // namespace

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
      Do({"POST", std::string(kQueuesPath), QueueText(queue)});
    }
    jobs_ = std::make_unique<Collection>(*loop_, *client_, random_, kJobsPath);
    pods_ = std::make_unique<Collection>(*loop_, *client_, random_, kPodsPath);
    pods_->set_on_phase(
        [this](std::string_view pod, std::string_view) { first_seen_.try_emplace(std::string(pod), absl::Now()); });
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

void ProcessLoad::Do(actors::ApiRequest request) {
  api_->Do(std::move(request), [this](const actors::ApiAnswer& answer) {
    // 409 answers a create that the client repeated, and that had succeeded before.
    if (!answer.ok() && answer.status != 409) refused_ = fmt::format("{}: {}", answer.status, ToText(answer.body));
  });
}

void ProcessLoad::Make() {
  const int number = made_++;
  Do(CreateJob(JobName("work", number), {.runs = absl::ZeroDuration(), .queue = QueueName(number % options_.queues)}));
}

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

absl::Status ProcessLoad::AwaitCompleted(absl::Duration limit) {
  int made = 0;
  int completed = 0;
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(kPoll)) {
    std::string refused;
    RunOn(*loop_, [&] {
      made = made_;
      completed = jobs_->In("Completed");
      refused = refused_;
    });
    if (!refused.empty()) return MakeStatus(absl::StatusCode::kFailedPrecondition, refused);
    if (completed >= made) return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("{} of {} jobs are completed after {}", completed, made, absl::FormatDuration(limit)));
}

absl::Time ProcessLoad::FirstPodSince(absl::Time after) {
  absl::Time first = absl::InfiniteFuture();
  RunOn(*loop_, [&] {
    for (const auto& [pod, seen] : first_seen_) {
      if (seen >= after) first = std::min(first, seen);
    }
  });
  return first;
}

absl::StatusOr<double> ProcessLoad::Metric(std::string_view process, std::string_view metric) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, HttpGet(*loop_, suite_->pages(process), "/metrics"));
  return SumOf(text, metric);
}

}  // namespace basalt::bench
