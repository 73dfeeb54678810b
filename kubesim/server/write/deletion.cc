#include "kubesim/server/write/deletion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/base/status_macros.h"
#include "kubesim/server/request/errors.h"
#include "kubesim/server/write/objects.h"

namespace basalt::kubesim {
namespace {

// Returns whether the deletion of this kind is answered with the object although it is gone.
bool ReturnsDeletedObject(const TypeInfo& type) {
  return type.group.empty() && (type.plural == "pods" || type.plural == "persistentvolumeclaims" ||
                                type.plural == "services" || type.plural == "serviceaccounts");
}

std::string DefaultPropagation(const TypeInfo& type, const json::value& object) {
  if (HasFinalizer(object, kOrphanFinalizer)) return "Orphan";
  if (HasFinalizer(object, kForegroundFinalizer)) return "Foreground";
  // By default batch/v1 keeps the dependents of its jobs.
  if (type.group == "batch" && type.plural == "jobs") return "Orphan";
  return "Background";
}

void SetPropagationFinalizers(json::value& object, std::string_view propagation) {
  RemoveFinalizer(object, kOrphanFinalizer);
  RemoveFinalizer(object, kForegroundFinalizer);
  if (propagation == "Orphan") AddFinalizer(object, kOrphanFinalizer);
  if (propagation == "Foreground") AddFinalizer(object, kForegroundFinalizer);
}

int64_t PodGrace(const json::value& pod, const DeleteOptions& options) {
  const json::value* spec = Find(pod, "spec");
  const json::value* status = Find(pod, "status");
  const std::string_view phase = status == nullptr ? "" : FindString(*status, "phase");
  int64_t grace =
      options.grace_seconds.value_or(spec == nullptr ? 30 : FindInt(*spec, "terminationGracePeriodSeconds", 30));
  if (spec == nullptr || FindString(*spec, "nodeName").empty()) grace = 0;
  if (phase == "Succeeded" || phase == "Failed") grace = 0;
  return grace < 0 ? 1 : grace;
}

void BumpGeneration(json::value& object) {
  json::object& metadata = MetaOf(object);
  const int64_t generation = FindInt(*Find(object, "metadata"), "generation", 0);
  if (generation > 0) metadata["generation"] = generation + 1;
}

void MarkDeleted(json::value& object, absl::Time when, int64_t grace) {
  json::object& metadata = MetaOf(object);
  if (!IsBeingDeleted(object)) BumpGeneration(object);
  metadata["deletionTimestamp"] = Rfc3339(when);
  metadata["deletionGracePeriodSeconds"] = grace;
}

// Returns a conflict that names the kind, as the server does here. Elsewhere it names the resource.
absl::Status KindConflict(const TypeInfo& type, std::string_view name, std::string_view why) {
  return MakeApiError(
      {.code = 409,
       .reason = "Conflict",
       .message = fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", type.QualifiedKind(), name, why),
       .name = std::string(name),
       .group = type.group,
       .kind = type.kind});
}

absl::Status CheckPreconditions(const TypeInfo& type, const json::value& live, const DeleteOptions& options) {
  const std::string_view name = MetaString(live, "name");
  if (!options.uid.empty() && options.uid != UidOf(live)) {
    return KindConflict(type, name,
                        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                                    "object might have been deleted and then recreated",
                                    options.uid, UidOf(live)));
  }
  const std::string_view version = MetaString(live, "resourceVersion");
  if (!options.resource_version.empty() && options.resource_version != version) {
    return KindConflict(type, name,
                        fmt::format("the ResourceVersion in the precondition ({}) does not match the ResourceVersion "
                                    "in record ({}). The object might have been modified",
                                    options.resource_version, version));
  }
  return absl::OkStatus();
}

absl::Status InvalidOptions(std::vector<FieldError> causes) {
  return Invalid({.group = "meta.k8s.io", .kind = "DeleteOptions"}, "", std::move(causes));
}

bool HoldsContent(const TypeInfo& type, const json::value& object) {
  if (!IsNamespace(type)) return false;
  const json::value* finalizers = FindPath(object, {"spec", "finalizers"});
  return finalizers != nullptr && finalizers->is_array() && !finalizers->get_array().empty();
}

bool IsProtectedNamespace(std::string_view name) {
  return name == "default" || name == "kube-system" || name == "kube-public";
}

}  // namespace

absl::StatusOr<DeleteOptions> DeleteOptionsFrom(const json::value& object) {
  DeleteOptions options;
  if (const json::value* grace = Find(object, "gracePeriodSeconds"); grace != nullptr && grace->is_number()) {
    options.grace_seconds = FindInt(object, "gracePeriodSeconds");
  }
  options.propagation = FindString(object, "propagationPolicy");
  if (const json::value* orphan = Find(object, "orphanDependents"); orphan != nullptr && orphan->is_bool()) {
    if (!options.propagation.empty()) {
      return InvalidOptions({FieldInvalid("propagationPolicy",
                                          fmt::format("Invalid value: \"{}\": orphanDependents and deletionPropagation "
                                                      "cannot be both set",
                                                      options.propagation))});
    }
    options.propagation = orphan->get_bool() ? "Orphan" : "Background";
  }
  const std::string& policy = options.propagation;
  if (!policy.empty() && policy != "Orphan" && policy != "Background" && policy != "Foreground") {
    return InvalidOptions({{"FieldValueNotSupported", "propagationPolicy",
                            fmt::format("Unsupported value: \"{}\": supported values: \"Foreground\", \"Background\", "
                                        "\"Orphan\", \"nil\"",
                                        policy)}});
  }
  if (const json::value* preconditions = Find(object, "preconditions"); preconditions != nullptr) {
    options.uid = FindString(*preconditions, "uid");
    options.resource_version = FindString(*preconditions, "resourceVersion");
  }
  if (const json::value* dry = Find(object, "dryRun"); dry != nullptr && dry->is_array()) {
    for (const json::value& one : dry->get_array()) {
      if (one == json::value("All")) continue;
      return InvalidOptions({{"FieldValueNotSupported", "dryRun",
                              fmt::format("Unsupported value: {}: supported values: \"All\"", ToText(*dry))}});
    }
    options.dry_run = !dry->get_array().empty();
  }
  return options;
}

absl::StatusOr<DeleteOptions> ReadDeleteOptions(const RequestInfo& info, std::string_view body) {
  json::value object = json::object();
  if (!body.empty()) {
    BASALT_ASSIGN_OR_RETURN(object, ParseBody(info.content_type, body));
    if (const std::string_view kind = FindString(object, "kind"); !kind.empty() && kind != "DeleteOptions") {
      return BadRequest(fmt::format("decoded object cannot be converted to DeleteOptions: it is a {}", kind));
    }
  } else {
    json::object& fields = object.as_object();
    if (info.target.HasQuery("gracePeriodSeconds")) {
      BASALT_ASSIGN_OR_RETURN(const int64_t grace, QueryInt(info.target, "gracePeriodSeconds", 0));
      fields["gracePeriodSeconds"] = grace;
    }
    if (info.target.HasQuery("propagationPolicy")) {
      fields["propagationPolicy"] = std::string(info.target.Query("propagationPolicy"));
    }
    if (info.target.HasQuery("orphanDependents")) {
      fields["orphanDependents"] = QueryBool(info.target, "orphanDependents");
    }
  }
  BASALT_ASSIGN_OR_RETURN(DeleteOptions options, DeleteOptionsFrom(object));
  options.dry_run = options.dry_run || info.dry_run;
  return options;
}

absl::StatusOr<Answer> Deleter::Delete(const RequestInfo& info, std::string_view body) {
  BASALT_ASSIGN_OR_RETURN(const DeleteOptions options, ReadDeleteOptions(info, body));
  BASALT_ASSIGN_OR_RETURN(Deleted deleted, DeleteOne(*info.type, info.Key(), options));
  if (!deleted.gone || ReturnsDeletedObject(*info.type)) return Answer{200, std::move(deleted.object), nullptr};
  return Answer{200, nullptr, SuccessStatus(*info.type, info.name, UidOf(deleted.object->object()))};
}

absl::StatusOr<Deleted> Deleter::DeleteOne(const TypeInfo& type, const ObjectKey& key, DeleteOptions options) {
  const RevisionPtr live = core_.store.Get(type.Resource(), key);
  if (live == nullptr) return NotFound(type, key.name);
  if (IsNamespace(type) && IsProtectedNamespace(key.name)) {
    return Forbidden(type, key.name, "this namespace may not be deleted");
  }
  BASALT_RETURN_IF_ERROR(CheckPreconditions(type, live->object(), options));
  json::value next = live->object();
  const absl::Time now = core_.Now();
  const bool marked = IsBeingDeleted(next);
  int64_t grace = 0;
  if (IsPod(type)) {
    if (marked) {
      const int64_t old = FindInt(*Find(next, "metadata"), "deletionGracePeriodSeconds", 0);
      // The grace period of a deletion under way can only be shortened.
      if (!options.grace_seconds.has_value() || *options.grace_seconds >= old) return Deleted{live, false};
      grace = std::max<int64_t>(*options.grace_seconds, 0);
      absl::Time due;
      std::string error;
      if (!absl::ParseTime(absl::RFC3339_full, std::string(MetaString(next, "deletionTimestamp")), &due, &error)) {
        due = now + absl::Seconds(old);
      }
      MarkDeleted(next, due - absl::Seconds(old) + absl::Seconds(grace), grace);
    } else {
      grace = PodGrace(next, options);
      MarkDeleted(next, now + absl::Seconds(grace), grace);
    }
  }
  // A definition stays until its objects are gone.
  if (IsCrd(type) && !marked) AddFinalizer(next, kCrdFinalizer);
  SetPropagationFinalizers(next, options.propagation.empty() ? DefaultPropagation(type, next) : options.propagation);
  const bool held = HasAnyFinalizer(next) || HoldsContent(type, next);
  if (!IsPod(type) && held && !marked) MarkDeleted(next, now, 0);
  if (IsNamespace(type) && held) {
    json::value& status = next.as_object()["status"];
    if (!status.is_object()) status = json::object();
    status.get_object()["phase"] = "Terminating";
  }
  return Finish(type, key, live, std::move(next), grace == 0 && !held, options.dry_run);
}

absl::StatusOr<Deleted> Deleter::Finish(const TypeInfo& type, const ObjectKey& key, const RevisionPtr& live,
                                        json::value next, bool remove, bool dry_run) {
  const std::string resource = type.Resource();
  const bool changed = next != live->object();
  if (dry_run) return Deleted{std::make_shared<Revision>(std::move(next), live->version()), remove};
  // The deletion marks of a pod are written, and sent to watches, even if the pod goes at once.
  RevisionPtr last = live;
  if (changed && (!remove || IsPod(type))) last = core_.store.Put(resource, key, std::move(next));
  if (!remove) return Deleted{last, false};
  return Deleted{core_.store.Delete(resource, key).Tombstone(), true};
}

bool Deleter::DeleteNext(const TypeInfo& type, std::string_view ns, std::optional<ObjectKey>& after, int& budget) {
  std::vector<ObjectKey> keys;
  bool finished = true;
  const std::optional<ObjectKey> start = after;
  core_.store.Visit(type.Resource(), ns, start.has_value() ? &*start : nullptr,
                    [&](const ObjectKey& key, const RevisionPtr& revision) {
                      finished = budget > 0;
                      if (!finished) return false;
                      --budget;
                      after = key;
                      if (!IsBeingDeleted(revision->object())) keys.push_back(key);
                      return true;
                    });
  for (const ObjectKey& key : keys) DeleteOne(type, key, {}).IgnoreError();
  return finished;
}

}  // namespace basalt::kubesim
