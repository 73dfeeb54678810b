#pragma once

// Names that wait for a time. The cost of a pass depends on the names that are due, not on all that wait. A value;
// confined to the loop of its owner.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace basalt::pgsvc {

class DueQueue {
 public:
  // Makes the name due at `when`, or earlier if an earlier time was given before.
  void Add(const std::string& name, absl::Time when) {
    const auto [known, is_new] = times_.try_emplace(name, when);
    if (!is_new) {
      if (known->second <= when) return;
      order_.erase({known->second, name});
      known->second = when;
    }
    order_.emplace(when, name);
  }
  // Moves the names that are due at `now` into `due`.
  void TakeDue(absl::Time now, std::set<std::string>& due) {
    while (!order_.empty() && order_.begin()->first <= now) {
      times_.erase(order_.begin()->second);
      due.insert(std::move(order_.extract(order_.begin()).value().second));
    }
  }
  bool contains(const std::string& name) const { return times_.contains(name); }
  // Returns when the next name is due; InfiniteFuture if none waits.
  absl::Time next() const { return order_.empty() ? absl::InfiniteFuture() : order_.begin()->first; }

 private:
  std::set<std::pair<absl::Time, std::string>> order_;
  std::map<std::string, absl::Time> times_;
};

}  // namespace basalt::pgsvc
