#pragma once

// What a pod counts for in a resource quota: podgroup spec 6.4, job spec 9.10. Pure.
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "common/kube/quantity.h"

namespace basalt::kube {

using ResourceMap = std::map<std::string, Quantity, std::less<>>;

enum class RequestDefaults {
  kAsStored,         // A pod from the API server, which has filled in what it fills in.
  kLimitsAsRequests  // A template: a limit without a request will become one (job spec W27).
};

// Steps A to C of podgroup spec 6.4 for a pod that is neither finished nor being resized. INVALID_ARGUMENT names
// container and resource of a quantity that does not parse.
absl::StatusOr<ResourceMap> PodQuotaUsage(const json::value& pod_spec, RequestDefaults defaults);

// A quantity as it may stand in JSON: a string, or a number.
absl::StatusOr<Quantity> QuantityFromJson(const json::value& value);

// A map of resource names to quantities; absent and null are empty. INVALID_ARGUMENT starts with `where`.
absl::StatusOr<ResourceMap> ResourceMapFromJson(const json::value* value, std::string_view where);

// sum[name] += factor * value for every name of `addend`.
void AddTo(ResourceMap& sum, const ResourceMap& addend, int64_t factor = 1);

}  // namespace basalt::kube
