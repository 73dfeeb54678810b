#include "services/jobsvc/core/render/semantic_json.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/kube/resources/resources.h"

namespace basalt::jobsvc {
namespace {

// Maps and plain structs: an empty one is no statement. Other empty objects are: emptyDir: {} is a volume.
constexpr std::array<std::string_view, 9> kEmptyIsAbsent = {
    "annotations", "labels", "limits", "matchLabels", "metadata", "nodeSelector", "overhead", "requests", "resources"};
constexpr std::array<std::string_view, 4> kQuantities = {"capacity", "limits", "overhead", "requests"};

template <size_t N>
bool In(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsAbsent(const json::value* value, std::string_view name) {
  if (value == nullptr || value->is_null()) return true;
  if (value->is_array()) return value->get_array().empty();
  if (!value->is_object() || !In(kEmptyIsAbsent, name)) return false;
  const json::object& object = value->get_object();
  return std::all_of(object.begin(), object.end(), [](const json::key_value_pair& member) {
    return IsAbsent(&member.value(), std::string_view(member.key().data(), member.key().size()));
  });
}

bool SameQuantity(const json::value& a, const json::value& b) {
  const auto left = kube::QuantityFromJson(a);
  const auto right = kube::QuantityFromJson(b);
  return left.ok() && right.ok() && *left == *right;
}

bool Same(const json::value* a, const json::value* b, std::string_view name, bool quantity);

bool SameObjects(const json::object& a, const json::object& b, std::string_view name) {
  const bool quantities = In(kQuantities, name);
  const auto covers = [&](const json::object& from, const json::object& other) {
    return std::all_of(from.begin(), from.end(), [&](const json::key_value_pair& member) {
      const std::string_view key(member.key().data(), member.key().size());
      return Same(&member.value(), other.if_contains(member.key()), key, quantities);
    });
  };
  // The second walk finds only members that the first did not see.
  return covers(a, b) && std::all_of(b.begin(), b.end(), [&](const json::key_value_pair& member) {
           return a.contains(member.key()) ||
                  IsAbsent(&member.value(), std::string_view(member.key().data(), member.key().size()));
         });
}

bool Same(const json::value* a, const json::value* b, std::string_view name, bool quantity) {
  if (IsAbsent(a, name) || IsAbsent(b, name)) return IsAbsent(a, name) && IsAbsent(b, name);
  if (*a == *b) return true;
  if (quantity || name == "sizeLimit") return SameQuantity(*a, *b);
  if (a->is_object() && b->is_object()) return SameObjects(a->get_object(), b->get_object(), name);
  if (!a->is_array() || !b->is_array()) return false;
  const json::array& left = a->get_array();
  const json::array& right = b->get_array();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const json::value& x, const json::value& y) { return Same(&x, &y, {}, false); });
}

}  // namespace

bool SemanticallyEqual(const json::value& a, const json::value& b) { return Same(&a, &b, {}, false); }

bool SemanticallyEqualTexts(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a.empty() || b.empty()) return false;
  const absl::StatusOr<json::value> left = ParseJson(a);
  const absl::StatusOr<json::value> right = ParseJson(b);
  return left.ok() && right.ok() && SemanticallyEqual(*left, *right);
}

}  // namespace basalt::jobsvc
