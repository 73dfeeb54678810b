#include "services/pgsvc/control/namespaces/karta_warnings.h"

#include "services/pgsvc/control/pod_event.h"

namespace basalt::pgsvc {

KartaWarnings::KartaWarnings(runtime::Context& context)
    : recorder_(context, [this](const std::string&, const std::string& uid) -> runtime::ObjectEvents* {
        const auto warned = warned_.find(uid);
        return warned == warned_.end() ? nullptr : &warned->second.events;
      }) {}

void KartaWarnings::Record(const std::string& key, const std::vector<KartaName>& kartas, std::string_view problem) {
  for (const KartaName& karta : kartas) {
    if (karta.uid.empty()) continue;
    Warned& warned = warned_[karta.uid];
    warned.name = karta.name;
    recorder_.Record(key, warned.events, WarningOnKarta(karta.name, karta.uid, problem));
  }
}

void KartaWarnings::Forget(std::string_view name) {
  std::erase_if(warned_, [name](const auto& warned) { return warned.second.name == name; });
}

}  // namespace basalt::pgsvc
