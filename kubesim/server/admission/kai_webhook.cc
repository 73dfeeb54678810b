#include "kubesim/server/admission/kai_webhook.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/kube/kinds.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kMinMember = "minMember";
constexpr std::string_view kMinSubGroup = "minSubGroup";

class Check {
 public:
  explicit Check(KaiWrite write) : write_(write) {}

  std::vector<FieldError> Run(const json::value& spec) {
    CheckMinima(spec, "spec");
    const json::value* const list = Find(spec, "subGroups");
    if (list == nullptr || !list->is_array()) return std::move(errors_);
    for (const json::value& entry : list->get_array()) Add(entry);
    size_t index = 0;
    for (const json::value& entry : list->get_array()) CheckSubGroup(entry, fmt::format("spec.subGroups[{}]", index++));
    return std::move(errors_);
  }

 private:
  void Add(const json::value& entry) {
    const std::string name(FindString(entry, "name"));
    const std::string parent(FindString(entry, "parent"));
    if (!parents_.emplace(name, parent).second) Refuse("spec.subGroups", fmt::format("duplicate subgroup {}", name));
    if (!parent.empty()) has_children_.insert(parent);
  }

  void CheckMinima(const json::value& object, const std::string& field) {
    if (Find(object, kMinMember) != nullptr && Find(object, kMinSubGroup) != nullptr) {
      Refuse(field, "minMember and minSubGroup exclude each other");
    }
  }

  void CheckSubGroup(const json::value& entry, const std::string& field) {
    CheckMinima(entry, field);
    const std::string name(FindString(entry, "name"));
    const std::string& parent = parents_.at(name);
    if (!parent.empty() && !parents_.contains(parent)) Refuse(field + ".parent", fmt::format("no subgroup {}", parent));
    if (IsInCycle(name)) Refuse(field + ".parent", "the subgroups are a cycle");
    if (has_children_.contains(name)) {
      // In an update the webhook only warns about it.
      if (Find(entry, kMinMember) != nullptr && write_ == KaiWrite::kCreate) {
        Refuse(field, "a subgroup with children must not have minMember");
      }
      return;
    }
    if (Find(entry, kMinMember) == nullptr) Refuse(field, "a subgroup without children must have minMember");
    if (Find(entry, kMinSubGroup) != nullptr) Refuse(field, "a subgroup without children must not have minSubGroup");
  }

  bool IsInCycle(const std::string& name) const {
    std::set<std::string_view> seen;
    std::string_view at = name;
    while (!at.empty()) {
      if (!seen.insert(at).second) return true;
      const auto above = parents_.find(at);
      if (above == parents_.end()) return false;
      at = above->second;
    }
    return false;
  }

  void Refuse(std::string field, std::string message) {
    errors_.push_back({"FieldValueInvalid", std::move(field), std::move(message)});
  }

  KaiWrite write_;
  std::map<std::string, std::string, std::less<>> parents_;  // By name.
  std::set<std::string, std::less<>> has_children_;
  std::vector<FieldError> errors_;
};

}  // namespace

bool IsKaiPodGroup(const TypeInfo& type) { return kube::kKaiPodGroups.Is(type.group, type.plural); }

std::vector<FieldError> CheckKaiPodGroup(const json::value& object, KaiWrite write) {
  const json::value* const spec = Find(object, "spec");
  if (spec == nullptr) return {};
  return Check(write).Run(*spec);
}

}  // namespace basalt::kubesim
