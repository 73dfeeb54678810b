#include "gateway/lead/elector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/http/target.h"
#include "common/obs/log.h"

namespace basalt::gateway {
namespace {

// These are parts of the lease's duration.
constexpr double kLead = 2.0 / 3;     // How long after the request for its last renewal a leader leads.
constexpr double kWait = 1.0 / 4;     // How long a write may take, and so how long the next leader waits.
constexpr double kRenew = 2.0 / 15;   // The time between two renewals unless the options name another one.
constexpr double kRelease = 1.0 / 3;  // The time limit for giving the Lease back.

constexpr char kRights[] =
    "grant get, create and update on leases.coordination.k8s.io in namespace {} to the gateway's account; see "
    "deploy/rbac/gateway.yaml";

absl::Duration PeriodOf(const ElectorOptions& options) {
  return options.renew_period > absl::ZeroDuration() ? options.renew_period : options.duration * kRenew;
}

}  // namespace

Elector::Elector(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, ElectorListener& listener,
                 ElectorOptions options)
    : loop_(loop),
      client_(client),
      random_(random),
      listener_(listener),
      options_(std::move(options)),
      identity_(IdentityOf(options_.self)),
      leads_gauge_(metrics.GetGauge("basalt_gateway_leads", "1 while this gateway leads.")),
      renewals_(metrics.GetCounter("basalt_lease_renewals_total", "Renewals of the lease by this gateway.")),
      transitions_(metrics.GetCounter("basalt_lease_transitions_total", "How often this gateway has come to lead.")),
      longest_(options_.duration),
      back_off_({.first = options_.duration * kFirstRetryPart, .most = PeriodOf(options_)}) {}

Elector::~Elector() {
  *alive_ = false;
  for (const TimerId timer : {step_timer_, expiry_timer_, release_timer_}) loop_.Cancel(timer);
}

void Elector::Start() {
  answered_ = loop_.Now();
  Schedule(absl::ZeroDuration());
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    NotifyFollower("", "");
    SetCondition({.ready = false, .state = "starting", .why = "the lease has not been read yet", .cure = ""});
  });
}

void Elector::StepDown(std::string_view why) {
  loop_.Post([this, alive = alive_, why = std::string(why)] {
    if (!*alive || !leads_) return;
    must_look_ = true;
    Lose(why);
    // The other leader may be about to write.
    pending_wait_ = longest_;
  });
}

// ---- steps ----

absl::Duration Elector::Period() { return PeriodOf(options_) * (0.9 + 0.2 * random_.Unit()); }

void Elector::Schedule(absl::Duration delay) {
  loop_.Cancel(step_timer_);
  step_timer_ = loop_.RunAfter(std::max(delay, absl::ZeroDuration()), [this] {
    step_timer_ = kNoTimer;
    Step();
  });
}

void Elector::Step() {
  if (stopped_ || call_ != nullptr) return;
  if (must_look_ || !(leads_ || releasing_)) return Look();
  Claim(releasing_ ? Verb::kRelease : Verb::kRenew);
}

void Elector::Send(KubeCall call, void (Elector::*then)(KubeAnswer)) {
  call.user_agent = options_.user_agent;
  call.timeout = options_.duration * kRequestPart;
  call_ = StartKubeCall(client_, std::move(call), [this, then](KubeAnswer answer) {
    // The call runs this callback, so it must live until the end.
    const std::unique_ptr<http::Call> ended = std::move(call_);
    listener_.OnAnswer(answer);
    (this->*then)(std::move(answer));
  });
}

void Elector::Look() { Send({.target = Path(/*collection=*/false)}, &Elector::OnLooked); }

void Elector::OnLooked(KubeAnswer answer) {
  using enum KubeAnswer::Outcome;
  if (answer.outcome == kRefused && answer.error.code() == 404) return OnAbsent();
  if (answer.outcome != kDone) return Retry(answer, "get");
  absl::StatusOr<Lease> lease = ParseLease(answer.body);
  if (!lease.ok()) return RetryMalformed(lease.status());
  OnSeen(*std::move(lease));
}

// ---- deciding ----

void Elector::OnAbsent() {
  if (releasing_) return EndRelease();
  looked_ = true;
  attempt_.reset();
  if (!leads_) NotifyFollower("", "");
  // A holder that was observed may lead on for a while.
  Claim(Verb::kCreate, seen_ ? longest_ : absl::ZeroDuration(), /*was_absent=*/!seen_);
}

void Elector::OnSeen(Lease lease) {
  const bool first_look = !std::exchange(looked_, true);
  const bool was_ours = seen_ && seen_->identity == identity_;
  must_look_ = false;
  Keep(std::move(lease));
  const bool ours = seen_->identity == identity_;
  if (releasing_) {
    attempt_.reset();
    return ours ? Claim(Verb::kRelease) : EndRelease();
  }
  if (attempt_ && ours && attempt_->renewed == seen_->renewed) return Succeeded(*attempt_, *seen_);
  attempt_.reset();
  // If this process does not lead, then it led until it could not renew, or a given-up attempt was carried out after
  // all.
  if (ours) return Claim(Verb::kRenew, std::max(seen_->wait, was_ours ? absl::ZeroDuration() : longest_));
  pending_wait_ = absl::ZeroDuration();
  pending_absent_ = false;
  const std::optional<Holder> holder = seen_->holder();
  const bool same_name = holder && holder->replica == options_.self.replica;
  if (same_name && first_look) before_ = seen_->identity;
  if (same_name) return FollowSameName(*seen_);
  if (leads_) Lose(fmt::format("the lease is held by '{}'", seen_->identity));
  NotifyLeader();
  if (!seen_->identity.empty()) return FollowOther(*seen_);
  Claim(Verb::kTake, std::max(seen_->wait, seen_->free() ? absl::ZeroDuration() : longest_));
}

void Elector::FollowSameName(const Lease& lease) {
  // An identity that was there at the first look is the process before this one, however often it is observed until the
  // Lease is ours. Any other one has replaced this process.
  if (lease.identity != before_) return Replaced(lease);
  Claim(Verb::kTake, std::max(seen_->wait, longest_ * kWait));
}

void Elector::FollowOther(const Lease& lease) {
  const absl::Duration patience = lease.duration > absl::ZeroDuration() ? lease.duration : options_.duration;
  // The holder's own wait is over by then.
  const absl::Duration left = seen_since_ + patience - loop_.Now();
  if (left <= absl::ZeroDuration()) return Claim(Verb::kTake, longest_ * kWait);
  Schedule(std::min(left, Period()));
}

void Elector::Keep(Lease lease) {
  answered_ = loop_.Now();
  back_off_.Reset();
  if (!seen_ || seen_->mark != lease.mark) seen_since_ = loop_.Now();
  // The duration of a holder that is no gateway of ours counts only for how long that holder is waited for.
  if (lease.holder()) longest_ = std::max(longest_, lease.duration);
  seen_ = std::move(lease);
}

// ---- writing ----

void Elector::Claim(Verb verb, absl::Duration wait, bool was_absent) {
  LeaseClaim claim{identity_, options_.address, options_.duration, loop_.Now(), owed_};
  // Without a Lease, nobody knows yet whether a gateway has led.
  if (!leads_) claim.wait = std::max({wait, pending_wait_, was_absent ? options_.duration : absl::ZeroDuration()});
  attempt_ = {verb, claim.now, RenewTime(claim.now), wait, was_absent};
  KubeCall call{.method = "PUT", .target = Path(/*collection=*/false)};
  switch (verb) {
    case Verb::kCreate:
      call.method = "POST";
      call.target = Path(/*collection=*/true);
      call.body = NewLease(options_.lease_namespace, options_.lease_name, claim);
      break;
    case Verb::kTake:
      call.body = TakenLease(*seen_, claim);
      break;
    case Verb::kRenew:
      call.body = RenewedLease(*seen_, claim);
      break;
    case Verb::kRelease:
      call.body = ReleasedLease(*seen_, claim.now, owed_);
      break;
  }
  Send(std::move(call), &Elector::OnClaimed);
}

void Elector::OnClaimed(KubeAnswer answer) {
  using enum KubeAnswer::Outcome;
  const Attempt attempt = *attempt_;
  if (answer.outcome == kDone) {
    if (attempt.verb == Verb::kRelease) return EndRelease();
    absl::StatusOr<Lease> lease = ParseLease(answer.body);
    if (lease.ok()) return Succeeded(attempt, *std::move(lease));
    must_look_ = true;
    return RetryMalformed(lease.status());
  }
  if (answer.outcome == kUnknown) {
    must_look_ = true;
    return Retry(answer, "update");
  }
  attempt_.reset();
  if (answer.outcome == kUnsent) return Retry(answer, "update");
  must_look_ = true;
  const int code = answer.error.code();
  // Another process was faster, or the Lease is gone: read the Lease again.
  if (code == 409 || (code == 404 && attempt.verb != Verb::kCreate)) return Schedule(Period() * 0.01);
  Retry(answer, attempt.verb == Verb::kCreate ? "create" : "update");
}

void Elector::Succeeded(Attempt attempt, Lease lease) {
  attempt_.reset();
  must_look_ = false;
  Keep(std::move(lease));
  const absl::Time now = loop_.Now();
  // If the clock has been set back meanwhile, the request was sent no later than `now`.
  const absl::Time asked = std::min(attempt.asked, now);
  const absl::Time until = asked + options_.duration * kLead;
  // The expiry timer may be late.
  if (leads_ && until_ <= now) Lose("it was not renewed in time");
  if (!leads_) {
    pending_wait_ = std::max(pending_wait_, attempt.wait);
    pending_absent_ = pending_absent_ || attempt.was_absent;
  }
  // The answer came too late to be of use. The Lease is ours, so the next look renews it.
  if (until <= now) return Schedule(back_off_.Next(random_));
  until_ = until;
  if (leads_) {
    renewals_.Add();
  } else {
    leads_ = true;
    owed_ = std::max(pending_wait_, pending_absent_ ? options_.duration : absl::ZeroDuration());
    leads_gauge_.Set(1);
    transitions_.Add();
    followed_.reset();
    obs::LogInfo("this gateway leads", {{"lease", LeaseText()}, {"writes_wait", absl::FormatDuration(pending_wait_)}});
    listener_.OnTaken({.at = now,
                       .wait = std::exchange(pending_wait_, absl::ZeroDuration()),
                       .was_absent = std::exchange(pending_absent_, false)});
    longest_ = options_.duration;
  }
  SetCondition({.ready = true, .state = "leading", .why = "", .cure = ""});
  listener_.OnRenewed(until_);
  loop_.Cancel(expiry_timer_);
  expiry_timer_ = loop_.RunAt(until_, [this] {
    expiry_timer_ = kNoTimer;
    must_look_ = true;
    Lose("it was not renewed in time");
    SetCondition({.ready = false,
                  .state = "lost",
                  .why = fmt::format("{} could not be renewed in time", LeaseText()),
                  .cure = "see that the API server runs and answers; it is tried again by itself"});
  });
  Schedule(asked + Period() - now);
}

// ---- the end of a lead ----

void Elector::Lose(std::string_view why) {
  leads_ = false;
  leads_gauge_.Set(0);
  loop_.Cancel(std::exchange(expiry_timer_, kNoTimer));
  obs::LogInfo("this gateway leads no more", {{"lease", LeaseText()}, {"why", std::string(why)}});
  followed_.reset();
  NotifyLeader();
  if (call_ == nullptr) Schedule(back_off_.Next(random_));
}

void Elector::Replaced(const Lease& lease) {
  const std::string why = fmt::format("replaced by '{}', another process of the same --replica, which holds {}",
                                      lease.identity, LeaseText());
  stopped_ = true;
  if (leads_) Lose(why);
  loop_.Cancel(std::exchange(step_timer_, kNoTimer));
  SetCondition({.ready = false,
                .state = "replaced",
                .why = why,
                .cure = "give each gateway a --replica of its own, that of its pod"});
  listener_.OnFatal(MakeStatus(absl::StatusCode::kAborted, why));
}

void Elector::Release(std::function<void()> done) {
  loop_.Post([this, alive = alive_, done = std::move(done)]() mutable {
    if (!*alive) return;
    released_ = std::move(done);
    StartRelease();
  });
}

void Elector::StartRelease() {
  releasing_ = true;
  leads_ = false;
  leads_gauge_.Set(0);
  loop_.Cancel(std::exchange(expiry_timer_, kNoTimer));
  // The request under way may still be carried out.
  if (call_ != nullptr) must_look_ = true;
  call_.reset();
  if (stopped_ || !(attempt_ || (seen_ && seen_->identity == identity_))) return EndRelease();
  release_timer_ = loop_.RunAfter(options_.duration * kRelease, [this] {
    release_timer_ = kNoTimer;
    EndRelease();
  });
  Schedule(absl::ZeroDuration());
}

void Elector::EndRelease() {
  stopped_ = true;
  loop_.Cancel(std::exchange(step_timer_, kNoTimer));
  loop_.Cancel(std::exchange(release_timer_, kNoTimer));
  // The call may be the one that runs this function, so it is destroyed later.
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    call_.reset();
    if (released_) std::exchange(released_, nullptr)();
  });
}

// ---- problem ----

void Elector::Retry(const KubeAnswer& answer, std::string_view verb) {
  Schedule(std::max(back_off_.Next(random_), std::min(answer.come_again, Period())));
  const int code = answer.error.code();
  const bool refused = answer.outcome == KubeAnswer::Outcome::kRefused;
  const std::string why = fmt::format("cannot {} {}: {}", verb, LeaseText(), answer.why);
  if (refused && code == 403) {
    return SetCondition(
        {.ready = false, .state = "forbidden", .why = why, .cure = fmt::format(kRights, options_.lease_namespace)});
  }
  if (refused && code == 404) {
    return SetCondition(
        {.ready = false,
         .state = "absent",
         .why = why,
         .cure = fmt::format("make namespace {}, or name another one by --lease_namespace", options_.lease_namespace)});
  }
  if (refused) {
    return SetCondition({.ready = false,
                         .state = code == 401 ? "unauthorized" : "failing",
                         .why = why,
                         .cure = "see what the API server says to it; it is tried again by itself"});
  }
  // A short failure is not reported.
  if (loop_.Now() - answered_ < options_.duration) {
    if (state_ == "starting") SetCondition({.ready = false, .state = state_, .why = why, .cure = ""});
    return;
  }
  SetCondition({.ready = false,
                .state = "unreachable",
                .why = why,
                .cure = "see that the API server runs and answers; it is tried again by itself"});
}

void Elector::RetryMalformed(const absl::Status& why) {
  Schedule(back_off_.Next(random_));
  SetCondition({.ready = false,
                .state = "malformed",
                .why = fmt::format("{}: {}", LeaseText(), ToStd(why.message())),
                .cure = fmt::format("kubectl delete lease -n {} {}: it is made anew by itself",
                                    options_.lease_namespace, options_.lease_name)});
}

// ---- notifications ----

void Elector::NotifyLeader() {
  const std::optional<Holder> holder = seen_ ? seen_->holder() : std::nullopt;
  if (holder && *holder != options_.self) {
    NotifyFollower(holder->replica, seen_->address);
    return SetCondition({.ready = true,
                         .state = "following",
                         .why = fmt::format("{} at {} leads", holder->replica, seen_->address),
                         .cure = ""});
  }
  NotifyFollower("", "");
  if (holder || !seen_ || seen_->identity.empty()) return;
  const absl::Duration patience = seen_->duration > absl::ZeroDuration() ? seen_->duration : options_.duration;
  SetCondition(
      {.ready = false,
       .state = "held",
       .why = fmt::format("{} is held by '{}', which is no gateway of ours", LeaseText(), seen_->identity),
       .cure = fmt::format("name another one by --lease_name, or stop who holds it: it is taken by itself once nobody "
                           "has renewed it for {}",
                           absl::FormatDuration(patience))});
}

void Elector::NotifyFollower(const std::string& leader, const std::string& address) {
  std::string followed = fmt::format("{} {}", leader, address);
  if (followed_ == followed) return;
  followed_ = std::move(followed);
  listener_.OnFollow(leader, address);
}

void Elector::SetCondition(obs::Health::Condition condition) {
  if (state_ != condition.state && !condition.ready && condition.state != "starting") {
    obs::LogError("the lease is not in order",
                  {{"state", condition.state}, {"why", condition.why}, {"cure", condition.cure}});
  }
  state_ = condition.state;
  listener_.OnCondition(condition);
}

std::string Elector::Path(bool collection) const {
  const std::string leases =
      fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", http::Escape(options_.lease_namespace));
  return collection ? leases : fmt::format("{}/{}", leases, http::Escape(options_.lease_name));
}

std::string Elector::LeaseText() const {
  return fmt::format("Lease {}/{}", options_.lease_namespace, options_.lease_name);
}

}  // namespace basalt::gateway
