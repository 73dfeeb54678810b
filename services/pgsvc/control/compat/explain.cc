// Explains the grouping of a plain pod of Volcano's in the compat profile.
#include <fmt/format.h>

#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "services/pgsvc/control/compat/compat_groups.h"
#include "services/pgsvc/core/empty_group.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {
namespace {

void Count(const kube::v1::Pod& pod, podgroup::v1::GroupMembers& members) {
  switch (pod.phase()) {
    case kube::v1::POD_PHASE_RUNNING:
      return members.set_running(members.running() + 1);
    case kube::v1::POD_PHASE_SUCCEEDED:
      return members.set_succeeded(members.succeeded() + 1);
    case kube::v1::POD_PHASE_FAILED:
      return members.set_failed(members.failed() + 1);
    default:
      return members.set_pending(members.pending() + 1);
  }
}

std::string Described(std::string_view kind, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}/{}", kind, ns, name);
}

}  // namespace

std::optional<Explanation> CompatGroups::Explain(std::string_view key, std::string_view pod_name) const {
  const CompatGroup* const group = groups_.Find(key);
  const kube::v1::Pod* const pod = group == nullptr ? nullptr : FindPod(*group, pod_name);
  if (pod == nullptr) return std::nullopt;
  const auto [ns, name] = kube::SplitKey(key);
  PodGrouping found;
  found.grouping.name = std::string(name);
  found.rule = "the pods of one controller share a group, and one that nobody owns has a group of its own";
  std::string controller = Described("Pod", ns, pod->name());
  Explanation explanation{.found = PodGrouping(), .owners = {}};
  for (const kube::v1::OwnerReference& owner : pod->grouping().owner_references()) {
    explanation.owners.push_back(Described(owner.kind(), ns, owner.name()));
    if (owner.controller()) controller = explanation.owners.back();
  }
  found.decided_by = controller;
  explanation.is_there = group->observed != nullptr;
  explanation.notes =
      ObstaclesOf(group->observed == nullptr ? nullptr : &group->observed->meta(), group->refusal, group->retry);
  const auto link = group->pod_links.find(pod->uid());
  if (link != group->pod_links.end() && !link->second.refusal.empty()) {
    explanation.notes.push_back(RefusedLink(link->second.refusal));
  }
  if (name != GroupName(*pod)) {  // The group is somebody else's: its plan is not known.
    found.verdict = PodGrouping::Verdict::kAssigned;
    explanation.found = std::move(found);
    return explanation;
  }
  explanation.found = std::move(found);
  const kube::v1::Pod* const speaker = group->owner.Speaker(group->pods);
  const kube::v1::Pod& says = speaker == nullptr ? *pod : *speaker;
  const kube::v1::Workload* const owner = group->owner.workload();
  const Annotations annotations = MergedAnnotations(says, group->owner.facts());
  if (const std::string maker = group->Maker(); !maker.empty()) explanation.notes.push_back(WhyItIsLeftTo(maker));
  if (owner == nullptr && !AnnotatedOwners(says).empty()) {
    explanation.notes.emplace_back("no watch shows the owner: its annotations are read when the group is made");
  }
  Grouping plan;
  plan.name = std::string(name);
  plan.sources = SourcesOf(says, annotations, controller, options_);
  const absl::StatusOr<WantedGroup> wanted = WantedGroupOf(says, annotations, options_);
  const absl::StatusOr<std::string> body = GroupBody(says, annotations, options_);
  if (!wanted.ok() || !body.ok()) {
    explanation.found = wanted.status();
    return explanation;
  }
  const absl::StatusOr<json::value> object = ParseJson(*body);
  if (object.ok()) explanation.rendered.object = object->as_object();
  if (owner != nullptr) {
    if (std::string warning = WhyNeverPlaced(*wanted, *owner); !warning.empty()) plan.warnings.push_back(warning);
  }
  if (group->observed != nullptr) {
    std::set<std::string> asked;
    explanation.queue_problem = warnings_.WhyQueuePlacesNothing(*group->observed, asked);
    explanation.unschedulable = WhyNotPlaced(*group->observed);
    if (auto update = UpdateOf(*group->observed, *wanted)) explanation.differing_fields = std::move(update->fields);
    const kube::v1::PodGroupSpec& spec = group->observed->spec();
    const json::value is = json::object{{"queue", spec.queue()}, {"priorityClassName", spec.priority_class_name()}};
    const json::object rules{{"queue", wanted->spec.queue()},
                             {"priorityClassName", wanted->spec.priority_class_name()}};
    for (std::string& kept : KeptFields(is, rules, explanation.differing_fields)) {
      explanation.notes.push_back(std::move(kept));
    }
  }
  explanation.least_pods = wanted->spec.min_member();
  for (const auto& [uid, member] : group->pods.all()) Count(member, explanation.members);
  SetPhase(explanation.least_pods, explanation.members);
  explanation.plan = std::move(plan);
  return explanation;
}

}  // namespace basalt::pgsvc
