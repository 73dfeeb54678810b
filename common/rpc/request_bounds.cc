#include "common/rpc/request_bounds.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/rpc/error_details.h"

namespace basalt::rpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

enum class Rule {
  kSize,
  kSlot,      // Each value is a slot.
  kSlotBits,  // A bit for each slot (common/base/slot_set.h).
};

constexpr size_t kName = 253;
constexpr size_t kKey = 2 * kName + 1;  // "namespace/name"
constexpr size_t kMany = 1024;

struct Bounds {
  Rule rule = Rule::kSize;
  size_t bytes = kName;  // Size of each text.
  size_t count = kMany;  // Number of entries.
};

struct Row {
  const char* field;
  Bounds bounds;
};

constexpr Bounds kSlots{.rule = Rule::kSlot};
constexpr Bounds kSlotBits{.rule = Rule::kSlotBits};
constexpr Bounds Bytes(size_t most) { return {.bytes = most}; }
constexpr Bounds Count(size_t most) { return {.count = most}; }

constexpr size_t kManifest = 3 << 20;  // The most that Kubernetes takes in one request.
constexpr size_t kSelector = 64 << 10;
constexpr size_t kWatchToken = 64 << 10;   // A position for each slot, base64.
constexpr size_t kAnnotation = 256 << 10;  // Kubernetes' limit for all annotations of one object together.
constexpr size_t kUserToken = 5 << 10;     // identity::kMostUserTokenBytes.
constexpr size_t kTasks = 64 << 10;        // More than fit into a manifest.

constexpr Row kRows[] = {
    {"basalt.gateway.v1.Create.body", Bytes(kManifest)},
    {"basalt.gateway.v1.DeleteCollection.field_selector", Bytes(kSelector)},
    {"basalt.gateway.v1.DeleteCollection.label_selector", Bytes(kSelector)},
    {"basalt.gateway.v1.RecordInventory.slots", kSlots},
    {"basalt.gateway.v1.Interest.watch", Bytes(kKey)},       // "objects/", group, version and kind.
    {"basalt.gateway.v1.Member.address", Bytes(kName + 6)},  // A host's name and a port.
    {"basalt.gateway.v1.Member.incarnation", Bytes(64)},
    {"basalt.gateway.v1.LogInRequest.kubernetes_token", Bytes(16 << 10)},
    {"basalt.gateway.v1.Owner.key", Bytes(kKey)},
    {"basalt.gateway.v1.Owner.slot", kSlots},
    {"basalt.gateway.v1.Patch.body", Bytes(kManifest)},
    {"basalt.gateway.v1.Released.slots", kSlots},
    {"basalt.gateway.v1.RecordsImported.unavailable", kSlots},
    {"basalt.gateway.v1.RecordsImported.slots", kSlots},
    {"basalt.gateway.v1.ReviewAccessRequest.token", Bytes(kUserToken)},
    {"basalt.gateway.v1.WriteRequest.user_token", Bytes(kUserToken)},
    {"basalt.job.v1.ListJobsRequest.label_selector", Bytes(kSelector)},
    {"basalt.job.v1.ListJobsRequest.page_token", Bytes(2 * kKey)},
    {"basalt.job.v1.ListPartRequest.slots", kSlotBits},
    {"basalt.job.v1.SubmitJobRequest.manifest_json", Bytes(kManifest)},
    {"basalt.job.v1.WatchJobsRequest.token", Bytes(kWatchToken)},
    {"basalt.job.v1.WatchPartRequest.slots", kSlotBits},
    {"basalt.kube.v1.KeyValue.key", Bytes(kName + 64)},  // A prefix and a name.
    {"basalt.kube.v1.KeyValue.value", Bytes(kAnnotation)},
    {"basalt.kube.v1.PodGroupSpec.min_task_member", Count(kTasks)},
    {"basalt.kube.v1.PodGroupSpec.sub_group_policy", Count(kTasks)},
    {"basalt.podgroup.v1.ListPartRequest.slots", kSlotBits},
    {"basalt.podgroup.v1.ListPodGroupsRequest.page_token", Bytes(2 * kKey)},
    {"basalt.podgroup.v1.TryGroupingRequest.objects", {.bytes = kManifest, .count = 2000}},
    {"basalt.podgroup.v1.WatchPartRequest.slots", kSlotBits},
    {"basalt.podgroup.v1.WatchPodGroupsRequest.token", Bytes(kWatchToken)},
    {"basalt.queue.v1.CreateQueueRequest.manifest_json", Bytes(2 * kAnnotation)},
    {"basalt.queue.v1.ListPartRequest.slots", kSlotBits},
    {"basalt.queue.v1.ListQueuesRequest.page_token", Bytes(2 * kKey)},
    {"basalt.queue.v1.WatchPartRequest.slots", kSlotBits},
    {"basalt.queue.v1.WatchQueuesRequest.token", Bytes(kWatchToken)},
    {"basalt.replica.v1.ExportRecordsRequest.cursor", Bytes(4 * kKey)},  // A key of the store.
    {"basalt.replica.v1.SlotOfEpoch.slot", kSlots},
    {"basalt.watch.v1.SlotPosition.slot", kSlots},
};

const Bounds& BoundsOf(const FieldDescriptor* field) {
  static const auto all = [] {
    std::unordered_map<const FieldDescriptor*, Bounds> bounds;
    for (const Row& row : kRows) {
      // The pool has only the messages that this program links.
      if (const auto* found = DescriptorPool::generated_pool()->FindFieldByName(row.field)) bounds[found] = row.bounds;
    }
    return bounds;
  }();
  static const Bounds usual;
  const auto it = all.find(field);
  return it == all.end() ? usual : it->second;
}

struct Violation {
  std::string field;
  std::string rule;
};
using Found = std::optional<Violation>;

// A field's name is a string in protobuf 3.21 and a view in protobuf 36.
std::string NameOf(const FieldDescriptor& field) { return std::string(field.name()); }

std::string At(const FieldDescriptor& field, int index) {
  return field.is_repeated() ? fmt::format("{}[{}]", field.name(), index) : NameOf(field);
}

Found CheckSlot(const FieldDescriptor& field, int index, uint32_t slot) {
  if (slot < kSlotCount) return std::nullopt;
  return Violation{At(field, index), fmt::format("is {}; slots are 0 to {}", slot, kSlotCount - 1)};
}

Found CheckSlots(const Message& message, const FieldDescriptor& field, int count) {
  const Reflection& has = *message.GetReflection();
  if (!field.is_repeated()) return CheckSlot(field, 0, has.GetUInt32(message, &field));
  for (int i = 0; i < count; ++i) {
    if (Found found = CheckSlot(field, i, has.GetRepeatedUInt32(message, &field, i))) return found;
  }
  return std::nullopt;
}

const std::string& TextAt(const Message& message, const FieldDescriptor& field, int index, std::string& kept) {
  const Reflection& has = *message.GetReflection();
  return field.is_repeated() ? has.GetRepeatedStringReference(message, &field, index, &kept)
                             : has.GetStringReference(message, &field, &kept);
}

Found CheckSlotBits(const Message& message, const FieldDescriptor& field) {
  std::string kept;
  const size_t bytes = TextAt(message, field, 0, kept).size();
  if (bytes == kSlotCount / 8) return std::nullopt;
  return Violation{NameOf(field), fmt::format("has {} bytes; {} have a bit for each slot", bytes, kSlotCount / 8)};
}

Found CheckTexts(const Message& message, const FieldDescriptor& field, int count, size_t most) {
  std::string kept;
  for (int i = 0; i < count; ++i) {
    const size_t bytes = TextAt(message, field, i, kept).size();
    if (bytes > most) return Violation{At(field, i), fmt::format("has {} bytes; it may have {}", bytes, most)};
  }
  return std::nullopt;
}

Found CheckFields(const Message& message);

Found CheckMessages(const Message& message, const FieldDescriptor& field, int count) {
  const Reflection& has = *message.GetReflection();
  for (int i = 0; i < count; ++i) {
    const Message& inner =
        field.is_repeated() ? has.GetRepeatedMessage(message, &field, i) : has.GetMessage(message, &field);
    if (Found found = CheckFields(inner)) {
      return Violation{fmt::format("{}.{}", At(field, i), found->field), std::move(found->rule)};
    }
  }
  return std::nullopt;
}

Found CheckField(const Message& message, const FieldDescriptor& field) {
  const Bounds& bounds = BoundsOf(&field);
  const int count = field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) : 1;
  if (static_cast<size_t>(count) > bounds.count) {
    return Violation{NameOf(field), fmt::format("has {} entries; it may have {}", count, bounds.count)};
  }
  if (bounds.rule == Rule::kSlot) return CheckSlots(message, field, count);
  if (bounds.rule == Rule::kSlotBits) return CheckSlotBits(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return CheckTexts(message, field, count, bounds.bytes);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return CheckMessages(message, field, count);
    default:
      return std::nullopt;
  }
}

Found CheckFields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (Found found = CheckField(message, *field)) return found;
  }
  return std::nullopt;
}

}  // namespace

absl::Status CheckRequest(const Message& request) {
  const size_t bytes = request.ByteSizeLong();
  // Counts unknown fields, too: a newer version may have them, or no version at all.
  if (bytes > kMostRequestBytes) {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        fmt::format("{} has {} bytes; it may have {}", request.GetDescriptor()->name(), bytes, kMostRequestBytes));
  }
  const Found found = CheckFields(request);
  return found.has_value() ? InvalidField(found->field, found->rule) : absl::OkStatus();
}

}  // namespace basalt::rpc
