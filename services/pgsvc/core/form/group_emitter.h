#pragma once

// How a group by the rules of all kinds is written for the scheduler that reads it (pod-grouper 11): one emitter for
// each form. An emitter decides nothing by itself; it is asked by one loop at a time.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "services/pgsvc/core/form/group_patch.h"
#include "services/pgsvc/core/form/spec_schema.h"
#include "services/pgsvc/core/group_update.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// A group as the rules want it, and pods of it by which a form may count.
struct GroupPlanOfPods {
  Grouping grouping;
  const kube::v1::Pod* pod = nullptr;                          // That says how the group is to be; never null.
  std::map<std::string, const kube::v1::Pod*> leaf_pods = {};  // The first one of each leaf; "": of none.
};

struct RenderedGroup {
  json::object object = {};              // Creates the group.
  std::vector<std::string> losses = {};  // What the form cannot express of the group, for people.
};

class GroupEmitter {
 public:
  virtual ~GroupEmitter() = default;

  virtual kube::GroupProfile profile() const = 0;
  virtual const kube::Kind& kind() const = 0;
  // By which the gateway tells of the groups.
  virtual std::string watch() const = 0;
  // Annotation by which a pod names its group.
  virtual std::string_view group_name_key() const = 0;
  // What rules have to know of the form.
  virtual GroupForm form() const { return {}; }
  // By which the gateway tells of the cluster's definition of the groups.
  virtual std::string_view definition_watch() const = 0;
  // That definition; null: there is none. Whether what is rendered may have changed by that.
  bool TakeDefinition(const json::value* definition);
  // A group says what its pods need.
  virtual bool counts_resources() const = 0;
  // A group without pods holds resources, and goes: pods that come have it made again.
  virtual bool drops_empty_groups() const = 0;

  // The group is one that rules of grouping have made, for whomever.
  virtual bool IsByRules(const ObservedGroup& observed) const = 0;
  // The group is one that grouping has made. Any other of that name is somebody else's, and left alone.
  virtual bool IsOurs(const ObservedGroup& observed, const Grouping& wanted) const = 0;
  // spec of the group, as JSON.
  virtual json::value SpecOf(const ObservedGroup& group) const = 0;
  virtual RenderedGroup Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const = 0;
  // Nullopt: nothing differs from what was rendered for that grouping.
  virtual std::optional<GroupUpdate> UpdateOf(const ObservedGroup& observed, const Grouping& wanted,
                                              const RenderedGroup& rendered) const = 0;
  // Creates the group anew as it was, but for its owners: for pods whose owner has left them behind.
  json::object OwnerlessObjectOf(const ObservedGroup& group) const;
  // Of these leaves, those that pods may name, as the group is now.
  virtual std::set<std::string> LeavesIn(const ObservedGroup& observed, const std::set<std::string>& leaves) const = 0;
  // How many pods have to be placeable together for the scheduler to place any.
  virtual int64_t LeastPodsOf(const Grouping& grouping) const = 0;

 protected:
  explicit GroupEmitter(SpecSchema schema) : schema_(std::move(schema)) {}
  // The schema of spec in the cluster's definition of the groups.
  const SpecSchema& schema() const { return schema_; }

 private:
  SpecSchema schema_;
};

// We have made the group: it has the annotation of GroupedFields.
bool IsMadeHere(const ObservedGroup& observed);

// The patch by which the pod names its group and subgroup, `sub_group` being empty where the pod belongs to none (8);
// nullopt: the pod names them. `key`: GroupEmitter::group_name_key.
std::optional<std::string> LinkPatchOf(const kube::v1::Pod& pod, std::string_view key, std::string_view group,
                                       std::string_view sub_group);

}  // namespace basalt::pgsvc
