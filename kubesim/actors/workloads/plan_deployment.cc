#include <fmt/format.h>

#include "kubesim/actors/client/text.h"
#include "kubesim/actors/workloads/plan.h"

namespace basalt::actors {
namespace {

constexpr std::string_view kHashLabel = "pod-template-hash";

json::object AnnotationsToCopy(const json::value& owner) {
  json::object copied;
  const json::value* const annotations = FindPath(owner, {"metadata", "annotations"});
  if (annotations == nullptr || !annotations->is_object()) return copied;
  for (const auto& [key, value] : annotations->get_object()) {
    if (key != "kubectl.kubernetes.io/last-applied-configuration") copied[key] = value;
  }
  return copied;
}

json::object NewReplicaSet(const json::value& owner, const std::string& hash, int64_t replicas) {
  json::object spec{{"replicas", replicas}};
  if (const json::value* const selector = FindPath(owner, {"spec", "selector"}); selector != nullptr) {
    spec["selector"] = *selector;
  }
  ObjectIn(ObjectIn(spec, "selector"), "matchLabels")[kHashLabel] = Text(hash);
  spec["template"] = *FindPath(owner, {"spec", "template"});
  json::object& labels = ObjectIn(ObjectIn(ObjectIn(spec, "template"), "metadata"), "labels");
  labels[kHashLabel] = Text(hash);
  json::object metadata{{"name", Text(fmt::format("{}-{}", MetaText(owner, "name"), hash))},
                        {"labels", labels},
                        {"annotations", AnnotationsToCopy(owner)},
                        {"ownerReferences", json::array{ReferenceTo(owner, "apps/v1", "Deployment")}}};
  return {
      {"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

// Returns the patch that brings the ReplicaSet of the present template up to date. An annotation that the Deployment
// has lost stays there.
json::object Mend(const json::value& owner, const Child& set, int64_t replicas) {
  json::object patch;
  if (set.replicas != replicas) ObjectIn(patch, "spec")["replicas"] = replicas;
  for (const auto& [key, value] : AnnotationsToCopy(owner)) {
    const json::value* const has = set.annotations.if_contains(key);
    if (has == nullptr || *has != value) ObjectIn(ObjectIn(patch, "metadata"), "annotations")[key] = value;
  }
  return patch;
}

}  // namespace

Plan PlanDeployment(const json::value& owner, const std::vector<Child>& replica_sets, absl::Time) {
  if (FindPath(owner, {"spec", "template"}) == nullptr) return {};
  Plan plan;
  const std::string hash = RevisionOf(owner);
  const int64_t wanted = SpecInt(owner, "replicas", 1);
  bool has_newest = false;
  int64_t pods = 0, updated = 0, ready = 0;
  for (const Child& set : replica_sets) {
    pods += set.pods;
    ready += set.ready;
    if (set.is_deleting) continue;
    const bool is_newest = set.revision == hash;
    has_newest |= is_newest;
    if (is_newest) updated = set.pods;
    json::object patch = is_newest           ? Mend(owner, set, wanted)
                         : set.replicas != 0 ? json::object{{"spec", json::object{{"replicas", 0}}}}
                                             : json::object();
    if (!patch.empty()) plan.change.emplace_back(set.name, std::move(patch));
  }
  if (!has_newest) plan.create.push_back(NewReplicaSet(owner, hash, wanted));
  plan.status = {{"replicas", CountOrNone(pods)},
                 {"updatedReplicas", CountOrNone(updated)},
                 {"readyReplicas", CountOrNone(ready)},
                 {"availableReplicas", CountOrNone(ready)},
                 {"observedGeneration", GenerationOf(owner)}};
  return plan;
}

}  // namespace basalt::actors
