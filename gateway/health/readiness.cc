#include "gateway/health/readiness.h"

#include <fmt/format.h>

#include "common/obs/log.h"
#include "gateway/kube/refusal.h"

namespace basalt::gateway {
namespace {

constexpr char kServer[] = "API server";
constexpr char kStates[] = "gateway_target";

void LogProblem(const Problem& problem) {
  obs::LogError("the API server cannot be used",
                {{"state", problem.state}, {"why", problem.why}, {"cure", problem.cure}});
}

}  // namespace

Readiness::Readiness(Loop& loop, obs::Metrics& metrics, obs::Health& health, ReadinessOptions options)
    : loop_(loop), metrics_(metrics), health_(health), options_(options) {
  Set(kServer, {.ready = false, .state = "starting", .why = "it has not answered yet", .cure = ""});
}

Readiness::~Readiness() {
  loop_.Cancel(patience_timer_);
  for (const auto& [target, timer] : missing_rights_) loop_.Cancel(timer);
}

void Readiness::Set(const std::string& target, obs::Health::Condition condition) {
  ShowState(target, condition.state);
  health_.Set(target, std::move(condition));
}

void Readiness::SetProblem(const std::string& target, const Problem& problem) {
  Set(target, {.ready = false, .state = problem.state, .why = problem.why, .cure = problem.cure});
}

void Readiness::Remove(const std::string& target) {
  ShowState(target, "");
  health_.Remove(target);
}

void Readiness::ShowState(const std::string& target, const std::string& state) {
  std::string& shown = states_[target];
  if (shown == state) return;
  if (!shown.empty()) metrics_.Remove(kStates, {{"target", target}, {"state", shown}});
  if (state.empty()) {
    states_.erase(target);
    return;
  }
  shown = state;
  metrics_
      .GetGauge(kStates, "1 for the state in which each target of readiness is.",
                {{"target", target}, {"state", state}})
      .Set(1);
}

// ---- the connection ----

void Readiness::OnAnswer() {
  if (answered_ && problem_.state.empty()) return;
  if (!problem_.state.empty()) obs::LogInfo("the API server answers again", {{"before", problem_.state}});
  answered_ = true;
  problem_ = {};
  loop_.Cancel(std::exchange(patience_timer_, kNoTimer));
  Set(kServer, {.ready = true, .state = "ready", .why = "", .cure = ""});
}

void Readiness::OnProblem(const Problem& problem) {
  if (!problem_.state.empty() && problem_.NeedsHelp() && !problem.NeedsHelp()) {
    // An API server that refuses an account also cuts the connection, and the requests beside the refused one with it.
    hidden_ = problem;
    if (patience_timer_ != kNoTimer) return;
    patience_timer_ = loop_.RunAfter(options_.patience, [this] {
      patience_timer_ = kNoTimer;
      LogProblem(hidden_);
      problem_ = hidden_;
      SetProblem(kServer, problem_);
    });
    return;
  }
  const bool another = problem_.state != problem.state;
  if (another) LogProblem(problem);
  problem_ = problem;
  const bool waited = answered_ && patience_timer_ == kNoTimer && !another;
  if (problem.NeedsHelp() || !answered_ || waited) {
    loop_.Cancel(std::exchange(patience_timer_, kNoTimer));
    return SetProblem(kServer, problem_);
  }
  if (patience_timer_ != kNoTimer) return;
  patience_timer_ = loop_.RunAfter(options_.patience, [this] {
    patience_timer_ = kNoTimer;
    SetProblem(kServer, problem_);
  });
}

void Readiness::OnLeaseRequest(const KubeAnswer& answer) {
  using enum KubeAnswer::Outcome;
  if (answer.outcome == kRefused && answer.error.code() == 401) {
    return OnProblem(UnauthorizedProblem(answer.error.message()));
  }
  if (answer.outcome == kDone || answer.outcome == kRefused) OnAnswer();
}

// ---- rights ----

void Readiness::OnRequest(std::string_view verb, const std::string& resource, const v1::KubeError* error) {
  if (error != nullptr && error->code() == 401) return OnProblem(UnauthorizedProblem(error->message()));
  OnAnswer();
  const bool missing = error != nullptr && IsMissingRight(*error);
  if (!missing && missing_rights_.empty()) return;
  const std::string target = fmt::format("right to {} {}", verb, resource);
  const auto known = missing_rights_.find(target);
  if (known != missing_rights_.end()) {
    loop_.Cancel(known->second);
  } else if (!missing) {
    return;
  }
  if (!missing) {
    obs::LogInfo("a right is there again", {{"verb", std::string(verb)}, {"resource", resource}});
    missing_rights_.erase(known);
    return Remove(target);
  }
  const Problem problem = ForbiddenWrite(verb, resource, error->message());
  if (known == missing_rights_.end()) {
    obs::LogError("a right is missing",
                  {{"verb", std::string(verb)}, {"resource", resource}, {"why", problem.why}, {"cure", problem.cure}});
  }
  // Only jobs of one namespace, or only users of Kubernetes, wait: the missing right is reported but does not make the
  // gateway unready.
  if (IsBoundByNamespace(resource) || IsOfUsers(resource)) {
    Set(target, {.ready = true, .state = problem.state, .why = problem.why, .cure = problem.cure});
  } else {
    SetProblem(target, problem);
  }
  missing_rights_[target] = loop_.RunAfter(options_.forget_right, [this, target] {
    missing_rights_.erase(target);
    Remove(target);
  });
}

std::string ResourceName(const v1::Resource& resource, std::string_view subresource) {
  std::string name = resource.plural();
  if (!subresource.empty()) name += fmt::format("/{}", subresource);
  if (!resource.group().empty()) name += fmt::format(".{}", resource.group());
  return name;
}

}  // namespace basalt::gateway
