#pragma once

// Which pods were grouped by what: who has to be looked at again when something changes. Values; confined to the loop
// of their owner.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::pgsvc {

class Dependents {
 public:
  using Facts = std::set<std::string>;

  // The pod of that UID was grouped by these facts, and by no others any more. The facts that no pod was grouped by
  // before, and those that none is any more.
  struct Change {
    std::vector<std::string> first;
    std::vector<std::string> last;
  };
  Change Set(const std::string& pod, Facts facts);
  // UIDs.
  const std::set<std::string>& Of(std::string_view fact) const;
  // All facts that some pod was grouped by.
  std::vector<std::string> All() const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> pods_;  // By fact.
  std::map<std::string, Facts> facts_;                              // By pod.
};

}  // namespace basalt::pgsvc
