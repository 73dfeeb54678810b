#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "kubesim/actors/client/text.h"
#include "kubesim/actors/workloads/plan.h"

namespace basalt::actors {
namespace {

std::optional<int64_t> OrdinalOf(std::string_view owner, std::string_view pod) {
  if (pod.size() <= owner.size() + 1 || !pod.starts_with(owner) || pod[owner.size()] != '-') return std::nullopt;
  const std::string_view digits = pod.substr(owner.size() + 1);
  int64_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

class StatefulSetPlan {
 public:
  StatefulSetPlan(const json::value& owner, const std::vector<Child>& pods)
      : owner_(owner),
        name_(MetaText(owner, "name")),
        revision_(fmt::format("{}-{}", name_, RevisionOf(owner))),
        wanted_(SpecInt(owner, "replicas", 1)) {
    for (const Child& pod : pods) {
      if (const std::optional<int64_t> ordinal = OrdinalOf(name_, pod.name)) pods_[*ordinal] = &pod;
    }
    const json::value* const spec = Find(owner, "spec");
    is_ordered_ = spec == nullptr || FindString(*spec, "podManagementPolicy") != "Parallel";
  }

  Plan Make() && {
    if (Fill() && Shrink()) Update();
    SetStatus();
    return std::move(plan_);
  }

 private:
  // Makes missing pods, and replaces pods that are over. Returns true if the next step need not wait for that.
  bool Fill() {
    bool is_whole = true;
    for (int64_t ordinal = 0; ordinal < wanted_; ++ordinal) {
      if (plan_.create.size() == kMostCreates) return false;
      const auto found = pods_.find(ordinal);
      if (found == pods_.end()) {
        plan_.create.push_back(PodAt(ordinal));
      } else if (found->second->IsHealthy()) {
        continue;
      } else if (found->second->IsOver() && !found->second->is_deleting) {
        plan_.remove.push_back(found->second->name);  // The pod is made anew once its name is free.
      }
      is_whole = false;
      if (is_ordered_) break;
    }
    return is_whole || !is_ordered_;
  }

  // Removes surplus pods. Returns true if the next step need not wait for that.
  bool Shrink() {
    for (auto it = pods_.rbegin(); it != pods_.rend() && it->first >= wanted_; ++it) {
      if (!it->second->is_deleting) plan_.remove.push_back(it->second->name);
      if (is_ordered_) return false;
    }
    return true;
  }

  // Replaces pods of an old template one after the other, from the last one down.
  void Update() {
    const json::value* const strategy = FindPath(owner_, {"spec", "updateStrategy"});
    if (strategy != nullptr && FindString(*strategy, "type") == "OnDelete") return;
    const json::value* const rolling = FindPath(owner_, {"spec", "updateStrategy", "rollingUpdate"});
    const int64_t partition = rolling == nullptr ? 0 : FindInt(*rolling, "partition");
    for (int64_t ordinal = wanted_ - 1; ordinal >= partition; --ordinal) {
      const auto found = pods_.find(ordinal);
      if (found == pods_.end()) return;  // The pod is being made.
      const Child& pod = *found->second;
      if (pod.revision != revision_ && pod.IsActive()) {
        plan_.remove.push_back(pod.name);
        return;
      }
      if (!pod.IsHealthy()) return;
    }
  }

  json::object PodAt(int64_t ordinal) const {
    const std::string pod_name = fmt::format("{}-{}", name_, ordinal);
    json::object pod = PodOf(owner_, ReferenceTo(owner_, "apps/v1", "StatefulSet"),
                             {{"statefulset.kubernetes.io/pod-name", Text(pod_name)},
                              {"apps.kubernetes.io/pod-index", Text(fmt::to_string(ordinal))},
                              {"controller-revision-hash", Text(revision_)}});
    ObjectIn(pod, "metadata")["name"] = Text(pod_name);
    json::object& spec = ObjectIn(pod, "spec");
    spec["hostname"] = Text(pod_name);
    const json::value* const own_spec = Find(owner_, "spec");
    if (const std::string_view service = FindString(*own_spec, "serviceName"); !service.empty()) {
      spec["subdomain"] = Text(service);
    }
    return pod;
  }

  void SetStatus() {
    const json::value* const status = Find(owner_, "status");
    std::string current(status == nullptr ? "" : FindString(*status, "currentRevision"));
    if (current.empty()) current = revision_;
    int64_t ready = 0, of_current = 0, updated = 0;
    for (const auto& [ordinal, pod] : pods_) {
      if (pod->IsHealthy()) ++ready;
      if (pod->revision == current) ++of_current;
      if (pod->revision == revision_) ++updated;
    }
    const auto count = static_cast<int64_t>(pods_.size());
    if (updated == count && ready == wanted_ && count == wanted_) {
      current = revision_;
      of_current = updated;
    }
    plan_.status = {{"replicas", count},
                    {"readyReplicas", CountOrNone(ready)},
                    {"availableReplicas", ready},
                    {"currentReplicas", CountOrNone(of_current)},
                    {"updatedReplicas", CountOrNone(updated)},
                    {"currentRevision", Text(current)},
                    {"updateRevision", Text(revision_)},
                    {"collisionCount", 0},
                    {"observedGeneration", GenerationOf(owner_)}};
  }

  const json::value& owner_;
  const std::string name_;
  const std::string revision_;
  const int64_t wanted_;
  bool is_ordered_ = true;
  std::map<int64_t, const Child*> pods_;  // By ordinal.
  Plan plan_;
};

}  // namespace

Plan PlanStatefulSet(const json::value& owner, const std::vector<Child>& pods, absl::Time) {
  return StatefulSetPlan(owner, pods).Make();
}

}  // namespace basalt::actors
