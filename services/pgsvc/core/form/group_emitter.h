#pragma once

// How a group by the rules of all kinds is written for the scheduler that reads it (pod-grouper 11): one emitter for
// each form. An emitter decides nothing by itself. One loop at a time calls it.
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

// A group as the rules want it, with the pods from which a form may compute resources.
struct GroupPlanOfPods {
  Grouping grouping;
  // The pod that determines the group; never null.
  const kube::v1::Pod* pod = nullptr;
  // The first pod of each leaf; under "" the first that belongs to no leaf.
  std::map<std::string, const kube::v1::Pod*> leaf_pods = {};
};

struct RenderedGroup {
  json::object object = {};              // The object that creates the group.
  std::vector<std::string> losses = {};  // Texts for people about what the form cannot express.
};

class GroupEmitter {
 public:
  virtual ~GroupEmitter() = default;

  virtual kube::GroupProfile profile() const = 0;
  virtual const kube::Kind& kind() const = 0;
  // The watch through which the gateway sends the groups.
  virtual std::string watch() const = 0;
  // The annotation by which a pod names its group.
  virtual std::string_view group_name_key() const = 0;
  // The properties of the form that the rules depend on.
  virtual GroupForm form() const { return {}; }
  // The watch through which the gateway sends the cluster's definition of the groups.
  virtual std::string_view definition_watch() const = 0;
  // Sets that definition; null if there is none. Returns whether the next Render() may differ for this reason.
  bool TakeDefinition(const json::value* definition);
  // Whether a group states the resources that its pods need.
  virtual bool counts_resources() const = 0;
  // Whether a group without pods holds resources and is therefore deleted. New pods have the group made again.
  virtual bool drops_empty_groups() const = 0;

  // Whether rules of grouping have made the group, for this service or another one.
  virtual bool IsByRules(const ObservedGroup& observed) const = 0;
  // Whether grouping has made the group. Any other group of the name belongs to somebody else, and is left alone.
  virtual bool IsOurs(const ObservedGroup& observed, const Grouping& wanted) const = 0;
  // Returns spec of the group as JSON.
  virtual json::value SpecOf(const ObservedGroup& group) const = 0;
  virtual RenderedGroup Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const = 0;
  // Returns nullopt if the group does not differ from `rendered`, the result of Render() for `wanted`.
  virtual std::optional<GroupUpdate> UpdateOf(const ObservedGroup& observed, const Grouping& wanted,
                                              const RenderedGroup& rendered) const = 0;
  // Returns the group as it was, but without owners, to be created anew: for pods that their owner has left behind.
  json::object OwnerlessObjectOf(const ObservedGroup& group) const;
  // Returns those of `leaves` that pods may name, given the group as it is now.
  virtual std::set<std::string> LeavesIn(const ObservedGroup& observed, const std::set<std::string>& leaves) const = 0;
  // Returns how many pods must be placeable together before the scheduler places any.
  virtual int64_t LeastPodsOf(const Grouping& grouping) const = 0;

 protected:
  explicit GroupEmitter(SpecSchema schema) : schema_(std::move(schema)) {}
  // The schema of spec in the cluster's definition of the groups.
  const SpecSchema& schema() const { return schema_; }

 private:
  SpecSchema schema_;
};

// Whether this service has made the group: it has the annotation of GroupedFields.
bool IsMadeHere(const ObservedGroup& observed);

// Returns the patch by which the pod names its group and subgroup (pod-grouper 8); nullopt if the pod names them
// already. `sub_group` is empty if the pod belongs to none. `key` is GroupEmitter::group_name_key.
std::optional<std::string> LinkPatchOf(const kube::v1::Pod& pod, std::string_view key, std::string_view group,
                                       std::string_view sub_group);

}  // namespace basalt::pgsvc
