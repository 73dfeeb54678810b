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
constexpr std::string_view kPodFailed = "PodFailed";
constexpr std::array<std::string_view, 8> kEvents = {"*",       "PodFailed",     "PodEvicted", "PodPending",
                                                     "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"};
constexpr std::array<std::string_view, 8> kActions = {"AbortJob",         "RestartJob",   "RestartTask", "RestartPod",
                                                      "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob"};

template <size_t N>
bool In(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The events and exit codes of the list so far.
struct Seen {
  std::set<std::string_view> events;
  std::set<int32_t> exit_codes;
};

// Returns true if the policy is valid. Otherwise it has added one violation.
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

bool Names(const LifecyclePolicy& policy, std::string_view event) {
  return std::find(policy.events().begin(), policy.events().end(), event) != policy.events().end();
}

// Returns whether the policy answers that event of a pod, whatever the exit code (job spec 6, match).
bool Takes(const LifecyclePolicy& policy, std::string_view event) {
  if (event == "PodPending" && !policy.has_timeout_ms()) return false;
  return Names(policy, event) || Names(policy, kAnyEvent);
}

void WarnOfWhatNeverMatches(Checker& checker, const LifecyclePolicy& policy, const std::string& field) {
  const auto has = [&policy](std::string_view event) { return Names(policy, event); };
  if (has("PodPending") && !policy.has_timeout_ms()) {
    checker.rule = "X8";
    checker.Warn(field + ".timeout", "is missing: PodPending without a timeout never matches");
  }
  if (policy.timeout_ms() < 0) {
    checker.rule = "W26";
    checker.Warn(field + ".timeout", "is negative, so the action does not wait; give a positive one, or none");
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

// The events and exit codes that one list answers. Those of its task never reach the policies of the job.
struct Taken {
  std::set<std::string_view> events;
  std::set<int32_t> exit_codes;  // Decisive only if `events` lacks PodFailed.
};

Taken TakenBy(const Policies& policies) {
  Taken taken;
  for (const LifecyclePolicy& policy : policies) {
    if (policy.has_exit_code()) taken.exit_codes.insert(policy.exit_code());
    for (const std::string_view event : kEvents) {
      if (event != kAnyEvent && event != "Unknown" && Takes(policy, event)) taken.events.insert(event);
    }
  }
  return taken;
}

bool TakesAll(const Taken& taken, const LifecyclePolicy& policy) {
  if (policy.has_exit_code()) {
    return taken.events.contains(kPodFailed) || taken.exit_codes.contains(policy.exit_code());
  }
  return policy.events_size() > 0 &&
         std::all_of(policy.events().begin(), policy.events().end(),
                     [&taken](const std::string& event) { return taken.events.contains(std::string_view(event)); });
}

void Narrow(Taken& taken, const Taken& other) {
  std::erase_if(taken.exit_codes,
                [&](int32_t code) { return !other.events.contains(kPodFailed) && !other.exit_codes.contains(code); });
  if (taken.events.contains(kPodFailed)) taken.exit_codes.insert(other.exit_codes.begin(), other.exit_codes.end());
  std::erase_if(taken.events, [&](std::string_view event) { return !other.events.contains(event); });
}

}  // namespace

void WarnOfWhatTasksTake(Checker& checker) {
  if (checker.spec.policies().empty() || checker.spec.tasks().empty()) return;
  Taken taken = TakenBy(checker.spec.tasks(0).policies());
  for (int i = 1; i < checker.spec.tasks_size() && !(taken.events.empty() && taken.exit_codes.empty()); ++i) {
    Narrow(taken, TakenBy(checker.spec.tasks(i).policies()));
  }
  checker.rule = "W26";
  for (int i = 0; i < checker.spec.policies_size(); ++i) {
    if (!TakesAll(taken, checker.spec.policies(i))) continue;
    checker.Warn(fmt::format("spec.policies[{}]", i),
                 "never matches: every task has a policy of its own that comes first");
  }
}

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
  bool failures_taken = false;
  for (int i = 0; i < policies.size(); ++i) {
    const LifecyclePolicy& policy = policies[i];
    if (policy.has_exit_code() && failures_taken) {
      checker.rule = "W26";
      checker.Warn(fmt::format("{}[{}].exitCode", field, i),
                   "never matches: a policy before it takes every PodFailed; put this one first");
    }
    failures_taken = failures_taken || Takes(policy, kPodFailed);
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
