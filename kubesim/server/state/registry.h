#pragma once

// Which kinds are served: the core kinds and those of custom resource definitions, which come and go. Not thread-safe:
// one loop. Order of iteration is by (group, version, plural).
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
  // Replaces a type of the same group, version and plural. The first version added with `storage` set is the one that
  // stored objects carry.
  void Add(TypeInfoPtr type);
  // All versions of one resource, "jobs.batch.volcano.sh".
  void Remove(std::string_view resource);

  TypeInfoPtr Find(std::string_view group, std::string_view version, std::string_view plural) const;
  TypeInfoPtr FindKind(std::string_view api_version, std::string_view kind) const;
  // The version in which objects of the resource are stored.
  TypeInfoPtr Storage(std::string_view resource) const;

  // Grows with every change.
  uint64_t changes() const { return changes_; }
  std::vector<TypeInfoPtr> All() const;
  // One per resource.
  std::vector<TypeInfoPtr> AllStorage() const;
  // Versions of a group, best first; empty = no such group.
  std::vector<std::string> Versions(std::string_view group) const;
  std::vector<std::string> Groups() const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, TypeInfoPtr> types_;
  std::map<std::string, TypeInfoPtr, std::less<>> storage_;
  uint64_t changes_ = 0;
};

// Orders v1 before v1beta1 before v1alpha1; others by name. True when `a` comes first.
bool VersionBefore(std::string_view a, std::string_view b);

}  // namespace basalt::kubesim
