#pragma once

// One group of KAI's as far as this process knows and has written it. A value; confined to the loop of its owner.
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/reconcile/retry.h"

namespace basalt::pgsvc {

class KaiGroupState {
 public:
  struct Member {
    std::string uid;
    std::string leaf;        // Empty: none.
    bool is_active = false;  // Neither over nor being deleted.
  };

  // The pod of that name is in the group, as `member` says.
  void Put(const std::string& pod, Member member) {
    Remove(pod);
    if (member.is_active) ++active_;
    if (leaves_[member.leaf]++ == 0) is_compared = false;
    if (members_.empty() || pod < members_.begin()->first) is_compared = false;
    members_[pod] = std::move(member);
  }
  void Remove(const std::string& pod) {
    const auto known = members_.find(pod);
    if (known == members_.end()) return;
    if (known == members_.begin()) is_compared = false;
    if (known->second.is_active) --active_;
    if (const auto leaf = leaves_.find(known->second.leaf); --leaf->second == 0) {
      leaves_.erase(leaf);
      is_compared = false;
    }
    members_.erase(known);
  }
  // Null: the pod is no member. Another pod may have its name by now.
  const Member* Find(const kube::v1::Pod& pod) const {
    const auto known = members_.find(pod.name());
    return known == members_.end() || known->second.uid != pod.uid() ? nullptr : &known->second;
  }
  // By the names of the pods.
  const std::map<std::string, Member>& members() const { return members_; }
  // How many members each leaf has.
  const std::map<std::string, size_t>& leaves() const { return leaves_; }
  bool has_active() const { return active_ > 0; }
  bool is_idle() const { return members_.empty() && !busy && linking.empty(); }

  bool is_compared = false;           // The group is as the rules say, or a write that makes it so was sent.
  bool busy = false;                  // A write or read of the group is under way.
  std::set<std::string> to_link;      // UIDs of members that do not name the group yet.
  std::set<std::string> linking;      // UIDs of those whose patch is under way.
  std::set<std::string> plan_leaves;  // Of the group as Kubernetes has it.
  std::set<std::string> sent_leaves;  // Of the write that is under way.
  Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};
  absl::Time next_create = absl::InfinitePast();  // Somebody else may delete it each time.
  absl::Time next_update = absl::InfinitePast();  // Somebody else may put an old value back each time.

 private:
  std::map<std::string, Member> members_;
  std::map<std::string, size_t> leaves_;
  size_t active_ = 0;
};

}  // namespace basalt::pgsvc
