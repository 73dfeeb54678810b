#include "kubesim/schema/apply/field_set.h"

#include <fmt/format.h>

namespace basalt::kubesim {

const FieldSet* FieldSet::Find(std::string_view element) const {
  const auto found = children.find(element);
  return found == children.end() ? nullptr : &found->second;
}

void FieldSet::Add(const FieldSet& other) {
  member |= other.member;
  for (const auto& [element, child] : other.children) children[element].Add(child);
}

void FieldSet::Remove(const FieldSet& other) {
  if (other.member) member = false;
  if (other.member && other.children.empty()) {
    children.clear();
    return;
  }
  for (const auto& [element, child] : other.children) {
    const auto found = children.find(element);
    if (found == children.end()) continue;
    found->second.Remove(child);
    if (found->second.empty()) children.erase(found);
  }
}

json::value ToFieldsV1(const FieldSet& set) {
  json::object out;
  if (set.member && !set.children.empty()) out["."] = json::object();
  for (const auto& [element, child] : set.children) out[element] = ToFieldsV1(child);
  return out;
}

namespace {

FieldSet Parse(const json::value& fields, bool root) {
  FieldSet set;
  const json::object* object = fields.if_object();
  if (object == nullptr) return set;
  set.member = object->empty() && !root;
  for (const auto& entry : *object) {
    if (entry.key() == ".") {
      set.member = true;
    } else {
      set.children.emplace(std::string(entry.key()), Parse(entry.value(), false));
    }
  }
  return set;
}

}  // namespace

FieldSet FromFieldsV1(const json::value& fields) { return Parse(fields, true); }

std::string ShowElement(std::string_view element) {
  const std::string_view kind = element.substr(0, 2);
  const std::string_view rest = element.substr(std::min<size_t>(2, element.size()));
  if (kind == "f:") return fmt::format(".{}", rest);
  if (kind == "v:") return fmt::format("[={}]", rest);
  const absl::StatusOr<json::value> keys = ParseJson(rest);
  if (!keys.ok() || !keys->is_object()) return fmt::format("[{}]", rest);
  std::string shown;
  for (const auto& key : keys->get_object()) {
    shown += fmt::format("{}{}={}", shown.empty() ? "" : ",", std::string(key.key()), ToText(key.value()));
  }
  return fmt::format("[{}]", shown);
}

}  // namespace basalt::kubesim
