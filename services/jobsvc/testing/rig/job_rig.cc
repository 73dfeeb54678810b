#include "services/jobsvc/testing/rig/job_rig.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/json.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "services/jobsvc/core/pods/controlled_state.h"
#include "services/jobsvc/store/history_store.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr absl::Duration kLatency = absl::Milliseconds(1);

// Makes texts of the right form that are no keys, without delay.
class InlineKeys : public KeyMaker {
 public:
  InlineKeys(Loop& loop, int& made) : loop_(loop), made_(made), source_(MakeFakeKeySource()) {}
  void MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) override {
    ++made_;
    loop_.Post([this, seed = std::move(seed), done = std::move(done)] { done(source_->MakeSshKeyPair(seed)); });
  }

 private:
  Loop& loop_;
  int& made_;
  std::unique_ptr<SshKeySource> source_;
};

absl::StatusOr<podgroup::v1::DeletePodGroupResponse> AnswerOf(runtime::WriteOutcome outcome) {
  using Kind = runtime::WriteOutcome::Kind;
  const int code = outcome.error.code();
  if (outcome.kind == Kind::kUnknown) return absl::UnknownError("the connection broke");
  if (outcome.kind == Kind::kRefused && (code == 400 || code == 403 || code == 422)) {
    return absl::InvalidArgumentError(outcome.error.message());
  }
  podgroup::v1::DeletePodGroupResponse response;
  if (outcome.kind == Kind::kDone) {
    response.set_gone(outcome.gone);
    *response.mutable_pod_group() = outcome.object.pod_group();
    return response;
  }
  if (code != 404 && code != 409) return absl::UnavailableError(outcome.error.message());
  response.set_gone(true);
  return response;
}

// Answers in place of pgsvc.
class Groups final : public rpc::PodGroupPeer {
 public:
  Groups(runtime::Context& context, JobKube& kube) : context_(context), kube_(kube) {}
  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request, absl::Duration,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
    context_.loop().RunAfter(kLatency, [this, request = std::move(request), done = std::move(done)]() mutable {
      done(kube_.EnsurePodGroup(request));
    });
  }
  // The deletion has the fate and the points of a write.
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request, absl::Duration,
                      rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
    auto write = kube::WriteOf(kube::kPodGroups, request.namespace_(), request.name());
    write.mutable_delete_()->set_uid(request.uid());
    context_.Write(
        kube::ObjectKey(request.namespace_(), request.name()), std::move(write),
        [done = std::move(done)](runtime::WriteOutcome outcome) mutable { done(AnswerOf(std::move(outcome))); });
  }

 private:
  runtime::Context& context_;
  JobKube& kube_;
};

}  // namespace

JobRig::JobRig()
    : ControllerRig(
          {.service = gateway::v1::SERVICE_KIND_JOB,
           .controller = [this](runtime::Context& context) { return MakeController(context); },
           .peers = {{gateway::v1::SERVICE_KIND_POD_GROUP,
                      [this](runtime::Context& context) { return std::make_unique<Groups>(context, kube_); }}}}),
      kube_(*this) {
  on_record = [this](const kv::WriteBatch& batch) {
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].family == kv::Family::kRecords) job_records_written_ += batch[i].value.size();
    }
  };
}

JobRig::~JobRig() { Shutdown(); }

std::unique_ptr<runtime::Controller> JobRig::MakeController(runtime::Context& context) {
  keys_.push_back(std::make_unique<InlineKeys>(context.loop(), ssh_keys_made_));
  auto controller = std::make_unique<JobController>(context, *keys_.back(), metrics, options);
  if (on_start) on_start(*controller);
  return controller;
}

void JobRig::ShowPriorityClass(const std::string& name, int32_t value, bool gone) {
  kube::v1::Object object;
  object.mutable_priority_class()->mutable_meta()->set_name(name);
  object.mutable_priority_class()->set_value(value);
  controller().OnShared(std::string(kube::kWatchPriorityClasses), object, gone);
}

void JobRig::Begin(kube::v1::Job job) {
  Start();
  kube().PutJob(std::move(job));
  Run();
}

void JobRig::StartRunning(kube::v1::Job job, absl::Duration time) {
  Begin(std::move(job));
  kube().SetAllPods(kPodRunning);
  Run(time);
}

void JobRig::StartAgain(bool lose_disk) {
  Kill();
  if (lose_disk) LoseDisk();
  Start();
}

std::vector<storage::v1::HistoryRecord> JobRig::History(const std::string& key) {
  return *HistoryStore(store()).Read(SlotOf(key), kube_.job(key).meta().uid());
}

kube::v1::JobPhase JobRig::PhaseOf(const std::string& key) const {
  const auto it = kube_.jobs().find(key);
  return it == kube_.jobs().end() ? kube::v1::JOB_PHASE_UNSPECIFIED : it->second.status().phase();
}

kube::v1::Job MakeJob(const std::string& name, int tasks, int replicas) {
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_("default");
  job.mutable_meta()->set_name(name);
  auto& spec = *job.mutable_spec();
  spec.set_scheduler_name("volcano");
  spec.set_queue("default");
  spec.set_max_retry(3);
  spec.set_min_available(tasks * replicas);
  for (int t = 0; t < tasks; ++t) {
    auto* task = spec.add_tasks();
    task->set_name(fmt::format("t{}", t));
    task->set_replicas(replicas);
    task->set_template_json(R"({"spec":{"containers":[{"name":"main","image":"busybox"}],"restartPolicy":"Never"}})");
  }
  return job;
}

kube::v1::Job WithPolicy(kube::v1::Job job, const std::string& event, const std::string& action,
                         absl::Duration timeout) {
  auto* policy = job.mutable_spec()->add_policies();
  policy->add_events(event);
  policy->set_action(action);
  if (timeout > absl::ZeroDuration()) policy->set_timeout_ms(absl::ToInt64Milliseconds(timeout));
  return job;
}

bool CommitLate(JobKube& kube, const std::string& key, std::string_view state) {
  const kube::v1::Job& job = kube.job(key);
  const std::string* own = FindResource(job.status(), kube::kControlledStateKey);
  if (own == nullptr) return false;
  json::object next = ParseJson(*own)->as_object();
  next["seq"] = next["seq"].as_int64() + 1;
  next["nonce"] = "late";
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_plural("jobs");
  request.set_subresource("status");
  request.set_namespace_(job.meta().namespace_());
  request.set_name(job.meta().name());
  json::object body = ParseJson(fmt::format(R"({{"status":{}}})", state))->as_object();
  body["status"].as_object()["controlledResources"] = {{std::string(kube::kControlledStateKey), ToText(next)}};
  request.mutable_patch()->set_body(ToText(body));
  return kube.Write(request).error().code() == 0;
}

}  // namespace basalt::jobsvc::testing
