#include "services/pgsvc/core/grouping/object_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/status.h"
#include "services/pgsvc/core/grouping/kai_group.h"

namespace basalt::pgsvc {

namespace {

constexpr std::string_view kDefaultNamespace = "default";

// The PriorityClasses that KAI installs.
constexpr std::string_view kShippedClasses[] = {"train", "build-preemptible", "build", "inference"};

bool IsClusterScoped(std::string_view group, std::string_view kind) {
  return (group.empty() && (kind == "Node" || kind == "Namespace")) ||
         (group == "scheduling.k8s.io" && kind == "PriorityClass") || (group == "run.ai" && kind == kKartaKind);
}

}  // namespace

absl::Status ObjectSet::Add(json::value object) {
  if (!object.is_object()) return Invalid("not an object: a manifest begins with apiVersion and kind");
  const ObjectView read(object);
  if (read.api_version().empty()) return Invalid("apiVersion: is required");
  if (read.kind().empty()) return Invalid("kind: is required");
  if (read.name().empty()) return Invalid(fmt::format("{}: metadata.name: is required", read.kind()));
  const bool needs_namespace = read.ns().empty() && !IsClusterScoped(read.group(), read.kind());
  if (needs_namespace) ObjectIn(object.as_object(), "metadata")["namespace"] = kDefaultNamespace;
  json::value& kept = objects_.emplace_back(std::move(object));
  const ObjectView view(kept);
  const Key key{std::string(view.group()), std::string(view.kind()), std::string(view.ns()), std::string(view.name())};
  if (!by_name_.emplace(key, &kept).second) return Invalid(fmt::format("{}: stands there twice", view.Described()));
  if (view.group().empty() && view.kind() == "Pod") pods_.push_back(view);
  if (view.api_version() == kKartaApiVersion && view.kind() == kKartaKind) kartas_.Set(view);
  return absl::OkStatus();
}

json::value* ObjectSet::TargetOf(std::string_view api_version, std::string_view kind, std::string_view name,
                                 std::string_view ns) const {
  const std::string_view group = GroupOfApiVersion(api_version);
  const auto found = by_name_.find(Key{group, kind, IsClusterScoped(group, kind) ? "" : ns, name});
  return found == by_name_.end() ? nullptr : found->second;
}

void ObjectSet::CompleteUids() {
  const auto for_each_reference = [this](auto visit) {
    for (json::value& object : objects_) {
      json::object& metadata = ObjectIn(object.as_object(), "metadata");
      json::value* const references = metadata.if_contains("ownerReferences");
      if (references == nullptr || !references->is_array()) continue;
      for (json::value& reference : references->get_array()) {
        json::value* const target = TargetOf(FindString(reference, "apiVersion"), FindString(reference, "kind"),
                                             FindString(reference, "name"), ObjectView(object).ns());
        if (target != nullptr) visit(reference, *target);
      }
    }
  };
  for_each_reference([](const json::value& reference, json::value& target) {
    const std::string uid(FindString(reference, "uid"));
    if (!uid.empty() && ObjectView(target).uid().empty()) ObjectIn(target.as_object(), "metadata")["uid"] = uid;
  });
  for (json::value& object : objects_) {
    const ObjectView view(object);
    if (!view.uid().empty()) continue;
    const std::string uid = fmt::format("{}-{}", absl::AsciiStrToLower(std::string(view.kind())), view.name());
    ObjectIn(object.as_object(), "metadata")["uid"] = uid;
  }
  for_each_reference([](json::value& reference, const json::value& target) {
    if (FindString(reference, "uid").empty()) reference.as_object()["uid"] = ObjectView(target).uid();
  });
}

absl::StatusOr<std::vector<ObjectView>> ObjectSet::OwnersOf(ObjectView pod) const {
  return pgsvc::OwnersOf(
      pod, [this](const OwnerReference& reference, std::string_view ns) -> absl::StatusOr<ObjectView> {
        const json::value* const found = TargetOf(reference.api_version, reference.kind, reference.name, ns);
        if (found != nullptr) return ObjectView(*found);
        return absl::NotFoundError(
            fmt::format("{} {}/{}, an owner of the pod, is missing", reference.kind, ns, reference.name));
      });
}

bool ObjectSet::HasPriorityClass(std::string_view name) const {
  const bool is_shipped =
      std::find(std::begin(kShippedClasses), std::end(kShippedClasses), name) != std::end(kShippedClasses);
  return (has_kai_classes_ && is_shipped) || !Find("scheduling.k8s.io/v1", "PriorityClass", "", name).empty();
}

ObjectView ObjectSet::Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                           std::string_view name) const {
  const auto found = by_name_.find(Key{GroupOfApiVersion(api_version), kind, ns, name});
  return found == by_name_.end() ? ObjectView() : ObjectView(*found->second);
}

std::vector<ObjectView> ObjectSet::GroupsOwnedBy(std::string_view ns, std::string_view uid) const {
  std::vector<ObjectView> groups;
  for (const auto& [key, value] : by_name_) {
    const ObjectView object(*value);
    if (object.group() != GroupOfApiVersion(kKaiApiVersion) || object.kind() != "PodGroup" || object.ns() != ns)
      continue;
    const std::vector<OwnerReference> owners = object.owners();
    if (!owners.empty() && owners.front().uid == uid) groups.push_back(object);
  }
  return groups;
}

std::vector<ObjectView> ObjectSet::PodsWithLabels(std::string_view ns, const Labels& labels) const {
  std::vector<ObjectView> pods;
  for (const ObjectView pod : pods_) {
    const bool has_all = std::all_of(labels.begin(), labels.end(), [pod](const auto& label) {
      const json::string* const value = pod.Label(label.first);
      return value != nullptr && *value == label.second;
    });
    if (has_all && pod.ns() == ns) pods.push_back(pod);
  }
  return pods;
}

}  // namespace basalt::pgsvc
