#pragma once

// The Kartas of a cluster, and which of them counts for a kind (pod-grouper 6.11; weaknesses G25, G26). A value. Pure.
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
  // The Karta of that name is so now. Texts that name the kinds for which another choice may be made (KindText).
  std::vector<std::string> Set(ObjectView karta);
  std::vector<std::string> Erase(std::string_view name);

  KartaChoice For(ObjectView top) const;

  // "<group>/<version>/<kind>".
  static std::string KindText(ObjectView top);

 private:
  struct Entry {
    std::string uid;
    std::string kind;  // KindText.
    std::shared_ptr<const Karta> karta;
    std::string problem;  // Where there is no `karta`.
  };

  std::map<std::string, Entry, std::less<>> entries_;  // By name; those alone that could count.
};

}  // namespace basalt::pgsvc
