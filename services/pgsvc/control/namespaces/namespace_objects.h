#pragma once

// The state of one namespace that the grouping of its pods depends on: the pods, the groups, and the owners and other
// objects that rules have requested. NamespaceView answers the rules from it, and notes each fact that they requested.
// Confined to the loop of its owner.
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

// A fact is a text that names something a pod was grouped by. A fact about a requested object is its interest,
// "objects/<apiVersion>/<kind> <name>". The other facts need no interest: the owner of the namespace gets their objects
// in any case.
std::string ObjectFact(std::string_view watch, std::string_view name);
std::string PodFact(std::string_view name);
std::string ClassFact(std::string_view priority_class);
std::string GroupFact(std::string_view name);
std::string OwnedGroupsFact(std::string_view owner_uid);
std::string KartaFact(std::string_view kind);  // `kind` is a KartaSet::KindText.
std::string QueueFact(std::string_view name);  // For a queue of Volcano's.
std::string LabelFact(const std::vector<std::string>& keys, const std::vector<std::string>& values);

using PriorityClasses = std::map<std::string, int32_t, std::less<>>;  // The values, by name.

class NamespaceObjects {
 public:
  // `emitter` outlives this object.
  explicit NamespaceObjects(const GroupEmitter& emitter) : emitter_(emitter) {}

  using Pods = std::map<std::string, kube::v1::Pod>;                                  // By UID.
  using Groups = std::map<std::string, std::unique_ptr<ObservedGroup>, std::less<>>;  // By name.

  // ---- observed state; most methods return the facts that have changed ----
  struct PodChange {
    bool is_news = false;      // Whether rules may group the pod otherwise than before.
    bool is_relinked = false;  // Whether the pod names another group or subgroup than before.
    std::set<std::string> facts;
  };
  PodChange SetPod(kube::v1::Pod&& pod);
  std::set<std::string> ErasePod(const std::string& uid);
  struct GroupChange {
    bool is_news = false;  // Whether the group differs from before; the status from its scheduler does not count.
    std::set<std::string> facts;
  };
  GroupChange SetGroup(std::unique_ptr<ObservedGroup> group);
  std::set<std::string> EraseGroup(std::string_view name);
  // Sets the object of an interest; with `gone` there is no such object.
  std::string SetObject(std::string_view watch, const kube::v1::GenericObject& object, bool gone);
  // Remembers that the pod of that name, by which others were grouped, is gone: it is no pod that another scheduler
  // places.
  void RememberGonePod(const std::string& name) { gone_pods_.insert(name); }
  // Forgets the fact, by which no pod is grouped and no group is checked any more.
  void Forget(const std::string& fact);
  // Frees the JSON that was made for views. Views make it anew.
  void DropMade();

  const Pods& pods() const { return pods_; }
  // Returns null if no pod of that name is known that a scheduler of the emitter's form places.
  const kube::v1::Pod* FindPod(std::string_view name) const;
  // Whether a known pod names the group.
  bool IsNamed(std::string_view group) const { return named_.contains(group); }
  // Whether a known pod that names the group is neither over nor being deleted.
  bool IsNamedByActive(std::string_view group) const {
    const auto named = named_.find(group);
    return named != named_.end() && named->second.active > 0;
  }
  // Whether the owner is known to exist, and is being deleted.
  bool IsGoing(std::string_view api_version, std::string_view kind, std::string_view name) const;
  // Returns null if there is no such group.
  const ObservedGroup* FindGroup(std::string_view name) const;
  bool empty() const { return pods_.empty() && groups_.empty(); }
  // The number of objects whose JSON was made for views.
  size_t made() const { return pod_json_.size() + group_json_.size(); }
  // The number of indexes of pods by labels.
  size_t label_indices() const { return by_labels_.size(); }
  const GroupEmitter& emitter() const { return emitter_; }

 private:
  friend class NamespaceView;
  enum class State { kAbsent, kForbidden, kKnown };
  struct Object {
    State state = State::kAbsent;
    bool is_going = false;  // Whether the object is being deleted.
    json::value json;
    std::string why;  // Why the object may not be read; set for kForbidden.
  };

  void IndexPod(const kube::v1::Pod& pod, bool is_there, std::set<std::string>& changed);
  // Returns the UID of the group's first owner; empty if the group has no owner.
  static std::string_view OwnerOf(const ObservedGroup& group);
  // Whether rules read the two states of a group alike.
  static bool IsAlike(const ObservedGroup& a, const ObservedGroup& b);

  static std::string TextOf(const ObservedGroup& group);

  const json::value& JsonOf(const kube::v1::Pod& pod);
  const json::value& JsonOf(const ObservedGroup& group);

  // Counts the pod among those that name its group if `by` is 1, and out if it is -1.
  void CountName(const kube::v1::Pod& pod, int by);

  const GroupEmitter& emitter_;
  Pods pods_;
  Groups groups_;
  // The JSON of the pods that rules have read since DropMade(), by UID.
  std::map<std::string, json::value> pod_json_;
  // The JSON of the groups that rules have read since DropMade(), by name.
  std::map<std::string, json::value> group_json_;
  // UIDs of pods, by name. A pod and its successor of that name may be known at the same time.
  std::map<std::string, std::set<std::string>, std::less<>> pod_names_;
  struct Named {
    int64_t pods = 0;
    int64_t active = 0;
  };
  std::map<std::string, Named, std::less<>> named_;         // How many pods name a group, by its name.
  std::set<std::string, std::less<>> gone_pods_;            // Names of gone pods that owned others.
  std::map<std::string, std::set<std::string>> groups_of_;  // Names of groups, by the UID of their first owner.
  std::map<std::string, Object> objects_;  // By fact. An object that is missing here was not reported yet.
  // The labels of pods, by each list of label keys that rules request.
  using Texts = std::vector<std::string>;
  struct LabelIndex {
    std::map<Texts, std::set<std::string>> pods;  // UIDs of pods, by the values of the keys.
    std::set<std::string> facts;                  // The requested facts that this index answers.
  };
  std::map<Texts, LabelIndex> by_labels_;
};

// The namespace as the rules read it while one pod is grouped. The objects do not change meanwhile.
class NamespaceView final : public ClusterView {
 public:
  // All references outlive the view.
  NamespaceView(NamespaceObjects& objects, const PriorityClasses& priority_classes, const KartaSet& kartas)
      : objects_(objects), priority_classes_(priority_classes), kartas_(kartas) {}

  // Does what OwnersOf of owner_walk.h does. UNAVAILABLE if an owner was not reported yet.
  absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod);

  // The facts that were requested.
  const std::set<std::string>& facts() const { return facts_; }
  // The requested facts that were not reported yet.
  const std::vector<std::string>& waits_for() const { return waits_for_; }
  // The owners that may not be read: the way up ends below them (pod-grouper 3.2).
  const std::vector<std::string>& unreadable() const { return unreadable_; }

  // Finds a queue of KAI's.
  SeenQueue FindQueue(std::string_view name) const;
  bool HasPriorityClass(std::string_view name) const override;
  ObjectView Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                  std::string_view name) const override;
  KartaChoice KartaFor(ObjectView top) const override;
  std::vector<ObjectView> GroupsOwnedBy(std::string_view ns, std::string_view uid) const override;
  std::vector<ObjectView> PodsWithLabels(std::string_view ns, const Labels& labels) const override;

 private:
  absl::StatusOr<ObjectView> FindOwner(const OwnerReference& reference, std::string_view ns);
  // Returns null if the object was not reported yet.
  const NamespaceObjects::Object* Ask(std::string_view api_version, std::string_view kind, std::string_view name) const;
  NamespaceObjects& objects_;
  const PriorityClasses& priority_classes_;
  const KartaSet& kartas_;
  mutable std::set<std::string> facts_;
  mutable std::vector<std::string> waits_for_;
  mutable std::vector<std::string> unreadable_;
};

}  // namespace basalt::pgsvc
