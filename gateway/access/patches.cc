#include "gateway/access/patches.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"

namespace basalt::gateway {
namespace {

using Service = v1::ServiceKind;
constexpr Service kJobsvc = v1::SERVICE_KIND_JOB;
constexpr Service kPgsvc = v1::SERVICE_KIND_POD_GROUP;
constexpr Service kQueuesvc = v1::SERVICE_KIND_QUEUE;

constexpr v1::Patch::Type kMerge = v1::Patch::TYPE_MERGE;
constexpr v1::Patch::Type kJson = v1::Patch::TYPE_JSON;
constexpr v1::Patch::Type kApply = v1::Patch::TYPE_APPLY;

// A field that may be patched, with all that lies below it.
struct Field {
  std::string_view parent;  // "metadata.annotations", for example. Empty if the field is a member of the object itself.
  std::string_view name;
};

constexpr std::string_view kAnnotations = "metadata.annotations";
constexpr std::string_view kLabels = "metadata.labels";

constexpr Field kForwardedJob[] = {{kAnnotations, kube::kJobForwardingKey}};
// In the path of a JSON patch, "*" stands for the index of a task.
constexpr Field kScaledJob[] = {
    {"spec", "minAvailable"}, {"spec.tasks.*", "replicas"}, {"spec.tasks.*", "minAvailable"}};
constexpr Field kStatus[] = {{"", "status"}};
constexpr Field kMarkedPod[] = {{kAnnotations, kube::kOutOfSyncKey}};
constexpr Field kEventCount[] = {{"", "count"}, {"", "lastTimestamp"}};
constexpr Field kHosts[] = {{"", "data"}};
constexpr Field kSshConfig[] = {{"data", "config"}};
constexpr Field kPodGroup[] = {
    {"metadata", "annotations"}, {"metadata", "labels"},    {"metadata", "ownerReferences"}, {"spec", "minMember"},
    {"spec", "minTaskMember"},   {"spec", "minResources"},  {"spec", "priorityClassName"},   {"spec", "queue"},
    {"spec", "networkTopology"}, {"spec", "subGroupPolicy"}};
constexpr Field kKaiPodGroup[] = {{"metadata", "annotations"},
                                  {"metadata", "labels"},
                                  {"metadata", "ownerReferences"},
                                  {"spec", "minMember"},
                                  {"spec", "minSubGroup"},
                                  {"spec", "priorityClassName"},
                                  {"spec", "queue"},
                                  {"spec", "preemptibility"},
                                  {"spec", "preemptionDelay"},
                                  {"spec", "stalenessGracePeriod"},
                                  {"spec", "subGroups"},
                                  {"spec", "topologyConstraint"}};
constexpr Field kGroupedPod[] = {
    {kAnnotations, kube::kGroupNameKey}, {kAnnotations, kube::kKaiGroupNameKey}, {kLabels, kube::kKaiSubGroupNameKey}};
constexpr Field kQueueParent[] = {{"spec", "parent"}, {kAnnotations, kube::kClosedByParentKey}};
// A patch of type apply names the object itself.
constexpr Field kQueueStatus[] = {{"", "apiVersion"},    {"", "kind"},          {"metadata", "name"},
                                  {"status", "state"},   {"status", "pending"}, {"status", "inqueue"},
                                  {"status", "running"}, {"status", "unknown"}, {"status", "completed"}};

struct PatchRow {
  Service service;
  kube::Kind kind;
  std::string_view subresource;
  v1::Patch::Type type;
  std::span<const Field> fields;
};

constexpr PatchRow kPatchRows[] = {
    {kJobsvc, kube::kJobs, "", kMerge, kForwardedJob},          {kJobsvc, kube::kJobs, "", kJson, kScaledJob},
    {kJobsvc, kube::kJobs, "status", kMerge, kStatus},          {kJobsvc, kube::kPods, "", kMerge, kMarkedPod},
    {kJobsvc, kube::kEvents, "", kMerge, kEventCount},          {kJobsvc, kube::kConfigMaps, "", kMerge, kHosts},
    {kJobsvc, kube::kSecrets, "", kMerge, kSshConfig},          {kPgsvc, kube::kPodGroups, "", kMerge, kPodGroup},
    {kPgsvc, kube::kKaiPodGroups, "", kMerge, kKaiPodGroup},    {kPgsvc, kube::kPods, "", kMerge, kGroupedPod},
    {kPgsvc, kube::kEvents, "", kMerge, kEventCount},           {kQueuesvc, kube::kQueues, "", kMerge, kQueueParent},
    {kQueuesvc, kube::kQueues, "status", kApply, kQueueStatus}, {kQueuesvc, kube::kEvents, "", kMerge, kEventCount},
};

std::string Joined(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
}

bool Has(const PatchRow& row, std::string_view parent, std::string_view name) {
  return std::any_of(row.fields.begin(), row.fields.end(),
                     [&](const Field& field) { return field.parent == parent && field.name == name; });
}

bool LeadsToOne(const PatchRow& row, std::string_view path) {
  return std::any_of(row.fields.begin(), row.fields.end(), [path](const Field& field) {
    return field.parent.starts_with(path) && (field.parent.size() == path.size() || field.parent[path.size()] == '.');
  });
}

absl::Status Refused(const PatchRow& row, const v1::WriteRequest& request, std::string_view path,
                     std::string_view why) {
  std::string allowed;
  for (const Field& field : row.fields) allowed += (allowed.empty() ? "" : ", ") + Joined(field.parent, field.name);
  return MakeStatus(absl::StatusCode::kPermissionDenied,
                    fmt::format("patch.body: {} of {} '{}' {}; {} may patch {}", CutUtf8(path, 320), row.kind.plural,
                                CutUtf8(request.name(), 253), why, v1::ServiceKind_Name(row.service), allowed));
}

// Checks the members of `object`, the value at `path`.
absl::Status CheckMembers(const PatchRow& row, const v1::WriteRequest& request, std::string_view path,
                          const json::object& object) {
  for (const auto& [key, value] : object) {
    const std::string_view name = key;
    if (Has(row, path, name)) continue;
    const std::string below = Joined(path, name);
    // A key with a dot in it is one member, whatever path it spells.
    if (name.find('.') != std::string_view::npos || !LeadsToOne(row, below)) {
      return Refused(row, request, below, "is not to be patched");
    }
    // Null would take away all members.
    if (!value.is_object()) return Refused(row, request, below, "is not an object");
    BASALT_RETURN_IF_ERROR(CheckMembers(row, request, below, value.get_object()));
  }
  return absl::OkStatus();
}

// Returns "spec.tasks.*.replicas" for "/spec/tasks/3/replicas". The paths of the table contain no name with an escape.
std::string FieldOf(std::string_view pointer) {
  std::string field;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view segment = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(segment.size());
    if (segment.find_first_of(".*") != std::string_view::npos) return {};
    const bool is_place =
        !segment.empty() && std::all_of(segment.begin(), segment.end(), [](char c) { return c >= '0' && c <= '9'; });
    field += (field.empty() ? "" : ".") + (is_place ? std::string("*") : std::string(segment));
  }
  return field;
}

// Permits a test of the spec's version, and numbers for listed fields. `copy`, `move` and a `test` of anything else
// would reveal the content of the object.
absl::Status CheckOperation(const PatchRow& row, const v1::WriteRequest& request, const json::value& operation) {
  const std::string_view op = FindString(operation, "op");
  const std::string_view pointer = FindString(operation, "path");
  if (op == "test" && pointer == "/metadata/generation") return absl::OkStatus();
  const std::string field = FieldOf(pointer);
  const bool is_listed = std::any_of(row.fields.begin(), row.fields.end(),
                                     [&field](const Field& it) { return field == Joined(it.parent, it.name); });
  if (op != "add" || !is_listed || !pointer.starts_with('/')) {
    return Refused(row, request, fmt::format("'{}' of {}", op, pointer), "is not to be done");
  }
  const json::value* const value = Find(operation, "value");
  if (value == nullptr || !value->is_number()) return Refused(row, request, pointer, "is not given as a number");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPatch(const v1::WriteRequest& request, const json::value& body) {
  const Service service = request.owner().member().service();
  if (service == v1::SERVICE_KIND_UNSPECIFIED) return absl::OkStatus();
  const v1::Resource& resource = request.resource();
  const auto row = std::find_if(std::begin(kPatchRows), std::end(kPatchRows), [&](const PatchRow& it) {
    return it.service == service && it.kind.Is(resource.group(), resource.plural()) &&
           it.subresource == request.subresource() && it.type == request.patch().type();
  });
  if (row == std::end(kPatchRows)) {
    return MakeStatus(absl::StatusCode::kPermissionDenied,
                      fmt::format("patch.type: {} does not patch {}{}{} by {}", v1::ServiceKind_Name(service),
                                  CutUtf8(resource.plural(), 63), request.subresource().empty() ? "" : "/",
                                  CutUtf8(request.subresource(), 63), v1::Patch::Type_Name(request.patch().type())));
  }
  if (body.is_object()) return CheckMembers(*row, request, "", body.get_object());
  if (!body.is_array()) return Refused(*row, request, "the whole", "is neither an object nor a list");
  for (const json::value& operation : body.get_array()) {
    BASALT_RETURN_IF_ERROR(CheckOperation(*row, request, operation));
  }
  return absl::OkStatus();
}

}  // namespace basalt::gateway
