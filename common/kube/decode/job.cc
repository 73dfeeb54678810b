#include "common/kube/decode/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/decode/decode_job.h"
#include "common/kube/text.h"

namespace basalt::kube::decode {
namespace {

std::string Text(Reader& reader, const Path& path, Value& value) { return std::string(reader.String(path, value)); }

// Nullopt if the text is empty, or if it is no duration. The latter is reported as an error of the reader.
std::optional<absl::Duration> ReadDuration(Reader& reader, const Path& path, std::string_view text) {
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<absl::Duration> duration = kube::ParseGoDuration(text);
  if (duration.ok()) return *duration;
  reader.Fail(path, ToStd(duration.status().message()));
  return std::nullopt;
}

void ReadPolicy(Reader& reader, const Path& path, Value& value, kube::v1::LifecyclePolicy& policy) {
  std::string event;
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "action") {
      policy.set_action(Text(reader, at, member));
    } else if (key == "event") {
      event = WireEvent(reader.String(at, member));
    } else if (key == "events") {
      reader.Elements(at, member, [&](const Path& item, Value& name) {
        policy.add_events(std::string(WireEvent(reader.String(item, name))));
      });
    } else if (key == "exitCode") {
      if (const auto code = reader.OptionalInt32(at, member); code.has_value()) policy.set_exit_code(*code);
    } else if (key == "timeout") {
      const std::optional<absl::Duration> timeout = ReadDuration(reader, at, reader.String(at, member));
      if (!timeout) return;
      // The timeout is rounded up, so that a small one does not become 0, which means no timeout.
      policy.set_timeout_ms(absl::ToInt64Milliseconds(absl::Ceil(*timeout, absl::Milliseconds(1))));
    } else {
      reader.Unknown(at);
    }
  });
  const auto& events = policy.events();
  if (!event.empty() && std::find(events.begin(), events.end(), event) == events.end()) policy.add_events(event);
}

template <typename Owner>
void ReadPolicies(Reader& reader, const Path& path, Value& value, Owner& owner) {
  reader.Elements(path, value,
                  [&](const Path& at, Value& item) { ReadPolicy(reader, at, item, *owner.add_policies()); });
}

void ReadTask(Reader& reader, const Path& path, Value& value, kube::v1::TaskSpec& task) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "name") {
      task.set_name(Text(reader, at, member));
    } else if (key == "replicas") {
      task.set_replicas(reader.Int32(at, member));
    } else if (key == "minAvailable") {
      if (const auto number = reader.OptionalInt32(at, member); number.has_value()) task.set_min_available(*number);
    } else if (key == "template") {
      task.set_template_json(std::string(reader.RawObject(at, member)));
    } else if (key == "policies") {
      ReadPolicies(reader, at, member, task);
    } else if (key == "topologyPolicy") {
      task.set_topology_policy(Text(reader, at, member));
    } else if (key == "maxRetry") {
      if (const auto number = reader.OptionalInt32(at, member); number.has_value()) task.set_max_retry(*number);
    } else if (key == "dependsOn") {
      if (reader.IsNull(member)) return;
      kube::v1::DependsOn& depends = *task.mutable_depends_on();
      reader.Members(at, member, [&](std::string_view name, Value& part) {
        const Path part_path = at / name;
        if (name == "name") {
          reader.Elements(part_path, part,
                          [&](const Path& item, Value& text) { depends.add_names(Text(reader, item, text)); });
        } else if (name == "iteration") {
          depends.set_iteration(std::string(WireIteration(reader.String(part_path, part))));
        } else {
          reader.Unknown(part_path);
        }
      });
    } else if (key == "partitionPolicy") {
      if (reader.IsNull(member)) return;
      kube::v1::PartitionPolicy& policy = *task.mutable_partition_policy();
      reader.Members(at, member, [&](std::string_view name, Value& part) {
        const Path part_path = at / name;
        if (name == "totalPartitions") {
          policy.set_total_partitions(reader.Int32(part_path, part));
        } else if (name == "partitionSize") {
          policy.set_partition_size(reader.Int32(part_path, part));
        } else if (name == "minPartitions") {
          policy.set_min_partitions(reader.Int32(part_path, part));
        } else if (name == "networkTopology") {
          if (!reader.IsNull(part)) {
            ReadNetworkTopology(reader, part_path, part, *policy.mutable_network_topology());
          }
        } else {
          reader.Unknown(part_path);
        }
      });
    } else {
      reader.Unknown(at);
    }
  });
}

void ReadVolume(Reader& reader, const Path& path, Value& value, kube::v1::VolumeSpec& volume) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "mountPath") {
      volume.set_mount_path(Text(reader, at, member));
    } else if (key == "volumeClaimName") {
      volume.set_volume_claim_name(Text(reader, at, member));
    } else if (key == "volumeClaim") {
      volume.set_volume_claim_json(std::string(reader.RawObject(at, member)));
    } else {
      reader.Unknown(at);
    }
  });
}

void ReadPlugins(Reader& reader, const Path& path, Value& value, kube::v1::JobSpec& spec) {
  reader.Entries(path, value, [&](std::string_view name, Value& arguments) {
    kube::v1::JobPlugin& plugin = *spec.add_plugins();
    plugin.set_name(std::string(name));
    const Path at = path / name;
    reader.Elements(at, arguments,
                    [&](const Path& item, Value& text) { plugin.add_arguments(Text(reader, item, text)); });
  });
  std::stable_sort(spec.mutable_plugins()->begin(), spec.mutable_plugins()->end(),
                   [](const auto& a, const auto& b) { return a.name() < b.name(); });
}

void ReadSpec(Reader& reader, const Path& path, Value& value, kube::v1::JobSpec& spec) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "schedulerName") {
      spec.set_scheduler_name(Text(reader, at, member));
    } else if (key == "minAvailable") {
      if (const auto number = reader.OptionalInt32(at, member); number.has_value()) spec.set_min_available(*number);
    } else if (key == "volumes") {
      reader.Elements(at, member,
                      [&](const Path& item, Value& one) { ReadVolume(reader, item, one, *spec.add_volumes()); });
    } else if (key == "tasks") {
      reader.Elements(at, member,
                      [&](const Path& item, Value& one) { ReadTask(reader, item, one, *spec.add_tasks()); });
    } else if (key == "policies") {
      ReadPolicies(reader, at, member, spec);
    } else if (key == "plugins") {
      ReadPlugins(reader, at, member, spec);
    } else if (key == "runningEstimate") {
      spec.set_running_estimate(Text(reader, at, member));
      ReadDuration(reader, at, spec.running_estimate());  // Checks the text, which is kept as it is written.
    } else if (key == "queue") {
      spec.set_queue(Text(reader, at, member));
    } else if (key == "maxRetry") {
      if (const auto number = reader.OptionalInt32(at, member); number.has_value()) spec.set_max_retry(*number);
    } else if (key == "ttlSecondsAfterFinished") {
      const auto seconds = reader.OptionalInt32(at, member);
      if (seconds.has_value()) spec.set_ttl_seconds_after_finished(*seconds);
    } else if (key == "priorityClassName") {
      spec.set_priority_class_name(Text(reader, at, member));
    } else if (key == "minSuccess") {
      if (const auto number = reader.OptionalInt32(at, member); number.has_value()) spec.set_min_success(*number);
    } else if (key == "networkTopology") {
      if (!reader.IsNull(member)) ReadNetworkTopology(reader, at, member, *spec.mutable_network_topology());
    } else {
      reader.Unknown(at);
    }
  });
}

kube::v1::JobPhase ReadPhase(Reader& reader, const Path& path, Value& value) {
  const std::string_view text = reader.String(path, value);
  const std::optional<kube::v1::JobPhase> phase = kube::ParseJobPhase(text);
  if (!phase.has_value()) reader.Fail(path, fmt::format("'{}' is not a phase", Excerpt(text)));
  return phase.value_or(kube::v1::JOB_PHASE_UNSPECIFIED);
}

void ReadTaskCounts(Reader& reader, const Path& path, Value& value, kube::v1::JobStatus& status) {
  reader.Entries(path, value, [&](std::string_view task, Value& entry) {
    kube::v1::TaskStatusCount& count = *status.add_task_status_count();
    count.set_task(std::string(task));
    kube::v1::PodCounts& counts = *count.mutable_counts();
    const Path at = path / task;
    reader.Members(at, entry, [&](std::string_view key, Value& member) {
      if (key != "phase") return;
      const Path phase_path = at / key;
      reader.Members(phase_path, member, [&](std::string_view phase, Value& number) {
        const int32_t pods = reader.Int32(phase_path / phase, number);
        if (phase == "Pending") counts.set_pending(pods);
        if (phase == "Running") counts.set_running(pods);
        if (phase == "Succeeded") counts.set_succeeded(pods);
        if (phase == "Failed") counts.set_failed(pods);
        if (phase == "Unknown") counts.set_unknown(pods);
      });
    });
  });
  std::stable_sort(status.mutable_task_status_count()->begin(), status.mutable_task_status_count()->end(),
                   [](const auto& a, const auto& b) { return a.task() < b.task(); });
}

void ReadJobStatus(Reader& reader, const Path& path, Value& value, kube::v1::JobStatus& status) {
  kube::v1::PodCounts& counts = *status.mutable_counts();
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "state") {
      reader.Members(at, member, [&](std::string_view name, Value& part) {
        const Path part_path = at / name;
        if (name == "phase") status.set_phase(ReadPhase(reader, part_path, part));
        if (name == "reason") status.set_reason(Text(reader, part_path, part));
        if (name == "message") status.set_message(Text(reader, part_path, part));
        if (name == "lastTransitionTime") status.set_last_transition_ms(reader.Time(part_path, part));
      });
    } else if (key == "conditions") {
      reader.Elements(at, member, [&](const Path& item, Value& one) {
        kube::v1::JobCondition& condition = *status.add_conditions();
        reader.Members(item, one, [&](std::string_view name, Value& part) {
          const Path part_path = item / name;
          if (name == "status") condition.set_phase(ReadPhase(reader, part_path, part));
          if (name == "lastTransitionTime") condition.set_last_transition_ms(reader.Time(part_path, part));
        });
      });
    } else if (key == "controlledResources") {
      StringPairs pairs;
      ReadStringMap(reader, at, member, pairs);
      FillPairs(pairs, *status.mutable_controlled_resources());
    } else if (key == "taskStatusCount") {
      ReadTaskCounts(reader, at, member, status);
    } else if (key == "runningDuration") {
      status.set_running_duration(Text(reader, at, member));
    } else if (key == "minAvailable") {
      status.set_min_available(reader.Int32(at, member));
    } else if (key == "version") {
      status.set_version(reader.Int32(at, member));
    } else if (key == "retryCount") {
      status.set_retry_count(reader.Int32(at, member));
    } else if (key == "pending") {
      counts.set_pending(reader.Int32(at, member));
    } else if (key == "running") {
      counts.set_running(reader.Int32(at, member));
    } else if (key == "succeeded") {
      counts.set_succeeded(reader.Int32(at, member));
    } else if (key == "failed") {
      counts.set_failed(reader.Int32(at, member));
    } else if (key == "unknown") {
      counts.set_unknown(reader.Int32(at, member));
    } else if (key == "terminating") {
      counts.set_terminating(reader.Int32(at, member));
    }
  });
}

}  // namespace

void ReadJob(Reader& reader, Value& value, Envelope& envelope, kube::v1::Job& job) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    const Path at = kRoot / key;
    if (key == "spec") {
      ReadSpec(reader, at, member, *job.mutable_spec());
    } else if (key == "status") {
      ReadJobStatus(reader, at, member, *job.mutable_status());
    } else {
      reader.Unknown(at);
    }
  });
  FillMeta(envelope.meta, *job.mutable_meta());
}

}  // namespace basalt::kube::decode
