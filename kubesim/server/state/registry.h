#pragma once

// The kinds that are served: the core kinds, and those of custom resource definitions, which come and go. Not
// thread-safe: one loop. The order of iteration is (group, version, plural).
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

class Registry {
 public:
  // Adds a type, or replaces the one of the same group, version and plural. Objects are stored in the first version
  // that is added with `storage` set.
  void Add(TypeInfoPtr type);
  // Removes all versions of one resource, such as "jobs.batch.volcano.sh".
  void Remove(std::string_view resource);

  TypeInfoPtr Find(std::string_view group, std::string_view version, std::string_view plural) const;
  TypeInfoPtr FindKind(std::string_view api_version, std::string_view kind) const;
  // Returns the version in which objects of the resource are stored.
  TypeInfoPtr Storage(std::string_view resource) const;

  // The number of changes so far.
  uint64_t changes() const { return changes_; }
  std::vector<TypeInfoPtr> All() const;
  // Returns the stored version of each resource.
  std::vector<TypeInfoPtr> AllStorage() const;
  // Returns the versions of a group, best first. Empty if there is no such group.
  std::vector<std::string> Versions(std::string_view group) const;
  std::vector<std::string> Groups() const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, TypeInfoPtr> types_;
  std::map<std::string, TypeInfoPtr, std::less<>> storage_;
  uint64_t changes_ = 0;
};

// Returns whether version `a` comes before `b`: v1 before v1beta1 before v1alpha1, and others by name.
bool VersionBefore(std::string_view a, std::string_view b);

}  // namespace basalt::kubesim
