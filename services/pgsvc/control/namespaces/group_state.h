#pragma once

// One group of a namespace as far as this process knows and has written it. A value; confined to the loop of its owner.
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
    std::string leaf;        // Empty: none.
    bool is_active = false;  // Neither over nor being deleted.
    kube::v1::PodPhase phase = kube::v1::POD_PHASE_UNSPECIFIED;
  };
  // A pod and the one that follows it under its name may be known at the same time.
  struct PodId {
    std::string name;
    std::string uid;
    auto operator<=>(const PodId&) const = default;
  };
  using Members = std::map<PodId, Member>;

  // The members of one leaf.
  struct Leaf {
    size_t count = 0;
    PodId first;
  };

  // The pod is in the group, as `member` says.
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
  // The pod is a member, of which nothing but the phase and whether it is active has changed.
  void SetState(const kube::v1::Pod& pod, bool is_active) {
    Member& member = members_.at({pod.name(), pod.uid()});
    Count(member, -1);
    member.is_active = is_active;
    member.phase = pod.phase();
    Count(member, 1);
  }
  void Remove(const kube::v1::Pod& pod) { Remove({pod.name(), pod.uid()}); }
  // Null: the pod is no member.
  const Member* Find(const kube::v1::Pod& pod) const {
    const auto known = members_.find({pod.name(), pod.uid()});
    return known == members_.end() ? nullptr : &known->second;
  }
  const Members& members() const { return members_; }
  // The UID of the pod whose Events are those of the group; empty: no member is active.
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
  // The group that was looked at is not there any more.
  void ForgetGroup() {
    is_ours = false;
    plan_leaves.clear();
  }
  bool is_idle() const { return members_.empty() && !busy && links.under_way.empty(); }

  bool is_compared = false;           // The group is as the rules say, or a write that makes it so was sent.
  bool is_ours = false;               // The group that was looked at last is one that grouping has made.
  std::set<std::string> plan_leaves;  // Of the group as Kubernetes has it.
  std::set<std::string> sent_leaves;  // Of the update that is under way.
  std::optional<json::object> lost;   // Creates the group, which is gone: as it was seen last, or by a pod.
  int64_t least_pods = 0;             // By the plan that was looked at last.

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
      // It was the first of its leaf: the next one stands behind it.
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
