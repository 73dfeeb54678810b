#include "kubesim/server/write/objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"
#include "kubesim/schema/apply/apply.h"
#include "kubesim/schema/builtin/decode.h"
#include "kubesim/schema/crd/crd.h"
#include "kubesim/schema/patch/patch.h"
#include "kubesim/server/admission/admission.h"
#include "kubesim/server/admission/metadata.h"
#include "kubesim/server/admission/quota.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kJsonPatch = "application/json-patch+json";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";
constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

absl::Status UnknownFormat(const TypeInfo& type) {
  if (type.builtin) return UnsupportedMediaType("415: Unsupported Media Type");
  return UnsupportedMediaType(
      fmt::format("the body of the request was in an unknown format - accepted media types include: {}, {}, {}",
                  kJsonPatch, kMergePatch, kApplyPatch));
}

absl::Status ConflictsError(const std::vector<struct Conflict>& conflicts) {
  ApiError error;
  error.code = 409;
  error.reason = "Conflict";
  error.message = ConflictMessage(conflicts);
  for (const struct Conflict& one : conflicts) {
    error.causes.push_back({"FieldManagerConflict", one.field, fmt::format("conflict with {}", one.manager)});
  }
  return MakeApiError(error);
}

// Returns the refusal of a patch that cannot be applied: 400 if it is malformed, 422 if it does not fit this object.
absl::Status PatchFailed(std::string_view format, const absl::Status& status, bool is_list) {
  if (format == kJsonPatch && is_list) {
    return MakeApiError({.code = 422,
                         .reason = "Invalid",
                         .message = "the server rejected our request due to an error in our request"});
  }
  const std::string message(status.message());
  if (format == kStrategicPatch) return MakeApiError({.code = 500, .message = message});
  return BadRequest(message);
}

struct Unknown {
  absl::Status refused;               // The refusal if the client requests strict validation.
  std::vector<std::string> warnings;  // Warnings for the client.
};

// Finds the fields that a custom kind's schema silently drops. Core kinds tolerate unknown fields.
Unknown FindUnknown(const RequestInfo& info, const json::value& object) {
  const TypeInfo& type = *info.type;
  const std::string_view wanted = info.target.Query("fieldValidation");
  if (type.schema == nullptr || wanted.empty() || wanted == "Ignore") return {};
  json::value copy = object;
  std::vector<std::string> pruned;
  type.schema->PruneAndDefault(copy, &pruned);
  Unknown unknown;
  for (const std::string& path : pruned) unknown.warnings.push_back(fmt::format("unknown field \"{}\"", path));
  if (wanted != "Strict" || pruned.empty()) return unknown;
  unknown.refused = BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                                           type.kind, type.version, type.kind, fmt::join(unknown.warnings, ", ")));
  return unknown;
}

// Checks that the schema of a custom kind has all applied fields, which is required whatever validation the client
// requests.
absl::Status CheckDeclared(const RequestInfo& info, const json::value& applied) {
  const TypeInfo& type = *info.type;
  if (type.schema == nullptr) return absl::OkStatus();
  json::value copy = applied;
  std::vector<std::string> pruned;
  type.schema->PruneAndDefault(copy, &pruned);
  if (pruned.empty()) return absl::OkStatus();
  std::string list;
  for (const std::string& path : pruned) {
    list += fmt::format("{}.{}: field not declared in schema", list.empty() ? "" : "\n", path);
  }
  return MakeApiError({.code = 500,
                       .message = fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}", info.ns,
                                              info.name, type.ApiVersion(), type.kind, list)});
}

// Returns whether a PUT creates a missing object of this kind.
bool IsMadeByUpdate(const TypeInfo& type) {
  if (type.group == "coordination.k8s.io") return type.plural == "leases";
  return type.group.empty() && (type.plural == "events" || type.plural == "endpoints" || type.plural == "services" ||
                                type.plural == "limitranges");
}

void WarnOfFinalizers(const TypeInfo& type, const json::value& object, std::vector<std::string>& warnings) {
  const json::value* list = FindPath(object, {"metadata", "finalizers"});
  if (type.builtin || list == nullptr || !list->is_array()) return;
  for (const json::value& one : list->get_array()) {
    if (!one.is_string() || one.get_string().find('/') != json::string::npos) continue;
    const std::string_view name(one.get_string().data(), one.get_string().size());
    if (name == kOrphanFinalizer || name == kForegroundFinalizer) continue;
    warnings.push_back(
        fmt::format("metadata.finalizers: \"{}\": prefer a domain-qualified finalizer name to avoid accidental "
                    "conflicts with other finalizer writers",
                    name));
  }
}

bool RemovedByUpdate(const json::value& next) {
  if (!IsBeingDeleted(next) || HasAnyFinalizer(next)) return false;
  if (FindInt(*Find(next, "metadata"), "deletionGracePeriodSeconds", 0) != 0) return false;
  const json::value* finalizers = FindPath(next, {"spec", "finalizers"});
  const bool holds = FindString(next, "kind") == "Namespace" && finalizers != nullptr && finalizers->is_array() &&
                     !finalizers->get_array().empty();
  return !holds;
}

}  // namespace

absl::StatusOr<json::value> ParseBody(std::string_view content_type, std::string_view body) {
  const bool yaml = content_type == "application/yaml" || content_type == kApplyPatch;
  absl::StatusOr<json::value> parsed = ParseJson(body);
  if (!parsed.ok() && yaml) {
    absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(body);
    if (!documents.ok()) return BadRequest(fmt::format("error parsing YAML: {}", ToStd(documents.status().message())));
    if (documents->size() != 1) return BadRequest("error parsing YAML: exactly one document is expected");
    parsed = std::move(documents->front());
  }
  if (!parsed.ok()) {
    return BadRequest(fmt::format("couldn't get version/kind; json parse error: {}", ToStd(parsed.status().message())));
  }
  if (!parsed->is_object()) return BadRequest("couldn't get version/kind; json parse error: the body is not an object");
  return parsed;
}

absl::Status CheckEnvelope(const RequestInfo& info, json::value& body) {
  const TypeInfo& type = *info.type;
  json::object& object = body.as_object();
  const std::string_view version = FindString(body, "apiVersion");
  const std::string_view kind = FindString(body, "kind");
  if (!type.builtin && (kind.empty() || version.empty())) {
    return BadRequest(fmt::format("Object '{}' is missing in '{}'", kind.empty() ? "Kind" : "apiVersion",
                                  ToText(body).substr(0, 200)));
  }
  if (!version.empty() && version != type.ApiVersion()) {
    return BadRequest(fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                                  version, type.ApiVersion()));
  }
  if (!kind.empty() && kind != type.kind) {
    return BadRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: no kind \"{}\" is registered for "
                    "this resource",
                    kind, type.version, type.kind, kind));
  }
  if (const std::string why = WhyUnreadable(type, body); !why.empty()) {
    return BadRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", type.kind, type.version, type.kind, why));
  }
  if (const json::value* metadata = Find(body, "metadata"); metadata != nullptr && !metadata->is_object()) {
    if (!metadata->is_null()) return BadRequest("json: cannot unmarshal metadata into Go value of type ObjectMeta");
    object.erase("metadata");
  }
  json::object& metadata = MetaOf(body);
  for (const char* name : {"name", "namespace", "generateName", "uid", "resourceVersion"}) {
    const json::value* value = metadata.if_contains(name);
    if (value != nullptr && !value->is_string() && !value->is_null()) {
      return BadRequest(
          fmt::format("json: cannot unmarshal into Go struct field ObjectMeta.metadata.{} of type string", name));
    }
  }
  const std::string_view ns = MetaString(body, "namespace");
  if (type.namespaced) {
    if (!ns.empty() && ns != info.ns) {
      return BadRequest("the namespace of the provided object does not match the namespace sent on the request");
    }
    metadata["namespace"] = info.ns;
  } else if (!ns.empty()) {
    metadata.erase("namespace");
  }
  if (!info.name.empty()) {
    const std::string_view name = MetaString(body, "name");
    if (!name.empty() && name != info.name) {
      return BadRequest(
          fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, info.name));
    }
    metadata["name"] = info.name;
  }
  return absl::OkStatus();
}

absl::Status ObjectWriter::CheckNamespace(const TypeInfo& type, std::string_view ns, std::string_view name) const {
  if (!type.namespaced) return absl::OkStatus();
  const TypeInfoPtr namespaces = core_.types.Storage("namespaces");
  const RevisionPtr found = core_.store.Get("namespaces", {"", std::string(ns)});
  if (found == nullptr) return NotFound(*namespaces, ns);
  if (IsBeingDeleted(found->object())) {
    return Forbidden(
        type, name, fmt::format("unable to create new content in namespace {} because it is being terminated", ns),
        {{"NamespaceTerminating", "metadata.namespace", fmt::format("namespace {} is being terminated", ns)}});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ObjectWriter::GenerateName(const TypeInfo& type, std::string_view ns,
                                                       std::string_view prefix) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr size_t kRandom = 5;
  std::string name;
  for (int attempt = 0; attempt < 8; ++attempt) {
    name = prefix.substr(0, 63 - kRandom);
    for (size_t i = 0; i < kRandom; ++i) name += kAlphabet[core_.random.Uniform(kAlphabet.size())];
    if (core_.store.Get(type.Resource(), {std::string(ns), name}) == nullptr) return name;
  }
  return AlreadyExists(type, name);
}

absl::StatusOr<Answer> ObjectWriter::Create(const RequestInfo& info, json::value body) {
  BASALT_RETURN_IF_ERROR(CheckEnvelope(info, body));
  Unknown unknown = FindUnknown(info, body);
  BASALT_RETURN_IF_ERROR(unknown.refused);
  WarnOfFinalizers(*info.type, body, unknown.warnings);
  BASALT_ASSIGN_OR_RETURN(
      Answer answer,
      CreateObject({*info.type, info.Key(), "", info.manager, info.dry_run, info.body_bytes}, std::move(body)));
  answer.warnings = std::move(unknown.warnings);
  return answer;
}

absl::StatusOr<Answer> ObjectWriter::CreateObject(const Write& write, json::value object) {
  const TypeInfo& type = write.type;
  if (const std::string_view version = MetaString(object, "resourceVersion"); !version.empty() && version != "0") {
    return MakeApiError({.code = 500, .message = "resourceVersion should not be set on objects to be created"});
  }
  MetaOf(object).erase("resourceVersion");
  std::string name(MetaString(object, "name"));
  const std::string ns = write.key.ns;
  BASALT_RETURN_IF_ERROR(CheckNamespace(type, ns, name));
  if (name.empty()) {
    const std::string prefix(MetaString(object, "generateName"));
    if (prefix.empty()) {
      return Invalid(type, "", {FieldRequired("metadata.name", "name or generateName is required")});
    }
    BASALT_ASSIGN_OR_RETURN(name, GenerateName(type, ns, prefix));
    MetaOf(object)["name"] = name;
  }
  Normalize(object, type);
  StampNewObject(object, type, MakeUuid(core_.random), core_.NowText());
  if (type.has_status) object.as_object().erase("status");
  BASALT_RETURN_IF_ERROR(AdmitCreate(type, object, core_.NowText()));
  BASALT_RETURN_IF_ERROR(references_.Resolve(type, object));
  BASALT_RETURN_IF_ERROR(CheckQuotas(core_, type, object));
  if (const RevisionPtr there = core_.store.Get(type.Resource(), {ns, name}); there != nullptr) {
    return AlreadyExists(type, name, IsBeingDeleted(there->object()));
  }
  if (core_.options.managed_fields && !write.applied) {
    UpdateManagedFields(nullptr, object, write.manager, type, write.subresource, core_.NowText());
  }
  Write placed = write;
  placed.key.name = name;
  BASALT_ASSIGN_OR_RETURN(RevisionPtr stored, Commit(placed, nullptr, std::move(object)));
  return Answer{201, std::move(stored), nullptr};
}

absl::StatusOr<Answer> ObjectWriter::Update(const RequestInfo& info, json::value body) {
  const RevisionPtr live = core_.store.Get(info.type->Resource(), info.Key());
  if (live == nullptr) {
    if (!info.subresource.empty() || !IsMadeByUpdate(*info.type)) return NotFound(*info.type, info.name);
    if (const std::string uid(UidOf(body)); !uid.empty()) {
      return ConflictError(*info.type, info.name,
                           fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}/{}, "
                                       "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                                       "precondition: {}, UID in object meta: ",
                                       info.type->plural, info.ns, info.name, uid));
    }
    // Without a uid the version is no precondition, since there is no object that could have another version.
    if (json::value* metadata = body.as_object().if_contains("metadata");
        metadata != nullptr && metadata->is_object()) {
      metadata->get_object().erase("resourceVersion");
    }
    return Create(info, std::move(body));
  }
  BASALT_RETURN_IF_ERROR(CheckEnvelope(info, body));
  Unknown unknown = FindUnknown(info, body);
  BASALT_RETURN_IF_ERROR(unknown.refused);
  BASALT_RETURN_IF_ERROR(CheckVersions(*info.type, live->object(), body, /*is_put=*/true));
  BASALT_ASSIGN_OR_RETURN(Answer answer, UpdateObject({*info.type, info.Key(), info.subresource, info.manager,
                                                       info.dry_run, info.body_bytes},
                                                      live, std::move(body)));
  answer.warnings = std::move(unknown.warnings);
  return answer;
}

absl::StatusOr<Answer> ObjectWriter::Patch(const RequestInfo& info, std::string_view body) {
  const TypeInfo& type = *info.type;
  const RevisionPtr live = core_.store.Get(type.Resource(), info.Key());
  if (info.content_type == kApplyPatch) return Apply(info, live, body);
  if (info.force) {
    return Invalid({.group = "meta.k8s.io", .kind = "PatchOptions"}, "",
                   {{"FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch"}});
  }
  const bool strategic = info.content_type == kStrategicPatch;
  if (!strategic && info.content_type != kMergePatch && info.content_type != kJsonPatch) return UnknownFormat(type);
  if (strategic && !type.builtin) return UnknownFormat(type);
  if (live == nullptr) return NotFound(type, info.name);
  absl::StatusOr<json::value> patch = ParseJson(body);
  if (!patch.ok()) {
    return BadRequest(fmt::format("error decoding patch: {}", ToStd(patch.status().message())));
  }
  const json::value target = AsVersion(type, live->object());
  absl::StatusOr<json::value> next = strategic                          ? ApplyStrategicPatch(target, *patch, type.kind)
                                     : info.content_type == kMergePatch ? ApplyMergePatch(target, *patch)
                                                                        : ApplyJsonPatch(target, *patch);
  if (!next.ok()) return PatchFailed(info.content_type, next.status(), patch->is_array());
  if (!next->is_object()) return BadRequest("the patch does not leave an object");
  if (const std::string why = WhyUnreadable(type, *next); !why.empty()) {
    return Invalid({}, "",
                   {{"FieldValueInvalid", "patch",
                     fmt::format("Invalid value: {}: {}", ToText(json::string(ToText(*next))), why)}});
  }
  BASALT_RETURN_IF_ERROR(CheckEnvelope(info, *next));
  Unknown unknown = FindUnknown(info, *next);
  BASALT_RETURN_IF_ERROR(unknown.refused);
  BASALT_RETURN_IF_ERROR(CheckVersions(type, live->object(), *next, /*is_put=*/false));
  BASALT_ASSIGN_OR_RETURN(
      Answer answer, UpdateObject({type, info.Key(), info.subresource, info.manager, info.dry_run, info.body_bytes},
                                  live, *std::move(next)));
  answer.warnings = std::move(unknown.warnings);
  return answer;
}

absl::StatusOr<Answer> ObjectWriter::Apply(const RequestInfo& info, const RevisionPtr& live, std::string_view body) {
  const TypeInfo& type = *info.type;
  if (info.manager.empty()) {
    return Invalid({.group = "meta.k8s.io", .kind = "PatchOptions"}, "",
                   {FieldRequired("fieldManager", "is required for apply patch")});
  }
  BASALT_ASSIGN_OR_RETURN(json::value applied, ParseBody(kApplyPatch, body));
  for (const char* name : {"kind", "apiVersion"}) {
    if (!FindString(applied, name).empty()) continue;
    return BadRequest(fmt::format("Object '{}' is missing in '{}'", name, ToText(applied).substr(0, 200)));
  }
  BASALT_RETURN_IF_ERROR(CheckEnvelope(info, applied));
  BASALT_RETURN_IF_ERROR(CheckDeclared(info, applied));
  if (live == nullptr && !info.subresource.empty()) return NotFound(type, info.name);
  if (live == nullptr && !UidOf(applied).empty()) {
    return ConflictError(type, info.name,
                         fmt::format("uid mismatch: the provided object specified uid {}, and no existing object was "
                                     "found",
                                     UidOf(applied)));
  }
  if (live != nullptr) {
    if (const std::string_view version = MetaString(applied, "resourceVersion");
        !version.empty() && version != MetaString(live->object(), "resourceVersion")) {
      return Modified(type, info.name);
    }
  }
  MetaOf(applied).erase("resourceVersion");
  json::value target;
  if (live != nullptr) target = AsVersion(type, live->object());
  std::vector<struct Conflict> conflicts;
  absl::StatusOr<ApplyResult> result = ServerSideApply(live == nullptr ? nullptr : &target, applied, info.manager,
                                                       info.force, type, info.subresource, core_.NowText(), &conflicts);
  if (!conflicts.empty() && !result.ok()) return ConflictsError(conflicts);
  if (!result.ok()) return BadRequest(ToStd(result.status().message()));
  Write write{type, info.Key(), info.subresource, info.manager, info.dry_run, info.body_bytes, /*applied=*/true};
  if (live == nullptr) return CreateObject(write, std::move(result->object));
  BASALT_RETURN_IF_ERROR(CheckVersions(type, live->object(), result->object, /*is_put=*/false));
  return UpdateObject(write, live, std::move(result->object));
}

absl::StatusOr<Answer> ObjectWriter::UpdateObject(const Write& write, const RevisionPtr& live, json::value next) {
  const TypeInfo& type = write.type;
  Normalize(next, type);
  const json::value before = AsVersion(type, live->object());
  std::vector<FieldError> errors = MergeForUpdate(type, write.subresource, before, next);
  if (!errors.empty()) return Invalid(type, write.key.name, std::move(errors));
  BASALT_RETURN_IF_ERROR(AdmitUpdate(type, write.subresource, before, next));
  UpdateGeneration(type, before, next);
  if (SameObject(before, next)) return Answer{200, live, nullptr};
  if (core_.options.managed_fields && !write.applied) {
    UpdateManagedFields(&before, next, write.manager, type, write.subresource, core_.NowText());
  }
  BASALT_ASSIGN_OR_RETURN(RevisionPtr stored, Commit(write, live, std::move(next)));
  return Answer{200, std::move(stored), nullptr};
}

absl::StatusOr<RevisionPtr> ObjectWriter::Commit(const Write& write, const RevisionPtr& live, json::value next) {
  const std::string resource = write.type.Resource();
  const TypeInfoPtr storage = core_.types.Storage(resource);
  if (storage != nullptr && storage->version != write.type.version) {
    next.as_object()["apiVersion"] = storage->ApiVersion();
  }
  if (write.dry_run) {
    if (live != nullptr) StampVersion(next, live->version());
    return std::make_shared<Revision>(std::move(next), live == nullptr ? 0 : live->version());
  }
  if (live != nullptr && RemovedByUpdate(next)) {
    const int64_t version = core_.store.Delete(resource, write.key).version;
    StampVersion(next, version);
    return std::make_shared<Revision>(std::move(next), version);
  }
  // Only an object that may be near the limit is encoded here, since the store encodes it again.
  const size_t at_most = write.bytes + (live == nullptr ? 0 : live->Text().size());
  if (at_most > core_.options.max_object_bytes / 2 && ToText(next).size() > core_.options.max_object_bytes) {
    return MakeApiError({.code = 500, .message = "etcdserver: request is too large"});
  }
  return core_.store.Put(resource, write.key, std::move(next));
}

absl::StatusOr<RevisionPtr> ObjectWriter::Mutate(const TypeInfo& type, const ObjectKey& key,
                                                 const std::function<void(json::value&)>& change) {
  const RevisionPtr live = core_.store.Get(type.Resource(), key);
  if (live == nullptr) return NotFound(type, key.name);
  json::value next = live->object();
  change(next);
  if (next == live->object() && !RemovedByUpdate(next)) return live;
  return Commit({type, key, "", ""}, live, std::move(next));
}

}  // namespace basalt::kubesim
