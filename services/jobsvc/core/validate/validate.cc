#include "services/jobsvc/core/validate/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "common/base/excerpt.h"
#include "common/kube/name_rules.h"
#include "common/kube/names.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;
using kube::v1::NetworkTopology;
using kube::v1::TaskSpec;
using Kind = ViolationKind;

// Names in a message are foreign text, and the message goes into a status, an Event and a terminal.
constexpr size_t kMaxMessage = 1000;
constexpr size_t kMaxNameWithVolumes = 50;  // <job>-<12 characters> is a volume's name.

std::vector<absl::StatusOr<json::value>> ParseTemplates(const JobSpec& spec) {
  std::vector<absl::StatusOr<json::value>> templates;
  templates.reserve(spec.tasks_size());
  for (const TaskSpec& task : spec.tasks()) templates.push_back(ParseJson(task.template_json()));
  return templates;
}

// ---- 2.3: before the tasks ----

void CheckHasTasks(Checker& c) {
  if (c.spec.tasks().empty()) c.Add(Kind::kRequired, "spec.tasks", "is empty; name at least one task");
}

void CheckTiers(Checker& c) {
  if (UsesBothTiers(c.spec.network_topology())) {
    c.Add(Kind::kConflict, "spec.networkTopology", "has both highestTierAllowed and highestTierName; keep one");
  }
}

void CheckNumberOfPods(Checker& c) {
  if (!HasTooManyPods(c.spec)) return;
  c.Add(Kind::kInvalid, "spec.tasks",
        fmt::format("has {} pods in one job; at most {} are carried out, so make several jobs of it",
                    NumberOfPods(c.spec), kMaxPodsPerJob));
}

// ---- 2.3: for each task ----

void CheckTaskMinimum(Checker& c, int i) {
  const TaskSpec& task = c.spec.tasks(i);
  if (!task.has_min_available() || task.min_available() <= task.replicas()) return;
  c.Add(Kind::kInvalid, TaskField(i, ".minAvailable"),
        fmt::format("is {}, with {} replicas; it {}", task.min_available(), task.replicas(), kAboveTaskReplicas));
}

void CheckTaskPolicies(Checker& c, int i) { CheckPolicies(c, c.spec.tasks(i).policies(), TaskField(i, ".policies")); }

void CheckPodNames(Checker& c, int i) {
  const std::string pod = fmt::format("{}-{}-{}", c.name, c.spec.tasks(i).name(), i);
  if (kube::IsQualifiedPart(pod)) return;
  c.Add(Kind::kInvalid, TaskField(i, ".name"),
        fmt::format("makes '{}', but it must make '<job>-<task>-<position>' a name of up to 63 of A-Z, a-z, 0-9, '-', "
                    "'_', '.'; shorten job or task name",
                    Excerpt(pod, 140)));
}

void CheckPartitions(Checker& c, int i) {
  const TaskSpec& task = c.spec.tasks(i);
  if (!task.has_partition_policy()) return;
  const std::string problem = PartitionProblem(task);
  if (!problem.empty()) c.Add(Kind::kInvalid, TaskField(i, ".partitionPolicy"), problem);
  if (UsesBothTiers(task.partition_policy().network_topology())) {
    c.Add(Kind::kConflict, TaskField(i, ".partitionPolicy.networkTopology"),
          "has both highestTierAllowed and highestTierName; keep one");
  }
}

void CheckLongestPodName(Checker& c, int i) {
  const TaskSpec& task = c.spec.tasks(i);
  const std::string last = fmt::format("{}-{}-{}", c.name, task.name(), std::max(task.replicas(), 1) - 1);
  if (last.size() <= kube::kMaxLabel) return;
  c.Add(Kind::kInvalid, TaskField(i, ".name"),
        fmt::format("gives its last pod a name of {} characters; job and task name together must leave it at most 63",
                    last.size()));
}

void CheckTaskActions(Checker& c, int i) {
  CheckActions(c, c.spec.tasks(i).policies(), TaskField(i, ".policies"), c.spec.tasks(i).has_partition_policy());
}

// ---- 2.3: after the tasks ----

void CheckJobName(Checker& c) {
  if (kube::IsQualifiedPart(c.name)) return;
  c.Add(Kind::kInvalid, "metadata.name",
        fmt::format("'{}' is no job name; it may not be more than 63 bytes, of a-z, 0-9, '-', '.'",
                    Excerpt(c.name, 140)));
}

void CheckJobMinimum(Checker& c) {
  const int64_t replicas = SumOfReplicas(c.spec);
  if (c.spec.min_available() <= replicas) return;
  c.Add(Kind::kInvalid, "spec.minAvailable",
        fmt::format("is {}, with {} replicas; it {}", c.spec.min_available(), replicas, kAboveAllReplicas));
}

void CheckJobPolicies(Checker& c) { CheckPolicies(c, c.spec.policies(), "spec.policies"); }

void CheckJobActions(Checker& c) {
  const bool partitions = std::any_of(c.spec.tasks().begin(), c.spec.tasks().end(),
                                      [](const TaskSpec& task) { return task.has_partition_policy(); });
  CheckActions(c, c.spec.policies(), "spec.policies", partitions);
  WarnOfWhatTasksTake(c);
}

// V1-V5. The first violation ends the check.
void CheckVolumes(Checker& c) {
  std::set<std::string_view> paths;
  const std::vector<std::string> of_plugins = PathsOfPlugins(c.spec);
  for (int i = 0; i < c.spec.volumes_size(); ++i) {
    const kube::v1::VolumeSpec& volume = c.spec.volumes(i);
    const auto fail = [&](std::string_view rule, Kind kind, std::string_view member, std::string_view what) {
      c.rule = rule;
      c.Add(kind, fmt::format("spec.volumes[{}]{}", i, member), what);
    };
    const bool has_claim = !volume.volume_claim_json().empty();
    const bool has_name = !volume.volume_claim_name().empty();
    if (volume.mount_path().empty())
      return fail("V1", Kind::kRequired, ".mountPath", "should be at least 1 chars long; give a path");
    if (!paths.insert(volume.mount_path()).second) {
      return fail("V2", Kind::kDuplicate, ".mountPath",
                  fmt::format("'{}' is a path of two volumes; use another path", volume.mount_path()));
    }
    if (std::find(of_plugins.begin(), of_plugins.end(), volume.mount_path()) != of_plugins.end()) {
      return fail("V2", Kind::kDuplicate, ".mountPath",
                  fmt::format("'{}' is the folder of a plugin; use another path", volume.mount_path()));
    }
    if (!has_claim && !has_name)
      return fail("V3", Kind::kRequired, "", "has no claim; give volumeClaim or volumeClaimName");
    if (has_claim && has_name)
      return fail("V4", Kind::kConflict, "", "has both volumeClaim and volumeClaimName; keep one");
    if (has_name && !kube::IsDnsSubdomain(volume.volume_claim_name())) {
      return fail("V5", Kind::kInvalid, ".volumeClaimName",
                  fmt::format("'{}' is no name of a claim; it should match '{}'", Excerpt(volume.volume_claim_name()),
                              kOptionalSubdomain));
    }
  }
}

void CheckQueue(Checker& c) {
  const std::string& queue = c.spec.queue();
  if (queue == kube::kRootQueue) {
    c.rule = "C16c";
    c.Add(Kind::kPrecondition, "spec.queue", fmt::format("'{}' takes no jobs; name a queue below it", queue));
  }
}

// Kahn's algorithm. A task that never becomes free lies on a cycle or behind one.
void CheckDependencies(Checker& c) {
  std::map<std::string_view, int> missing;
  std::multimap<std::string_view, std::string_view> dependants;
  for (int i = 0; i < c.spec.tasks_size(); ++i) {
    const TaskSpec& task = c.spec.tasks(i);
    const std::set<std::string_view> names(task.depends_on().names().begin(), task.depends_on().names().end());
    missing[task.name()] += static_cast<int>(names.size());
    for (const std::string_view name : names) {
      dependants.emplace(name, task.name());
      if (HasTask(c.spec, name)) continue;
      return c.Add(Kind::kInvalid, TaskField(i, ".dependsOn.name"),
                   fmt::format("names '{}', which is no task of this job", name));
    }
  }
  std::vector<std::string_view> free;
  for (const auto& [task, count] : missing) {
    if (count == 0) free.push_back(task);
  }
  size_t started = 0;
  while (!free.empty()) {
    const std::string_view task = free.back();
    free.pop_back();
    ++started;
    const auto [first, last] = dependants.equal_range(task);
    for (auto at = first; at != last; ++at) {
      if (--missing[at->second] == 0) free.push_back(at->second);
    }
  }
  if (started == missing.size()) return;
  std::vector<std::string_view> stuck;
  for (const auto& [task, count] : missing) {
    if (count > 0) stuck.push_back(task);
  }
  c.Add(Kind::kInvalid, "spec.tasks[].dependsOn",
        stuck.size() == 1 ? fmt::format("goes round in a circle: {} waits for itself; remove the dependency", stuck[0])
                          : fmt::format("goes round in a circle: {} wait for each other; remove one dependency",
                                        fmt::join(stuck, ", ")));
}

// ---- 2.7 ----

void CheckNameForVolumes(Checker& c) {
  if (c.spec.volumes().empty() || (kube::IsDnsLabel(c.name) && c.name.size() <= kMaxNameWithVolumes)) return;
  c.Add(Kind::kInvalid, "metadata.name",
        "is part of volume names, so with spec.volumes it must be a DNS label of at most 50 characters");
}

void CheckClaimsDiffer(Checker& c) {
  std::set<std::string_view> claims;
  for (int i = 0; i < c.spec.volumes_size(); ++i) {
    const std::string& claim = c.spec.volumes(i).volume_claim_name();
    if (claim.empty() || claims.insert(claim).second) continue;
    c.Add(Kind::kDuplicate, fmt::format("spec.volumes[{}].volumeClaimName", i),
          fmt::format("'{}' is mounted by an earlier volume, so this mount would be dropped; remove it", claim));
  }
}

// ---- The table ----

enum class Then { kGoOn, kStopIfBroken };
struct JobRule {
  std::string_view code;
  void (*check)(Checker&);
  Then then = Then::kGoOn;
};
struct TaskRule {
  std::string_view code;
  void (*check)(Checker&, int task);
};

constexpr JobRule kBeforeTasks[] = {
    {"C1", &CheckHasTasks, Then::kStopIfBroken},
    {"C2", &CheckMpiMaster, Then::kStopIfBroken},
    {"C3", &CheckTiers},
    {"S1", &CheckSchedulerName},
    {"S2", &CheckNotNegative},
    {"S3", &CheckReferences},
    {"S4", &CheckTaskNames},
    {"S5", &CheckEnums},
    {"S6", &CheckMountPaths},
    {"S7", &CheckNamespace},
    {"N3", &CheckNumberOfPods},
};
constexpr TaskRule kEachTask[] = {
    {"C6", &CheckTaskPolicies}, {"C7", &CheckPodNames},       {"C8", &CheckTemplate},    {"C9", &CheckTopologyPolicy},
    {"C10", &CheckPartitions},  {"X1", &CheckLongestPodName}, {"X4", &CheckTaskActions},
};
constexpr JobRule kAfterTasks[] = {
    {"C11", &CheckJobName},   {"C12", &CheckJobMinimum},  {"C13", &CheckJobPolicies},  {"C14", &CheckPluginNames},
    {"C15", &CheckVolumes},   {"C16", &CheckQueue},       {"C17", &CheckDependencies}, {"X2", &CheckNameForVolumes},
    {"X3", &CheckNameForSvc}, {"X3", &CheckNameForSsh},   {"X3", &CheckNameForRay},    {"X4", &CheckJobActions},
    {"X5", &CheckRayHead},    {"X7", &CheckClaimsDiffer}, {"N4", &CheckPlugins},
};

void CheckEachTask(Checker& c) {
  std::set<std::string_view> names;
  for (int i = 0; i < c.spec.tasks_size(); ++i) {
    c.rule = "C4";
    CheckTaskMinimum(c, i);
    if (!names.insert(c.spec.tasks(i).name()).second) {
      // The loop ends here: messages about later tasks would concern the wrong one.
      c.rule = "C5";
      c.Add(Kind::kDuplicate, TaskField(i, ".name"),
            fmt::format("'{}' is a name of two tasks; give each task a name of its own", c.spec.tasks(i).name()));
      return;
    }
    for (const TaskRule& rule : kEachTask) {
      c.rule = rule.code;
      rule.check(c, i);
    }
  }
}

}  // namespace

std::string_view ViolationKindName(ViolationKind kind) {
  switch (kind) {
    case Kind::kRequired:
      return "REQUIRED";
    case Kind::kInvalid:
      return "INVALID";
    case Kind::kDuplicate:
      return "DUPLICATE";
    case Kind::kConflict:
      return "CONFLICT";
    case Kind::kNotFound:
      return "NOT_FOUND";
    case Kind::kPrecondition:
      return "PRECONDITION";
    case Kind::kImmutable:
      return "IMMUTABLE";
  }
  return "INVALID";
}

Checker::Checker(const JobSpec& job_spec, std::string_view job_name, std::string_view its_namespace)
    : spec(job_spec), name(job_name), job_namespace(its_namespace), templates(ParseTemplates(job_spec)) {}

void Checker::Add(ViolationKind kind, std::string field, std::string_view what) {
  std::string message = Excerpt(fmt::format("{} {}", field, what), kMaxMessage);
  result.violations.push_back({std::string(rule), std::move(field), kind, std::move(message)});
}

void Checker::Warn(std::string field, std::string_view what) {
  std::string message = Excerpt(fmt::format("{} {}", field, what), kMaxMessage);
  result.warnings.push_back({std::string(rule), std::move(field), ViolationKind::kInvalid, std::move(message)});
}

bool HasTask(const JobSpec& spec, std::string_view name) {
  return std::any_of(spec.tasks().begin(), spec.tasks().end(),
                     [&](const TaskSpec& task) { return task.name() == name; });
}

std::string TaskField(int task, std::string_view rest) { return fmt::format("spec.tasks[{}]{}", task, rest); }

bool UsesBothTiers(const NetworkTopology& topology) {
  return topology.has_highest_tier_allowed() && !topology.highest_tier_name().empty();
}

std::string PartitionProblem(const TaskSpec& task) {
  const kube::v1::PartitionPolicy& policy = task.partition_policy();
  if (policy.total_partitions() < 0) return "has totalPartitions that should be greater than or equal to 1";
  if (policy.partition_size() <= 0) return "has partitionSize that should be greater than or equal to 1";
  // Without a total there are as many partitions as fit (job spec 14, S7).
  const bool fits = task.replicas() > 0 && task.replicas() % policy.partition_size() == 0;
  if (policy.total_partitions() == 0 && !fits) {
    return fmt::format(
        "has no totalPartitions, and partitionSize {} does not divide the task's {} replicas; make one a multiple of "
        "the other",
        policy.partition_size(), task.replicas());
  }
  const int64_t pods = policy.total_partitions() == 0 ? int64_t{task.replicas()}
                                                      : int64_t{policy.total_partitions()} * policy.partition_size();
  if (task.replicas() != pods) {
    return fmt::format(
        "makes {} pods of {}; it must make as many pods (totalPartitions times partitionSize) as the task "
        "has replicas; make them equal",
        pods, task.replicas());
  }
  const int64_t minimum = int64_t{policy.min_partitions()} * policy.partition_size();
  if (task.has_min_available() && policy.min_partitions() > 0 && minimum != task.min_available()) {
    return fmt::format(
        "asks for {} pods, not {}; it must ask for as many pods (minPartitions times partitionSize) as "
        "minAvailable says; make them equal",
        minimum, task.min_available());
  }
  return {};
}

Validation ValidateJob(const JobSpec& spec, std::string_view name, std::string_view job_namespace) {
  Checker checker(spec, name, job_namespace);
  for (const JobRule& rule : kBeforeTasks) {
    checker.rule = rule.code;
    rule.check(checker);
    if (rule.then == Then::kStopIfBroken && !checker.result.ok()) return std::move(checker.result);
  }
  CheckEachTask(checker);
  for (const JobRule& rule : kAfterTasks) {
    checker.rule = rule.code;
    rule.check(checker);
  }
  return std::move(checker.result);
}

std::vector<Violation> ValidateQueue(std::string_view queue, const std::optional<QueueFacts>& facts) {
  std::vector<Violation> found;
  const auto fail = [&](std::string_view rule, Kind kind, std::string_view what) {
    found.push_back(
        {std::string(rule), "spec.queue", kind, Excerpt(fmt::format("spec.queue '{}' {}", queue, what), kMaxMessage)});
  };
  if (!facts) {
    fail("C16a", Kind::kNotFound, "does not exist; create the queue or name another");
    return found;
  }
  if (facts->state != "Open") {
    fail("C16b", Kind::kPrecondition,
         fmt::format("is {}, not Open; open it or name another",
                     facts->state.empty() ? "not initialised" : facts->state));
  }
  // The root queue is refused by C16c.
  if (facts->has_children && queue != kube::kRootQueue) {
    fail("C16d", Kind::kPrecondition, "has queues below it; name one of them");
  }
  return found;
}

}  // namespace basalt::jobsvc
