#pragma once

// What is known of one namespace for the grouping of its pods: the pods, its groups, and the owners and other objects
// that rules have asked for. Answers rules as ClusterView does, and notes each fact that they asked for. Confined to
// the loop of its owner.
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/form/group_emitter.h"
#include "services/pgsvc/core/grouping/karta/karta_set.h"
#include "services/pgsvc/core/grouping/owner_walk.h"
#include "services/pgsvc/core/grouping/rule.h"
#include "services/pgsvc/core/queue_check.h"

namespace basalt::pgsvc {

// Facts are texts: what a pod was grouped by. Those of objects are their interests, "objects/<apiVersion>/<kind>
// <name>"; the others are known to whoever has the namespace.
std::string ObjectFact(std::string_view watch, std::string_view name);
std::string PodFact(std::string_view name);
std::string ClassFact(std::string_view priority_class);
std::string GroupFact(std::string_view name);
std::string OwnedGroupsFact(std::string_view owner_uid);
std::string KartaFact(std::string_view kind);  // KartaSet::KindText.
std::string QueueFact(std::string_view name);  // A queue of Volcano's.
std::string LabelFact(const std::vector<std::string>& keys, const std::vector<std::string>& values);

using PriorityClasses = std::map<std::string, int32_t, std::less<>>;  // Values, by name.

class NamespaceObjects {
 public:
  // The emitter outlives them.
  explicit NamespaceObjects(const GroupEmitter& emitter) : emitter_(emitter) {}

  using Pods = std::map<std::string, kube::v1::Pod>;                                  // By UID.
  using Groups = std::map<std::string, std::unique_ptr<ObservedGroup>, std::less<>>;  // By name.

  // ---- what is told; each returns the facts that have changed ----
  struct PodChange {
    bool is_news = false;      // Rules see the pod otherwise than before.
    bool is_relinked = false;  // The pod names another group or subgroup than before.
    std::set<std::string> facts;
  };
  PodChange SetPod(kube::v1::Pod&& pod);
  std::set<std::string> ErasePod(const std::string& uid);
  struct GroupChange {
    bool is_news = false;  // The group is otherwise than before; what its scheduler says of it does not count.
    std::set<std::string> facts;
  };
  GroupChange SetGroup(std::unique_ptr<ObservedGroup> group);
  std::set<std::string> EraseGroup(std::string_view name);
  // Of an interest. `gone`: there is no such object.
  std::string SetObject(std::string_view watch, const kube::v1::GenericObject& object, bool gone);
  // Pods were grouped by the pod of that name, which is gone: another scheduler has not taken their owner over.
  void RememberGonePod(const std::string& name) { gone_pods_.insert(name); }
  // Nobody was grouped by what the fact is about any more.
  void Forget(const std::string& fact);
  // Frees what was made for views: they make it anew.
  void DropMade();

  const Pods& pods() const { return pods_; }
  // Null: there is none of that name for a scheduler of the emitter's.
  const kube::v1::Pod* FindPod(std::string_view name) const;
  // A pod that is here names the group.
  bool IsNamed(std::string_view group) const { return named_.contains(group); }
  // A pod that names the group is neither over nor being deleted.
  bool IsNamedByActive(std::string_view group) const {
    const auto named = named_.find(group);
    return named != named_.end() && named->second.active > 0;
  }
  // The owner is known to be there, and is being deleted.
  bool IsGoing(std::string_view api_version, std::string_view kind, std::string_view name) const;
  // Null: there is none.
  const ObservedGroup* FindGroup(std::string_view name) const;
  bool empty() const { return pods_.empty() && groups_.empty(); }
  // What is kept for views: the JSON that was made, and the labels that pods are indexed by.
  size_t made() const { return pod_json_.size() + group_json_.size(); }
  size_t label_indices() const { return by_labels_.size(); }
  const GroupEmitter& emitter() const { return emitter_; }

 private:
  friend class NamespaceView;
  enum class State { kAbsent, kForbidden, kKnown };
  struct Object {
    State state = State::kAbsent;
    bool is_going = false;  // It is being deleted.
    json::value json;
    std::string why;  // Of kForbidden, in words.
  };

  void IndexPod(const kube::v1::Pod& pod, bool is_there, std::set<std::string>& changed);
  // Whose first owner a group names; empty: nobody.
  static std::string_view OwnerOf(const ObservedGroup& group);
  // As far as rules can tell them apart.
  static bool IsAlike(const ObservedGroup& a, const ObservedGroup& b);

  static std::string TextOf(const ObservedGroup& group);

  const json::value& JsonOf(const kube::v1::Pod& pod);
  const json::value& JsonOf(const ObservedGroup& group);

  // The pod names its group from now on, or does no more.
  void CountName(const kube::v1::Pod& pod, int by);

  const GroupEmitter& emitter_;
  Pods pods_;
  Groups groups_;
  // The JSON of pods by UID, and of groups by name, that rules have read since DropMade.
  std::map<std::string, json::value> pod_json_;
  std::map<std::string, json::value> group_json_;
  // UIDs. A pod and the one that follows it under its name may be known at the same time.
  std::map<std::string, std::set<std::string>, std::less<>> pod_names_;
  struct Named {
    int64_t pods = 0;
    int64_t active = 0;
  };
  std::map<std::string, Named, std::less<>> named_;         // By the name of a group, how many pods name it.
  std::set<std::string, std::less<>> gone_pods_;            // Names of owners.
  std::map<std::string, std::set<std::string>> groups_of_;  // Names of groups, by the UID of their first owner.
  std::map<std::string, Object> objects_;                   // By fact; what is not in here was not told yet.
  // By label keys, what pods carry of them: of the keys that rules ask for.
  using Texts = std::vector<std::string>;
  struct LabelIndex {
    std::map<Texts, std::set<std::string>> pods;  // UIDs, by values.
    std::set<std::string> facts;                  // That are asked for by it.
  };
  std::map<Texts, LabelIndex> by_labels_;
};

// The namespace as the rules see it while one pod is grouped: nothing is told meanwhile.
class NamespaceView final : public ClusterView {
 public:
  // All of them outlive the view.
  NamespaceView(NamespaceObjects& objects, const PriorityClasses& priority_classes, const KartaSet& kartas)
      : objects_(objects), priority_classes_(priority_classes), kartas_(kartas) {}

  // As OwnersOf of owner_walk.h. UNAVAILABLE: an owner was not told yet.
  absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod);

  // What has been asked for, and what of that was not told yet.
  const std::set<std::string>& facts() const { return facts_; }
  const std::vector<std::string>& waits_for() const { return waits_for_; }
  // Owners that nobody may read: the way up ends below them (pod-grouper 3.2).
  const std::vector<std::string>& unreadable() const { return unreadable_; }

  // A queue of KAI's.
  SeenQueue FindQueue(std::string_view name) const;
  bool HasPriorityClass(std::string_view name) const override;
  ObjectView Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                  std::string_view name) const override;
  KartaChoice KartaFor(ObjectView top) const override;
  std::vector<ObjectView> GroupsOwnedBy(std::string_view ns, std::string_view uid) const override;
  std::vector<ObjectView> PodsWithLabels(std::string_view ns, const Labels& labels) const override;

 private:
  absl::StatusOr<ObjectView> FindOwner(const OwnerReference& reference, std::string_view ns);
  // Null: it was not told yet.
  const NamespaceObjects::Object* Ask(std::string_view api_version, std::string_view kind, std::string_view name) const;
  NamespaceObjects& objects_;
  const PriorityClasses& priority_classes_;
  const KartaSet& kartas_;
  mutable std::set<std::string> facts_;
  mutable std::vector<std::string> waits_for_;
  mutable std::vector<std::string> unreadable_;
};

}  // namespace basalt::pgsvc
