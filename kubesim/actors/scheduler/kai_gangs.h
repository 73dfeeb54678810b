#pragma once

// Decides when pods of KAI's schedulers may be bound: once their group exists and has as many pods as it needs
// (pod-grouper 9.1). The facts come from informers; a callback announces changes for which a pod may have waited.
//
// Simplifications: from then on pods are bound one by one, whether or not all of them fit. Queues, priorities and
// topologies are ignored, and no status is written.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "kubesim/actors/client/informer.h"

namespace basalt::actors {

// The requirements of a PodGroup of KAI's. A value.
struct KaiGang {
  struct SubGroup {
    std::string name, parent;
    int min_member = 0;
    int min_sub_group = -1;  // All children are required if below 0.
  };
  int min_member = 1;
  int min_sub_group = -1;
  std::vector<SubGroup> sub_groups;

  static KaiGang Of(const json::value& group);
  // The leaf of pods that name no subgroup. A group without subgroups always has this leaf.
  static constexpr std::string_view kDefaultLeaf = "default";

  // Returns whether the group has this leaf. Pods in other leaves are not scheduled.
  bool HasLeaf(std::string_view leaf) const;
  // Returns whether the minimums are reached. `pods` has the number of pods by leaf.
  bool IsSatisfied(const std::map<std::string, int>& pods) const;

 private:
  bool IsInner(std::string_view name) const;
  bool AreChildrenSatisfied(std::string_view parent, int minimum, const std::map<std::string, int>& pods) const;
};

// Confined to one loop.
class KaiGangs {
 public:
  KaiGangs(std::set<std::string> scheduler_names, std::function<void()> on_change);

  // Listeners for informers of all pods and of KAI's groups.
  InformerListener& pods() { return pods_listener_; }
  InformerListener& groups() { return groups_listener_; }

  // Returns whether the pod may be bound. True for a pod of another scheduler.
  bool MayBind(const std::string& space, const std::string& name) const;

 private:
  struct Listener : InformerListener {
    std::function<void(const json::value&)> object;
    std::function<void(const ObjectName&)> gone;
    void OnObject(const json::value& value) override { object(value); }
    void OnGone(const ObjectName& name) override { gone(name); }
    void OnSynced() override {}
  };
  struct Pod {
    std::string group;  // Empty if the pod names no group.
    std::string sub_group;
    bool counts = false;  // The pod has not ended and is not being deleted.
  };
  struct Group {
    bool exists = false;
    KaiGang gang;
    std::map<std::string, int> pods;  // Number of pods by subgroup.
  };

  static std::string KeyOf(std::string_view space, std::string_view name);
  void OnPod(const json::value& object);
  void OnPodGone(const ObjectName& gone);
  void OnGroup(const json::value& object);
  void OnGroupGone(const ObjectName& gone);
  void Count(const Pod& pod, int sign);

  const std::set<std::string> scheduler_names_;
  const std::function<void()> on_change_;
  Listener pods_listener_, groups_listener_;
  std::map<std::string, Pod> pods_;
  std::map<std::string, Group> groups_;
};

}  // namespace basalt::actors
