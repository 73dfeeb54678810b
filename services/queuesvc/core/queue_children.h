#pragma once

// The queues that name each queue as their parent. A value.
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace basalt::queuesvc {

class QueueChildren {
 public:
  // The parent of `queue` changes from `from` to `to`; either is empty if the queue has no parent.
  void Move(const std::string& queue, const std::string& from, const std::string& to) {
    if (from == to) return;
    if (const auto known = children_.find(from); known != children_.end()) {
      known->second.erase(queue);
      if (known->second.empty()) children_.erase(known);
    }
    if (!to.empty()) children_[to].insert(queue);
  }
  const std::set<std::string>& Of(std::string_view parent) const {
    static const std::set<std::string> kNone;
    const auto known = children_.find(parent);
    return known == children_.end() ? kNone : known->second;
  }

 private:
  std::map<std::string, std::set<std::string>, std::less<>> children_;
};

}  // namespace basalt::queuesvc
