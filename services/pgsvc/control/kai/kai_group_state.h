#pragma once

// One group of KAI's as far as this process knows and has written it. A value; confined to the loop of its owner.
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/reconcile/pace.h"
#include "common/reconcile/retry.h"

namespace basalt::pgsvc {

class KaiGroupState {
 public:
  struct Member {
    std::string leaf;        // Empty: none.
    bool is_active = false;  // Neither over nor being deleted.
  };
  // A pod and the one that follows it under its name may be known at the same time.
  struct PodId {
    std::string name;
    std::string uid;
    auto operator<=>(const PodId&) const = default;
  };
  using Members = std::map<PodId, Member>;

  // The pod is in the group, as `member` says.
  void Put(const kube::v1::Pod& pod, Member member) {
    const PodId id{pod.name(), pod.uid()};
    Remove(id);
    if (member.is_active) ++active_;
    if (leaves_[member.leaf]++ == 0) is_compared = false;
    if (members_.empty() || id < members_.begin()->first) is_compared = false;
    members_[id] = std::move(member);
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
  // How many members each leaf has.
  const std::map<std::string, size_t>& leaves() const { return leaves_; }
  bool has_active() const { return active_ > 0; }
  bool is_idle() const { return members_.empty() && !busy && linking.empty(); }

  bool is_compared = false;           // The group is as the rules say, or a write that makes it so was sent.
  bool busy = false;                  // A write or read of the group is under way.
  std::set<std::string> to_link;      // UIDs of members that do not name the group yet.
  std::set<std::string> linking;      // UIDs of those whose patch is under way.
  std::set<std::string> plan_leaves;  // Of the group as Kubernetes has it.
  std::set<std::string> sent_leaves;  // Of the update that is under way.
  std::string sent_state;             // What the write that is under way brings about; empty: that the group is there.
  Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};
  Pace creates;  // Somebody else may delete it each time.
  Pace updates;  // Somebody else may put an old value back each time.

 private:
  void Remove(const PodId& id) {
    const auto known = members_.find(id);
    if (known == members_.end()) return;
    if (known == members_.begin()) is_compared = false;
    if (known->second.is_active) --active_;
    if (const auto leaf = leaves_.find(known->second.leaf); --leaf->second == 0) {
      leaves_.erase(leaf);
      is_compared = false;
    }
    members_.erase(known);
  }

  Members members_;
  std::map<std::string, size_t> leaves_;
  size_t active_ = 0;
};

}  // namespace basalt::pgsvc
