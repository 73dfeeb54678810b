// The bounds that the CRD's schema sets: job spec 2.2.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "common/base/excerpt.h"
#include "common/kube/name_rules.h"
#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::NetworkTopology;
using kube::v1::TaskSpec;
using Kind = ViolationKind;

constexpr std::string_view kDnsLabelWords = "up to 63 of a-z, 0-9, '-', alphanumeric at both ends";

void CheckTopologyBounds(Checker& c, const std::string& field, const NetworkTopology& topology) {
  if (!topology.mode().empty() && topology.mode() != "hard" && topology.mode() != "soft") {
    c.Add(Kind::kInvalid, field + ".mode",
          fmt::format(R"(is '{}'; supported values: "hard", "soft")", topology.mode()));
  }
  if (topology.highest_tier_allowed() < 0)
    c.Add(Kind::kInvalid, field + ".highestTierAllowed", "should be greater than or equal to 0");
  if (topology.highest_tier_name().size() > kube::kMaxSubdomain)
    c.Add(Kind::kInvalid, field + ".highestTierName", "may not be more than 253 bytes; shorten it");
}

}  // namespace

void CheckSchedulerName(Checker& c) {
  if (c.spec.scheduler_name().size() > kube::kMaxLabel)
    c.Add(Kind::kInvalid, "spec.schedulerName", "may not be more than 63 bytes; shorten it");
}

void CheckNotNegative(Checker& c) {
  const auto check = [&c](std::string field, int64_t value, int64_t least) {
    if (value < least)
      c.Add(Kind::kInvalid, std::move(field),
            fmt::format("is {}; it should be greater than or equal to {}", value, least));
  };
  check("spec.minAvailable", c.spec.min_available(), 0);
  check("spec.maxRetry", c.spec.max_retry(), 0);
  check("spec.ttlSecondsAfterFinished", c.spec.ttl_seconds_after_finished(), 0);
  if (c.spec.has_min_success()) check("spec.minSuccess", c.spec.min_success(), 1);
  for (int i = 0; i < c.spec.tasks_size(); ++i) {
    const TaskSpec& task = c.spec.tasks(i);
    check(TaskField(i, ".replicas"), task.replicas(), 0);
    check(TaskField(i, ".minAvailable"), task.min_available(), 0);
    check(TaskField(i, ".maxRetry"), task.max_retry(), -1);
  }
}

void CheckReferences(Checker& c) {
  const auto check = [&c](std::string_view field, const std::string& name, std::string_view pattern) {
    if (!name.empty() && !kube::IsDnsSubdomain(name)) {
      c.Add(Kind::kInvalid, std::string(field),
            fmt::format("'{}' is no name of an object; it should match '{}'", Excerpt(name), pattern));
    }
  };
  check("spec.queue", c.spec.queue(), kOptionalSubdomain);
  check("spec.priorityClassName", c.spec.priority_class_name(), kSubdomain);
}

void CheckTaskNames(Checker& c) {
  for (int i = 0; i < c.spec.tasks_size(); ++i) {
    const std::string& name = c.spec.tasks(i).name();
    if (kube::IsDnsLabel(name)) continue;
    c.Add(Kind::kInvalid, TaskField(i, ".name"),
          fmt::format("'{}' is no DNS label of up to 63 characters; it should match '{}'", Excerpt(name),
                      kOptionalLabel));
  }
}

void CheckEnums(Checker& c) {
  CheckTopologyBounds(c, "spec.networkTopology", c.spec.network_topology());
  for (int i = 0; i < c.spec.tasks_size(); ++i) {
    const TaskSpec& task = c.spec.tasks(i);
    const std::set<std::string_view> policies = {"", "none", "best-effort", "restricted", "single-numa-node"};
    if (!policies.contains(task.topology_policy())) {
      c.Add(Kind::kInvalid, TaskField(i, ".topologyPolicy"),
            fmt::format(R"(is '{}'; supported values: "none", "best-effort", "restricted", "single-numa-node")",
                        task.topology_policy()));
    }
    if (task.partition_policy().min_partitions() < 0) {
      c.Add(Kind::kInvalid, TaskField(i, ".partitionPolicy.minPartitions"), "should be greater than or equal to 0");
    }
    CheckTopologyBounds(c, TaskField(i, ".partitionPolicy.networkTopology"),
                        task.partition_policy().network_topology());
  }
}

void CheckMountPaths(Checker& c) {
  for (int i = 0; i < c.spec.volumes_size(); ++i) {
    if (c.spec.volumes(i).mount_path().find(':') == std::string::npos) continue;
    c.Add(Kind::kInvalid, fmt::format("spec.volumes[{}].mountPath", i), "contains ':'; it should match '^[^:]+$'");
  }
}

void CheckNamespace(Checker& c) {
  if (kube::IsDnsLabel(c.job_namespace)) return;
  c.Add(Kind::kInvalid, "metadata.namespace",
        fmt::format("'{}' is no namespace; use {}", Excerpt(c.job_namespace), kDnsLabelWords));
}

}  // namespace basalt::jobsvc
