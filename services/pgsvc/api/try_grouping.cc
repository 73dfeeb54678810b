#include "services/pgsvc/api/try_grouping.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/resources/resources.h"
#include "common/rpc/error_details.h"
#include "services/pgsvc/api/grouping_messages.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/grouping/group_pod.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/grouping/object_set.h"
#include "services/pgsvc/core/grouping/rule_table.h"
#include "services/pgsvc/core/grouping/volcano_group.h"

namespace basalt::pgsvc {

namespace {

using podgroup::v1::TriedGroup;
using podgroup::v1::TriedPod;

constexpr int kMostObjects = 2'000;
// The limit of steps for the expressions of Kartas, of all pods together.
constexpr int64_t kMostSteps = 10 * StepBudget::kOfPod;

absl::StatusOr<ObjectSet> ObjectsOf(const podgroup::v1::TryGroupingRequest& request) {
  if (request.objects_size() > kMostObjects) {
    return rpc::InvalidField("objects", fmt::format("there may be {} at most", kMostObjects));
  }
  ObjectSet objects(/*has_kai_classes=*/request.form() != podgroup::v1::TryGroupingRequest::FORM_VOLCANO);
  for (int i = 0; i < request.objects_size(); ++i) {
    const std::string field = fmt::format("objects[{}]", i);
    absl::StatusOr<json::value> object = ParseJson(request.objects(i));
    if (!object.ok()) return rpc::InvalidField(field, ToStd(object.status().message()));
    const absl::Status added = objects.Add(*std::move(object));
    if (!added.ok()) return rpc::InvalidField(field, ToStd(added.message()));
  }
  objects.CompleteUids();
  return objects;
}

absl::StatusOr<PodGrouping> GroupingOf(ObjectView pod, const ObjectSet& objects, const RuleOptions& options,
                                       StepBudget& all) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<ObjectView> owners, objects.OwnersOf(pod));
  StepBudget budget;
  absl::StatusOr<PodGrouping> grouping = GroupPodByRules(pod, owners, objects, options, budget);
  all.Take(budget.used());
  return grouping;
}

// One group, with the pods from which Volcano's form computes resources.
struct Tried {
  GroupPlan plan;
  ObjectView first_pod;                         // The first in the order of names.
  std::map<std::string, ObjectView> leaf_pods;  // The first in the order of names, for each leaf.
};

absl::StatusOr<kube::ResourceMap> UsageOf(ObjectView pod) {
  const json::value* const spec = pod.At({"spec"});
  if (spec == nullptr) return kube::ResourceMap();
  return kube::PodQuotaUsage(*spec, kube::RequestDefaults::kAsStored);
}

absl::StatusOr<std::map<std::string, kube::ResourceMap>> UsageOf(const Tried& tried) {
  std::map<std::string, kube::ResourceMap> usage;
  for (const auto& [leaf, pod] : tried.leaf_pods) {
    BASALT_ASSIGN_OR_RETURN(usage[leaf], UsageOf(pod));
  }
  BASALT_ASSIGN_OR_RETURN(usage[""], UsageOf(tried.first_pod));
  return usage;
}

// All groups of a request. Their size is limited to that of an answer.
class TriedGroups {
 public:
  // RESOURCE_EXHAUSTED if the groups would be too large with this one.
  absl::Status Add(ObjectView pod, Grouping grouping) {
    work_ += grouping.sub_groups.size();
    const auto [entry, is_new] = groups_.try_emplace({grouping.ns, grouping.name});
    if (is_new) size_ += SizeOf(grouping);
    if (size_ > kMostBytes || work_ > kMostSubGroupsInAll) {
      return MakeStatus(absl::StatusCode::kResourceExhausted,
                        "objects: their groups are larger than an answer may be; try fewer of them");
    }
    Tried& tried = entry->second;
    const std::string leaf = grouping.pod_sub_group;
    tried.plan.Add(pod.name(), std::move(grouping));
    if (tried.plan.first_pod() == pod.name()) tried.first_pod = pod;
    const auto [leaf_pod, is_first] = tried.leaf_pods.try_emplace(leaf, pod);
    if (!is_first && pod.name() < leaf_pod->second.name()) leaf_pod->second = pod;
    return absl::OkStatus();
  }
  const std::map<std::pair<std::string, std::string>, Tried>& groups() const { return groups_; }

 private:
  static constexpr size_t kMostBytes = 3 << 20;
  // The limit for all pods together: the group of each pod is computed by itself.
  static constexpr size_t kMostSubGroupsInAll = 200'000;

  static size_t SizeOf(const Grouping& grouping) {
    size_t size = 500 + 120 * grouping.sub_groups.size();
    for (const auto& [key, value] : grouping.labels) size += key.size() + value.size();
    for (const auto& [key, value] : grouping.annotations) size += key.size() + value.size();
    return size;
  }

  std::map<std::pair<std::string, std::string>, Tried> groups_;
  size_t size_ = 0;
  size_t work_ = 0;
};

TriedGroup GroupOf(const Tried& tried, const ObjectSet& objects, podgroup::v1::TryGroupingRequest::Form form) {
  const Grouping plan = tried.plan.Group();
  TriedGroup group;
  group.set_namespace_(plan.ns);
  group.set_name(plan.name);
  std::vector<std::string> losses;
  if (form == podgroup::v1::TryGroupingRequest::FORM_VOLCANO) {
    VolcanoGroup written =
        VolcanoGroupOf({.grouping = plan, .pod = tried.first_pod, .usage = UsageOf(tried), .cluster = objects});
    group.set_manifest(ToText(written.object));
    losses = std::move(written.losses);
  } else {
    group.set_manifest(ToText(KaiGroupOf(plan)));
    losses = KaiLossesOf(plan);
  }
  AddReasons(plan, group);
  for (const std::string& loss : losses) group.add_losses(loss);
  return group;
}

}  // namespace

podgroup::v1::ListGroupingRulesResponse ListGroupingRules(const RuleOptions& options) {
  podgroup::v1::ListGroupingRulesResponse response;
  const auto add = [&response](std::string_view group, std::string_view version, std::string_view kind,
                               std::string_view summary, bool looked_through) {
    auto& row = *response.add_rules();
    row.set_group(std::string(group));
    row.set_version(std::string(version));
    row.set_kind(std::string(kind));
    row.set_summary(std::string(summary));
    row.set_looked_through(looked_through);
  };
  constexpr std::string_view kBelow = "as the owner below";
  for (const DeclaredRule& rule : options.rules) {
    add(rule.kind.group, rule.kind.version, rule.kind.kind, SummaryOf(rule), false);
  }
  for (const Rule& rule : AllRules()) add(rule.group, rule.version, rule.kind, rule.summary, false);
  for (const KindName& kind : options.looked_through) add(kind.group, kind.version, kind.kind, kBelow, true);
  for (const LookThrough& kind : AllLookThrough()) add(kind.group, kind.version, kind.kind, kBelow, true);
  return response;
}

absl::StatusOr<podgroup::v1::TryGroupingResponse> TryGrouping(const podgroup::v1::TryGroupingRequest& request,
                                                              const RuleOptions& options) {
  BASALT_ASSIGN_OR_RETURN(const ObjectSet objects, ObjectsOf(request));
  podgroup::v1::TryGroupingResponse response;
  TriedGroups groups;
  StepBudget all(kMostSteps);
  for (const ObjectView pod : objects.pods()) {
    TriedPod& tried_pod = *response.add_pods();
    tried_pod.set_namespace_(std::string(pod.ns()));
    tried_pod.set_name(std::string(pod.name()));
    absl::StatusOr<PodGrouping> found = GroupingOf(pod, objects, options, all);
    if (all.is_spent()) {
      return MakeStatus(absl::StatusCode::kResourceExhausted,
                        "objects: expressions of Kartas take more steps than one request may; try fewer pods");
    }
    Fill(found, tried_pod);
    if (!found.ok()) continue;
    if (found->verdict != PodGrouping::Verdict::kGrouped) continue;
    BASALT_RETURN_IF_ERROR(groups.Add(pod, std::move(found->grouping)));
  }
  for (const auto& [name, group] : groups.groups()) {
    *response.add_groups() = GroupOf(group, objects, request.form());
  }
  return response;
}

}  // namespace basalt::pgsvc
