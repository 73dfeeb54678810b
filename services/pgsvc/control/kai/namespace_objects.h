#pragma once

// What is known of one namespace for the grouping of KAI's pods: its pods, its groups, and the owners and other objects
// that rules have asked for. Answers rules as ClusterView does, and notes each fact that they asked for. Confined to
// the loop of its owner.
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/core/grouping/owner_walk.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// Facts are texts: what a pod was grouped by. Those of objects are their interests, "objects/<apiVersion>/<kind>
// <name>"; the others are known to whoever has the namespace.
std::string ObjectFact(std::string_view watch, std::string_view name);
std::string PodFact(std::string_view name);
std::string ClassFact(std::string_view priority_class);
std::string GroupFact(std::string_view name);
std::string OwnedGroupsFact(std::string_view owner_uid);
std::string LabelFact(std::string_view key, std::string_view value);

class NamespaceObjects {
 public:
  using Pods = std::map<std::string, kube::v1::Pod>;                                          // By UID.
  using Groups = std::map<std::string, std::unique_ptr<kube::v1::KaiPodGroup>, std::less<>>;  // By name.

  // ---- what is told; each returns the facts that have changed ----
  struct PodChange {
    bool is_news = false;  // Rules see the pod otherwise than before.
    std::set<std::string> facts;
  };
  PodChange SetPod(kube::v1::Pod&& pod);
  std::set<std::string> ErasePod(const std::string& uid);
  std::set<std::string> SetGroup(std::unique_ptr<kube::v1::KaiPodGroup> group);
  std::set<std::string> EraseGroup(std::string_view name);
  // Of an interest. `gone`: there is no such object.
  std::string SetObject(std::string_view watch, const kube::v1::GenericObject& object, bool gone);
  // Pods were grouped by the pod of that name, which is gone: another scheduler has not taken their owner over.
  void RememberGonePod(const std::string& name) { gone_pods_.insert(name); }
  // Nobody was grouped by what the fact is about any more.
  void Forget(const std::string& fact);

  const Pods& pods() const { return pods_; }
  // Null: there is none of that name for a scheduler of KAI's.
  const kube::v1::Pod* FindPod(std::string_view name) const;
  // Null: there is none.
  const kube::v1::KaiPodGroup* FindGroup(std::string_view name) const;
  bool empty() const { return pods_.empty() && groups_.empty(); }

 private:
  friend class NamespaceView;
  enum class State { kAbsent, kForbidden, kKnown };
  struct Object {
    State state = State::kAbsent;
    json::value json;
    std::string why;  // Of kForbidden, in words.
  };

  void IndexPod(const kube::v1::Pod& pod, bool is_there, std::set<std::string>& changed);
  // Whose first owner a group names; empty: nobody.
  static std::string_view OwnerOf(const kube::v1::KaiPodGroup& group);
  // As far as rules can tell them apart.
  static bool IsAlike(const kube::v1::KaiPodGroup& a, const kube::v1::KaiPodGroup& b);

  Pods pods_;
  Groups groups_;
  std::map<std::string, std::string, std::less<>> pod_names_;  // UIDs.
  std::set<std::string, std::less<>> gone_pods_;               // Names of owners.
  std::map<std::string, std::set<std::string>> groups_of_;     // Names of groups, by the UID of their first owner.
  std::map<std::string, Object> objects_;                      // By fact; what is not in here was not told yet.
  // By label key and value, UIDs of pods: of the keys that rules ask for.
  std::map<std::string, std::map<std::string, std::set<std::string>, std::less<>>, std::less<>> by_label_;
};

// The namespace as the rules see it while one pod is grouped.
class NamespaceView final : public ClusterView {
 public:
  // Both outlive the view.
  NamespaceView(NamespaceObjects& objects, const std::set<std::string, std::less<>>& priority_classes)
      : objects_(objects), priority_classes_(priority_classes) {}

  // As OwnersOf of owner_walk.h. UNAVAILABLE: an owner was not told yet.
  absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod);

  // What has been asked for, and what of that was not told yet.
  const std::set<std::string>& facts() const { return facts_; }
  const std::vector<std::string>& waits_for() const { return waits_for_; }
  // Owners that nobody may read: the way up ends below them (pod-grouper 3.2).
  const std::vector<std::string>& unreadable() const { return unreadable_; }

  bool HasPriorityClass(std::string_view name) const override;
  ObjectView Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                  std::string_view name) const override;
  std::vector<ObjectView> GroupsOwnedBy(std::string_view ns, std::string_view uid) const override;
  std::vector<ObjectView> PodsWithLabel(std::string_view ns, std::string_view key,
                                        std::string_view value) const override;

 private:
  absl::StatusOr<ObjectView> FindOwner(const OwnerReference& reference, std::string_view ns);
  // Null: it was not told yet.
  const NamespaceObjects::Object* Ask(std::string_view api_version, std::string_view kind, std::string_view name) const;
  ObjectView Keep(json::value object) const { return ObjectView(made_.emplace_back(std::move(object))); }

  NamespaceObjects& objects_;
  const std::set<std::string, std::less<>>& priority_classes_;
  mutable std::set<std::string> facts_;
  mutable std::vector<std::string> waits_for_;
  mutable std::vector<std::string> unreadable_;
  mutable std::deque<json::value> made_;  // What views of pods and groups point into.
};

}  // namespace basalt::pgsvc
