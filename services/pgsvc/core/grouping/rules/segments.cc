#include "services/pgsvc/core/grouping/rules/segments.h"

#include <fmt/format.h>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/integers.h"

namespace basalt::pgsvc {

namespace {

// This annotation of a pod, or of a pod template, names the level of the Topology within which each segment must run.
constexpr std::string_view kRequired = "kai.scheduler/segment-topology-required-placement";
// This annotation of a pod, or of a pod template, names the level of the Topology within which each segment should run.
constexpr std::string_view kPreferred = "kai.scheduler/segment-topology-preferred-placement";

// Returns the annotation of the first object that has one that is not empty.
std::string FirstAnnotation(std::string_view key, std::initializer_list<ObjectView> objects) {
  for (const ObjectView object : objects) {
    const json::string* const text = object.Annotation(key);
    if (text != nullptr && !text->empty()) return std::string(*text);
  }
  return {};
}

}  // namespace

absl::StatusOr<std::optional<int32_t>> SegmentSizeOf(ObjectView pod, const json::value* pod_template,
                                                     std::string_view where) {
  const ObjectView from_template = pod_template == nullptr ? ObjectView() : ObjectView(*pod_template);
  for (const bool is_pod : {true, false}) {
    const json::string* const text = (is_pod ? pod : from_template).Annotation(kSegmentSizeAnnotation);
    if (text == nullptr || text->empty()) continue;
    BASALT_ASSIGN_OR_RETURN(const int32_t size,
                            MinimumOf(is_pod ? pod.Described() : std::string(where), kSegmentSizeAnnotation, *text, 1));
    return std::optional<int32_t>(size);
  }
  return std::optional<int32_t>();
}

Topology SegmentTopologyOf(ObjectView pod, const json::value* pod_template, ObjectView owner) {
  const ObjectView from_template = pod_template == nullptr ? ObjectView() : ObjectView(*pod_template);
  const Topology topology{.name = FirstAnnotation(kTopologyAnnotation, {pod, from_template, owner}),
                          .required = FirstAnnotation(kRequired, {pod, from_template}),
                          .preferred = FirstAnnotation(kPreferred, {pod, from_template})};
  return topology.name.empty() || !topology.has_level() ? Topology() : topology;
}

absl::StatusOr<std::optional<int32_t>> IndexOf(ObjectView pod, std::string_view label) {
  const json::string* const text = pod.Label(label);
  if (text == nullptr) return std::optional<int32_t>();
  const std::optional<int32_t> index = ParseInt32(*text);
  if (index && *index >= 0) return index;
  return Invalid(
      fmt::format("{}: label {}: {} must be an integer of at least 0", pod.Described(), label, Excerpt(*text)));
}

}  // namespace basalt::pgsvc
