#include <fmt/format.h>

#include <string>

#include "absl/strings/numbers.h"
#include "common/base/status.h"
#include "common/kube/text.h"
#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

constexpr int32_t kDefaultPriority = 100;

// Returns the unit that follows the number of a resource, so that both are a quantity (pod-grouper 9.2). Empty if the
// resource has no unit.
std::string_view UnitOf(std::string_view resource) {
  if (resource == "cpu") return "m";
  if (resource == "memory") return "M";
  return "";
}

// Adds nothing for -1, which means unlimited.
void AddAmount(Reader& reader, const Path& path, Value& value, std::string_view resource,
               google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& amounts) {
  if (reader.IsNull(value)) return;
  const std::string_view text = reader.IntOrString(path, value);
  double number = 0;
  if (!absl::SimpleAtod(ToAbsl(text), &number)) return reader.Fail(path, "must be a number");
  if (number < 0) return;
  absl::StatusOr<std::string> quantity = kube::CanonicalQuantity(fmt::format("{:.6f}{}", number, UnitOf(resource)));
  if (!quantity.ok()) return reader.Fail(path, ToStd(quantity.status().message()));
  kube::v1::KeyValue& pair = *amounts.Add();
  pair.set_key(std::string(resource));
  pair.set_value(*std::move(quantity));
}

void ReadKaiResources(Reader& reader, const Path& path, Value& value, kube::v1::KaiQueue& queue) {
  reader.Members(path, value, [&](std::string_view resource, Value& amounts) {
    const Path of = path / resource;
    reader.Members(of, amounts, [&](std::string_view key, Value& amount) {
      if (key == "quota") AddAmount(reader, of / key, amount, resource, *queue.mutable_quota());
      if (key == "limit") AddAmount(reader, of / key, amount, resource, *queue.mutable_limit());
    });
  });
  SortUnique(*queue.mutable_quota());
  SortUnique(*queue.mutable_limit());
}

}  // namespace

void ReadKaiQueue(Reader& reader, Value& value, Envelope& envelope, kube::v1::KaiQueue& queue) {
  queue.set_priority(kDefaultPriority);
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    const Path path = kRoot / key;
    if (key != "spec" && key != "status") return;
    reader.Members(path, member, [&](std::string_view name, Value& part) {
      const Path at = path / name;
      if (key == "status") {
        if (name == "allocated") ReadResources(reader, at, part, *queue.mutable_allocated());
        if (name == "requested") ReadResources(reader, at, part, *queue.mutable_requested());
      } else if (name == "parentQueue") {
        queue.set_parent(std::string(reader.String(at, part)));
      } else if (name == "displayName") {
        queue.set_display_name(std::string(reader.String(at, part)));
      } else if (name == "priority") {
        queue.set_priority(reader.OptionalInt32(at, part).value_or(kDefaultPriority));
      } else if (name == "resources") {
        ReadKaiResources(reader, at, part, queue);
      }
    });
  });
  FillMeta(envelope.meta, *queue.mutable_meta());
}

}  // namespace basalt::gateway
