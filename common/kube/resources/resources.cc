#include "common/kube/resources/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"

namespace basalt::kube {
namespace {

constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kRequests = "requests.";
constexpr std::string_view kNative = "kubernetes.io/";
constexpr std::string_view kDeviceClass = "deviceclass.resource.kubernetes.io/";

struct Demand {
  ResourceMap requests;
  ResourceMap limits;
};

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool IsExtended(std::string_view name) {
  return Contains(name, "/") && !Contains(name, kNative) && !name.starts_with(kRequests) &&
         IsQualifiedKey(fmt::format("{}{}", kRequests, name));
}

// Returns whether a pod-level list may contain the name.
bool IsPodLevel(std::string_view name) { return name == "cpu" || name == "memory" || name.starts_with(kHugePages); }

void RaiseTo(ResourceMap& peak, const ResourceMap& other) {
  for (const auto& [name, value] : other) {
    const auto [at, added] = peak.try_emplace(name, value);
    if (!added && at->second < value) at->second = value;
  }
}

absl::StatusOr<Demand> ReadDemand(const json::value& holder, std::string_view where) {
  Demand demand;
  const json::value* resources = Find(holder, "resources");
  if (resources == nullptr || resources->is_null()) return demand;
  BASALT_ASSIGN_OR_RETURN(
      demand.requests, ResourceMapFromJson(Find(*resources, "requests"), fmt::format("{}.resources.requests", where)));
  BASALT_ASSIGN_OR_RETURN(demand.limits,
                          ResourceMapFromJson(Find(*resources, "limits"), fmt::format("{}.resources.limits", where)));
  return demand;
}

struct Container {
  Demand demand;
  bool sidecar = false;  // Can be true only for init containers.
};

absl::StatusOr<std::vector<Container>> ReadContainers(const json::value& pod_spec, std::string_view list,
                                                      RequestDefaults defaults) {
  std::vector<Container> out;
  const json::value* found = Find(pod_spec, list);
  if (found == nullptr || !found->is_array()) return out;
  for (const json::value& item : found->get_array()) {
    Container container;
    BASALT_ASSIGN_OR_RETURN(container.demand, ReadDemand(item, fmt::format("{}[{}]", list, out.size())));
    if (defaults == RequestDefaults::kLimitsAsRequests) {
      container.demand.requests.insert(container.demand.limits.begin(), container.demand.limits.end());
    }
    container.sidecar = FindString(item, "restartPolicy") == "Always";
    out.push_back(std::move(container));
  }
  return out;
}

// Does steps A.2 to A.4. Sidecars stay; other init containers run before the rest, one after the other.
ResourceMap Aggregate(const std::vector<Container>& containers, const std::vector<Container>& init_containers,
                      ResourceMap Demand::*list) {
  ResourceMap sum;
  for (const Container& container : containers) AddTo(sum, container.demand.*list);
  ResourceMap sidecars;
  ResourceMap peak;
  for (const Container& container : init_containers) {
    ResourceMap candidate = sidecars;
    AddTo(candidate, container.demand.*list);
    if (container.sidecar) {
      AddTo(sum, container.demand.*list);
      sidecars = candidate;
    }
    RaiseTo(peak, candidate);
  }
  RaiseTo(sum, peak);
  return sum;
}

// Does step A.5.
void ApplyPodLevel(const Demand& pod_level, RequestDefaults defaults, Demand& total) {
  for (const auto& [name, value] : pod_level.requests) {
    if (IsPodLevel(name)) total.requests[name] = value;
  }
  for (const auto& [name, value] : pod_level.limits) {
    if (!IsPodLevel(name)) continue;
    total.limits[name] = value;
    // Kubernetes fills in a pod-level request from the containers' requests, if they have any, else from the limit.
    if (defaults == RequestDefaults::kLimitsAsRequests) total.requests.try_emplace(name, value);
  }
}

// Does step A.6.
void AddOverhead(const ResourceMap& overhead, Demand& total) {
  AddTo(total.requests, overhead);
  for (const auto& [name, value] : overhead) {
    const auto at = total.limits.find(name);
    if (at != total.limits.end() && !at->second.IsZero()) at->second += value;
  }
}

// Does steps B and C.
ResourceMap QuotaEntries(const Demand& total) {
  ResourceMap usage;
  usage["count/pods"] = Quantity::OfInt(1);
  usage["pods"] = Quantity::OfInt(1);
  for (const auto& [name, value] : total.requests) {
    const bool compute = name == "cpu" || name == "memory" || name == "ephemeral-storage";
    if (compute || name.starts_with(kHugePages) || IsExtended(name)) {
      usage[name] = value;
      usage[fmt::format("{}{}", kRequests, name)] = value;
    } else if (name.starts_with(kDeviceClass)) {
      usage[fmt::format("{}{}", kRequests, name)] = value;
    }
  }
  for (const std::string_view name : {"cpu", "memory", "ephemeral-storage"}) {
    const auto at = total.limits.find(name);
    if (at != total.limits.end()) usage[fmt::format("limits.{}", name)] = at->second;
  }
  return usage;
}

}  // namespace

absl::StatusOr<Quantity> QuantityFromJson(const json::value& value) {
  if (value.is_string()) return Quantity::Parse({value.get_string().data(), value.get_string().size()});
  if (value.is_int64()) return Quantity::OfInt(value.get_int64());
  if (value.is_uint64()) return Quantity::Parse(fmt::format("{}", value.get_uint64()));
  if (value.is_double()) return Quantity::Parse(fmt::format("{}", value.get_double()));
  return Invalid(fmt::format("{} is not a quantity", ToText(value)));
}

absl::StatusOr<ResourceMap> ResourceMapFromJson(const json::value* value, std::string_view where) {
  ResourceMap map;
  if (value == nullptr || value->is_null()) return map;
  if (!value->is_object()) {
    return Invalid(fmt::format("{}: is not an object", where));
  }
  for (const json::key_value_pair& member : value->get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    absl::StatusOr<Quantity> quantity = QuantityFromJson(member.value());
    if (!quantity.ok()) return Annotate(quantity.status(), fmt::format("{}.{}", where, name));
    map.emplace(name, *quantity);
  }
  return map;
}

void AddTo(ResourceMap& sum, const ResourceMap& addend, int64_t factor) {
  for (const auto& [name, value] : addend) sum[name] += value * factor;
}

absl::StatusOr<ResourceMap> PodQuotaUsage(const json::value& pod_spec, RequestDefaults defaults) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Container> containers, ReadContainers(pod_spec, "containers", defaults));
  BASALT_ASSIGN_OR_RETURN(const std::vector<Container> init_containers,
                          ReadContainers(pod_spec, "initContainers", defaults));
  Demand total;
  total.requests = Aggregate(containers, init_containers, &Demand::requests);
  total.limits = Aggregate(containers, init_containers, &Demand::limits);
  BASALT_ASSIGN_OR_RETURN(const Demand pod_level, ReadDemand(pod_spec, "spec"));
  ApplyPodLevel(pod_level, defaults, total);
  BASALT_ASSIGN_OR_RETURN(const ResourceMap overhead, ResourceMapFromJson(Find(pod_spec, "overhead"), "overhead"));
  AddOverhead(overhead, total);
  return QuotaEntries(total);
}

}  // namespace basalt::kube
