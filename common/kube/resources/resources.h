#pragma once

// Computes the usage of a pod in a resource quota: podgroup spec 6.4, job spec 9.10. Pure.
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "common/kube/quantity.h"

namespace basalt::kube {

using ResourceMap = std::map<std::string, Quantity, std::less<>>;

enum class RequestDefaults {
  kAsStored,         // For a pod from the API server, which has filled in its defaults.
  kLimitsAsRequests  // For a template: a limit without a request will become the request, too (job spec W27).
};

// Does steps A to C of podgroup spec 6.4, for a pod that is neither finished nor being resized. INVALID_ARGUMENT names
// container and resource of a quantity that does not parse.
absl::StatusOr<ResourceMap> PodQuotaUsage(const json::value& pod_spec, RequestDefaults defaults);

// Reads a quantity from a string or a number of JSON.
absl::StatusOr<Quantity> QuantityFromJson(const json::value& value);

// Reads a map of resource names to quantities. An absent map and a null are empty. INVALID_ARGUMENT starts with
// `where`.
absl::StatusOr<ResourceMap> ResourceMapFromJson(const json::value* value, std::string_view where);

// Does sum[name] += factor * value for every name of `addend`.
void AddTo(ResourceMap& sum, const ResourceMap& addend, int64_t factor = 1);

}  // namespace basalt::kube
