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
#include "common/rpc/error_details.h"

namespace basalt::rpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

enum class Rule {
  kNone,
  kSlot,      // Each value is a slot.
  kSlotBits,  // A bit for each slot (common/base/slot_set.h).
};

struct Row {
  const char* field;
  Rule rule;
};

constexpr Row kRows[] = {
    {"basalt.gateway.v1.HeldSlots.slots", Rule::kSlot},
    {"basalt.gateway.v1.Owner.slot", Rule::kSlot},
    {"basalt.gateway.v1.Released.slots", Rule::kSlot},
    {"basalt.gateway.v1.Taken.lost", Rule::kSlot},
    {"basalt.gateway.v1.Taken.slots", Rule::kSlot},
    {"basalt.job.v1.ListPartRequest.slots", Rule::kSlotBits},
    {"basalt.job.v1.WatchPartRequest.slots", Rule::kSlotBits},
    {"basalt.podgroup.v1.ListPartRequest.slots", Rule::kSlotBits},
    {"basalt.podgroup.v1.WatchPartRequest.slots", Rule::kSlotBits},
    {"basalt.queue.v1.ListPartRequest.slots", Rule::kSlotBits},
    {"basalt.queue.v1.WatchPartRequest.slots", Rule::kSlotBits},
    {"basalt.replica.v1.SlotOfEpoch.slot", Rule::kSlot},
    {"basalt.watch.v1.SlotPosition.slot", Rule::kSlot},
};

Rule RuleOf(const FieldDescriptor* field) {
  static const auto rules = [] {
    std::unordered_map<const FieldDescriptor*, Rule> all;
    for (const Row& row : kRows) {
      // A program has the messages that it uses.
      if (const auto* found = DescriptorPool::generated_pool()->FindFieldByName(row.field)) all[found] = row.rule;
    }
    return all;
  }();
  const auto it = rules.find(field);
  return it == rules.end() ? Rule::kNone : it->second;
}

struct Violation {
  std::string field;
  std::string rule;
};
using Found = std::optional<Violation>;

std::string At(const FieldDescriptor& field, int index) {
  return field.is_repeated() ? fmt::format("{}[{}]", field.name(), index) : field.name();
}

Found CheckSlot(const FieldDescriptor& field, int index, uint32_t slot) {
  if (slot < kSlotCount) return std::nullopt;
  return Violation{At(field, index), fmt::format("is {}; slots are 0 to {}", slot, kSlotCount - 1)};
}

Found CheckSlots(const Message& message, const FieldDescriptor& field) {
  const Reflection& has = *message.GetReflection();
  if (!field.is_repeated()) return CheckSlot(field, 0, has.GetUInt32(message, &field));
  for (int i = 0; i < has.FieldSize(message, &field); ++i) {
    if (Found found = CheckSlot(field, i, has.GetRepeatedUInt32(message, &field, i))) return found;
  }
  return std::nullopt;
}

Found CheckSlotBits(const Message& message, const FieldDescriptor& field) {
  std::string kept;
  const size_t bytes = message.GetReflection()->GetStringReference(message, &field, &kept).size();
  if (bytes == kSlotCount / 8) return std::nullopt;
  return Violation{field.name(), fmt::format("has {} bytes; {} have a bit for each slot", bytes, kSlotCount / 8)};
}

Found CheckFields(const Message& message);

Found CheckMessages(const Message& message, const FieldDescriptor& field) {
  const Reflection& has = *message.GetReflection();
  const int count = field.is_repeated() ? has.FieldSize(message, &field) : 1;
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
  switch (RuleOf(&field)) {
    case Rule::kSlot:
      return CheckSlots(message, field);
    case Rule::kSlotBits:
      return CheckSlotBits(message, field);
    case Rule::kNone:
      break;
  }
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ? CheckMessages(message, field) : std::nullopt;
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
  const Found found = CheckFields(request);
  return found.has_value() ? InvalidField(found->field, found->rule) : absl::OkStatus();
}

}  // namespace basalt::rpc
