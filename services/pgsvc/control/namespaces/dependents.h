#pragma once

// The facts that each pod was grouped by: when a fact changes, these pods are grouped again. Kept in the same way for
// groups and the facts about their queues. A value; confined to the loop of its owner.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::pgsvc {

class Dependents {
 public:
  using Facts = std::set<std::string>;

  // The facts on which pods begin or cease to depend by a call of Set().
  struct Change {
    std::vector<std::string> first;  // No pod was grouped by these facts before.
    std::vector<std::string> last;   // No pod is grouped by these facts any more.
  };
  // The pod of that UID was grouped by these facts, and is grouped by no others.
  Change Set(const std::string& pod, Facts facts);
  // Returns the UIDs of the pods that were grouped by the fact.
  const std::set<std::string>& Of(std::string_view fact) const;
  // Returns all facts that some pod was grouped by.
  std::vector<std::string> All() const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> pods_;  // UIDs of pods, by fact.
  std::map<std::string, Facts> facts_;                              // By UID of the pod.
};

}  // namespace basalt::pgsvc
