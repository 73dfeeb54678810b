#pragma once

// The Kartas of a cluster, and the one that counts for each kind (pod-grouper 6.11; weaknesses G25, G26). A value.
// Pure.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/pgsvc/core/grouping/karta/karta.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

class KartaSet {
 public:
  // Sets or removes the Karta of that name. Both return the kinds for which the choice may differ now, as KindText has
  // them.
  std::vector<std::string> Set(ObjectView karta);
  std::vector<std::string> Erase(std::string_view name);

  KartaChoice For(ObjectView top) const;

  // Returns "<group>/<version>/<kind>".
  static std::string KindText(ObjectView top);

 private:
  struct Entry {
    std::string uid;
    std::string kind;  // As KindText has it.
    std::shared_ptr<const Karta> karta;
    std::string problem;  // Set if `karta` is null.
  };

  std::map<std::string, Entry, std::less<>> entries_;  // Keyed by name; contains only Kartas that could count.
};

}  // namespace basalt::pgsvc
