#include <algorithm>
#include <string>

#include "common/base/status.h"
#include "common/kube/text.h"
#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

std::string Text(Reader& reader, const Path& path, Value& value) { return std::string(reader.String(path, value)); }

void ReadMinResources(Reader& reader, const Path& path, Value& value, kube::v1::PodGroupSpec& spec) {
  if (reader.IsNull(value)) return;
  spec.set_has_min_resources(true);
  ReadResources(reader, path, value, *spec.mutable_min_resources());
}

void ReadLabelRequirement(Reader& reader, const Path& path, Value& value, kube::v1::LabelRequirement& requirement) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "key") {
      requirement.set_key(Text(reader, at, member));
    } else if (key == "operator") {
      requirement.set_operator_(Text(reader, at, member));
    } else if (key == "values") {
      reader.Elements(at, member,
                      [&](const Path& item, Value& text) { requirement.add_values(Text(reader, item, text)); });
    }
  });
}

void ReadSubGroup(Reader& reader, const Path& path, Value& value, kube::v1::SubGroupPolicy& policy) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "name") {
      policy.set_name(Text(reader, at, member));
    } else if (key == "networkTopology" && !reader.IsNull(member)) {
      ReadNetworkTopology(reader, at, member, *policy.mutable_network_topology());
    } else if (key == "subGroupSize") {
      if (const auto size = reader.OptionalInt32(at, member); size.has_value()) policy.set_sub_group_size(*size);
    } else if (key == "minSubGroups") {
      if (const auto groups = reader.OptionalInt32(at, member); groups.has_value()) policy.set_min_sub_groups(*groups);
    } else if (key == "labelSelector") {
      reader.Members(at, member, [&](std::string_view name, Value& part) {
        if (name == "matchExpressions") {
          reader.Elements(at / name, part, [&](const Path& item, Value& one) {
            ReadLabelRequirement(reader, item, one, *policy.add_match_expressions());
          });
        }
        if (name != "matchLabels") return;
        StringPairs pairs;
        ReadStringMap(reader, at / name, part, pairs);
        FillPairs(pairs, *policy.mutable_match_labels());
      });
    } else if (key == "matchLabelKeys") {
      reader.Elements(at, member,
                      [&](const Path& item, Value& text) { policy.add_match_label_keys(Text(reader, item, text)); });
    }
  });
}

void ReadPodGroupSpec(Reader& reader, const Path& path, Value& value, kube::v1::PodGroupSpec& spec) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "minMember") {
      spec.set_min_member(reader.Int32(at, member));
    } else if (key == "minTaskMember") {
      reader.Entries(at, member, [&](std::string_view task, Value& number) {
        kube::v1::TaskMinimum& minimum = *spec.add_min_task_member();
        minimum.set_task(std::string(task));
        minimum.set_min_member(reader.Int32(at / task, number));
      });
      std::stable_sort(spec.mutable_min_task_member()->begin(), spec.mutable_min_task_member()->end(),
                       [](const auto& a, const auto& b) { return a.task() < b.task(); });
    } else if (key == "queue") {
      spec.set_queue(Text(reader, at, member));
    } else if (key == "priorityClassName") {
      spec.set_priority_class_name(Text(reader, at, member));
    } else if (key == "minResources") {
      ReadMinResources(reader, at, member, spec);
    } else if (key == "networkTopology" && !reader.IsNull(member)) {
      ReadNetworkTopology(reader, at, member, *spec.mutable_network_topology());
    } else if (key == "subGroupPolicy") {
      reader.Elements(at, member, [&](const Path& item, Value& one) {
        ReadSubGroup(reader, item, one, *spec.add_sub_group_policy());
      });
    }
  });
}

void ReadPodGroupStatus(Reader& reader, const Path& path, Value& value, kube::v1::PodGroup& group) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "phase") {
      group.set_phase(Text(reader, at, member));
    } else if (key == "running") {
      group.mutable_counts()->set_running(reader.Int32(at, member));
    } else if (key == "succeeded") {
      group.mutable_counts()->set_succeeded(reader.Int32(at, member));
    } else if (key == "failed") {
      group.mutable_counts()->set_failed(reader.Int32(at, member));
    } else if (key == "conditions") {
      reader.Elements(at, member, [&](const Path& item, Value& one) {
        kube::v1::PodGroupCondition& condition = *group.add_conditions();
        reader.Members(item, one, [&](std::string_view name, Value& part) {
          const Path part_path = item / name;
          if (name == "type") condition.set_type(Text(reader, part_path, part));
          if (name == "status") condition.set_status(Text(reader, part_path, part));
          if (name == "reason") condition.set_reason(Text(reader, part_path, part));
          if (name == "message") condition.set_message(Text(reader, part_path, part));
          if (name == "lastTransitionTime") condition.set_last_transition_ms(reader.Time(part_path, part));
        });
      });
    }
  });
}

struct Count {
  std::string_view name;
  void (kube::v1::Queue::*set)(int32_t);
};
constexpr Count kCounts[] = {{"pending", &kube::v1::Queue::set_pending},
                             {"inqueue", &kube::v1::Queue::set_inqueue},
                             {"running", &kube::v1::Queue::set_running},
                             {"unknown", &kube::v1::Queue::set_unknown},
                             {"completed", &kube::v1::Queue::set_completed}};

// Requires: the queue is marked as one that lacks counts.
void ReadQueueStatus(Reader& reader, const Path& path, Value& value, kube::v1::Queue& queue) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    const Path at = path / key;
    if (key == "state") queue.set_state(Text(reader, at, member));
    for (const Count& count : kCounts) {
      if (key != count.name) continue;
      (queue.*count.set)(reader.Int32(at, member));
      queue.set_lacks_counts(false);
    }
    if (key == "allocated") ReadResources(reader, at, member, *queue.mutable_allocated());
  });
}

}  // namespace

void ReadResources(Reader& reader, const Path& path, Value& value,
                   google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& resources) {
  reader.Entries(path, value, [&](std::string_view name, Value& entry) {
    const Path at = path / name;
    const std::string_view text = reader.IntOrString(at, entry);
    absl::StatusOr<std::string> quantity = kube::CanonicalQuantity(text);
    if (!quantity.ok()) return reader.Fail(at, ToStd(quantity.status().message()));
    kube::v1::KeyValue& pair = *resources.Add();
    pair.set_key(std::string(name));
    pair.set_value(*std::move(quantity));
  });
  SortUnique(resources);
}

void ReadPodGroup(Reader& reader, Value& value, Envelope& envelope, kube::v1::PodGroup& group) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "spec") ReadPodGroupSpec(reader, kRoot / key, member, *group.mutable_spec());
    if (key == "status") ReadPodGroupStatus(reader, kRoot / key, member, group);
  });
  FillMeta(envelope.meta, *group.mutable_meta());
}

void ReadQueue(Reader& reader, Value& value, Envelope& envelope, kube::v1::Queue& queue) {
  queue.set_lacks_counts(true);
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    const Path path = kRoot / key;
    if (key == "status") return ReadQueueStatus(reader, path, member, queue);
    if (key != "spec") return;
    reader.Members(path, member, [&](std::string_view name, Value& part) {
      const Path at = path / name;
      if (name == "parent") {
        queue.set_parent(Text(reader, at, part));
      } else if (name == "weight") {
        queue.set_weight(reader.Int32(at, part));
      } else if (name == "extendClusters") {
        reader.Elements(at, part, [&](const Path&, Value&) { queue.set_has_extend_clusters(true); });
      } else if (name == "capability") {
        ReadResources(reader, at, part, *queue.mutable_capability());
      } else if (name == "deserved") {
        ReadResources(reader, at, part, *queue.mutable_deserved());
      } else if (name == "guarantee") {
        reader.Members(at, part, [&](std::string_view of, Value& resources) {
          if (of == "resource") ReadResources(reader, at / of, resources, *queue.mutable_guarantee());
        });
      }
    });
  });
  FillMeta(envelope.meta, *queue.mutable_meta());
}

void ReadCommand(Reader& reader, Value& value, Envelope& envelope, kube::v1::Command& command) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    const Path path = kRoot / key;
    if (key == "action") {
      command.set_action(Text(reader, path, member));
    } else if (key == "target") {
      if (!reader.IsNull(member)) FillOwner(ReadOwner(reader, path, member), *command.mutable_target());
    } else if (key == "reason") {
      command.set_reason(Text(reader, path, member));
    } else if (key == "message") {
      command.set_message(Text(reader, path, member));
    }
  });
  FillMeta(envelope.meta, *command.mutable_meta());
}

void ReadPriorityClass(Reader& reader, Value& value, Envelope& envelope, kube::v1::PriorityClass& priority_class) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "value") priority_class.set_value(reader.Int32(kRoot / key, member));
  });
  FillMeta(envelope.meta, *priority_class.mutable_meta());
}

}  // namespace basalt::gateway
