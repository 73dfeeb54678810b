#include "services/jobsvc/testing/rig/manifests.h"

#include <string>
#include <string_view>

#include "common/kube/text.h"

namespace basalt::jobsvc::testing {
namespace {

void SetText(json::object& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

template <typename Names>
json::array List(const Names& names) {
  json::array list;
  for (const std::string& name : names) list.emplace_back(name);
  return list;
}

// A text that is no JSON becomes a JSON string, which cannot be read as an object.
json::value Parsed(const std::string& text) {
  auto value = ParseJson(text);
  return value.ok() ? *std::move(value) : json::value(text);
}

json::object Pairs(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& pairs) {
  json::object object;
  for (const auto& pair : pairs) object[pair.key()] = pair.value();
  return object;
}

json::object OwnerJson(const kube::v1::OwnerReference& owner) {
  json::object object{{"apiVersion", owner.api_version()}, {"kind", owner.kind()}, {"name", owner.name()}};
  SetText(object, "uid", owner.uid());
  if (owner.controller()) object["controller"] = true;
  return object;
}

json::object TopologyJson(const kube::v1::NetworkTopology& topology) {
  json::object object;
  SetText(object, "mode", topology.mode());
  if (topology.has_highest_tier_allowed()) object["highestTierAllowed"] = topology.highest_tier_allowed();
  SetText(object, "highestTierName", topology.highest_tier_name());
  return object;
}

template <typename Policies>
json::array PoliciesJson(const Policies& policies) {
  json::array list;
  for (const kube::v1::LifecyclePolicy& policy : policies) {
    json::object object;
    SetText(object, "action", policy.action());
    if (policy.events_size() > 0) object["events"] = List(policy.events());
    if (policy.has_exit_code()) object["exitCode"] = policy.exit_code();
    if (policy.has_timeout_ms()) {
      object["timeout"] = kube::FormatGoDuration(absl::Milliseconds(policy.timeout_ms()));
    }
    list.push_back(std::move(object));
  }
  return list;
}

json::object TaskJson(const kube::v1::TaskSpec& task) {
  json::object object;
  SetText(object, "name", task.name());
  object["replicas"] = task.replicas();
  if (task.has_min_available()) object["minAvailable"] = task.min_available();
  if (!task.template_json().empty()) object["template"] = Parsed(task.template_json());
  if (task.policies_size() > 0) object["policies"] = PoliciesJson(task.policies());
  SetText(object, "topologyPolicy", task.topology_policy());
  if (task.has_max_retry()) object["maxRetry"] = task.max_retry();
  if (task.has_depends_on()) {
    json::object depends{{"name", List(task.depends_on().names())}};
    SetText(depends, "iteration", task.depends_on().iteration());
    object["dependsOn"] = std::move(depends);
  }
  if (task.has_partition_policy()) {
    const kube::v1::PartitionPolicy& policy = task.partition_policy();
    json::object partition{{"totalPartitions", policy.total_partitions()},
                           {"partitionSize", policy.partition_size()},
                           {"minPartitions", policy.min_partitions()}};
    if (policy.has_network_topology()) partition["networkTopology"] = TopologyJson(policy.network_topology());
    object["partitionPolicy"] = std::move(partition);
  }
  return object;
}

json::object VolumeJson(const kube::v1::VolumeSpec& volume) {
  json::object object;
  SetText(object, "mountPath", volume.mount_path());
  SetText(object, "volumeClaimName", volume.volume_claim_name());
  if (!volume.volume_claim_json().empty()) object["volumeClaim"] = Parsed(volume.volume_claim_json());
  return object;
}

}  // namespace

json::object MetadataJson(const kube::v1::ObjectMeta& meta) {
  json::object object{{"namespace", meta.namespace_()}, {"name", meta.name()}};
  if (meta.labels_size() > 0) object["labels"] = Pairs(meta.labels());
  if (meta.annotations_size() > 0) object["annotations"] = Pairs(meta.annotations());
  json::array owners;
  for (const auto& owner : meta.owner_references()) owners.push_back(OwnerJson(owner));
  if (!owners.empty()) object["ownerReferences"] = std::move(owners);
  return object;
}

json::object JobSpecJson(const kube::v1::Job& job) {
  const kube::v1::JobSpec& spec = job.spec();
  json::object object;
  SetText(object, "schedulerName", spec.scheduler_name());
  if (spec.has_min_available()) object["minAvailable"] = spec.min_available();
  json::array volumes;
  for (const auto& volume : spec.volumes()) volumes.push_back(VolumeJson(volume));
  if (!volumes.empty()) object["volumes"] = std::move(volumes);
  json::array tasks;
  for (const auto& task : spec.tasks()) tasks.push_back(TaskJson(task));
  if (!job.decode_error().empty()) {
    if (tasks.empty()) tasks.push_back(json::object());
    tasks[0].as_object()["replicas"] = job.decode_error();
  }
  object["tasks"] = std::move(tasks);
  if (spec.policies_size() > 0) object["policies"] = PoliciesJson(spec.policies());
  json::object plugins;
  for (const auto& plugin : spec.plugins()) plugins[plugin.name()] = List(plugin.arguments());
  if (!plugins.empty()) object["plugins"] = std::move(plugins);
  SetText(object, "runningEstimate", spec.running_estimate());
  SetText(object, "queue", spec.queue());
  if (spec.has_max_retry()) object["maxRetry"] = spec.max_retry();
  if (spec.has_ttl_seconds_after_finished()) object["ttlSecondsAfterFinished"] = spec.ttl_seconds_after_finished();
  SetText(object, "priorityClassName", spec.priority_class_name());
  if (spec.has_min_success()) object["minSuccess"] = spec.min_success();
  if (spec.has_network_topology()) object["networkTopology"] = TopologyJson(spec.network_topology());
  return object;
}

json::object CommandJson(const kube::v1::Command& command) {
  json::object object{{"metadata", MetadataJson(command.meta())}, {"action", command.action()}};
  object["target"] = OwnerJson(command.target());
  SetText(object, "reason", command.reason());
  SetText(object, "message", command.message());
  return object;
}

json::object PodStatusJson(const kube::v1::Pod& pod) {
  const bool ended = pod.phase() == kube::v1::POD_PHASE_SUCCEEDED || pod.phase() == kube::v1::POD_PHASE_FAILED ||
                     pod.exit_code() != 0 || pod.finished_ms() != 0;
  json::object container{
      {"name", "main"}, {"ready", pod.all_ready()}, {"restartCount", pod.restarts()}, {"image", ""}, {"imageID", ""}};
  if (ended) {
    json::object terminated{{"exitCode", pod.exit_code()}};
    if (pod.finished_ms() != 0) terminated["finishedAt"] = kube::FormatTime(pod.finished_ms());
    container["state"] = json::object{{"terminated", std::move(terminated)}};
  }
  if (pod.last_exit_code() != 0) {
    container["lastState"] = json::object{{"terminated", json::object{{"exitCode", pod.last_exit_code()}}}};
  }
  json::object status{{"phase", kube::PodPhaseName(pod.phase())},
                      {"containerStatuses", json::array{std::move(container)}}};
  status["reason"] = pod.reason().empty() ? json::value() : json::value(pod.reason());
  if (!pod.disruption_reason().empty()) {
    status["conditions"] = json::array{json::object{{"type", "DisruptionTarget"},
                                                    {"status", "True"},
                                                    {"reason", pod.disruption_reason()},
                                                    {"lastTransitionTime", kube::FormatTime(pod.disruption_ms())}}};
  }
  return status;
}

json::object PodGroupStatusJson(const kube::v1::PodGroup& group) {
  json::object status;
  SetText(status, "phase", group.phase());
  json::array conditions;
  for (const auto& condition : group.conditions()) {
    json::object object{{"type", condition.type()}, {"status", condition.status()}};
    SetText(object, "reason", condition.reason());
    SetText(object, "message", condition.message());
    if (condition.last_transition_ms() != 0) {
      object["lastTransitionTime"] = kube::FormatTime(condition.last_transition_ms());
    }
    conditions.push_back(std::move(object));
  }
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  if (group.counts().running() != 0) status["running"] = group.counts().running();
  if (group.counts().succeeded() != 0) status["succeeded"] = group.counts().succeeded();
  if (group.counts().failed() != 0) status["failed"] = group.counts().failed();
  return status;
}

}  // namespace basalt::jobsvc::testing
