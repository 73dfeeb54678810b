#include "kubesim/server/admission/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kubesim/server/request/errors.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {
namespace {

json::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

// Returns whether the member is an empty collection, which is not stored. An empty managedFields is stored, since it
// has a meaning.
bool IsEmptyCollection(json::string_view name, const json::value& value) {
  if (name == "labels" || name == "annotations") return value.is_object() && value.get_object().empty();
  if (name == "finalizers" || name == "ownerReferences") return value.is_array() && value.get_array().empty();
  return false;
}

void CopyMember(const json::object& from, json::object& to, std::string_view name) {
  if (const json::value* value = from.if_contains(Text(name)); value != nullptr) {
    to[Text(name)] = *value;
  } else {
    to.erase(Text(name));
  }
}

const json::object& MetaOf(const json::value& object) {
  static const json::object kNone;
  const json::value* metadata = Find(object, "metadata");
  return metadata == nullptr || !metadata->is_object() ? kNone : metadata->get_object();
}

json::value Comparable(const json::value& object) {
  json::value copy = object;
  json::object& metadata = kubesim::MetaOf(copy);
  metadata.erase("resourceVersion");
  if (json::value* fields = metadata.if_contains("managedFields"); fields != nullptr && fields->is_array()) {
    for (json::value& entry : fields->get_array()) {
      if (entry.is_object()) entry.get_object().erase("time");
    }
  }
  return copy;
}

// Handles a member that an update may leave out but not change.
void KeepImmutable(const json::object& old, json::object& metadata, std::string_view name,
                   std::vector<FieldError>& errors) {
  const json::value* before = old.if_contains(Text(name));
  const json::value* after = metadata.if_contains(Text(name));
  const bool marks = name == "deletionTimestamp" || name == "deletionGracePeriodSeconds";
  const bool changes = after != nullptr && (before == nullptr ? marks : *after != *before);
  if (changes) {
    errors.push_back(FieldInvalid(fmt::format("metadata.{}", name),
                                  fmt::format("Invalid value: {}: field is immutable", ToText(*after))));
    return;
  }
  CopyMember(old, metadata, name);
}

void CheckNewFinalizers(const json::value& live, const json::value& next, std::vector<FieldError>& errors) {
  if (!IsBeingDeleted(live)) return;
  const json::value* list = FindPath(next, {"metadata", "finalizers"});
  if (list == nullptr || !list->is_array()) return;
  std::string added;
  for (const json::value& one : list->get_array()) {
    if (!one.is_string() || HasFinalizer(live, {one.get_string().data(), one.get_string().size()})) continue;
    added += fmt::format("{}\"{}\"", added.empty() ? "" : ", ", one.get_string().c_str());
  }
  if (added.empty()) return;
  errors.push_back({"FieldValueForbidden", "metadata.finalizers",
                    fmt::format("Forbidden: no new finalizers can be added if the object is being deleted, found new "
                                "finalizers []string{{{}}}",
                                added)});
}

bool SpecDiffers(const TypeInfo& type, const json::value& a, const json::value& b) {
  const auto relevant = [&](const json::value& object) {
    json::object out;
    for (const auto& [key, value] : object.get_object()) {
      if (key == "metadata" || key == "apiVersion" || key == "kind") continue;
      if (key == "status" && (type.builtin || type.has_status)) continue;
      out[key] = value;
    }
    return out;
  };
  return relevant(a) != relevant(b);
}

}  // namespace

void Normalize(json::value& object, const TypeInfo& type) {
  json::object out;
  json::object& in = object.as_object();
  out["kind"] = type.kind;
  out["apiVersion"] = type.ApiVersion();
  json::object metadata;
  if (json::value* found = in.if_contains("metadata"); found != nullptr && found->is_object()) {
    for (auto& [key, value] : found->get_object()) {
      if (!value.is_null() && !IsEmptyCollection(key, value)) metadata[key] = std::move(value);
    }
  }
  out["metadata"] = std::move(metadata);
  for (auto& [key, value] : in) {
    if (key != "kind" && key != "apiVersion" && key != "metadata") out[key] = std::move(value);
  }
  object = std::move(out);
}

void StampNewObject(json::value& object, const TypeInfo& type, std::string_view uid, std::string_view now) {
  json::object& metadata = kubesim::MetaOf(object);
  for (const char* name : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"}) {
    metadata.erase(name);
  }
  metadata["uid"] = Text(uid);
  metadata["creationTimestamp"] = Text(now);
  if (type.has_generation) metadata["generation"] = 1;
}

absl::Status CheckVersions(const TypeInfo& type, const json::value& live, json::value& next, bool is_put) {
  json::object& metadata = kubesim::MetaOf(next);
  const std::string name(MetaString(live, "name"));
  const std::string_view uid = UidOf(next);
  if (is_put && !uid.empty() && uid != UidOf(live)) {
    return ConflictError(
        type, name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, UidOf(live)));
  }
  const std::string_view version = MetaString(next, "resourceVersion");
  if (version.empty() || version == "0") {
    if (is_put && (!type.builtin || type.plural == "leases")) {
      // In this refusal the server names the resource, not the kind.
      TypeInfo named = type;
      named.kind = type.plural;
      return Invalid(named, name,
                     {FieldInvalid("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")});
    }
  } else if (version.find_first_not_of("0123456789") != std::string_view::npos) {
    return MakeApiError(
        {.code = 500, .message = fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", version)});
  } else if (version != MetaString(live, "resourceVersion")) {
    return Modified(type, name);
  }
  metadata.erase("resourceVersion");
  return absl::OkStatus();
}

std::vector<FieldError> MergeForUpdate(const TypeInfo& type, std::string_view subresource, const json::value& live,
                                       json::value& next) {
  std::vector<FieldError> errors;
  const json::object& old = MetaOf(live);
  const json::object& before = live.get_object();
  if (subresource == "status") {
    if (type.builtin) {
      CopyMember(before, next.as_object(), "spec");
      if (IsPod(type)) CopyMember(old, kubesim::MetaOf(next), "ownerReferences");
    } else {
      json::object& metadata = kubesim::MetaOf(next);
      // The old metadata replaces the new before any comparison: another UID in a patch is no conflict.
      json::object kept = before;
      if (json::value* fields = metadata.if_contains("managedFields")) {
        kept["metadata"].as_object()["managedFields"] = std::move(*fields);
      } else {
        kept["metadata"].as_object().erase("managedFields");
      }
      kept["metadata"].as_object().erase("resourceVersion");
      CopyMember(next.as_object(), kept, "status");
      next = std::move(kept);
      return errors;
    }
  } else if (type.has_status) {
    CopyMember(before, next.as_object(), "status");
  }
  json::object& metadata = kubesim::MetaOf(next);
  for (const char* name : {"uid", "deletionTimestamp", "deletionGracePeriodSeconds", "name", "namespace"}) {
    KeepImmutable(old, metadata, name, errors);
  }
  for (const char* name : {"creationTimestamp", "generation", "selfLink"}) CopyMember(old, metadata, name);
  CheckNewFinalizers(live, next, errors);
  return errors;
}

void UpdateGeneration(const TypeInfo& type, const json::value& live, json::value& next) {
  if (!type.has_generation || !SpecDiffers(type, live, next)) return;
  const json::value* metadata = Find(live, "metadata");
  kubesim::MetaOf(next)["generation"] = FindInt(*metadata, "generation", 0) + 1;
}

bool SameObject(const json::value& a, const json::value& b) { return Comparable(a) == Comparable(b); }

}  // namespace basalt::kubesim
