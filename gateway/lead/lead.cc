#include "gateway/lead/lead.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/obs/log.h"

namespace basalt::gateway {
namespace {

constexpr double kLastRetry = 1.0 / 3;  // As a part of the lease's duration.

std::string ConfigName(const LeadOptions& options) { return options.lease_name + "-assignment"; }

}  // namespace

// The kept assignment as the listener uses it: the lead learns of each status before the listener does.
class Lead::Store : public AssignmentStore {
 public:
  explicit Store(Lead& lead) : lead_(lead) {}

  void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)> done) override {
    lead_.kept_.Load(std::move(done));
  }
  void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) override {
    lead_.kept_.Save(std::move(record), [this, done = std::move(done)](absl::Status status) {
      lead_.OnSaved(status);
      const bool known = status.ok() || absl::IsAborted(status) || absl::IsUnknown(status);
      done(known ? std::move(status) : MakeStatus(absl::StatusCode::kUnavailable, ToStd(status.message())));
    });
  }

 private:
  Lead& lead_;
};

Lead::Lead(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, LeadOptions options,
           LeadHooks hooks)
    : loop_(loop),
      client_(client),
      random_(random),
      metrics_(metrics),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      user_agent_(fmt::format("basalt-gateway/{} ({}/{})", options_.version, options_.replica, options_.incarnation)),
      kept_(client, {.config_namespace = options_.lease_namespace,
                     .config_name = ConfigName(options_),
                     .writer = IdentityOf({options_.replica, options_.incarnation}),
                     .user_agent = user_agent_,
                     .timeout = options_.lease_duration * kRequestPart}),
      store_(std::make_unique<Store>(*this)),
      back_off_({.first = options_.lease_duration * kFirstRetryPart, .most = options_.lease_duration * kLastRetry}) {}

Lead::~Lead() { CancelTimers(); }

void Lead::CancelTimers() {
  loop_.Cancel(std::exchange(load_timer_, kNoTimer));
  loop_.Cancel(std::exchange(wait_timer_, kNoTimer));
}

void Lead::Start(LeadListener& listener, std::string address) {
  listener_ = &listener;
  ElectorListener& self = *this;
  elector_ = std::make_unique<Elector>(loop_, client_, random_, metrics_, self,
                                       ElectorOptions{.lease_namespace = options_.lease_namespace,
                                                      .lease_name = options_.lease_name,
                                                      .self = {options_.replica, options_.incarnation},
                                                      .address = std::move(address),
                                                      .user_agent = user_agent_,
                                                      .duration = options_.lease_duration,
                                                      .renew_period = options_.renew_period});
  elector_->Start();
}

AssignmentStore& Lead::assignments() { return *store_; }

void Lead::Release(std::function<void()> done) {
  releasing_ = true;
  taken_.reset();
  leads_ = false;
  until_ = absl::InfinitePast();
  loop_.Cancel(std::exchange(load_timer_, kNoTimer));
  kept_.Cancel();
  AllowWrites();
  // wait_timer_ goes on: until the Lease is given back, the wait for the former leader may end, and then is not owed
  // any more.
  auto release = [this, done = std::move(done)]() mutable {
    if (elector_ == nullptr) return loop_.Post(std::move(done));
    elector_->Release(std::move(done));
  };
  if (hooks_.when_quiet == nullptr) return release();
  hooks_.when_quiet(std::move(release));
}

// ---- the Lease ----

void Lead::OnTaken(const Taken& taken) {
  if (releasing_) return;
  taken_ = taken;
  until_ = absl::InfinitePast();
  back_off_.Reset();
  Load();
}

void Lead::OnRenewed(absl::Time until) {
  if (releasing_) return;
  until_ = until;
  if (leads_) AllowWrites();
}

void Lead::OnFollow(const std::string& leader, const std::string& address) {
  if (releasing_) return;
  const bool lost = taken_.has_value();
  taken_.reset();
  leads_ = false;
  until_ = absl::InfinitePast();
  CancelTimers();
  if (lost) kept_.Cancel();
  SetProblem(absl::OkStatus());
  AllowWrites();
  listener_->OnFollow(leader, address);
}

void Lead::OnCondition(const obs::Health::Condition& condition) {
  lease_ = condition;
  ShowCondition();
}

void Lead::OnAnswer(const KubeAnswer& answer) {
  if (hooks_.on_answer != nullptr) hooks_.on_answer(answer);
}

void Lead::OnFatal(const absl::Status& why) { hooks_.on_fatal(why); }

// ---- the assignment ----

void Lead::Load() {
  kept_.Load([this](absl::StatusOr<std::optional<storage::v1::AssignmentRecord>> loaded) {
    if (taken_) OnLoaded(std::move(loaded));
  });
}

void Lead::OnLoaded(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>> loaded) {
  if (!loaded.ok()) {
    SetProblem(loaded.status());
    load_timer_ = loop_.RunAfter(back_off_.Next(random_), [this] {
      load_timer_ = kNoTimer;
      Load();
    });
    return;
  }
  SetProblem(absl::OkStatus());
  // There was no Lease, but a gateway has led, and may not have noticed yet that the Lease is gone.
  const absl::Duration unseen = taken_->was_absent && *loaded ? options_.lease_duration : absl::ZeroDuration();
  from_ = taken_->at + std::max(taken_->wait, unseen);
  leads_ = true;
  AllowWrites();
  wait_timer_ = loop_.RunAt(from_, [this] {
    wait_timer_ = kNoTimer;
    elector_->Waited();
  });
  obs::LogInfo("leading", {{"epoch", fmt::to_string(*loaded ? (*loaded)->epoch() : 0)}});
  listener_->OnLead(loaded->value_or(storage::v1::AssignmentRecord()));
}

void Lead::OnSaved(const absl::Status& status) {
  if (absl::IsAborted(status)) {
    obs::LogError("somebody else has saved an assignment", {{"why", std::string(ToStd(status.message()))}});
    return elector_->StepDown("somebody else has saved an assignment");
  }
  // UNKNOWN: the next attempt will find out whether the record was saved. Until then there is nothing to report.
  if (!absl::IsUnknown(status)) SetProblem(status);
}

void Lead::AllowWrites() { hooks_.allow_writes(from_, until_); }

void Lead::SetProblem(const absl::Status& status) {
  problem_.reset();
  const std::string why(ToStd(status.message()));
  const std::string name = fmt::format("{} {}", options_.lease_namespace, ConfigName(options_));
  switch (status.code()) {
    case absl::StatusCode::kOk:
      break;
    case absl::StatusCode::kDataLoss:
      problem_ = {.ready = false,
                  .state = "unreadable",
                  .why = why,
                  .cure = fmt::format("kubectl delete configmap -n {}: the slots are then assigned anew, and what the "
                                      "replicas hold is asked for; nothing has to be restarted",
                                      name)};
      break;
    case absl::StatusCode::kPermissionDenied:
      problem_ = {.ready = false,
                  .state = "forbidden",
                  .why = why,
                  .cure = fmt::format("grant get, create and update on configmaps in namespace {} to the gateway's "
                                      "account; see deploy/rbac/gateway.yaml",
                                      options_.lease_namespace)};
      break;
    case absl::StatusCode::kInternal:
      problem_ = {.ready = false,
                  .state = "failing",
                  .why = why,
                  .cure = "see what the API server says to it; it is tried again by itself"};
      break;
    default:
      break;  // The problem is the server's, not the assignment's, and has a target of its own.
  }
  ShowCondition();
}

void Lead::ShowCondition() {
  if (!lease_.state.empty()) hooks_.set_condition(lease_.ready && problem_ ? *problem_ : lease_);
}

}  // namespace basalt::gateway
