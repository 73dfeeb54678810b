#include "services/jobsvc/control/objects/made_objects.h"

#include <fmt/format.h>

namespace basalt::jobsvc {

kube::Kind MadeObjects::KindOf(std::string_view plural) {
  for (const kube::Kind& kind : {kube::kServices, kube::kConfigMaps, kube::kSecrets, kube::kNetworkPolicies}) {
    if (kind.plural == plural) return kind;
  }
  return {"", "v1", "", plural};
}

void MadeObjects::Remember(const std::string& key, std::string_view hash, std::string_view uid) {
  objects_[key] = fmt::format("{} {}", hash, uid);
}

void MadeObjects::DoubtAll() {
  for (auto& [key, remembered] : objects_) remembered.clear();
}

bool MadeObjects::Has(const std::string& key) const {
  const auto found = objects_.find(key);
  return found != objects_.end() && !found->second.empty();
}

bool MadeObjects::IsCurrent(const WantedObject& object) const { return Has(object.Key()) && !IsOutdated(object); }

bool MadeObjects::IsOutdated(const WantedObject& object) const {
  const std::string key = object.Key();
  return object.on_change == WantedObject::OnChange::kPatch && Has(key) && HashOf(key) != object.hash;
}

std::string MadeObjects::UidOf(const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return {};
  const size_t space = found->second.find(' ');
  return space == std::string::npos ? std::string() : found->second.substr(space + 1);
}

std::string_view MadeObjects::HashOf(const std::string& key) const {
  const std::string_view remembered = objects_.at(key);
  return remembered.substr(0, remembered.find(' '));
}

}  // namespace basalt::jobsvc
