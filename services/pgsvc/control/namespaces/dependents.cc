#include "services/pgsvc/control/namespaces/dependents.h"

#include <utility>

namespace basalt::pgsvc {

Dependents::Change Dependents::Set(const std::string& pod, Facts facts) {
  Change change;
  const auto known = facts_.find(pod);
  static const Facts kNone;
  const Facts& before = known == facts_.end() ? kNone : known->second;
  for (const std::string& fact : facts) {
    if (before.contains(fact)) continue;
    std::set<std::string>& pods = pods_[fact];
    if (pods.empty()) change.first.push_back(fact);
    pods.insert(pod);
  }
  for (const std::string& fact : before) {
    if (facts.contains(fact)) continue;
    const auto pods = pods_.find(fact);
    pods->second.erase(pod);
    if (!pods->second.empty()) continue;
    change.last.push_back(fact);
    pods_.erase(pods);
  }
  if (facts.empty()) {
    facts_.erase(pod);
  } else {
    facts_[pod] = std::move(facts);
  }
  return change;
}

const std::set<std::string>& Dependents::Of(std::string_view fact) const {
  static const std::set<std::string> kNone;
  const auto pods = pods_.find(fact);
  return pods == pods_.end() ? kNone : pods->second;
}

std::vector<std::string> Dependents::All() const {
  std::vector<std::string> facts;
  for (const auto& [fact, pods] : pods_) facts.push_back(fact);
  return facts;
}

}  // namespace basalt::pgsvc
