#include "kubesim/server/faults/faults.h"

#include <algorithm>

#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

bool IsWrite(std::string_view verb) { return verb != "get" && verb != "list" && verb != "watch"; }

bool Matches(const FaultRule& rule, const FaultSubject& subject) {
  if (rule.verb == "*" ? !IsWrite(subject.verb) : !rule.verb.empty() && rule.verb != subject.verb) return false;
  if (!rule.ns.empty() && rule.ns != subject.ns) return false;
  if (!rule.name.empty() && rule.name != subject.name) return false;
  if (rule.resource.empty()) return true;
  const size_t slash = rule.resource.find('/');
  if (std::string_view(rule.resource).substr(0, slash) != subject.resource) return false;
  return slash == std::string::npos ? true : std::string_view(rule.resource).substr(slash + 1) == subject.subresource;
}

}  // namespace

void FaultInjector::Add(FaultRule rule) { rules_.push_back(std::move(rule)); }

FaultInjector::Verdict FaultInjector::VerdictOn(const FaultSubject& subject) {
  Verdict verdict;
  for (auto at = rules_.begin(); at != rules_.end();) {
    FaultRule& rule = *at;
    const bool hit = Matches(rule, subject) && (rule.probability >= 1.0 || random_.Unit() < rule.probability);
    if (!hit) {
      ++at;
      continue;
    }
    switch (rule.action) {
      case FaultAction::kDropRequest:
        verdict.drop_request = true;
        break;
      case FaultAction::kDropAnswer:
        verdict.drop_answer = true;
        break;
      case FaultAction::kAnswer:
        verdict.code = rule.code;
        verdict.retry_after_seconds = rule.retry_after_seconds;
        verdict.admission = rule.admission;
        break;
      case FaultAction::kDelay:
        verdict.delay = std::max(verdict.delay, rule.delay);
        break;
    }
    if (rule.count > 0 && --rule.count == 0) {
      at = rules_.erase(at);
    } else {
      ++at;
    }
  }
  return verdict;
}

absl::Status FaultStatus(int code, int retry_after_seconds) {
  switch (code) {
    case 409:
      return MakeApiError({.code = 409, .reason = "Conflict", .message = "Operation cannot be fulfilled: injected"});
    case 410:
      return Expired("too old resource version: injected");
    case 429:
      return TooManyRequests("admission webhook \"injected\" denied the request: come again later",
                             std::max(retry_after_seconds, 1));
    case 503:
      return MakeApiError({.code = 503,
                           .reason = "ServiceUnavailable",
                           .message = "the server is currently unable to handle the request",
                           .retry_after_seconds = retry_after_seconds});
    case 500:
      return Internal("Internal error occurred: injected");
    default:
      return MakeApiError({.code = code, .message = "injected"});
  }
}

}  // namespace basalt::kubesim
