#include "services/jobsvc/testing/job_rig.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc::testing {

namespace {

constexpr absl::Duration kLatency = absl::Milliseconds(1);

struct Identity {
  std::string uid;
  std::string ns;
  std::string name;
  int64_t resource_version = 0;
  std::string route;
};

Identity IdentityOf(const kube::v1::Object& object) {
  const auto of_meta = [](const kube::v1::ObjectMeta& meta, const std::string& job) {
    return Identity{meta.uid(), meta.namespace_(), meta.name(), meta.resource_version(), meta.namespace_() + "/" + job};
  };
  if (object.has_job()) return of_meta(object.job().meta(), object.job().meta().name());
  if (object.has_pod_group()) {
    // <job>-<uid>; a UID has five parts.
    std::string job = object.pod_group().meta().name();
    for (int i = 0; i < 5; ++i) job = job.substr(0, job.rfind('-'));
    return of_meta(object.pod_group().meta(), job);
  }
  if (object.has_command()) return of_meta(object.command().meta(), object.command().target().name());
  const kube::v1::Pod& pod = object.pod();
  return {pod.uid(), pod.namespace_(), pod.name(), pod.resource_version(), pod.namespace_() + "/" + pod.job_name()};
}

std::string InterestOf(std::string_view watch, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}/{}", watch, ns, name);
}

bool IsWatched(const kube::v1::Object& object) {
  return object.has_job() || object.has_pod() || object.has_pod_group() || object.has_command();
}

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

}  // namespace

struct JobRig::Process {
  Process(SimTime& time, uint64_t seed) : loop(time, "jobsvc"), random(seed) {}
  ~Process();
  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<kv::KvStore> store;
  std::unique_ptr<Context> context;
  std::unique_ptr<KeyMaker> keys;
  std::unique_ptr<JobController> controller;
  std::map<std::string, int64_t> seen;  // UID -> resourceVersion.
  std::set<std::string> gone;           // UIDs.
  std::set<std::string> interests;
  std::set<std::string> dirty;
  bool round_posted = false;
  std::map<std::string, std::pair<absl::Time, TimerId>> timers;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

class JobRig::Context : public runtime::Context {
 public:
  Context(JobRig& rig, Process& process) : rig_(rig), process_(process) {}

  Loop& loop() override { return process_.loop; }
  Random& random() override { return process_.random; }
  kv::KvStore& store() override { return *process_.store; }
  absl::Time ApiNow() const override { return rig_.kube_.Now(); }
  void Wake(std::string_view key) override {
    process_.dirty.emplace(key);
    rig_.PostRound();
  }
  void WakeAt(std::string_view key, absl::Time when) override {
    const std::string name(key);
    auto& timer = process_.timers[name];
    if (timer.second != kNoTimer && timer.first <= when) return;
    if (timer.second != kNoTimer) process_.loop.Cancel(timer.second);
    timer = {when, process_.loop.RunAfter(when - ApiNow(), [this, name] {
               process_.timers.erase(name);
               Wake(name);
             })};
  }
  // As KeyQueue does.
  void ClockChanged(absl::Duration set_back) {
    for (const auto& [name, timer] : std::exchange(process_.timers, {})) {
      process_.loop.Cancel(timer.second);
      WakeAt(name, timer.first - std::max(set_back, absl::ZeroDuration()));
    }
  }
  bool IsReady(uint32_t) const override { return rig_.ready; }
  int64_t SlotEpoch(uint32_t) const override { return rig_.epoch_; }
  runtime::SlotCounts Slots() const override { return {kSlotCount, rig_.ready ? size_t{kSlotCount} : 0}; }

  void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, runtime::WriteDone done) override {
    Write(key, std::move(request), std::move(done));
  }
  void Write(std::string_view key, gateway::v1::WriteRequest request, runtime::WriteDone done) override {
    if (rig_.Point()) return;
    const Fate chosen = rig_.fate ? rig_.fate(request) : Fate::kNormal;
    if (chosen == Fate::kNotSent || chosen == Fate::kLostRequest) {
      Answer(std::string(key),
             chosen == Fate::kNotSent ? runtime::WriteOutcome::Kind::kNotSent : runtime::WriteOutcome::Kind::kUnknown,
             std::move(done));
      return;
    }
    // The request travels even if the process dies meanwhile.
    ++rig_.in_flight_;
    rig_.server_loop_.RunAfter(kLatency, [this, alive = process_.alive, rig = &rig_, key = std::string(key),
                                          request = std::move(request), chosen, done = std::move(done)]() mutable {
      const gateway::v1::WriteResponse response = rig->kube_.Write(request);
      if (!*alive || rig->Point()) return;
      if (chosen == Fate::kLostAnswer) {
        Answer(key, runtime::WriteOutcome::Kind::kUnknown, std::move(done));
        return;
      }
      process_.loop.RunAfter(kLatency, [this, key, response, done = std::move(done)]() mutable {
        runtime::WriteOutcome outcome;
        outcome.kind =
            response.has_error() ? runtime::WriteOutcome::Kind::kRefused : runtime::WriteOutcome::Kind::kDone;
        outcome.error = response.error();
        outcome.object = response.object();
        outcome.gone = response.gone();
        if (!response.has_error() && IsWatched(response.object())) {
          rig_.Deliver(response.object().has_pod() ? std::string(kube::kWatchJobPods) : std::string(),
                       response.object(), response.gone());
        }
        done(std::move(outcome));
        Wake(key);
      });
    });
  }

  void Get(std::string_view key, gateway::v1::GetRequest request, runtime::GetDone done) override {
    GetForCaller(key, std::move(request), std::move(done));
  }
  void GetForCaller(std::string_view, gateway::v1::GetRequest request, runtime::GetDone done) override {
    process_.loop.RunAfter(kLatency, [this, request = std::move(request), done = std::move(done)]() mutable {
      done(rig_.kube_.Get(request));
    });
  }

  bool CallOwner(gateway::v1::ServiceKind service, std::string_view, runtime::PeerCall call) override {
    EXPECT_EQ(service, gateway::v1::SERVICE_KIND_POD_GROUP);
    call(groups_, [](absl::AnyInvocable<void()> task) { task(); });
    return true;
  }
  void MergeAnswer(std::string_view, const kube::v1::Object& object, bool gone) override {
    rig_.Deliver(std::string(), object, gone);
  }
  // As the runtime and the gateway do: what there is, then each change.
  void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) override {
    EXPECT_TRUE(process_.interests.insert(InterestOf(watch, ns, name)).second) << name << " is asked for twice";
    process_.loop.RunAfter(kLatency, [this, watch = std::string(watch), ns = std::string(ns),
                                      name = std::string(name)] { Tell(watch, ns, name); });
  }
  void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) override {
    EXPECT_EQ(process_.interests.erase(InterestOf(watch, ns, name)), 1u) << name << " was not asked for";
  }
  void Fail(const absl::Status& why) override {
    fmt::print(stderr, "the controller failed: {}\n", why.ToString());
    std::abort();
  }

 private:
  void Tell(const std::string& watch, const std::string& ns, const std::string& name) {
    kube::v1::Object object = rig_.kube_.Other(watch, ns, name);
    const bool gone = !object.has_generic();
    if (gone) {
      object.mutable_generic()->mutable_meta()->set_namespace_(ns);
      object.mutable_generic()->mutable_meta()->set_name(name);
    }
    rig_.DeliverShared(watch, object, gone);
  }
  void Answer(const std::string& key, runtime::WriteOutcome::Kind kind, runtime::WriteDone done) {
    const bool unknown = kind == runtime::WriteOutcome::Kind::kUnknown;
    const absl::Duration after = unknown ? std::max(kLatency, rig_.unknown_after) : kLatency;
    process_.loop.RunAfter(after, [this, key, kind, done = std::move(done)]() mutable {
      runtime::WriteOutcome outcome;
      outcome.kind = kind;
      done(std::move(outcome));
      Wake(key);
    });
  }

  // What pgsvc makes of it.
  class Groups : public rpc::PodGroupPeer {
   public:
    explicit Groups(Context& context) : context_(context) {}
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request, absl::Duration,
                        rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      context_.loop().RunAfter(kLatency, [this, request = std::move(request), done = std::move(done)]() mutable {
        done(context_.rig_.kube_.EnsurePodGroup(request));
      });
    }
    // With the fate and the points of a write.
    void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request, absl::Duration,
                        rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
      auto write = kube::WriteOf(kube::kPodGroups, request.namespace_(), request.name());
      write.mutable_delete_()->set_uid(request.uid());
      context_.Write(
          kube::ObjectKey(request.namespace_(), request.name()), std::move(write),
          [done = std::move(done)](runtime::WriteOutcome outcome) mutable { done(AnswerOf(std::move(outcome))); });
    }

   private:
    static absl::StatusOr<podgroup::v1::DeletePodGroupResponse> AnswerOf(runtime::WriteOutcome outcome) {
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

    Context& context_;
  };

  JobRig& rig_;
  Process& process_;
  Groups groups_{*this};
};

JobRig::Process::~Process() = default;

JobController& JobRig::controller() { return *process_->controller; }
kv::KvStore& JobRig::store() { return *process_->store; }

JobRig::JobRig() : server_loop_(time_, "kube"), kube_(server_loop_), disk_(kv::MakeMemDisk()) {
  kube_.SetWatcher([this](const std::string& watch, const kube::v1::Object& object, bool gone) {
    if (!alive()) return;
    process_->loop.RunAfter(kLatency, [this, watch, object, gone] {
      if (object.has_generic()) return DeliverShared(watch, object, gone);
      Deliver(watch, object, gone);
    });
  });
}

JobRig::~JobRig() { Kill(); }

void JobRig::Start() {
  Kill();
  // As the gateway does: a snapshot ends after what the previous incarnation has sent.
  time_.AdvanceUntil([this] { return in_flight_ == 0; }, absl::Seconds(10));
  process_ = std::make_unique<Process>(time_, ++seed_);
  ++epoch_;
  Process& process = *process_;
  process.store = kv::OpenMemKv(disk_);
  process.context = std::make_unique<Context>(*this, process);
  process.keys = std::make_unique<InlineKeys>(process.loop, ssh_keys_made_);
  process.controller = std::make_unique<JobController>(*process.context, *process.keys, metrics, options);
  if (on_start) on_start(*process.controller);
  std::map<std::string, runtime::KnownObject> known;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    auto opened = process.controller->OpenSlot(slot);
    if (!opened.ok()) process.context->Fail(opened.status());
    for (runtime::KnownObject& object : *opened) known[object.uid] = object;
  }
  for (const kube::v1::Object& last : std::exchange(ends, {})) {
    known.erase(IdentityOf(last).uid);
    Deliver(std::string(kube::kWatchJobPods), last, true);
  }
  kube_.Replay([&](const std::string& watch, const kube::v1::Object& object, bool) {
    known.erase(IdentityOf(object).uid);
    if (uncertain.contains(IdentityOf(object).uid)) return;
    Deliver(watch, object, false);
  });
  for (const auto& [uid, object] : known) {
    const runtime::Gone gone{runtime::Gone::Reason::kAbsent, object.watch, uid, object.ns, object.name,
                             object.resource_version,        nullptr};
    process.controller->OnGone(object.routing_key, gone);
    process.dirty.insert(object.routing_key);
  }
  PostRound();
}

void JobRig::SetApiClock(absl::Duration ahead) {
  const absl::Duration before = std::exchange(kube_.ahead, ahead);
  if (alive()) process_->context->ClockChanged(before - ahead);
}

void JobRig::Kill() {
  if (process_ == nullptr) return;
  *process_->alive = false;
  process_->loop.Kill();
  dead_.push_back(std::move(process_));
}

bool JobRig::Point() {
  ++points_;
  if (kill_at_ == 0 || points_ != kill_at_) return false;
  kill_at_ = 0;
  Kill();
  return true;
}

void JobRig::Deliver(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (!alive()) return;
  Process& process = *process_;
  const Identity identity = IdentityOf(object);
  if (process.gone.contains(identity.uid)) return;
  if (gone) {
    process.gone.insert(identity.uid);
    std::string of = watch;
    if (of.empty()) {
      of = object.has_job()         ? std::string(kube::kWatchJobs)
           : object.has_pod_group() ? std::string(kube::kWatchPodGroups)
                                    : std::string(kube::kWatchCommands);
    }
    const runtime::Gone told{runtime::Gone::Reason::kDeleted, of,     identity.uid, identity.ns, identity.name,
                             identity.resource_version,       &object};
    process.controller->OnGone(identity.route, told);
  } else {
    int64_t& seen = process.seen[identity.uid];
    if (identity.resource_version <= seen) return;
    seen = identity.resource_version;
    process.controller->OnState(identity.route, watch, kube::v1::Object(object));
  }
  process.dirty.insert(identity.route);
  PostRound();
}

void JobRig::DeliverShared(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (!alive()) return;
  const kube::v1::ObjectMeta& meta = object.generic().meta();
  if (!process_->interests.contains(InterestOf(watch, meta.namespace_(), meta.name()))) return;
  process_->controller->OnShared(watch, object, gone);
}

void JobRig::ShowPriorityClass(const std::string& name, int32_t value, bool gone) {
  kube::v1::Object object;
  object.mutable_priority_class()->mutable_meta()->set_name(name);
  object.mutable_priority_class()->set_value(value);
  process_->controller->OnShared(std::string(kube::kWatchPriorityClasses), object, gone);
}

std::set<std::string> JobRig::Interests() const {
  return process_ == nullptr ? std::set<std::string>() : process_->interests;
}

void JobRig::PostRound() {
  if (process_->round_posted) return;
  process_->round_posted = true;
  process_->loop.Post([this] { Round(); });
}

void JobRig::Round() {
  Process& process = *process_;  // Stays when it dies: dead_.
  process.round_posted = false;
  ++rounds_;
  std::set<std::string> keys;
  keys.swap(process.dirty);
  kv::WriteBatch batch;
  for (const std::string& key : keys) {
    ++passes_[key];
    process.controller->Decide(key, batch);
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].family == kv::Family::kRecords) job_records_written_ += batch[i].value.size();
  }
  if (!batch.empty()) {
    if (Point()) return;
    if (const absl::Status status = process.store->Write(batch); !status.ok()) process.context->Fail(status);
    if (Point()) return;
  }
  for (const std::string& key : keys) {
    process.controller->Act(key);
    if (!alive()) return;
  }
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

bool CommitLate(FakeKube& kube, const std::string& key, std::string_view state) {
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
