#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/builtin/pod_validate.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

using Errors = std::vector<FieldError>;

const json::value& Member(const json::value& value, std::string_view name) {
  static const json::value& null = *new json::value(nullptr);
  const json::value* found = Find(value, name);
  return found == nullptr ? null : *found;
}

void CheckTemplate(const json::value& spec, const std::vector<std::string_view>& policies, bool selector_required,
                   Errors* errors) {
  const json::value& pod_template = Member(spec, "template");
  CheckLabels(Find(Member(pod_template, "metadata"), "labels"), "spec.template.metadata.labels", errors);
  ValidatePodSpec(Member(pod_template, "spec"), "spec.template.spec", policies, errors);
  const json::value* selector = Find(spec, "selector");
  if (selector == nullptr) {
    if (selector_required) AddRequired(errors, "spec.selector", "");
    return;
  }
  const json::value* wanted = Find(*selector, "matchLabels");
  if (wanted == nullptr || !wanted->is_object()) return;
  const json::value& labels = Member(Member(pod_template, "metadata"), "labels");
  for (const auto& member : wanted->get_object()) {
    const json::value* label = Find(labels, {member.key().data(), member.key().size()});
    if (label != nullptr && *label == member.value()) continue;
    AddInvalidJson(errors, "spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
    return;
  }
}

void CheckCount(const json::value& spec, std::string_view name, Errors* errors) {
  const json::value* count = Find(spec, name);
  if (count == nullptr) return;
  const std::string field = fmt::format("spec.{}", name);
  if (!count->is_int64()) return AddType(errors, field, "integer", *count);
  if (count->get_int64() < 0) AddInvalidJson(errors, field, *count, "must be greater than or equal to 0");
}

void CheckPod(const json::value& object, Errors* errors) {
  ValidatePodSpec(Member(object, "spec"), "spec", {"Always", "OnFailure", "Never"}, errors);
}

void CheckWorkload(const json::value& object, Errors* errors) {
  const json::value& spec = Member(object, "spec");
  CheckCount(spec, "replicas", errors);
  CheckTemplate(spec, {"Always"}, /*selector_required=*/true, errors);
}

void CheckJob(const json::value& object, Errors* errors) {
  const json::value& spec = Member(object, "spec");
  for (const std::string_view name : {"parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"}) {
    CheckCount(spec, name, errors);
  }
  CheckTemplate(spec, {"OnFailure", "Never"}, /*selector_required=*/false, errors);
}

void CheckService(const json::value& object, Errors* errors) {
  const json::value& spec = Member(object, "spec");
  const std::string_view type = FindString(spec, "type");
  const std::vector<std::string_view> types = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"};
  if (std::find(types.begin(), types.end(), type) == types.end()) {
    AddUnsupported(errors, "spec.type", type, types);
  }
  const json::value* ports = Find(spec, "ports");
  const bool headless = FindString(spec, "clusterIP") == "None";
  if (ports == nullptr || !ports->is_array() || ports->get_array().empty()) {
    if (!headless && type != "ExternalName") AddRequired(errors, "spec.ports", "");
    return;
  }
  std::set<std::string> names;
  for (size_t i = 0; i < ports->get_array().size(); ++i) {
    const json::value& port = ports->get_array()[i];
    const std::string field = fmt::format("spec.ports[{}]", i);
    const int64_t number = FindInt(port, "port");
    if (number < 1 || number > 65535) {
      AddInvalidJson(errors, field + ".port", Member(port, "port"), "must be between 1 and 65535, inclusive");
    }
    const std::string name(FindString(port, "name"));
    if (name.empty() && ports->get_array().size() > 1) AddRequired(errors, field + ".name", "");
    if (!name.empty() && !names.insert(name).second) AddDuplicate(errors, field + ".name", name);
  }
}

void CheckClaim(const json::value& object, Errors* errors) {
  const json::value& spec = Member(object, "spec");
  const json::value* modes = Find(spec, "accessModes");
  if (modes == nullptr || !modes->is_array() || modes->get_array().empty()) {
    AddRequired(errors, "spec.accessModes", "at least 1 access mode is required");
  }
  if (FindPath(spec, {"resources", "requests", "storage"}) == nullptr) {
    AddRequired(errors, "spec.resources[storage]", "");
  }
}

void CheckText(const json::value& object, std::string_view name, Errors* errors) {
  const json::value* map = Find(object, name);
  if (map == nullptr) return;
  if (!map->is_object()) return AddType(errors, std::string(name), "object", *map);
  for (const auto& member : map->get_object()) {
    if (member.value().is_string()) continue;
    AddType(errors, fmt::format("{}.{}", name, std::string(member.key())), "string", member.value());
  }
}

bool IsConfigKey(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

void CheckConfigMap(const json::value& object, Errors* errors) {
  for (const std::string_view name : {"data", "binaryData"}) {
    const json::value* map = Find(object, name);
    if (map == nullptr || !map->is_object()) continue;
    for (const auto& member : map->get_object()) {
      const std::string_view key(member.key().data(), member.key().size());
      const std::string field = fmt::format("{}[{}]", name, key);
      if (!IsConfigKey(key)) {
        AddInvalid(errors, field, key,
                   "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
                   "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
      }
      if (name == "data" && Find(Member(object, "binaryData"), key) != nullptr) {
        AddInvalid(errors, field, key, "duplicate of key present in binaryData");
      }
    }
  }
}

void CheckLease(const json::value& object, Errors* errors) {
  const json::value& spec = Member(object, "spec");
  const auto check = [&](std::string_view name, int64_t least, std::string_view rule) {
    const json::value* count = Find(spec, name);
    if (count == nullptr || !count->is_int64() || count->get_int64() >= least) return;
    AddInvalidJson(errors, fmt::format("spec.{}", name), *count, rule);
  };
  check("leaseDurationSeconds", 1, "must be greater than 0");
  check("leaseTransitions", 0, "must be greater than or equal to 0");
}

void CheckSecret(const json::value& object, Errors* errors) { CheckText(object, "data", errors); }

void CheckEvent(const json::value& object, Errors* errors) {
  const std::string_view about = FindString(Member(object, "involvedObject"), "namespace");
  const std::string_view ns = FindString(Member(object, "metadata"), "namespace");
  // An Event about an object without a namespace is in namespace default.
  if (about == ns || (about.empty() && ns == "default")) return;
  AddInvalid(errors, "involvedObject.namespace", about, "does not match event.namespace");
}

// Returns the reason on the wire, which the beginning of the message determines.
std::string_view ReasonOf(std::string_view message) {
  if (message.starts_with("Required value")) return "FieldValueRequired";
  if (message.starts_with("Unsupported value")) return "FieldValueNotSupported";
  if (message.starts_with("Forbidden")) return "FieldValueForbidden";
  return "FieldValueInvalid";
}

void CheckDefinition(const json::value& object, Errors* errors) {
  const absl::StatusOr<CustomResource> loaded = LoadCrd(object);
  if (loaded.ok()) return;
  const std::string_view message(loaded.status().message().data(), loaded.status().message().size());
  const size_t colon = message.find(": ");
  const std::string_view field = message.substr(0, colon);
  const std::string_view what = colon == std::string_view::npos ? message : message.substr(colon + 2);
  errors->push_back({std::string(ReasonOf(what)), std::string(field), std::string(what)});
}

using Checker = void (*)(const json::value&, Errors*);
const std::map<std::string_view, Checker>& Checkers() {
  static const auto& table = *new std::map<std::string_view, Checker>{
      {"Pod", CheckPod},
      {"Deployment", CheckWorkload},
      {"ReplicaSet", CheckWorkload},
      {"StatefulSet", CheckWorkload},
      {"DaemonSet", CheckWorkload},
      {"Job", CheckJob},
      {"Service", CheckService},
      {"PersistentVolumeClaim", CheckClaim},
      {"ConfigMap", CheckConfigMap},
      {"Lease", CheckLease},
      {"Event", CheckEvent},
      {"Secret", CheckSecret},
      {"CustomResourceDefinition", CheckDefinition},
  };
  return table;
}

// Compares values. An absent member equals null, an empty list and an empty map.
bool SameValue(const json::value& a, const json::value& b) {
  const auto is_empty = [](const json::value& value) {
    return value.is_null() || (value.is_object() && value.get_object().empty()) ||
           (value.is_array() && value.get_array().empty());
  };
  return a == b || (is_empty(a) && is_empty(b));
}

void KeepField(const json::value& live, const json::value& next, std::string_view parent, std::string_view name,
               Errors* errors) {
  const json::value& old = parent.empty() ? Member(live, name) : Member(Member(live, parent), name);
  const json::value& now = parent.empty() ? Member(next, name) : Member(Member(next, parent), name);
  if (SameValue(old, now)) return;
  AddInvalidJson(errors, parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name), now,
                 "field is immutable");
}

void CheckImmutableData(const json::value& live, const json::value& next, Errors* errors) {
  const json::value& immutable = Member(live, "immutable");
  if (!immutable.is_bool() || !immutable.get_bool()) return;
  if (Member(next, "immutable") != immutable) {
    AddForbidden(errors, "immutable", "field is immutable when `immutable` is set");
  }
  for (const std::string_view name : {"data", "binaryData"}) {
    if (SameValue(Member(live, name), Member(next, name))) continue;
    AddForbidden(errors, std::string(name), "field is immutable when `immutable` is set");
  }
}

void CheckClaimUpdate(const json::value& live, const json::value& next, Errors* errors) {
  json::value masked = next;
  json::object& spec = masked.is_object() && masked.get_object().contains("spec") && masked.at("spec").is_object()
                           ? masked.at("spec").get_object()
                           : masked.emplace_object();
  const json::value& old = Member(live, "spec");
  for (const std::string_view name : {"resources", "volumeName", "volumeAttributesClassName"}) {
    const json::string_view key(name.data(), name.size());
    if (const json::value* value = Find(old, name)) {
      spec[key] = *value;
    } else {
      spec.erase(key);
    }
  }
  if (json::value(spec) == old) return;
  AddForbidden(errors, "spec",
               "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
               "claims");
}

}  // namespace

void ValidateObject(const TypeInfo& type, const json::value& object, Errors* errors) {
  ValidateMetadata(type, object, errors);
  const auto found = Checkers().find(type.kind);
  if (found != Checkers().end()) found->second(object, errors);
}

void ValidateUpdate(const TypeInfo& type, const json::value& live, const json::value& next, Errors* errors) {
  const std::string& kind = type.kind;
  if (kind == "Pod") {
    ValidatePodUpdate(live, next, errors);
  } else if (kind == "Deployment" || kind == "ReplicaSet" || kind == "DaemonSet") {
    KeepField(live, next, "spec", "selector", errors);
  } else if (kind == "StatefulSet") {
    for (const std::string_view name : {"selector", "serviceName", "podManagementPolicy"}) {
      KeepField(live, next, "spec", name, errors);
    }
  } else if (kind == "Job") {
    for (const std::string_view name : {"selector", "template", "completionMode"}) {
      KeepField(live, next, "spec", name, errors);
    }
  } else if (kind == "Secret") {
    KeepField(live, next, "", "type", errors);
    CheckImmutableData(live, next, errors);
  } else if (kind == "ConfigMap") {
    CheckImmutableData(live, next, errors);
  } else if (kind == "PriorityClass") {
    if (Member(live, "value") != Member(next, "value")) {
      AddForbidden(errors, "value", "may not be changed in an update.");
    }
  } else if (kind == "PersistentVolumeClaim") {
    CheckClaimUpdate(live, next, errors);
  } else if (kind == "Service") {
    const std::string_view old = FindString(Member(live, "spec"), "clusterIP");
    const std::string_view now = FindString(Member(next, "spec"), "clusterIP");
    if (!old.empty() && old != now && FindString(Member(next, "spec"), "type") != "ExternalName") {
      AddInvalid(errors, "spec.clusterIPs[0]", now, "may not change once set");
    }
  } else if (kind == "CustomResourceDefinition") {
    for (const std::string_view name : {"group", "scope"}) KeepField(live, next, "spec", name, errors);
  }
}

}  // namespace basalt::kubesim
