#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/base/slots.h"
#include "kubesim/actors/client/text.h"
#include "kubesim/actors/workloads/plan.h"

namespace basalt::actors {
namespace {

json::value Sorted(const json::value& value) {
  if (value.is_array()) {
    json::array sorted;
    for (const json::value& item : value.get_array()) sorted.push_back(Sorted(item));
    return sorted;
  }
  if (!value.is_object()) return value;
  std::map<std::string_view, const json::value*> members;
  for (const auto& [key, member] : value.get_object()) members.emplace(key, &member);
  json::object sorted;
  for (const auto& [key, member] : members) sorted[key] = Sorted(*member);
  return sorted;
}

}  // namespace

json::object ReferenceTo(const json::value& owner, std::string_view api_version, std::string_view kind) {
  return json::object{
      {"apiVersion", Text(api_version)},     {"kind", Text(kind)}, {"name", Text(MetaText(owner, "name"))},
      {"uid", Text(MetaText(owner, "uid"))}, {"controller", true}, {"blockOwnerDeletion", true}};
}

json::object PodOf(const json::value& owner, json::object reference, const json::object& labels) {
  json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
  const json::value* const pod_template = FindPath(owner, {"spec", "template"});
  json::object& metadata = ObjectIn(pod, "metadata");
  if (pod_template != nullptr) {
    const json::value* const from = Find(*pod_template, "metadata");
    for (const char* member : {"labels", "annotations", "finalizers"}) {
      const json::value* const value = from == nullptr ? nullptr : Find(*from, member);
      if (value != nullptr) metadata[member] = *value;
    }
    if (const json::value* const spec = Find(*pod_template, "spec"); spec != nullptr) pod["spec"] = *spec;
  }
  json::object& all = ObjectIn(ObjectIn(pod, "metadata"), "labels");
  for (const auto& [key, value] : labels) all[key] = value;
  ObjectIn(pod, "metadata")["ownerReferences"] = json::array{std::move(reference)};
  return pod;
}

std::string RevisionOf(const json::value& owner) {
  const json::value* const pod_template = FindPath(owner, {"spec", "template"});
  return fmt::format("{:08x}", Fnv1(pod_template == nullptr ? std::string() : ToText(Sorted(*pod_template))));
}

int64_t SpecInt(const json::value& owner, std::string_view member, int64_t otherwise) {
  const json::value* const spec = Find(owner, "spec");
  return spec == nullptr ? otherwise : FindInt(*spec, member, otherwise);
}

json::value CountOrNone(int64_t count) { return count == 0 ? json::value(nullptr) : json::value(count); }

json::value GenerationOf(const json::value& owner) {
  const json::value* const metadata = Find(owner, "metadata");
  return CountOrNone(metadata == nullptr ? 0 : FindInt(*metadata, "generation"));
}

Plan PlanReplicaSet(const json::value& owner, const std::vector<Child>& pods, absl::Time) {
  Plan plan;
  std::vector<const Child*> active;
  int64_t ready = 0;
  for (const Child& pod : pods) {
    if (!pod.IsActive()) continue;
    active.push_back(&pod);
    if (pod.is_ready) ++ready;
  }
  const auto count = static_cast<int64_t>(active.size());
  const int64_t wanted = SpecInt(owner, "replicas", 1);
  for (int64_t i = count; i < std::min(wanted, count + kMostCreates); ++i) {
    json::object pod = PodOf(owner, ReferenceTo(owner, "apps/v1", "ReplicaSet"), {});
    ObjectIn(pod, "metadata")["generateName"] = Text(fmt::format("{}-", MetaText(owner, "name")));
    plan.create.push_back(std::move(pod));
  }
  if (count > wanted) {
    // Pods that are not ready are removed first, and then the youngest.
    std::stable_sort(active.begin(), active.end(), [](const Child* a, const Child* b) {
      return std::tuple(a->is_ready, -a->created_ms) < std::tuple(b->is_ready, -b->created_ms);
    });
    for (int64_t i = wanted; i < count; ++i) plan.remove.push_back(active[static_cast<size_t>(i - wanted)]->name);
  }
  plan.status = {{"replicas", count},
                 {"fullyLabeledReplicas", CountOrNone(count)},
                 {"readyReplicas", CountOrNone(ready)},
                 {"availableReplicas", CountOrNone(ready)},
                 {"observedGeneration", GenerationOf(owner)}};
  return plan;
}

}  // namespace basalt::actors
