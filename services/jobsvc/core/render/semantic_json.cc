#include "services/jobsvc/core/render/semantic_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "common/kube/resources/resources.h"

namespace basalt::jobsvc {
namespace {

// Maps and plain structs that mean nothing when empty. Other empty objects have a meaning: emptyDir: {} is a volume.
constexpr std::array<std::string_view, 9> kEmptyIsAbsent = {
    "annotations", "labels", "limits", "matchLabels", "metadata", "nodeSelector", "overhead", "requests", "resources"};
constexpr std::array<std::string_view, 4> kQuantities = {"capacity", "limits", "overhead", "requests"};

template <size_t N>
bool In(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Formats the quantity by its value alone: a sum has the form of its first operand, which is `one`.
json::value CanonicalQuantity(const json::value& value) {
  const auto quantity = kube::QuantityFromJson(value);
  if (!quantity.ok()) return value;
  const kube::Quantity one = kube::Quantity::OfInt(1);
  return json::value((one + *quantity - one).Text());
}

json::value Canonical(const json::value& value, std::string_view name, bool is_quantity);

// Sorts the members by name, and leaves out those that mean nothing.
json::value CanonicalObject(const json::object& object, std::string_view name) {
  std::map<std::string_view, json::value> members;
  for (const json::key_value_pair& member : object) {
    const std::string_view key(member.key().data(), member.key().size());
    json::value meant = Canonical(member.value(), key, In(kQuantities, name));
    if (!meant.is_null()) members.emplace(key, std::move(meant));
  }
  if (members.empty() && In(kEmptyIsAbsent, name)) return nullptr;
  json::object canonical;
  for (auto& [key, meant] : members) canonical.emplace(key, std::move(meant));
  return canonical;
}

// Null if the value means nothing.
json::value Canonical(const json::value& value, std::string_view name, bool is_quantity) {
  if (const json::array* const list = value.if_array(); list != nullptr) {
    if (list->empty()) return nullptr;
    json::array items;
    for (const json::value& item : *list) items.push_back(Canonical(item, {}, false));
    return items;
  }
  if (is_quantity || name == "sizeLimit") return value.is_null() ? value : CanonicalQuantity(value);
  return value.is_object() ? CanonicalObject(value.get_object(), name) : value;
}

}  // namespace

bool SemanticallyEqual(const json::value& a, const json::value& b) {
  return Canonical(a, {}, false) == Canonical(b, {}, false);
}

bool SemanticallyEqualTexts(const std::string& a, const std::string& b) {
  return a == b || CanonicalText(a) == CanonicalText(b);
}

std::string CanonicalText(const std::string& text) {
  const absl::StatusOr<json::value> parsed = ParseJson(text);
  return parsed.ok() ? ToText(Canonical(*parsed, {}, false)) : text;
}

}  // namespace basalt::jobsvc
