#include "kubesim/server/state/registry.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace basalt::kubesim {
namespace {

struct VersionRank {
  int stability = 0;  // 3 for GA, 2 for beta, 1 for alpha, 0 for any other name.
  int major = 0;
  int minor = 0;
  auto operator<=>(const VersionRank&) const = default;
};

int TakeNumber(std::string_view& text) {
  int number = 0;
  while (!text.empty() && isdigit(static_cast<unsigned char>(text.front())) != 0) {
    number = number * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  return number;
}

VersionRank Rank(std::string_view text) {
  VersionRank rank;
  if (text.size() < 2 || text.front() != 'v') return rank;
  text.remove_prefix(1);
  rank.major = TakeNumber(text);
  if (rank.major == 0) return {};
  rank.stability = 3;
  if (text.starts_with("alpha")) {
    rank.stability = 1;
    text.remove_prefix(5);
  } else if (text.starts_with("beta")) {
    rank.stability = 2;
    text.remove_prefix(4);
  } else if (!text.empty()) {
    return {};
  }
  rank.minor = TakeNumber(text);
  return rank;
}

}  // namespace

bool VersionBefore(std::string_view a, std::string_view b) {
  const VersionRank left = Rank(a);
  const VersionRank right = Rank(b);
  return left == right ? a < b : right < left;
}

void Registry::Add(TypeInfoPtr type) {
  ++changes_;
  const std::string resource = type->Resource();
  if (type->storage) storage_[resource] = type;
  types_[{type->group, type->version, type->plural}] = std::move(type);
}

void Registry::Remove(std::string_view resource) {
  ++changes_;
  std::erase_if(types_, [&](const auto& entry) { return entry.second->Resource() == resource; });
  if (const auto found = storage_.find(resource); found != storage_.end()) storage_.erase(found);
}

TypeInfoPtr Registry::Find(std::string_view group, std::string_view version, std::string_view plural) const {
  const auto found = types_.find({std::string(group), std::string(version), std::string(plural)});
  return found == types_.end() ? nullptr : found->second;
}

TypeInfoPtr Registry::FindKind(std::string_view api_version, std::string_view kind) const {
  for (const auto& [key, type] : types_) {
    if (type->kind == kind && type->ApiVersion() == api_version) return type;
  }
  return nullptr;
}

TypeInfoPtr Registry::Storage(std::string_view resource) const {
  const auto found = storage_.find(resource);
  return found == storage_.end() ? nullptr : found->second;
}

std::vector<TypeInfoPtr> Registry::All() const {
  std::vector<TypeInfoPtr> all;
  for (const auto& [key, type] : types_) all.push_back(type);
  return all;
}

std::vector<TypeInfoPtr> Registry::AllStorage() const {
  std::vector<TypeInfoPtr> all;
  for (const auto& [resource, type] : storage_) all.push_back(type);
  return all;
}

std::vector<std::string> Registry::Versions(std::string_view group) const {
  std::set<std::string> unique;
  for (const auto& [key, type] : types_) {
    if (type->group == group) unique.insert(type->version);
  }
  std::vector<std::string> versions(unique.begin(), unique.end());
  std::sort(versions.begin(), versions.end(), VersionBefore);
  return versions;
}

std::vector<std::string> Registry::Groups() const {
  std::set<std::string> unique;
  for (const auto& [key, type] : types_) unique.insert(type->group);
  return {unique.begin(), unique.end()};
}

}  // namespace basalt::kubesim
