#include "kubesim/schema/apply/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/apply/apply_walk.h"
#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

struct Manager {
  std::string name;
  std::string operation;
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;
};

std::vector<Manager> Decode(const json::value* object) {
  std::vector<Manager> managers;
  const json::value* list = object == nullptr ? nullptr : FindPath(*object, {"metadata", "managedFields"});
  if (list == nullptr || !list->is_array()) return managers;
  for (const json::value& entry : list->get_array()) {
    Manager manager{std::string(FindString(entry, "manager")),    std::string(FindString(entry, "operation")),
                    std::string(FindString(entry, "apiVersion")), std::string(FindString(entry, "subresource")),
                    std::string(FindString(entry, "time")),       {}};
    if (const json::value* fields = Find(entry, "fieldsV1")) manager.fields = FromFieldsV1(*fields);
    if (!manager.fields.empty()) managers.push_back(std::move(manager));
  }
  return managers;
}

void Encode(std::vector<Manager> managers, json::value& object) {
  std::erase_if(managers, [](const Manager& manager) { return manager.fields.empty(); });
  const auto order = [](const Manager& m) {
    return std::tie(m.operation, m.time, m.name, m.api_version, m.subresource);
  };
  std::stable_sort(managers.begin(), managers.end(),
                   [&](const Manager& a, const Manager& b) { return order(a) < order(b); });
  json::array list;
  for (const Manager& manager : managers) {
    json::object entry{
        {"manager", manager.name}, {"operation", manager.operation}, {"apiVersion", manager.api_version}};
    if (!manager.time.empty()) entry["time"] = manager.time;
    entry["fieldsType"] = "FieldsV1";
    entry["fieldsV1"] = ToFieldsV1(manager.fields);
    if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
    list.push_back(std::move(entry));
  }
  json::object& root = object.is_object() ? object.get_object() : object.emplace_object();
  json::value& metadata = root["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  if (list.empty()) {
    metadata.get_object().erase("managedFields");
  } else {
    metadata.get_object()["managedFields"] = std::move(list);
  }
}

// Returns the object without the members that belong to the server, which no manager owns.
json::value Stripped(const json::value& object) {
  json::value out = object;
  json::object* root = out.if_object();
  if (root == nullptr) return json::object();
  root->erase("apiVersion");
  root->erase("kind");
  json::value* metadata = root->if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return out;
  for (const char* name :
       {"name", "namespace", "generateName", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "selfLink", "uid", "generation", "managedFields", "resourceVersion"}) {
    metadata->get_object().erase(name);
  }
  if (metadata->get_object().empty()) root->erase("metadata");
  return out;
}

// Compares objects member by member, since objects are large and most of their members are the same.
void CompareOwned(const ApplyWalk& walk, const json::value* live, const json::value& next, FieldSet& changed,
                  FieldSet& removed) {
  const auto metadata = [](const json::value* object) -> json::value {
    const json::value* found = object == nullptr ? nullptr : Find(*object, "metadata");
    return found == nullptr ? json::value(json::object()) : Stripped(json::object{{"metadata", *found}});
  };
  const json::value old_metadata = metadata(live);
  const json::value new_metadata = metadata(&next);
  walk.CompareMember("metadata", Find(old_metadata, "metadata"), Find(new_metadata, "metadata"), changed, removed);
  const auto visit = [&](const json::value& object, bool only_gone) {
    if (!object.is_object()) return;
    for (const auto& member : object.get_object()) {
      const std::string_view name(member.key().data(), member.key().size());
      if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
      const json::value* now = Find(next, name);
      if (only_gone && now != nullptr) continue;
      walk.CompareMember(name, live == nullptr ? nullptr : Find(*live, name), now, changed, removed);
    }
  };
  visit(next, false);
  if (live != nullptr) visit(*live, true);
}

// Returns the part of an applied object that this endpoint writes.
json::value Relevant(const json::value& applied, const TypeInfo& type, std::string_view subresource) {
  json::value out = Stripped(applied);
  DropNulls(out);
  json::object& root = out.get_object();
  if (subresource.empty()) {
    if (type.has_status) root.erase("status");
    return out;
  }
  json::object only;
  if (const json::value* part = root.if_contains(subresource)) {
    only[subresource] = *part;
  }
  return only;
}

std::string ShowManager(const Manager& manager) {
  std::string shown = fmt::format("\"{}\"", manager.name);
  if (!manager.subresource.empty()) shown += fmt::format(" with subresource \"{}\"", manager.subresource);
  if (manager.operation != "Update") return shown;
  return shown + " using " + manager.api_version;
}

void ListPaths(const FieldSet& set, const std::string& path, const std::string& manager, std::vector<Conflict>* out) {
  if (set.member) out->push_back({manager, path});
  for (const auto& [element, child] : set.children) ListPaths(child, path + ShowElement(element), manager, out);
}

bool SameButManagers(const json::value& a, const json::value& b) {
  const auto bare = [](json::value value) {
    json::object* root = value.if_object();
    json::value* metadata = root == nullptr ? nullptr : root->if_contains("metadata");
    if (metadata != nullptr && metadata->is_object()) metadata->get_object().erase("managedFields");
    return value;
  };
  return bare(a) == bare(b);
}

Manager& FindOrAdd(std::vector<Manager>& managers, std::string_view name, std::string_view operation,
                   const TypeInfo& type, std::string_view subresource) {
  for (Manager& manager : managers) {
    const bool same_version = operation == "Apply" || manager.api_version == type.ApiVersion();
    if (manager.name == name && manager.operation == operation && manager.subresource == subresource && same_version) {
      return manager;
    }
  }
  managers.push_back({std::string(name), std::string(operation), type.ApiVersion(), std::string(subresource), "", {}});
  return managers.back();
}

}  // namespace

absl::StatusOr<ApplyResult> ServerSideApply(const json::value* live, const json::value& applied,
                                            std::string_view manager, bool force, const TypeInfo& type,
                                            std::string_view subresource, std::string_view now_rfc3339,
                                            std::vector<Conflict>* conflicts) {
  if (!applied.is_object()) return Invalid("an applied configuration must be an object");
  if (manager.empty()) return Invalid("fieldManager: Required value: is required for apply patch");
  if (const json::value* given = FindPath(applied, {"metadata", "managedFields"});
      given != nullptr && given->is_array() && !given->get_array().empty()) {
    return Invalid("metadata.managedFields must be nil");
  }
  const ApplyWalk walk(type);
  const json::value wanted = Relevant(applied, type, subresource);
  FieldSet mine;
  BASALT_RETURN_IF_ERROR(walk.Collect(wanted, mine));
  if (wanted.get_object().empty()) mine = FieldSet();

  std::vector<Manager> managers = Decode(live);
  Manager& own = FindOrAdd(managers, manager, "Apply", type, subresource);
  const FieldSet before = own.fields;
  const json::value empty = json::object();
  std::vector<Conflict> found;
  for (Manager& other : managers) {
    if (&other == &own || live == nullptr) continue;
    FieldSet differing;
    walk.Differing(mine, other.fields, *live, wanted, differing);
    if (differing.empty()) continue;
    if (force) {
      other.fields.Remove(differing);
    } else {
      ListPaths(differing, "", ShowManager(other), &found);
    }
  }
  if (!found.empty()) {
    const std::string message = ConflictMessage(found);
    if (conflicts != nullptr) *conflicts = std::move(found);
    return MakeStatus(absl::StatusCode::kAborted, message);
  }

  // A create begins with the whole applied object, since `wanted` lacks apiVersion, kind and name.
  ApplyResult result{live != nullptr ? *live : applied};
  if (live == nullptr) {
    DropNulls(result.object);
    if (type.has_status && subresource.empty()) result.object.get_object().erase("status");
  } else {
    walk.Merge(result.object, wanted);
    FieldSet kept = mine;
    for (const Manager& other : managers) {
      if (&other != &own) kept.Add(other.fields);
    }
    walk.Drop(result.object, before, kept);
  }
  const bool unchanged = live != nullptr && SameButManagers(*live, result.object);
  if (unchanged && before == mine) return result;
  own.fields = std::move(mine);
  own.api_version = type.ApiVersion();
  // An apply that only becomes co-owner of unchanged fields does not set the time.
  if (!unchanged) own.time = now_rfc3339;
  Encode(std::move(managers), result.object);
  return result;
}

void UpdateManagedFields(const json::value* live, json::value& next, std::string_view manager, const TypeInfo& type,
                         std::string_view subresource, std::string_view now_rfc3339) {
  const json::value* given = FindPath(next, {"metadata", "managedFields"});
  const bool reset = given != nullptr && given->is_array() &&
                     (given->get_array().empty() ||
                      (given->get_array().size() == 1 && given->get_array()[0] == json::value(json::object())));
  std::vector<Manager> managers;
  if (!reset || live == nullptr) {
    managers = Decode(&next);
    if (managers.empty()) managers = Decode(live);
  }
  FieldSet changed;
  FieldSet removed;
  const ApplyWalk walk(type);
  CompareOwned(walk, live, next, changed, removed);
  if (reset && live != nullptr) {
    Encode({}, next);
    return;
  }
  for (Manager& other : managers) {
    if (!removed.empty()) other.fields.Remove(removed);
  }
  if (!changed.empty()) {
    Manager& own = FindOrAdd(managers, manager, "Update", type, subresource);
    for (Manager& other : managers) {
      if (&other != &own) other.fields.Remove(changed);
    }
    own.fields.Add(changed);
    own.time = now_rfc3339;
  }
  Encode(std::move(managers), next);
}

std::string ConflictMessage(const std::vector<Conflict>& conflicts) {
  if (conflicts.size() == 1) {
    return fmt::format("Apply failed with 1 conflict: conflict with {}: {}", conflicts[0].manager, conflicts[0].field);
  }
  std::string message = fmt::format("Apply failed with {} conflicts:", conflicts.size());
  std::string_view last;
  for (const Conflict& conflict : conflicts) {
    if (conflict.manager != last) {
      message += fmt::format("{}conflicts with {}:", last.empty() ? " " : "\n", conflict.manager);
    }
    last = conflict.manager;
    message += "\n- " + conflict.field;
  }
  return message;
}

}  // namespace basalt::kubesim
