#include "kubesim/schema/apply/apply_walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kAtomicMaps[] = {"selector",         "labelSelector", "podSelector",     "namespaceSelector",
                                            "nodeSelector",     "secretKeyRef",  "configMapKeyRef", "fieldRef",
                                            "resourceFieldRef", "claimRef",      "involvedObject",  "scaleTargetRef"};

// Members that a typed object always has, though perhaps empty, so that no manager adds them.
constexpr std::string_view kAlwaysThere[] = {"metadata",     "spec",       "status",         "template", "jobTemplate",
                                             "loadBalancer", "containers", "updateStrategy", "strategy", "resources"};

// Makes the places of maps and lists members of the set: the manager that adds one owns the place, too, not only its
// content.
void OwnPlaces(FieldSet& set, std::string_view element, bool core) {
  if (set.children.empty()) return;
  const bool always =
      core && element.substr(0, 2) == "f:" &&
      std::find(std::begin(kAlwaysThere), std::end(kAlwaysThere), element.substr(2)) != std::end(kAlwaysThere);
  if (!always) set.member = true;
  for (auto& [below, child] : set.children) OwnPlaces(child, below, core);
}

std::string_view View(json::string_view text) { return {text.data(), text.size()}; }
std::string FieldElement(std::string_view name) { return fmt::format("f:{}", name); }

bool IsEmptyContainer(const json::value& value) {
  return (value.is_object() && value.get_object().empty()) || (value.is_array() && value.get_array().empty());
}

// Returns the value that an element names below `value`. Null if there is none.
const json::value* FieldOf(const json::value& value, std::string_view element) {
  return element.substr(0, 2) == "f:" ? Find(value, element.substr(2)) : nullptr;
}

}  // namespace

Place ApplyWalk::Root() const {
  if (type_.schema != nullptr) return {&type_.schema->root(), false, "", ""};
  return {nullptr, type_.builtin, "", ""};
}

Place ApplyWalk::Member(const Place& place, std::string_view name) const {
  if (place.core) return {nullptr, true, place.field, name};
  const bool root = type_.schema != nullptr && place.node == &type_.schema->root();
  if (root && name == "metadata") return {nullptr, true, "", name};
  if (place.node == nullptr) return {};
  if (const auto found = place.node->properties.find(name); found != place.node->properties.end()) {
    return {found->second.get(), false, "", name};
  }
  return {place.node->additional.get(), false, "", name};
}

Place ApplyWalk::Item(const Place& place) const {
  if (place.core) return {nullptr, true, place.field, place.field};
  return {place.node == nullptr ? nullptr : place.node->items.get(), false, "", ""};
}

MergeRule ApplyWalk::Rule(const Place& place) const {
  if (place.core) return ApplyRule(type_.kind, place.parent, place.field);
  if (place.node == nullptr) return {};
  return {place.node->list_type, place.node->list_keys};
}

bool ApplyWalk::IsAtomicMap(const Place& place) const {
  if (place.core)
    return std::find(std::begin(kAtomicMaps), std::end(kAtomicMaps), place.field) != std::end(kAtomicMaps);
  return place.node != nullptr && place.node->atomic_map;
}

std::optional<std::string> ApplyWalk::Name(const json::value& item, const MergeRule& rule, const Place& list) const {
  if (rule.type == ListType::kSet) return "v:" + ToText(item);
  std::vector<std::string> keys = rule.keys;
  std::sort(keys.begin(), keys.end());
  json::object identity;
  for (const std::string& key : keys) {
    if (const json::value* found = Find(item, key)) {
      identity[key] = *found;
      continue;
    }
    if (list.core && key == "protocol") {
      identity[key] = "TCP";
      continue;
    }
    const SchemaNode* node = list.node == nullptr ? nullptr : list.node->items.get();
    const auto property = node == nullptr ? decltype(node->properties.end())() : node->properties.find(key);
    if (node == nullptr || property == node->properties.end() || !property->second->default_value) return std::nullopt;
    identity[key] = *property->second->default_value;
  }
  return "k:" + ToText(identity);
}

std::optional<std::vector<std::string>> ApplyWalk::Names(const json::array& items, const MergeRule& rule,
                                                         const Place& list) const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const json::value& item : items) {
    std::optional<std::string> name = Name(item, rule, list);
    if (!name || !seen.insert(*name).second) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

absl::Status ApplyWalk::CollectAt(const json::value& value, const Place& place, FieldSet& set) const {
  if (IsEmptyContainer(value)) {
    set.member = true;
    return absl::OkStatus();
  }
  if (value.is_object() && !IsAtomicMap(place)) {
    for (const auto& entry : value.get_object()) {
      const std::string_view name = View(entry.key());
      BASALT_RETURN_IF_ERROR(CollectAt(entry.value(), Member(place, name), set.children[FieldElement(name)]));
    }
    return absl::OkStatus();
  }
  const MergeRule rule = value.is_array() ? Rule(place) : MergeRule();
  if (rule.type == ListType::kAtomic) {
    set.member = true;
    return absl::OkStatus();
  }
  const json::array& items = value.get_array();
  const std::optional<std::vector<std::string>> names = Names(items, rule, place);
  if (!names) {
    return Invalid(
        fmt::format(".{}: associative list with an element that lacks a key field or stands twice "
                    "(keys: {})",
                    place.field, fmt::join(rule.keys, ", ")));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    FieldSet& child = set.children[(*names)[i]];
    if (rule.type == ListType::kMap) BASALT_RETURN_IF_ERROR(CollectAt(items[i], Item(place), child));
    child.member = true;
  }
  return absl::OkStatus();
}

void ApplyWalk::MergeAt(json::value& live, const json::value& applied, const Place& place) const {
  if (applied.is_object() && live.is_object() && !IsAtomicMap(place)) {
    for (const auto& entry : applied.get_object()) {
      if (json::value* found = live.get_object().if_contains(entry.key())) {
        MergeAt(*found, entry.value(), Member(place, View(entry.key())));
      } else {
        live.get_object()[entry.key()] = entry.value();
      }
    }
    return;
  }
  const MergeRule rule = applied.is_array() && live.is_array() ? Rule(place) : MergeRule();
  if (rule.type == ListType::kAtomic) {
    live = applied;
    return;
  }
  json::array& items = live.get_array();
  for (const json::value& item : applied.get_array()) {
    const std::optional<std::string> name = Name(item, rule, place);
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const json::value& other) { return Name(other, rule, place) == name; });
    if (found == items.end()) {
      items.push_back(item);
    } else if (rule.type == ListType::kMap) {
      MergeAt(*found, item, Item(place));
    }
  }
}

void ApplyWalk::DropAt(json::value& value, const Place& place, const FieldSet& mine, const FieldSet* kept) const {
  // Removes the fields below a child. Returns true if the child itself is to be removed, too.
  const auto drops = [&](const std::string& element, const FieldSet& child, json::value& at, const Place& below) {
    const FieldSet* keeper = kept == nullptr ? nullptr : kept->Find(element);
    if (keeper == nullptr && child.member) return true;
    if (child.children.empty()) return false;
    const bool was_empty = IsEmptyContainer(at);
    DropAt(at, below, child, keeper);
    // A map that lost its last field goes, too, since no manager has applied an empty one.
    return keeper == nullptr && !was_empty && IsEmptyContainer(at);
  };
  if (json::object* object = value.if_object()) {
    for (const auto& [element, child] : mine.children) {
      const std::string_view name = std::string_view(element).substr(2);
      json::value* found = object->if_contains(name);
      if (found != nullptr && drops(element, child, *found, Member(place, name))) {
        object->erase(name);
      }
    }
    return;
  }
  json::array* array = value.if_array();
  const MergeRule rule = array == nullptr ? MergeRule() : Rule(place);
  if (rule.type == ListType::kAtomic) return;
  json::array left;
  for (json::value& item : *array) {
    const std::optional<std::string> name = Name(item, rule, place);
    const FieldSet* child = name ? mine.Find(*name) : nullptr;
    if (child != nullptr && drops(*name, *child, item, Item(place))) continue;
    left.push_back(std::move(item));
  }
  *array = std::move(left);
}

void ApplyWalk::DifferingAt(const FieldSet& a, const FieldSet& b, const json::value& live, const json::value& applied,
                            const Place& place, FieldSet& out) const {
  for (const auto& [element, child] : a.children) {
    const FieldSet* other = b.Find(element);
    if (other == nullptr) continue;
    const json::value* old = FieldOf(live, element);
    const json::value* now = FieldOf(applied, element);
    Place below = Member(place, std::string_view(element).substr(2));
    if (old == nullptr && live.is_array() && applied.is_array()) {
      below = Item(place);
      const MergeRule rule = Rule(place);
      const auto find = [&, &element = element](const json::array& items) -> const json::value* {
        for (const json::value& item : items) {
          if (Name(item, rule, place) == element) return &item;
        }
        return nullptr;
      };
      old = find(live.get_array());
      now = find(applied.get_array());
    }
    if (old == nullptr || now == nullptr) continue;
    if (child.member && child.children.empty() && (other->member || !other->children.empty()) && *old != *now) {
      // An empty map or list that is applied is no conflict with another manager's non-empty one: the merge keeps that.
      if (!(IsEmptyContainer(*now) && !other->children.empty())) out.children[element].member = true;
      continue;
    }
    FieldSet found;
    DifferingAt(child, *other, *old, *now, below, found);
    if (!found.empty()) out.children[element] = std::move(found);
  }
}

void ApplyWalk::CompareMember(std::string_view name, const json::value* live, const json::value* next,
                              FieldSet& changed, FieldSet& removed) const {
  CompareChild(FieldElement(name), live, next, Member(Root(), name), changed, removed);
}

void ApplyWalk::CompareChild(const std::string& element, const json::value* live, const json::value* next,
                             const Place& below, FieldSet& changed, FieldSet& removed) const {
  if (live == nullptr && next == nullptr) return;
  if (live != nullptr && next != nullptr && *live == *next) return;
  FieldSet more;
  FieldSet gone;
  if (next == nullptr) {
    gone.member = true;
  } else if (live == nullptr) {
    if (!CollectAt(*next, below, more).ok()) more = FieldSet{.member = true, .children = {}};
    OwnPlaces(more, element, below.core);
  } else {
    CompareAt(*live, *next, below, more, gone);
  }
  if (!more.empty()) changed.children[element] = std::move(more);
  if (!gone.empty()) removed.children[element] = std::move(gone);
}

void ApplyWalk::CompareAt(const json::value& live, const json::value& next, const Place& place, FieldSet& changed,
                          FieldSet& removed) const {
  const auto child = [&](const std::string& element, const json::value* old, const json::value* now,
                         const Place& below) { CompareChild(element, old, now, below, changed, removed); };
  if (live.is_object() && next.is_object() && !IsAtomicMap(place)) {
    for (const auto& entry : next.get_object()) {
      const std::string_view name = View(entry.key());
      child(FieldElement(name), Find(live, name), &entry.value(), Member(place, name));
    }
    for (const auto& entry : live.get_object()) {
      const std::string_view name = View(entry.key());
      if (Find(next, name) == nullptr) child(FieldElement(name), &entry.value(), nullptr, Member(place, name));
    }
    return;
  }
  const MergeRule rule = live.is_array() && next.is_array() ? Rule(place) : MergeRule();
  if (rule.type != ListType::kAtomic) {
    const auto old_names = Names(live.get_array(), rule, place);
    const auto new_names = Names(next.get_array(), rule, place);
    if (old_names && new_names) {
      std::map<std::string, std::pair<const json::value*, const json::value*>> items;
      for (size_t i = 0; i < old_names->size(); ++i) items[(*old_names)[i]].first = &live.get_array()[i];
      for (size_t i = 0; i < new_names->size(); ++i) items[(*new_names)[i]].second = &next.get_array()[i];
      for (const auto& [name, pair] : items) child(name, pair.first, pair.second, Item(place));
      return;
    }
  }
  changed.member = true;
}

}  // namespace basalt::kubesim
