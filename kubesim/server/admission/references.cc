#include "kubesim/server/admission/references.h"

#include <fmt/format.h>

#include "common/base/status_macros.h"
#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/core/json_members.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

constexpr char kClasses[] = "priorityclasses.scheduling.k8s.io";

}  // namespace

absl::Status References::Resolve(const TypeInfo& type, json::value& object) {
  if (IsPod(type)) return ResolvePriority(type, object);
  if (type.group.empty() && type.plural == "services" && AllotClusterIp(object, next_cluster_ip_)) ++next_cluster_ip_;
  return absl::OkStatus();
}

absl::Status References::ResolvePriority(const TypeInfo& type, json::value& pod) const {
  json::value* found = pod.as_object().if_contains("spec");
  if (found == nullptr || !found->is_object()) return absl::OkStatus();
  json::object& spec = found->get_object();
  const std::string wanted(FindString(*found, "priorityClassName"));
  RevisionPtr chosen;
  if (!wanted.empty()) {
    chosen = core_.store.Get(kClasses, {"", wanted});
    if (chosen == nullptr) {
      return Forbidden(type, MetaString(pod, "name"), fmt::format("no PriorityClass with name {} was found", wanted));
    }
  } else {
    core_.store.Visit(kClasses, "", nullptr, [&](const ObjectKey&, const RevisionPtr& revision) {
      if (IsTrue(revision->object(), "globalDefault")) chosen = revision;
      return chosen == nullptr;
    });
    if (chosen != nullptr) spec["priorityClassName"] = std::string(MetaString(chosen->object(), "name"));
  }
  const int64_t priority = chosen == nullptr ? 0 : FindInt(chosen->object(), "value");
  const std::string_view policy = chosen == nullptr ? "" : FindString(chosen->object(), "preemptionPolicy");
  if (const json::value* given = spec.if_contains("priority");
      given != nullptr && !wanted.empty() && FindInt(*found, "priority") != priority) {
    return Forbidden(type, MetaString(pod, "name"),
                     fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority "
                                 "admission controller computed {} from the given PriorityClass name",
                                 ToText(*given), priority));
  }
  spec["priority"] = priority;
  if (!spec.contains("preemptionPolicy") || !wanted.empty()) {
    spec["preemptionPolicy"] = policy.empty() ? json::string("PreemptLowerPriority") : json::string(policy);
  }
  return absl::OkStatus();
}

json::value SystemPriorityClass(std::string_view name, int64_t value) {
  return json::object{{"apiVersion", "scheduling.k8s.io/v1"},
                      {"kind", "PriorityClass"},
                      {"metadata", json::object{{"name", json::string(name)}}},
                      {"value", value},
                      {"preemptionPolicy", "PreemptLowerPriority"}};
}

}  // namespace basalt::kubesim
