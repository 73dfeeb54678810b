#pragma once

// One group of a namespace, with its members, as this process knows and writes it. A value; confined to the loop of its
// owner.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/pgsvc/control/group/group_entry.h"

namespace basalt::pgsvc {

class GroupState : public GroupEntry {
 public:
  struct Member {
    std::string leaf;        // Empty if the pod belongs to no leaf.
    bool is_active = false;  // Whether the pod is neither over nor being deleted.
    kube::v1::PodPhase phase = kube::v1::POD_PHASE_UNSPECIFIED;
  };
  // Includes the UID, since a pod and its successor of that name may be known at the same time.
  struct PodId {
    std::string name;
    std::string uid;
    auto operator<=>(const PodId&) const = default;
  };
  using Members = std::map<PodId, Member>;

  // The members of one leaf.
  struct Leaf {
    size_t count = 0;
    PodId first;  // The first member in order.
  };

  // Adds the pod to the group, or replaces its member.
  void Put(const kube::v1::Pod& pod, Member member) {
    const PodId id{pod.name(), pod.uid()};
    Remove(id);
    Count(member, 1);
    Leaf& leaf = leaves_[member.leaf];
    if (leaf.count++ == 0 || id < leaf.first) {
      leaf.first = id;
      is_compared = false;
    }
    if (members_.empty() || id < members_.begin()->first) is_compared = false;
    members_[id] = std::move(member);
  }
  // Updates the phase of the pod, and whether it is active. Requires that the pod is a member, of which nothing else
  // has changed.
  void SetState(const kube::v1::Pod& pod, bool is_active) {
    Member& member = members_.at({pod.name(), pod.uid()});
    Count(member, -1);
    member.is_active = is_active;
    member.phase = pod.phase();
    Count(member, 1);
  }
  void Remove(const kube::v1::Pod& pod) { Remove({pod.name(), pod.uid()}); }
  // Returns null if the pod is no member.
  const Member* Find(const kube::v1::Pod& pod) const {
    const auto known = members_.find({pod.name(), pod.uid()});
    return known == members_.end() ? nullptr : &known->second;
  }
  const Members& members() const { return members_; }
  // Returns the UID of the first active member, which gets the Events about the group; empty if no member is active.
  std::string_view FirstActive() const {
    for (const auto& [id, member] : members_) {
      if (member.is_active) return id.uid;
    }
    return {};
  }
  const std::map<std::string, Leaf>& leaves() const { return leaves_; }
  bool has_active() const { return active_ > 0; }
  int64_t CountOf(kube::v1::PodPhase phase) const {
    const auto count = phases_.find(phase);
    return count == phases_.end() ? 0 : count->second;
  }
  // The observed group is gone, or another one has its name now.
  void ForgetGroup() {
    is_ours = false;
    plan_leaves.clear();
  }
  // Sets the leaves that the group has, so that members may name them.
  void SetLeaves(std::set<std::string> leaves) {
    if (leaves == plan_leaves) return;
    plan_leaves = std::move(leaves);
    for (const auto& [pod, member] : members_) links.due.insert(pod.uid);
  }
  bool is_idle() const { return members_.empty() && !busy && links.under_way.empty(); }

  // Whether the group is as the rules require, or a write that makes it so was sent.
  bool is_compared = false;
  bool is_ours = false;               // Whether grouping has made the group, by the last comparison.
  std::set<std::string> plan_leaves;  // The leaves of the group as Kubernetes has it.
  std::set<std::string> sent_leaves;  // The leaves of the update that is under way.
  // The object that creates the group again, which is gone: the group as last observed, or one for a pod that names it.
  // Nullopt if the group is not to be created so.
  std::optional<json::object> lost;
  int64_t least_pods = 0;  // How many pods have to run for the group to run, by the last plan or comparison.

 private:
  void Remove(const PodId& id) {
    const auto known = members_.find(id);
    if (known == members_.end()) return;
    if (known == members_.begin()) is_compared = false;
    Count(known->second, -1);
    const auto leaf = leaves_.find(known->second.leaf);
    if (--leaf->second.count == 0 || leaf->second.first == id) is_compared = false;
    const auto next = members_.erase(known);
    if (leaf->second.count == 0) {
      leaves_.erase(leaf);
    } else if (leaf->second.first == id) {
      // The pod was the first of its leaf: the next pod of that leaf follows it in order.
      leaf->second.first =
          std::find_if(next, members_.end(), [&](const auto& one) { return one.second.leaf == leaf->first; })->first;
    }
  }

  void Count(const Member& member, int by) {
    if (member.is_active) active_ += by;
    phases_[member.phase] += by;
  }

  Members members_;
  std::map<std::string, Leaf> leaves_;
  int64_t active_ = 0;
  std::map<kube::v1::PodPhase, int64_t> phases_;
};

}  // namespace basalt::pgsvc
