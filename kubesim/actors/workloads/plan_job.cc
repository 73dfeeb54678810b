#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kubesim/actors/client/text.h"
#include "kubesim/actors/workloads/plan.h"

namespace basalt::actors {
namespace {

constexpr int64_t kDefaultBackoffLimit = 6;

struct Counts {
  int64_t active = 0, ready = 0, succeeded = 0, failed = 0;
};

Counts CountsOf(const std::vector<Child>& pods) {
  Counts counts;
  for (const Child& pod : pods) {
    if (pod.phase == "Succeeded") ++counts.succeeded;
    if (pod.phase == "Failed") ++counts.failed;
    if (pod.IsActive()) ++counts.active;
    if (pod.IsHealthy()) ++counts.ready;
  }
  return counts;
}

bool IsEnded(const json::value& job) {
  const json::value* const conditions = FindPath(job, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->get_array().begin(), conditions->get_array().end(), [](const json::value& one) {
    const std::string_view type = FindString(one, "type");
    return (type == "Complete" || type == "Failed") && FindString(one, "status") == "True";
  });
}

// Kubernetes writes one condition when a Job is about to end, and another when the Job has ended.
json::array Conditions(std::string_view target, std::string_view end, std::string_view reason, std::string_view message,
                       absl::Time now) {
  json::array conditions;
  for (const std::string_view type : {target, end}) {
    conditions.push_back(json::object{{"type", Text(type)},
                                      {"status", "True"},
                                      {"reason", Text(reason)},
                                      {"message", Text(message)},
                                      {"lastProbeTime", Text(now)},
                                      {"lastTransitionTime", Text(now)}});
  }
  return conditions;
}

json::object PodOfJob(const json::value& job) {
  const json::string name = Text(MetaText(job, "name"));
  const json::string uid = Text(MetaText(job, "uid"));
  json::object pod = PodOf(job, ReferenceTo(job, "batch/v1", "Job"),
                           {{"job-name", name},
                            {"batch.kubernetes.io/job-name", name},
                            {"controller-uid", uid},
                            {"batch.kubernetes.io/controller-uid", uid}});
  ObjectIn(pod, "metadata")["generateName"] = Text(fmt::format("{}-", MetaText(job, "name")));
  return pod;
}

}  // namespace

Plan PlanJob(const json::value& owner, const std::vector<Child>& pods, absl::Time now) {
  Plan plan;
  const json::value* const spec = Find(owner, "spec");
  if (spec == nullptr) return plan;
  if (IsEnded(owner)) {
    for (const Child& pod : pods) {
      if (pod.IsActive()) plan.remove.push_back(pod.name);
    }
    return plan;
  }
  std::optional<int64_t> completions;
  if (Find(*spec, "completions") != nullptr) completions = FindInt(*spec, "completions");
  if (!completions && Find(*spec, "parallelism") == nullptr) completions = 1;
  const int64_t parallelism = FindInt(*spec, "parallelism", 1);
  const json::value* const suspend = Find(*spec, "suspend");
  const bool is_suspended = suspend != nullptr && *suspend == json::value(true);
  const Counts counts = CountsOf(pods);
  const bool has_failed = counts.failed > FindInt(*spec, "backoffLimit", kDefaultBackoffLimit);
  const bool is_complete = completions ? counts.succeeded >= *completions : counts.succeeded > 0 && counts.active == 0;

  int64_t wanted = 0;
  if (!has_failed && !is_complete && !is_suspended) {
    if (completions) {
      wanted = std::min(parallelism, *completions - counts.succeeded);
    } else {
      wanted = counts.succeeded > 0 ? std::min(counts.active, parallelism) : parallelism;
    }
  }
  for (int64_t i = counts.active; i < std::min(wanted, counts.active + kMostCreates); ++i)
    plan.create.push_back(PodOfJob(owner));
  int64_t surplus = counts.active - wanted;
  for (const bool ready : {false, true}) {
    for (const Child& pod : pods) {
      if (surplus <= 0 || !pod.IsActive() || pod.is_ready != ready) continue;
      plan.remove.push_back(pod.name);
      --surplus;
    }
  }

  const json::value* const status = Find(owner, "status");
  json::value start =
      status == nullptr || Find(*status, "startTime") == nullptr ? json::value(nullptr) : *Find(*status, "startTime");
  if (is_suspended) {
    start = nullptr;
  } else if (start.is_null()) {
    start = Text(now);
  }
  plan.status = {{"startTime", std::move(start)},
                 {"active", CountOrNone(std::max<int64_t>(0, wanted))},
                 {"ready", std::clamp<int64_t>(counts.ready, 0, std::max<int64_t>(0, wanted))},
                 {"succeeded", CountOrNone(counts.succeeded)},
                 {"failed", CountOrNone(counts.failed)}};
  if (has_failed) {
    plan.status["conditions"] = Conditions("FailureTarget", "Failed", "BackoffLimitExceeded",
                                           "Job has reached the specified backoff limit", now);
  } else if (is_complete) {
    plan.status["completionTime"] = Text(now);
    plan.status["conditions"] = Conditions("SuccessCriteriaMet", "Complete", "CompletionsReached",
                                           "Reached expected number of succeeded pods", now);
  }
  return plan;
}

}  // namespace basalt::actors
