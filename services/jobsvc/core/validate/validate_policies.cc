// Lifecycle policies: job spec 2.4, X4, X6.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::LifecyclePolicy;
using Policies = google::protobuf::RepeatedPtrField<LifecyclePolicy>;

constexpr std::string_view kAnyEvent = "*";
constexpr std::array<std::string_view, 8> kEvents = {"*",       "PodFailed",     "PodEvicted", "PodPending",
                                                     "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"};
constexpr std::array<std::string_view, 8> kActions = {"AbortJob",         "RestartJob",   "RestartTask", "RestartPod",
                                                      "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob"};

template <size_t N>
bool In(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What has been seen in one list so far.
struct Seen {
  std::set<std::string_view> events;
  std::set<int32_t> exit_codes;
};

// The policy is fine, or one violation has been added.
bool CheckPolicy(Checker& checker, const LifecyclePolicy& policy, const std::string& field, Seen& seen) {
  const auto fail = [&](std::string_view rule, ViolationKind kind, std::string_view member, std::string_view what) {
    checker.rule = rule;
    checker.Add(kind, fmt::format("{}{}", field, member), what);
    return false;
  };
  const bool by_event = policy.events_size() > 0;
  if (by_event && policy.has_exit_code()) {
    return fail("P1", ViolationKind::kConflict, "", "has both events and exitCode; split it into two policies");
  }
  if (!by_event && !policy.has_exit_code()) {
    return fail("P2", ViolationKind::kRequired, "", "matches nothing; give it event, events or exitCode");
  }
  if (policy.has_exit_code()) {
    if (policy.exit_code() == 0) {
      return fail("P6", ViolationKind::kInvalid, ".exitCode", "is 0, which is success; give a code other than 0");
    }
    if (!seen.exit_codes.insert(policy.exit_code()).second) {
      return fail("P7", ViolationKind::kDuplicate, ".exitCode",
                  fmt::format("{} repeats an exit code of another policy in the list; keep one of the two",
                              policy.exit_code()));
    }
    return true;
  }
  const std::set<std::string_view> events(policy.events().begin(), policy.events().end());
  for (const std::string_view event : events) {
    if (!In(kEvents, event)) {
      return fail(
          "P3", ViolationKind::kInvalid, ".event",
          fmt::format("'{}' is no event that policies may use; use one of {}", event, fmt::join(kEvents, ", ")));
    }
  }
  if (!In(kActions, policy.action())) {
    return fail("P4", ViolationKind::kInvalid, ".action",
                fmt::format("'{}' is no action; use one of {}", policy.action(), fmt::join(kActions, ", ")));
  }
  for (const std::string_view event : events) {
    if (!seen.events.insert(event).second) {
      return fail("P5", ViolationKind::kDuplicate, ".event",
                  fmt::format("{} repeats an event of another policy in the list; keep one of the two", event));
    }
  }
  return true;
}

void WarnOfWhatNeverMatches(Checker& checker, const LifecyclePolicy& policy, const std::string& field) {
  const auto has = [&policy](std::string_view event) {
    return std::find(policy.events().begin(), policy.events().end(), event) != policy.events().end();
  };
  if (has("PodPending") && !policy.has_timeout_ms()) {
    checker.rule = "X8";
    checker.Warn(field + ".timeout", "is missing: PodPending without a timeout never matches");
  }
  if (has("JobUpdated")) {
    checker.rule = "W26";
    checker.Warn(field + ".event", "names JobUpdated, which never happens");
  }
  const std::string& action = policy.action();
  if (has("Unknown") && field.starts_with("spec.tasks")) {
    checker.rule = "W26";
    checker.Warn(field + ".event", "names Unknown, which is an event of the whole job; put it into spec.policies");
  } else if (has("Unknown") && (action == "RestartTask" || action == "RestartPod" || action == "RestartPartition")) {
    checker.rule = "W32";
    checker.Warn(field + ".action",
                 fmt::format("is {}, which has no target when the event is Unknown; use RestartJob", action));
  }
}

}  // namespace

void CheckPolicies(Checker& checker, const Policies& policies, std::string_view field) {
  Seen seen;
  for (int i = 0; i < policies.size(); ++i) {
    if (!CheckPolicy(checker, policies[i], fmt::format("{}[{}]", field, i), seen)) break;
  }
  if (seen.events.size() > 1 && seen.events.contains(kAnyEvent)) {
    checker.rule = "P8";
    checker.Add(ViolationKind::kConflict, std::string(field),
                "uses '*' beside other events; '*' must be the only event of the list");
  }
}

void CheckActions(Checker& checker, const Policies& policies, std::string_view field, bool has_partitions) {
  for (int i = 0; i < policies.size(); ++i) {
    const LifecyclePolicy& policy = policies[i];
    const std::string action_field = fmt::format("{}[{}].action", field, i);
    if (policy.has_exit_code() && policy.events().empty() && !In(kActions, policy.action())) {
      checker.rule = "X4";
      checker.Add(ViolationKind::kInvalid, action_field,
                  fmt::format("'{}' is no action; use one of {}", policy.action(), fmt::join(kActions, ", ")));
    }
    if (policy.action() == "RestartPartition" && !has_partitions) {
      checker.rule = "X6";
      checker.Add(ViolationKind::kInvalid, action_field,
                  "is RestartPartition, but there are no partitions; add a partitionPolicy or use RestartTask");
    }
    WarnOfWhatNeverMatches(checker, policy, fmt::format("{}[{}]", field, i));
  }
}

}  // namespace basalt::jobsvc
