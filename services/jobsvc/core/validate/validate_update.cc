// The changes that an existing Job accepts: job spec 2.6.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <optional>

#include "common/kube/names.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/semantic_json.h"
#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;
using kube::v1::TaskSpec;
using Problem = std::optional<Violation>;

Violation Broken(std::string rule, ViolationKind kind, std::string field, std::string_view what) {
  std::string message = fmt::format("{} {}", field, what);
  return {std::move(rule), std::move(field), kind, std::move(message)};
}

Problem CheckTasks(const JobSpec&, const JobSpec& after) {
  for (int i = 0; i < after.tasks_size(); ++i) {
    const TaskSpec& task = after.tasks(i);
    if (task.replicas() < 0) {
      return Broken("U1", ViolationKind::kInvalid, TaskField(i, ".replicas"), "should be greater than or equal to 0");
    }
    if (task.has_min_available() && task.min_available() < 0) {
      return Broken("U1", ViolationKind::kInvalid, TaskField(i, ".minAvailable"),
                    "should be greater than or equal to 0");
    }
    if (task.has_min_available() && task.min_available() > task.replicas()) {
      return Broken(
          "U1", ViolationKind::kInvalid, TaskField(i, ".minAvailable"),
          fmt::format("is {}, with {} replicas; it {}", task.min_available(), task.replicas(), kAboveTaskReplicas));
    }
    if (!task.has_partition_policy()) continue;
    const std::string problem = PartitionProblem(task);
    if (!problem.empty()) return Broken("U1", ViolationKind::kInvalid, TaskField(i, ".partitionPolicy"), problem);
    if (UsesBothTiers(task.partition_policy().network_topology())) {
      return Broken("U1", ViolationKind::kConflict, TaskField(i, ".partitionPolicy.networkTopology"),
                    "has both highestTierAllowed and highestTierName; keep one");
    }
  }
  return std::nullopt;
}

Problem CheckMinimum(const JobSpec&, const JobSpec& after) {
  const int64_t replicas = SumOfReplicas(after);
  if (after.min_available() < 0) {
    return Broken("U2", ViolationKind::kInvalid, "spec.minAvailable", "should be greater than or equal to 0");
  }
  if (after.min_available() <= replicas) return std::nullopt;
  return Broken("U2", ViolationKind::kInvalid, "spec.minAvailable",
                fmt::format("is {}, with {} replicas; it {}", after.min_available(), replicas, kAboveAllReplicas));
}

Problem CheckTiers(const JobSpec&, const JobSpec& after) {
  if (!UsesBothTiers(after.network_topology())) return std::nullopt;
  return Broken("U3", ViolationKind::kConflict, "spec.networkTopology",
                "has both highestTierAllowed and highestTierName; keep one");
}

Problem CheckTaskCount(const JobSpec& before, const JobSpec& after) {
  if (before.tasks_size() == after.tasks_size()) return std::nullopt;
  return Broken("U4", ViolationKind::kImmutable, "spec.tasks",
                TaskCountChanged(before.tasks_size(), after.tasks_size()));
}

std::string WireName(const google::protobuf::FieldDescriptor& field) {
  std::string name(field.json_name());
  if (name.ends_with("Json")) name.resize(name.size() - 4);
  return name;
}

// Returns the first field in which two messages of one type differ. Empty if they are equal. Walks into lists of
// messages of the same length, so that a task's field is named.
std::string FirstDifference(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  const google::protobuf::Reflection& reflection = *a.GetReflection();
  for (int i = 0; i < a.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *a.GetDescriptor()->field(i);
    const std::unique_ptr<google::protobuf::Message> left(a.New());
    const std::unique_ptr<google::protobuf::Message> right(b.New());
    left->CopyFrom(a);
    right->CopyFrom(b);
    if (field.is_repeated() && field.message_type() != nullptr &&
        reflection.FieldSize(a, &field) == reflection.FieldSize(b, &field)) {
      for (int item = 0; item < reflection.FieldSize(a, &field); ++item) {
        const std::string inside = FirstDifference(reflection.GetRepeatedMessage(a, &field, item),
                                                   reflection.GetRepeatedMessage(b, &field, item));
        if (!inside.empty()) return fmt::format("{}[{}].{}", WireName(field), item, inside);
      }
      continue;
    }
    // All other fields are cleared, so that a difference is one of this field.
    const auto only = [&](google::protobuf::Message& message) {
      for (int other = 0; other < a.GetDescriptor()->field_count(); ++other) {
        if (other != i) reflection.ClearField(&message, a.GetDescriptor()->field(other));
      }
      return message.SerializeAsString();
    };
    if (only(*left) != only(*right)) return WireName(field);
  }
  return {};
}

Problem CheckFixedFields(const JobSpec& before, const JobSpec& after) {
  const std::string difference = FirstDifference(FixedPart(before), FixedPart(after));
  if (difference.empty()) return std::nullopt;
  return Broken("U5", ViolationKind::kImmutable, fmt::format("spec.{}", difference), kCannotChange);
}

}  // namespace

std::string TaskCountChanged(int before, int after) {
  return fmt::format("are {}, not {}, but cannot be added or removed; a job keeps its number of tasks", after, before);
}

void ClearDefaults(JobSpec& spec) {
  const auto clear_mode = [](kube::v1::NetworkTopology& topology) {
    if (topology.mode() == "hard") topology.clear_mode();
  };
  if (spec.queue() == kube::kDefaultQueue) spec.clear_queue();
  // A value of 0 means the default, too.
  if (spec.max_retry() == 0 || spec.max_retry() == kDefaultMaxRetry) spec.clear_max_retry();
  if (spec.has_network_topology()) clear_mode(*spec.mutable_network_topology());
  for (TaskSpec& task : *spec.mutable_tasks()) {
    if (task.max_retry() == 0 || task.max_retry() == kDefaultMaxRetry) task.clear_max_retry();
    if (task.partition_policy().has_network_topology()) {
      clear_mode(*task.mutable_partition_policy()->mutable_network_topology());
    }
  }
}

JobSpec FixedPart(JobSpec spec) {
  ClearDefaults(spec);
  spec.clear_min_available();
  spec.clear_priority_class_name();
  for (TaskSpec& task : *spec.mutable_tasks()) {
    task.clear_replicas();
    task.clear_min_available();
    task.set_template_json(CanonicalText(task.template_json()));
  }
  for (kube::v1::VolumeSpec& volume : *spec.mutable_volumes()) {
    if (volume.volume_claim_json().empty()) continue;
    // Upstream stores the names that it generates.
    volume.clear_volume_claim_name();
    volume.set_volume_claim_json(CanonicalText(volume.volume_claim_json()));
  }
  return spec;
}

std::vector<Violation> ValidateUpdate(const JobSpec& before, const JobSpec& after) {
  for (const auto check : {&CheckTasks, &CheckMinimum, &CheckTiers, &CheckTaskCount, &CheckFixedFields}) {
    Problem problem = check(before, after);
    if (problem) return {*std::move(problem)};
  }
  return {};
}

}  // namespace basalt::jobsvc
