#pragma once

// The walks over objects that server-side apply consists of. They know from the type how lists and maps merge.
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

// Where a walk is: a node of a custom schema, or a named member of a core kind (metadata is one in every kind).
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

  // All fields that `value` sets. INVALID_ARGUMENT: an item of a keyed list lacks a key, or stands twice.
  absl::Status Collect(const json::value& value, FieldSet& set) const { return CollectAt(value, Root(), set); }
  // Lays `applied` over `live`.
  void Merge(json::value& live, const json::value& applied) const { MergeAt(live, applied, Root()); }
  // Takes out of `value` what `mine` names and `kept` does not.
  void Drop(json::value& value, const FieldSet& mine, const FieldSet& kept) const {
    DropAt(value, Root(), mine, &kept);
  }
  // Paths that both sets have and that differ between the two objects.
  void Differing(const FieldSet& a, const FieldSet& b, const json::value& live, const json::value& applied,
                 FieldSet& out) const {
    DifferingAt(a, b, live, applied, Root(), out);
  }
  // What `next` has anew or otherwise, and what only `live` has, in one member of the root; null where it is absent.
  void CompareMember(std::string_view name, const json::value* live, const json::value* next, FieldSet& changed,
                     FieldSet& removed) const;

 private:
  Place Root() const;
  Place Member(const Place& place, std::string_view name) const;
  Place Item(const Place& place) const;
  MergeRule Rule(const Place& place) const;
  bool IsAtomicMap(const Place& place) const;
  // The element that names an item of a list, or nothing when it lacks a key.
  std::optional<std::string> Name(const json::value& item, const MergeRule& rule, const Place& list) const;
  // Names of all items; nothing when one has none or two are equal.
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
