#pragma once

// The walks over objects of which server-side apply consists. The type determines how lists and maps merge.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/apply/field_set.h"
#include "kubesim/schema/core/merge_keys.h"
#include "kubesim/schema/core/type_info.h"
#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {

// The place of a walk: a node of a custom schema, or a named member of a core kind. In every kind, metadata is a member
// of a core kind.
struct Place {
  const SchemaNode* node = nullptr;
  bool core = false;
  std::string_view parent;
  std::string_view field;
};

class ApplyWalk {
 public:
  // `type` must outlive the walk.
  explicit ApplyWalk(const TypeInfo& type) : type_(type) {}

  // Collects all fields that `value` sets. INVALID_ARGUMENT if an item of a keyed list lacks a key, or stands twice.
  absl::Status Collect(const json::value& value, FieldSet& set) const { return CollectAt(value, Root(), set); }
  // Merges `applied` into `live`.
  void Merge(json::value& live, const json::value& applied) const { MergeAt(live, applied, Root()); }
  // Removes from `value` the fields that are in `mine` and not in `kept`.
  void Drop(json::value& value, const FieldSet& mine, const FieldSet& kept) const {
    DropAt(value, Root(), mine, &kept);
  }
  // Adds to `out` the fields that both sets have and that differ between the two objects.
  void Differing(const FieldSet& a, const FieldSet& b, const json::value& live, const json::value& applied,
                 FieldSet& out) const {
    DifferingAt(a, b, live, applied, Root(), out);
  }
  // Compares one member of the root. Adds the fields that are new or different in `next` to `changed`, and the fields
  // that only `live` has to `removed`. A pointer is null if the member is absent.
  void CompareMember(std::string_view name, const json::value* live, const json::value* next, FieldSet& changed,
                     FieldSet& removed) const;

 private:
  Place Root() const;
  Place Member(const Place& place, std::string_view name) const;
  Place Item(const Place& place) const;
  MergeRule Rule(const Place& place) const;
  bool IsAtomicMap(const Place& place) const;
  // Returns the element that names an item of a list. Nullopt if the item lacks a key.
  std::optional<std::string> Name(const json::value& item, const MergeRule& rule, const Place& list) const;
  // Returns the names of all items. Nullopt if an item has no name or two names are equal.
  std::optional<std::vector<std::string>> Names(const json::array& items, const MergeRule& rule,
                                                const Place& list) const;

  absl::Status CollectAt(const json::value& value, const Place& place, FieldSet& set) const;
  void MergeAt(json::value& live, const json::value& applied, const Place& place) const;
  void DropAt(json::value& value, const Place& place, const FieldSet& mine, const FieldSet* kept) const;
  void DifferingAt(const FieldSet& a, const FieldSet& b, const json::value& live, const json::value& applied,
                   const Place& place, FieldSet& out) const;
  void CompareAt(const json::value& live, const json::value& next, const Place& place, FieldSet& changed,
                 FieldSet& removed) const;
  void CompareChild(const std::string& element, const json::value* live, const json::value* next, const Place& below,
                    FieldSet& changed, FieldSet& removed) const;

  const TypeInfo& type_;
};

}  // namespace basalt::kubesim
