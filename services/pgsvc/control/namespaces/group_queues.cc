// Finds queues in which no group is placed, and warns the pods of their groups.
#include <utility>

#include "common/base/json.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"

namespace basalt::pgsvc {

void NamespaceGroups::OnQueues(const std::set<std::string>& names) {
  std::set<std::string> facts;
  for (const std::string& name : names) facts.insert(QueueFact(name));
  NoteChangedEverywhere(facts);
}

std::string NamespaceGroups::WhyQueuePlacesNothing(Namespace& space, const ObservedGroup& observed,
                                                   Dependents::Facts& facts) const {
  const json::value spec = emitter_->SpecOf(observed);
  const std::string_view named = FindString(spec, "queue");
  if (emitter_->profile() == kube::GroupProfile::kKai) {
    if (named.empty()) return {};
    const NamespaceView view(space.objects, priority_classes_, kartas_);
    std::string why =
        pgsvc::WhyQueuePlacesNothing(named, [&view](std::string_view queue) { return view.FindQueue(queue); });
    facts.insert(view.facts().begin(), view.facts().end());
    return why;
  }
  return pgsvc::WhyQueuePlacesNothing(named.empty() ? kube::kDefaultQueue : named, [&](std::string_view queue) {
    facts.insert(QueueFact(queue));
    return queues_.Find(queue);
  });
}

void NamespaceGroups::CheckQueue(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  Dependents::Facts facts;
  std::string why;
  if (observed != nullptr && group.has_active()) why = WhyQueuePlacesNothing(space, *observed, facts);
  Depend(ns, space, space.queue_dependents, name, std::move(facts));
  if (group.queue_problem.Take(why, context_.ApiNow())) RecordOnGroup(ns, space, name, group, "PodGroupWarning", why);
  if (group.queue_problem.due() != absl::InfiniteFuture()) WaitUntil(ns, space, name, group.queue_problem.due());
}

}  // namespace basalt::pgsvc
