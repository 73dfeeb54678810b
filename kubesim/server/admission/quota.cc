#include "kubesim/server/admission/quota.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

// Returns the resource that a name of a quota counts. Empty if the name counts no objects.
std::string_view CountedResource(std::string_view name) {
  constexpr std::string_view kPrefix = "count/";
  if (name.starts_with(kPrefix)) return name.substr(kPrefix.size());
  for (const std::string_view old :
       {"pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "resourcequotas"}) {
    if (name == old) return name;
  }
  return {};
}

bool Counts(std::string_view name, const json::value& object) {
  if (name != "pods") return true;
  const json::value* status = Find(object, "status");
  const std::string_view phase = status == nullptr ? "" : FindString(*status, "phase");
  return phase != "Succeeded" && phase != "Failed";
}

int64_t Count(const Core& core, std::string_view name, std::string_view ns) {
  int64_t count = 0;
  core.store.Visit(CountedResource(name), ns, nullptr, [&](const ObjectKey&, const RevisionPtr& revision) {
    if (Counts(name, revision->object())) ++count;
    return true;
  });
  return count;
}

std::optional<int64_t> Amount(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_string()) return std::nullopt;
  const json::string& text = value.get_string();
  int64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return amount;
}

// Returns the limits of the quota that count objects, by name.
std::map<std::string, int64_t> Limits(const json::value& quota) {
  std::map<std::string, int64_t> limits;
  const json::value* hard = FindPath(quota, {"spec", "hard"});
  if (hard == nullptr || !hard->is_object()) return limits;
  for (const auto& member : hard->get_object()) {
    const std::string name(member.key());
    const std::optional<int64_t> amount = Amount(member.value());
    if (amount.has_value() && !CountedResource(name).empty()) limits[name] = *amount;
  }
  return limits;
}

}  // namespace

absl::Status CheckQuotas(const Core& core, const TypeInfo& type, const json::value& object) {
  if (!type.namespaced) return absl::OkStatus();
  const std::string_view ns = MetaString(object, "namespace");
  const std::string resource = type.Resource();
  absl::Status refused;
  core.store.Visit(kQuotas, ns, nullptr, [&](const ObjectKey& key, const RevisionPtr& quota) {
    std::string requested, used, limited;
    for (const auto& [name, limit] : Limits(quota->object())) {
      if (CountedResource(name) != resource || !Counts(name, object)) continue;
      const int64_t count = Count(core, name, ns);
      if (count < limit) continue;
      const std::string_view comma = requested.empty() ? "" : ",";
      requested += fmt::format("{}{}=1", comma, name);
      used += fmt::format("{}{}={}", comma, name, count);
      limited += fmt::format("{}{}={}", comma, name, limit);
    }
    if (requested.empty()) return true;
    refused = Forbidden(
        type, MetaString(object, "name"),
        fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", key.name, requested, used, limited));
    return false;
  });
  return refused;
}

json::object QuotaUsed(const Core& core, const json::value& quota) {
  json::object used;
  for (const auto& [name, limit] : Limits(quota)) {
    used[name] = fmt::to_string(Count(core, name, MetaString(quota, "namespace")));
  }
  return used;
}

}  // namespace basalt::kubesim
