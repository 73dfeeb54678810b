#include "kubesim/actors/scheduler/resources.h"

#include <algorithm>

#include "common/kube/quantity.h"

namespace basalt::actors {
namespace {

Amounts ContainerRequest(const json::value& container) {
  Amounts request = AmountsOf(FindPath(container, {"resources", "requests"}));
  for (const auto& [name, amount] : AmountsOf(FindPath(container, {"resources", "limits"}))) {
    request.try_emplace(name, amount);
  }
  return request;
}

}  // namespace

Amounts AmountsOf(const json::value* list) {
  Amounts amounts;
  if (list == nullptr || !list->is_object()) return amounts;
  for (const auto& entry : list->get_object()) {
    const std::string name(entry.key().data(), entry.key().size());
    if (entry.value().is_int64()) {
      amounts[name] = entry.value().get_int64() * 1000;
    } else if (entry.value().is_string()) {
      const auto quantity = kube::Quantity::Parse(std::string_view(entry.value().get_string()));
      if (quantity.ok()) amounts[name] = quantity->MilliValue();
    }
  }
  return amounts;
}

Amounts SchedulableAmountsOf(const json::value* list) {
  Amounts amounts = AmountsOf(list);
  std::erase_if(amounts, [](const auto& entry) {
    const std::string_view name = entry.first;
    if (name.find("kubernetes.io/") != std::string_view::npos) return false;
    return name.starts_with("count/") || name.starts_with("requests.") || name.starts_with("limits.");
  });
  return amounts;
}

void Add(Amounts& to, const Amounts& what, int64_t times) {
  for (const auto& [name, amount] : what) to[name] += amount * times;
}

bool WithinListed(const Amounts& used, const Amounts& more, const Amounts& limit) {
  for (const auto& [name, most] : limit) {
    const auto a = used.find(name);
    const auto b = more.find(name);
    const int64_t asked = b == more.end() ? 0 : b->second;
    if (asked > 0 && (a == used.end() ? 0 : a->second) + asked > most) return false;
  }
  return true;
}

std::string Lacking(const Amounts& used, const Amounts& more, const Amounts& limit) {
  for (const auto& [name, asked] : more) {
    if (asked <= 0) continue;
    const auto most = limit.find(name);
    const auto taken = used.find(name);
    if ((taken == used.end() ? 0 : taken->second) + asked > (most == limit.end() ? 0 : most->second)) return name;
  }
  return {};
}

bool Fits(const Amounts& used, const Amounts& more, const Amounts& limit) { return Lacking(used, more, limit).empty(); }

Amounts PodRequest(const json::value& spec) {
  Amounts total;
  if (const json::value* list = Find(spec, "containers"); list != nullptr && list->is_array()) {
    for (const json::value& container : list->get_array()) Add(total, ContainerRequest(container));
  }
  if (const json::value* list = Find(spec, "initContainers"); list != nullptr && list->is_array()) {
    for (const json::value& container : list->get_array()) {
      for (const auto& [name, amount] : ContainerRequest(container)) total[name] = std::max(total[name], amount);
    }
  }
  Add(total, AmountsOf(Find(spec, "overhead")));
  return total;
}

}  // namespace basalt::actors
