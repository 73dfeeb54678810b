#include "kubesim/schema/table/cell_values.h"

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

json::value AgeCell(const json::value* time, absl::Time now) {
  if (time == nullptr || !time->is_string()) return "<unknown>";
  absl::Time at;
  const json::string& text = time->get_string();
  if (!absl::ParseTime(absl::RFC3339_full, ToAbsl({text.data(), text.size()}), &at, nullptr)) return "<invalid>";
  return json::value(HumanDuration(now - at));
}

}  // namespace basalt::kubesim
