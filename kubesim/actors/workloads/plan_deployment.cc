#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kubesim/actors/client/text.h"
#include "kubesim/actors/workloads/plan.h"

namespace basalt::actors {
namespace {

constexpr std::string_view kHashLabel = "pod-template-hash";
constexpr std::string_view kOwnPrefix = "deployment.kubernetes.io/";
constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";

// Returns the value if it is a number, or the part of the replicas for a value like "25%".
int64_t PartOf(const json::value* value, std::string_view otherwise, int64_t replicas, bool rounds_up) {
  if (value != nullptr && value->is_int64()) return value->get_int64();
  const std::string text(value != nullptr && value->is_string() ? std::string_view(value->get_string()) : otherwise);
  const int64_t hundredths = std::strtoll(text.c_str(), nullptr, 10) * replicas;
  return rounds_up ? (hundredths + 99) / 100 : hundredths / 100;
}

class DeploymentPlan {
 public:
  DeploymentPlan(const json::value& owner, const std::vector<Child>& replica_sets)
      : owner_(owner), hash_(RevisionOf(owner)), wanted_(SpecInt(owner, "replicas", 1)) {
    SetBounds();
    for (const Child& set : replica_sets) {
      pods_ += set.pods;
      ready_ += set.ready;
      if (set.is_deleting) continue;
      specified_ += set.replicas;
      revisions_ = std::max(revisions_, RevisionNumber(set));
      if (set.revision == hash_) {
        newest_ = &set;
      } else {
        older_.push_back(&set);
      }
    }
  }

  Plan Make(absl::Time now) && {
    if (IsPaused()) {
      ScaleTheOnlyOne();
    } else if (IsRecreated()) {
      Recreate();
    } else {
      Roll();
    }
    if (newest_ != nullptr) CopyAnnotations();
    ForgetOldest();
    SetStatus(now);
    return std::move(plan_);
  }

 private:
  bool IsRecreated() const {
    const json::value* const strategy = FindPath(owner_, {"spec", "strategy"});
    return strategy != nullptr && FindString(*strategy, "type") == "Recreate";
  }
  bool IsPaused() const {
    const json::value* const paused = FindPath(owner_, {"spec", "paused"});
    return paused != nullptr && *paused == json::value(true);
  }

  void SetBounds() {
    if (IsRecreated()) return;
    const json::value* const rolling = FindPath(owner_, {"spec", "strategy", "rollingUpdate"});
    const auto part = [&](std::string_view member, bool rounds_up) {
      return PartOf(rolling == nullptr ? nullptr : Find(*rolling, member), "25%", wanted_, rounds_up);
    };
    surge_ = part("maxSurge", /*rounds_up=*/true);
    unavailable_ = part("maxUnavailable", /*rounds_up=*/false);
    if (surge_ == 0 && unavailable_ == 0) unavailable_ = 1;
    unavailable_ = std::min(unavailable_, wanted_);
  }

  static int64_t RevisionNumber(const Child& set) {
    const json::value* const text = set.annotations.if_contains(kRevision);
    return text != nullptr && text->is_string() ? std::strtoll(text->get_string().c_str(), nullptr, 10) : 0;
  }

  // Scales the only ReplicaSet that has replicas. If there are several, a roll is under way, and none is scaled.
  void ScaleTheOnlyOne() {
    std::vector<const Child*> sets = older_;
    if (newest_ != nullptr) sets.push_back(newest_);
    std::erase_if(sets, [](const Child* set) { return set->replicas == 0; });
    if (sets.size() == 1 && sets[0]->replicas != wanted_) Scale(*sets[0], wanted_);
  }

  void Recreate() {
    bool is_clear = true;
    for (const Child* set : older_) {
      if (set->replicas > 0) Scale(*set, 0);
      if (set->replicas > 0 || set->pods > 0 || !set->is_counted) is_clear = false;
    }
    if (is_clear) SetNewest(wanted_);
  }

  void Roll() {
    const int64_t of_newest = newest_ == nullptr ? 0 : newest_->replicas;
    const int64_t of_older = specified_ - of_newest;
    if (of_older == 0 || of_newest > wanted_) {
      SetNewest(wanted_);
    } else {
      SetNewest(std::min(wanted_, std::max(of_newest, of_newest + wanted_ + surge_ - specified_)));
    }

    const int64_t least = wanted_ - unavailable_;
    const int64_t newest_unavailable = newest_ == nullptr ? 0 : std::max<int64_t>(0, of_newest - newest_->ready);
    int64_t budget = specified_ - least - newest_unavailable;
    int64_t spare = ready_ - least;  // How many ready pods may be removed.
    for (const Child* set : older_) {
      int64_t left = set->replicas;
      const int64_t unready = std::clamp<int64_t>(left - set->ready, 0, std::max<int64_t>(0, budget));
      left -= unready;
      budget -= unready;
      const int64_t running =
          std::clamp<int64_t>(std::min(left, set->ready), 0, std::max<int64_t>(0, std::min(budget, spare)));
      left -= running;
      budget -= running;
      spare -= running;
      if (left != set->replicas) Scale(*set, left);
    }
  }

  void Scale(const Child& set, int64_t replicas) {
    plan_.change.emplace_back(set.name, json::object{{"spec", json::object{{"replicas", replicas}}}});
  }

  void SetNewest(int64_t replicas) {
    if (newest_ == nullptr) {
      plan_.create.push_back(NewReplicaSet(replicas));
    } else if (newest_->replicas != replicas) {
      Scale(*newest_, replicas);
    }
  }

  json::object AnnotationsToCopy() const {
    json::object copied;
    const json::value* const annotations = FindPath(owner_, {"metadata", "annotations"});
    if (annotations == nullptr || !annotations->is_object()) return copied;
    for (const auto& [key, value] : annotations->get_object()) {
      if (key.starts_with(kOwnPrefix) || key == "kubectl.kubernetes.io/last-applied-configuration") continue;
      copied[key] = value;
    }
    return copied;
  }

  // Copies the Deployment's annotations to the newest ReplicaSet. An annotation that the Deployment has lost stays
  // there.
  void CopyAnnotations() {
    json::object missing;
    for (const auto& [key, value] : AnnotationsToCopy()) {
      const json::value* const has = newest_->annotations.if_contains(key);
      if (has == nullptr || *has != value) missing[key] = value;
    }
    // After a rollback an old ReplicaSet becomes the newest one again and gets a new revision.
    const bool is_newest = std::all_of(older_.begin(), older_.end(), [this](const Child* set) {
      return RevisionNumber(*set) < RevisionNumber(*newest_);
    });
    if (!is_newest) missing[kRevision] = Text(fmt::to_string(revisions_ + 1));
    if (missing.empty()) return;
    plan_.change.emplace_back(newest_->name,
                              json::object{{"metadata", json::object{{"annotations", std::move(missing)}}}});
  }

  json::object NewReplicaSet(int64_t replicas) const {
    const json::string hash = Text(hash_);
    json::object spec{{"replicas", replicas}};
    if (const json::value* const selector = FindPath(owner_, {"spec", "selector"}); selector != nullptr) {
      spec["selector"] = *selector;
    }
    ObjectIn(ObjectIn(spec, "selector"), "matchLabels")[kHashLabel] = hash;
    spec["template"] = *FindPath(owner_, {"spec", "template"});
    json::object& labels = ObjectIn(ObjectIn(ObjectIn(spec, "template"), "metadata"), "labels");
    labels[kHashLabel] = hash;
    json::object annotations = AnnotationsToCopy();
    annotations[kRevision] = Text(fmt::to_string(revisions_ + 1));
    json::object metadata{{"name", Text(fmt::format("{}-{}", MetaText(owner_, "name"), hash_))},
                          {"labels", labels},
                          {"annotations", std::move(annotations)},
                          {"ownerReferences", json::array{ReferenceTo(owner_, "apps/v1", "Deployment")}}};
    return {{"apiVersion", "apps/v1"},
            {"kind", "ReplicaSet"},
            {"metadata", std::move(metadata)},
            {"spec", std::move(spec)}};
  }

  // Removes the oldest empty ReplicaSets. The latest ones are kept for a rollback.
  void ForgetOldest() {
    std::vector<const Child*> empty;
    for (const Child* set : older_) {
      if (set->replicas == 0 && set->pods == 0) empty.push_back(set);
    }
    std::stable_sort(empty.begin(), empty.end(),
                     [](const Child* a, const Child* b) { return RevisionNumber(*a) > RevisionNumber(*b); });
    const auto kept = static_cast<size_t>(std::max<int64_t>(0, SpecInt(owner_, "revisionHistoryLimit", 10)));
    for (size_t i = kept; i < empty.size(); ++i) plan_.remove.push_back(empty[i]->name);
  }

  void SetStatus(absl::Time now) {
    plan_.status = {{"replicas", CountOrNone(pods_)},
                    {"updatedReplicas", CountOrNone(newest_ == nullptr ? 0 : newest_->pods)},
                    {"readyReplicas", CountOrNone(ready_)},
                    {"availableReplicas", CountOrNone(ready_)},
                    {"unavailableReplicas", CountOrNone(std::max<int64_t>(0, specified_ - ready_))},
                    {"observedGeneration", GenerationOf(owner_)},
                    {"conditions", json::array{Available(now)}}};
  }

  json::object Available(absl::Time now) const {
    const bool is_available = ready_ >= wanted_ - unavailable_;
    const json::value condition =
        json::object{{"type", "Available"},
                     {"status", is_available ? "True" : "False"},
                     {"reason", is_available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable"},
                     {"lastTransitionTime", Text(now)}};
    const json::value* const conditions = FindPath(owner_, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array()) return condition.get_object();
    for (const json::value& old : conditions->get_array()) {
      if (FindString(old, "type") == "Available" && FindString(old, "status") == FindString(condition, "status")) {
        return old.get_object();
      }
    }
    return condition.get_object();
  }

  const json::value& owner_;
  const std::string hash_;
  const int64_t wanted_;
  int64_t surge_ = 0, unavailable_ = 0;
  int64_t specified_ = 0, pods_ = 0, ready_ = 0, revisions_ = 0;
  const Child* newest_ = nullptr;  // The ReplicaSet of the present template. Null if it does not exist.
  std::vector<const Child*> older_;
  Plan plan_;
};

}  // namespace

Plan PlanDeployment(const json::value& owner, const std::vector<Child>& replica_sets, absl::Time now) {
  if (FindPath(owner, {"spec", "template"}) == nullptr) return {};
  return DeploymentPlan(owner, replica_sets).Make(now);
}

}  // namespace basalt::actors
