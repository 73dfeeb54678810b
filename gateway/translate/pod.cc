#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/kube/names.h"
#include "common/kube/text.h"
#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

std::optional<int32_t> ParseInt32(std::string_view text) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The facts of one list of container statuses.
struct Containers {
  int count = 0;
  int ready = 0;
  int64_t restarts = 0;
  int32_t exit_code = 0;
  std::string_view exit_reason;
  std::string_view waiting_reason;
  int64_t finished_ms = 0;
  int32_t last_exit_code = 0;  // The exit code before the restart in place.
};

void ReadTerminated(Reader& reader, const Path& path, Value& value, Containers& containers) {
  int32_t exit_code = 0;
  std::string_view reason;
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "exitCode") {
      exit_code = reader.Int32(at, member);
    } else if (key == "reason") {
      reason = reader.String(at, member);
    } else if (key == "finishedAt") {
      containers.finished_ms = std::max(containers.finished_ms, reader.Time(at, member));
    }
  });
  if (containers.exit_code == 0 && exit_code != 0) {
    containers.exit_code = exit_code;
    containers.exit_reason = reason;
  }
}

void ReadLastState(Reader& reader, const Path& path, Value& value, Containers& containers) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    if (key != "terminated" || containers.last_exit_code != 0) return;
    Containers last;
    ReadTerminated(reader, path / key, member, last);
    containers.last_exit_code = last.exit_code;
  });
}

// Reads why a container has not started, or not again. Reasons that every container passes through are skipped.
void ReadWaiting(Reader& reader, const Path& path, Value& value, Containers& containers) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    if (key != "reason") return;
    const std::string_view reason = reader.String(path / key, member);
    const bool usual = reason == "ContainerCreating" || reason == "PodInitializing";
    if (!usual && containers.waiting_reason.empty()) containers.waiting_reason = reason;
  });
}

Containers ReadContainerStatuses(Reader& reader, const Path& path, Value& value) {
  Containers containers;
  reader.Elements(path, value, [&](const Path& at, Value& item) {
    ++containers.count;
    reader.Members(at, item, [&](std::string_view key, Value& member) {
      const Path member_path = at / key;
      if (key == "ready") {
        containers.ready += reader.Bool(member_path, member) ? 1 : 0;
      } else if (key == "restartCount") {
        containers.restarts += reader.Int32(member_path, member);
      } else if (key == "state") {
        reader.Members(member_path, member, [&](std::string_view state, Value& part) {
          if (state == "terminated") ReadTerminated(reader, member_path / state, part, containers);
          if (state == "waiting") ReadWaiting(reader, member_path / state, part, containers);
        });
      } else if (key == "lastState") {
        ReadLastState(reader, member_path, member, containers);
      }
    });
  });
  return containers;
}

void ReadCondition(Reader& reader, const Path& path, Value& value, kube::v1::Pod& pod) {
  std::string_view type;
  std::string_view status;
  std::string_view reason;
  int64_t since_ms = 0;
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "type") {
      type = reader.String(at, member);
    } else if (key == "status") {
      status = reader.String(at, member);
    } else if (key == "reason") {
      reason = reader.String(at, member);
    } else if (key == "lastTransitionTime") {
      since_ms = reader.Time(at, member);
    }
  });
  if (type != "DisruptionTarget" || status != "True") return;
  if (reason.empty()) reason = "Unknown";
  pod.set_disruption_reason(reason.data(), reason.size());
  pod.set_disruption_ms(since_ms);
}

void ReadPodStatus(Reader& reader, const Path& path, Value& value, kube::v1::Pod& pod) {
  Containers main;
  Containers init;
  std::string_view reason;
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "phase") {
      const std::string_view text = reader.String(at, member);
      const std::optional<kube::v1::PodPhase> phase = kube::ParsePodPhase(text);
      if (!phase.has_value()) reader.Fail(at, fmt::format("'{}' is not a phase", Excerpt(text)));
      pod.set_phase(phase.value_or(kube::v1::POD_PHASE_UNSPECIFIED));
    } else if (key == "reason") {
      reason = reader.String(at, member);
    } else if (key == "conditions") {
      reader.Elements(at, member,
                      [&](const Path& item, Value& condition) { ReadCondition(reader, item, condition, pod); });
    } else if (key == "containerStatuses") {
      main = ReadContainerStatuses(reader, at, member);
    } else if (key == "initContainerStatuses") {
      init = ReadContainerStatuses(reader, at, member);
    }
  });
  pod.set_all_ready(main.count > 0 && main.ready == main.count);
  pod.set_restarts(
      static_cast<int32_t>(std::min<int64_t>(main.restarts + init.restarts, std::numeric_limits<int32_t>::max())));
  // The containers proper come first, whatever the order on the wire: an init failure counts where none of them failed.
  const Containers& failed = main.exit_code != 0 ? main : init;
  pod.set_exit_code(failed.exit_code);
  pod.set_finished_ms(std::max(main.finished_ms, init.finished_ms));
  pod.set_last_exit_code(main.last_exit_code != 0 ? main.last_exit_code : init.last_exit_code);
  if (reason.empty()) reason = failed.exit_reason;
  if (reason.empty()) reason = main.waiting_reason.empty() ? init.waiting_reason : main.waiting_reason;
  pod.set_reason(reason.data(), reason.size());
}

// Appends `"name":value` to an object that is being written into `out`.
void AppendMember(std::string& out, std::string_view name, std::string_view json) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
  out += json;
}

// Returns the parts of the containers that resource sums need, as a JSON list.
std::string ContainersJson(Reader& reader, const Path& path, Value& value) {
  std::string out = "[";
  reader.Elements(path, value, [&](const Path& at, Value& item) {
    if (out.size() > 1) out += ',';
    out += '{';
    reader.Members(at, item, [&](std::string_view key, Value& member) {
      if (key == "resources") {
        const std::string_view raw = reader.RawObject(at / key, member);
        if (!raw.empty()) AppendMember(out, key, raw);
      } else if (key == "name" || key == "restartPolicy") {
        const std::string_view text = reader.String(at / key, member);
        // Both are plain words by Kubernetes' rules. Any other text is left out rather than quoted wrongly.
        if (!text.empty() && text.find_first_of("\"\\\n\r\t") == std::string_view::npos) {
          AppendMember(out, key, fmt::format("\"{}\"", text));
        }
      }
    });
    out += '}';
  });
  out += ']';
  return out;
}

// `spec_json` receives the parts that resource sums need. Null if they are not wanted.
void ReadPodSpec(Reader& reader, const Path& path, Value& value, kube::v1::Pod& pod, std::string* spec_json) {
  if (spec_json != nullptr) *spec_json = "{";
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "schedulerName") {
      const std::string_view text = reader.String(at, member);
      pod.set_scheduler_name(text.data(), text.size());
    } else if (key == "priorityClassName") {
      const std::string_view text = reader.String(at, member);
      pod.set_priority_class_name(text.data(), text.size());
    } else if (key == "nodeName") {
      const std::string_view text = reader.String(at, member);
      pod.set_node_name(text.data(), text.size());
    } else if (spec_json != nullptr && (key == "containers" || key == "initContainers")) {
      AppendMember(*spec_json, key, ContainersJson(reader, at, member));
    } else if (spec_json != nullptr && (key == "overhead" || key == "resources")) {
      const std::string_view raw = reader.RawObject(at, member);
      if (!raw.empty()) AppendMember(*spec_json, key, raw);
    }
  });
  if (spec_json != nullptr) *spec_json += '}';
}

int64_t DeletionAskedFor(const MetaView& meta) {
  if (meta.deletion_ms == 0) return 0;
  const int64_t grace = std::clamp<int64_t>(meta.deletion_grace_seconds, 0, std::numeric_limits<int32_t>::max());
  return std::max<int64_t>(meta.deletion_ms - grace * 1000, 1);
}

void FillFromMeta(const MetaView& meta, kube::v1::Pod& pod) {
  pod.set_namespace_(meta.ns.data(), meta.ns.size());
  pod.set_name(meta.name.data(), meta.name.size());
  pod.set_uid(meta.uid.data(), meta.uid.size());
  pod.set_resource_version(meta.resource_version);
  pod.set_creation_ms(meta.creation_ms);
  pod.set_deletion_ms(DeletionAskedFor(meta));
  pod.set_finalizers(meta.finalizers);
  for (const OwnerView& owner : meta.owners) {
    if (!owner.controller) continue;
    pod.set_owner_uid(owner.uid.data(), owner.uid.size());
    pod.set_owner_kind(owner.kind.data(), owner.kind.size());
    pod.set_owner_api_version(owner.api_version.data(), owner.api_version.size());
    break;
  }
  for (const auto& [key, value] : meta.annotations) {
    if (key == kube::kGroupNameKey) {
      pod.set_group_name(value.data(), value.size());
    } else if (key == kube::kTaskSpecKey) {
      pod.set_task(value.data(), value.size());
    } else if (key == kube::kJobVersionKey) {
      if (const auto version = ParseInt32(value); version.has_value()) pod.set_job_version(*version);
    } else if (key == kube::kTaskIndexKey) {
      if (const auto index = ParseInt32(value); index.has_value()) pod.set_index(*index);
    } else if (key == kube::kOutOfSyncKey) {
      pod.set_out_of_sync(true);
    } else if (key == kube::kJobNameKey) {
      pod.set_job_name(value.data(), value.size());
    }
  }
  for (const auto& [key, value] : meta.labels) {
    if (key == kube::kJobNameKey) {
      if (!value.empty()) pod.set_job_name(value.data(), value.size());
    } else if (key == kube::kPartitionIdKey) {
      pod.set_partition(ParseInt32(value).value_or(0));
    } else if (key == kube::kJobUidKey) {
      pod.set_job_uid_label(value.data(), value.size());
    }
  }
}

}  // namespace

void ReadPod(Reader& reader, Value& value, Envelope& envelope, kube::v1::Pod& pod) {
  const MetaView& meta = envelope.meta;
  std::string spec_json;
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "spec") {
      // Until the labels are read, the parts for grouping may be wanted, so they are kept.
      const bool job_pod = meta.seen && Has(meta.labels, kube::kJobNameKey);
      ReadPodSpec(reader, kRoot / key, member, pod, job_pod ? nullptr : &spec_json);
    } else if (key == "status") {
      ReadPodStatus(reader, kRoot / key, member, pod);
    }
  });
  FillFromMeta(meta, pod);
  if (Has(meta.labels, kube::kJobNameKey)) return;
  kube::v1::PodGrouping& grouping = *pod.mutable_grouping();
  for (const OwnerView& owner : meta.owners) FillOwner(owner, *grouping.add_owner_references());
  FillPairs(meta.labels, *grouping.mutable_labels());
  FillPairs(meta.annotations, *grouping.mutable_annotations());
  grouping.set_spec_json(spec_json.empty() ? "{}" : std::move(spec_json));
}

}  // namespace basalt::gateway
