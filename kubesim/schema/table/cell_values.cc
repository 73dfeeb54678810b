#include "kubesim/schema/table/cell_values.h"

#include <fmt/format.h>

#include <map>

#include "common/base/status.h"
#include "kubesim/schema/table/table.h"

namespace basalt::kubesim {

const json::array& ListAt(const json::value& object, MemberPath path) {
  static const json::array& empty = *new json::array();
  const json::value* found = FindPath(object, path);
  return found == nullptr || !found->is_array() ? empty : found->get_array();
}

json::value TextAt(const json::value& object, MemberPath path, const char* otherwise) {
  const json::value* found = FindPath(object, path);
  if (found == nullptr || found->is_null() || (found->is_string() && found->get_string().empty())) return otherwise;
  return found->is_string() ? *found : json::value(ToText(*found));
}

json::value NumberAt(const json::value& object, MemberPath path) {
  const json::value* found = FindPath(object, path);
  return found == nullptr || !found->is_number() ? json::value(0) : *found;
}

int64_t CountOf(const json::value& object, std::string_view name) {
  const json::value* found = Find(object, name);
  if (found == nullptr) return 0;
  if (found->is_object()) return static_cast<int64_t>(found->get_object().size());
  return found->is_array() ? static_cast<int64_t>(found->get_array().size()) : 0;
}

std::string Labels(const json::value* labels) {
  if (labels == nullptr || !labels->is_object() || labels->get_object().empty()) return "<none>";
  std::map<std::string, std::string> sorted;
  for (const auto& entry : labels->get_object()) {
    sorted[std::string(entry.key())] = entry.value().is_string() ? std::string(entry.value().get_string()) : "";
  }
  std::string out;
  for (const auto& [key, value] : sorted) out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value);
  return out;
}

std::string ContainerTexts(const json::value& object, std::string_view member) {
  std::string out;
  for (const json::value& container : ListAt(object, {"spec", "template", "spec", "containers"})) {
    out += fmt::format("{}{}", out.empty() ? "" : ",", FindString(container, member));
  }
  return out.empty() ? "<none>" : out;
}

json::value Ratio(const json::value& object, std::string_view ready, const json::value& wanted) {
  return json::value(fmt::format("{}/{}", ToText(NumberAt(object, {"status", ready})), ToText(wanted)));
}

json::value AgeCell(const json::value* time, absl::Time now) {
  if (time == nullptr || !time->is_string()) return "<unknown>";
  absl::Time at;
  const json::string& text = time->get_string();
  if (!absl::ParseTime(absl::RFC3339_full, ToAbsl({text.data(), text.size()}), &at, nullptr)) return "<invalid>";
  return json::value(HumanDuration(now - at));
}

}  // namespace basalt::kubesim
