#include "services/pgsvc/control/namespaces/karta_warnings.h"

#include "services/pgsvc/control/pod_event.h"

namespace basalt::pgsvc {

KartaWarnings::KartaWarnings(runtime::Context& context)
    : recorder_(context, [this](const std::string&, const std::string& uid) -> runtime::ObjectEvents* {
        const auto told = told_.find(uid);
        return told == told_.end() ? nullptr : &told->second.events;
      }) {}

void KartaWarnings::Record(const std::string& key, const std::vector<KartaName>& kartas, std::string_view problem) {
  for (const KartaName& karta : kartas) {
    if (karta.uid.empty()) continue;
    Told& told = told_[karta.uid];
    told.name = karta.name;
    recorder_.Record(key, told.events, WarningOnKarta(karta.name, karta.uid, problem));
  }
}

void KartaWarnings::Forget(std::string_view name) {
  std::erase_if(told_, [name](const auto& told) { return told.second.name == name; });
}

}  // namespace basalt::pgsvc
