#pragma once

// Sets of fields in the form of managedFields (FieldsV1). A plain value.
#include <map>
#include <string>
#include <string_view>

#include "common/base/json.h"

namespace basalt::kubesim {

// A trie over path elements in their wire form: "f:<member>", "k:{<keys of a list item>}", "v:<value of a set>".
struct FieldSet {
  bool member = false;  // The place itself belongs to the set, not only the places below.
  std::map<std::string, FieldSet, std::less<>> children;

  bool empty() const { return !member && children.empty(); }
  const FieldSet* Find(std::string_view element) const;
  void Add(const FieldSet& other);
  // Removes the members of `other`. If a member of `other` has no children, everything below is removed as well.
  void Remove(const FieldSet& other);

  bool operator==(const FieldSet& other) const = default;
};

json::value ToFieldsV1(const FieldSet& set);
FieldSet FromFieldsV1(const json::value& fields);

// Returns one element in the form of messages, in which a path looks like ".spec.containers[name=\"a\"].image".
std::string ShowElement(std::string_view element);

}  // namespace basalt::kubesim
