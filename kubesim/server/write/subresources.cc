#include "kubesim/server/write/subresources.h"

#include <fmt/format.h>

#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/patch/patch.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

// Returns the type for a binding, whose conflicts name the sub-resource.
TypeInfo Binding(TypeInfo pods) {
  pods.plural = "pods/binding";
  return pods;
}

json::value Success() {
  return json::object{
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::object()}, {"status", "Success"}, {"code", 201}};
}

// Sets or replaces the condition of this type, with the time of the change.
void SetCondition(json::value& pod, json::object condition, const std::string& now) {
  json::value& status = pod.as_object()["status"];
  if (!status.is_object()) status = json::object();
  json::value& list = status.get_object()["conditions"];
  if (!list.is_array()) list = json::array();
  condition["lastTransitionTime"] = now;
  for (json::value& one : list.get_array()) {
    if (one.is_object() && one.get_object()["type"] == condition["type"]) {
      one = std::move(condition);
      return;
    }
  }
  list.get_array().push_back(std::move(condition));
}

// Returns the value at a path like ".spec.replicas". Null if there is none.
const json::value* AtPath(const json::value& object, std::string_view path) {
  const json::value* at = &object;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(path), '.', absl::SkipEmpty())) {
    at = Find(*at, ToStd(part));
    if (at == nullptr) return nullptr;
  }
  return at;
}

void SetPath(json::value& object, std::string_view path, json::value value) {
  json::value* at = &object;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(path), '.', absl::SkipEmpty())) {
    if (!at->is_object()) *at = json::object();
    at = &at->get_object()[ToStd(part)];
  }
  *at = std::move(value);
}

std::string SelectorText(const TypeInfo& type, const json::value& object) {
  if (!type.builtin) {
    if (type.scale.label_selector.empty()) return "";
    const json::value* found = AtPath(object, type.scale.label_selector);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
  }
  const json::value* labels = FindPath(object, {"spec", "selector", "matchLabels"});
  std::string text;
  if (labels == nullptr || !labels->is_object()) return text;
  for (const auto& [key, value] : labels->get_object()) {
    if (!value.is_string()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", std::string_view(key.data(), key.size()),
                        value.get_string().c_str());
  }
  return text;
}

json::value ScaleOf(const TypeInfo& type, const json::value& object) {
  const auto number = [&](const std::string& path) -> json::value {
    const json::value* found = AtPath(object, path);
    return found != nullptr && found->is_number() ? *found : json::value(0);
  };
  json::object metadata;
  for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const std::string_view value = MetaString(object, name); !value.empty()) metadata[name] = std::string(value);
  }
  json::object status = {{"replicas", number(type.scale.status_replicas)}};
  if (const std::string selector = SelectorText(type, object); !selector.empty()) status["selector"] = selector;
  return json::object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::object{{"replicas", number(type.scale.spec_replicas)}}},
                      {"status", std::move(status)}};
}

}  // namespace

absl::StatusOr<Answer> SubResources::Handle(const RequestInfo& info, std::string_view body) {
  const TypeInfo& type = *info.type;
  if (IsPod(type)) {
    if (info.subresource == "binding" && info.verb == "create") return Bind(info, body);
    if (info.subresource == "eviction" && info.verb == "create") return Evict(info, body);
  }
  if (type.has_scale && info.subresource == "scale") return Scale(info, body);
  return NoSuchResource();
}

absl::StatusOr<std::string> SubResources::Log(const RequestInfo& info) const {
  const RevisionPtr pod = core_.store.Get("pods", info.Key());
  if (pod == nullptr) return NotFound(*info.type, info.name);
  return std::string();
}

absl::StatusOr<Answer> SubResources::Bind(const RequestInfo& info, std::string_view body) {
  const RevisionPtr pod = core_.store.Get("pods", info.Key());
  if (pod == nullptr) return NotFound(*info.type, info.name);
  BASALT_ASSIGN_OR_RETURN(const json::value binding, ParseBody(info.content_type, body));
  const json::value* target = Find(binding, "target");
  const std::string node(target == nullptr ? "" : FindString(*target, "name"));
  if (node.empty()) {
    return MakeApiError({.code = 500, .message = "target.name: Required value"});
  }
  const std::string_view uid = UidOf(binding);
  if (!uid.empty() && uid != UidOf(pod->object())) {
    return ConflictError(
        *info.type, info.name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, UidOf(pod->object())));
  }
  if (IsBeingDeleted(pod->object())) {
    return ConflictError(Binding(*info.type), info.name,
                         fmt::format("pod {} is being deleted, cannot be assigned to a host", info.name));
  }
  const json::value* spec = Find(pod->object(), "spec");
  if (const std::string_view taken = spec == nullptr ? "" : FindString(*spec, "nodeName"); !taken.empty()) {
    return ConflictError(Binding(*info.type), info.name,
                         fmt::format("pod {} is already assigned to node \"{}\"", info.name, taken));
  }
  if (!info.dry_run) {
    const json::value* annotations = FindPath(binding, {"metadata", "annotations"});
    BASALT_RETURN_IF_ERROR(
        writer_
            .Mutate(*info.type, info.Key(),
                    [&](json::value& next) {
                      next.as_object()["spec"].as_object()["nodeName"] = node;
                      if (annotations != nullptr && annotations->is_object()) {
                        json::value& all = MetaOf(next)["annotations"];
                        if (!all.is_object()) all = json::object();
                        for (const auto& [key, value] : annotations->get_object()) all.get_object()[key] = value;
                      }
                      SetCondition(next, {{"type", "PodScheduled"}, {"status", "True"}}, core_.NowText());
                    })
            .status());
  }
  return Answer{201, nullptr, Success()};
}

absl::StatusOr<Answer> SubResources::Evict(const RequestInfo& info, std::string_view body) {
  const RevisionPtr pod = core_.store.Get("pods", info.Key());
  if (pod == nullptr) return NotFound(*info.type, info.name);
  BASALT_ASSIGN_OR_RETURN(const json::value eviction, ParseBody(info.content_type, body));
  DeleteOptions options;
  if (const json::value* wanted = Find(eviction, "deleteOptions"); wanted != nullptr && wanted->is_object()) {
    BASALT_ASSIGN_OR_RETURN(options, DeleteOptionsFrom(*wanted));
  }
  options.dry_run = options.dry_run || info.dry_run;
  const json::value* status = Find(pod->object(), "status");
  const std::string_view phase = status == nullptr ? "" : FindString(*status, "phase");
  const bool done = phase == "Succeeded" || phase == "Failed";
  if (!done && !options.dry_run && !IsBeingDeleted(pod->object())) {
    if (!options.uid.empty() && options.uid != UidOf(pod->object())) {
      return ConflictError(*info.type, info.name, "the UID in the precondition does not match the UID in record");
    }
    options.resource_version.clear();
    BASALT_RETURN_IF_ERROR(writer_
                               .Mutate(*info.type, info.Key(),
                                       [&](json::value& next) {
                                         SetCondition(next,
                                                      {{"type", "DisruptionTarget"},
                                                       {"status", "True"},
                                                       {"reason", "EvictionByEvictionAPI"},
                                                       {"message", "Eviction API: evicting"}},
                                                      core_.NowText());
                                       })
                               .status());
  }
  BASALT_RETURN_IF_ERROR(deleter_.DeleteOne(*info.type, info.Key(), options).status());
  return Answer{201, nullptr, Success()};
}

absl::StatusOr<Answer> SubResources::Scale(const RequestInfo& info, std::string_view body) {
  const TypeInfo& type = *info.type;
  const RevisionPtr live = core_.store.Get(type.Resource(), info.Key());
  if (live == nullptr) return NotFound(type, info.name);
  const json::value now = ScaleOf(type, live->object());
  if (info.verb == "get") return Answer{200, nullptr, now};
  json::value wanted;
  if (info.verb == "update") {
    BASALT_ASSIGN_OR_RETURN(wanted, ParseBody(info.content_type, body));
  } else if (info.verb == "patch") {
    BASALT_ASSIGN_OR_RETURN(const json::value patch, ParseBody(info.content_type, body));
    absl::StatusOr<json::value> next =
        info.content_type == "application/json-patch+json" ? ApplyJsonPatch(now, patch) : ApplyMergePatch(now, patch);
    if (!next.ok()) return BadRequest(ToStd(next.status().message()));
    wanted = *std::move(next);
  } else {
    return MethodNotAllowed("the server does not allow this method on the requested resource");
  }
  const std::string_view version = MetaString(wanted, "resourceVersion");
  if (!version.empty() && version != MetaString(live->object(), "resourceVersion")) return Modified(type, info.name);
  const json::value* spec = Find(wanted, "spec");
  const int64_t replicas = spec == nullptr ? 0 : FindInt(*spec, "replicas");
  if (replicas < 0) {
    return Invalid({.group = "autoscaling", .version = "v1", .kind = "Scale"}, info.name,
                   {FieldInvalid("spec.replicas",
                                 fmt::format("Invalid value: {}: must be greater than or equal to 0", replicas))});
  }
  json::value object = AsVersion(type, live->object());
  SetPath(object, type.scale.spec_replicas, replicas);
  RequestInfo main = info;
  main.subresource.clear();
  BASALT_ASSIGN_OR_RETURN(const Answer stored, writer_.Update(main, std::move(object)));
  return Answer{200, nullptr, ScaleOf(type, stored.revision->object())};
}

}  // namespace basalt::kubesim
