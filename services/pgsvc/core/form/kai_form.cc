#include "services/pgsvc/core/form/kai_form.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kSubGroups = "subGroups";
constexpr std::string_view kMinMember = "minMember";
constexpr std::string_view kMinSubGroup = "minSubGroup";

bool KnowsMinSubGroup(const SpecSchema& schema) { return schema.Knows({kMinSubGroup}); }
bool KnowsMinSubGroupOfPart(const SpecSchema& schema) { return schema.Knows({kSubGroups, "items", kMinSubGroup}); }
int64_t LeastOfLeaf(const SpecSchema& schema) { return schema.LeastOf({kSubGroups, "items", kMinMember}); }

class Fitting {
 public:
  explicit Fitting(const SpecSchema& schema) : schema_(schema) {}

  void FitMinima(json::object& spec) {
    FitMinimum({.where = "the group",
                .name = "",
                .knows_sub_groups = KnowsMinSubGroup(schema_),
                .least = schema_.LeastOf({kMinMember})},
               spec, spec);
    json::value* const list = spec.if_contains(kSubGroups);
    if (list == nullptr || !list->is_array()) return;
    for (json::value& entry : list->get_array()) {
      const std::string name(FindString(entry, "name"));
      FitMinimum({.where = fmt::format("subgroup {}", name),
                  .name = name,
                  .knows_sub_groups = KnowsMinSubGroupOfPart(schema_),
                  .least = LeastOfLeaf(schema_)},
                 spec, entry.as_object());
    }
  }
  std::vector<std::string> TakeLosses() { return std::move(losses_); }

 private:
  // The group, or a subgroup of it.
  struct Part {
    std::string where;
    std::string_view name;  // The part whose children count; empty for the group itself.
    bool knows_sub_groups;  // The definition has a minimum of children.
    int64_t least;          // The least value that its minimum of pods may have.
  };

  void FitMinimum(const Part& part, const json::object& spec, json::object& object) {
    if (object.contains(kMinSubGroup) && !part.knows_sub_groups) {
      const int64_t wanted = FindInt(json::value(object), kMinSubGroup);
      const int64_t children = ChildrenOf(part.name, spec);
      object.stable_erase(kMinSubGroup);
      if (wanted < children) {
        losses_.push_back(
            fmt::format("{}: minSubGroup {} is not known to this cluster's definition of pod groups: all "
                        "{} subgroups are needed at once",
                        part.where, wanted, children));
      }
    }
    const auto minimum = object.find(kMinMember);
    if (minimum == object.end() || FindInt(json::value(object), kMinMember) >= part.least) return;
    losses_.push_back(
        fmt::format("{}: minMember {} is refused by this cluster's definition of pod groups, and left out", part.where,
                    FindInt(json::value(object), kMinMember)));
    object.stable_erase(minimum);
  }

  static int64_t ChildrenOf(std::string_view parent, const json::object& spec) {
    const json::value* const list = spec.if_contains(kSubGroups);
    if (list == nullptr || !list->is_array()) return 0;
    int64_t children = 0;
    for (const json::value& entry : list->get_array()) children += FindString(entry, "parent") == parent ? 1 : 0;
    return children;
  }

  const SpecSchema& schema_;
  std::vector<std::string> losses_;
};

}  // namespace

GroupForm GroupFormOf(const SpecSchema& schema) {
  return {.has_sub_group_minimum = KnowsMinSubGroup(schema), .has_optional_leaves = LeastOfLeaf(schema) <= 0};
}

std::vector<std::string> FitInto(const SpecSchema& schema, json::object& spec) {
  Fitting fitting(schema);
  fitting.FitMinima(spec);
  std::vector<std::string> losses = fitting.TakeLosses();
  for (std::string& loss : schema.Prune(spec)) losses.push_back(std::move(loss));
  return losses;
}

}  // namespace basalt::pgsvc
