// Objects of plugins: made before the first pod, removed once with a full kill that does not come back.
#include <fmt/format.h>

#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/object_meta.h"
#include "common/kube/requests.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

std::string KeyOf(std::string_view plural, std::string_view name) { return fmt::format("{}/{}", plural, name); }

// The kinds that plugins make, for objects that the present spec does not name any more.
kube::Kind KindOf(std::string_view plural) {
  for (const kube::Kind& kind : {kube::kServices, kube::kConfigMaps, kube::kSecrets, kube::kNetworkPolicies}) {
    if (kind.plural == plural) return kind;
  }
  return {"", "v1", "", plural};
}

kube::Kind KindOf(const WantedObject& object) { return {object.group, object.version, object.kind, object.plural}; }

std::string_view HashOf(std::string_view remembered) { return remembered.substr(0, remembered.find(' ')); }

std::string UidOf(std::string_view remembered) {
  const size_t space = remembered.find(' ');
  return space == std::string_view::npos ? std::string() : std::string(remembered.substr(space + 1));
}

// An empty text: it may exist, a process that died may have made it.
bool IsMade(const std::map<std::string, std::string>& objects, const std::string& key) {
  const auto found = objects.find(key);
  return found != objects.end() && !found->second.empty();
}

// It is there, and what a plugin keeps up to date in it is that of the present spec.
bool IsCurrent(const std::map<std::string, std::string>& objects, const WantedObject& object) {
  const std::string key = KeyOf(object.plural, object.name);
  return IsMade(objects, key) &&
         (object.on_change != WantedObject::OnChange::kPatch || HashOf(objects.at(key)) == object.hash);
}

std::string SubjectOf(const WantedObject& object) { return fmt::format("{} {}", object.kind, object.name); }

Problem ProblemOf(const WantedObject& object, std::string_view what) {
  std::string subject = SubjectOf(object);
  std::string message = fmt::format("plugin {}: {}{}", object.plugin, subject, what);
  return {.words = {"PluginError", std::move(message)}, .subject = std::move(subject)};
}

Problem TooLarge(const WantedObject& object) {
  Problem problem = ProblemOf(
      object, fmt::format(" would have {} bytes, and Kubernetes takes at most {}", object.data_bytes, kMostDataBytes));
  problem.kind = ProblemKind::kTooLarge;
  return problem;
}

}  // namespace

bool JobController::ObjectsReady(const JobEntry& entry) const {
  for (const WantedObject& object : entry.compiled->objects) {
    if (!IsCurrent(entry.plugin_objects.made, object)) return false;
  }
  for (const WantedClaim& claim : entry.compiled->claims) {
    if (!entry.plugin_objects.claims.contains(claim.name)) return false;
  }
  return true;
}

void JobController::ActOnObjects(JobEntry& entry) {
  const auto phase = entry.job->status().phase();
  if (!MakesPods(phase)) {
    StopAwaiting(entry);
    if (!entry.plugin_objects.made.empty() && entry.plugin_objects.retry.Blocks(context_.ApiNow())) {
      return context_.WakeAt(entry.key, entry.plugin_objects.retry.until());
    }
    for (const auto& [key, remembered] : entry.plugin_objects.made) {
      if (entry.plugin_objects.busy.contains(key)) continue;
      if (const std::string uid = UidOf(remembered); !uid.empty()) {
        DeleteObject(entry, key, uid);
      } else {
        FindAndDeleteObject(entry, key);
      }
    }
    return;
  }
  if (entry.compiled->invalid() || (entry.compiled->objects.empty() && entry.compiled->claims.empty())) return;
  if (entry.plugin_objects.retry.Blocks(context_.ApiNow())) {
    context_.WakeAt(entry.key, entry.plugin_objects.retry.until());
    return;
  }
  for (const WantedObject& object : entry.compiled->objects) EnsureObject(entry, object);
  for (const WantedClaim& claim : entry.compiled->claims) {
    if (!entry.plugin_objects.claims.contains(claim.name)) EnsureClaim(entry, claim);
  }
}

// One of them: others may be refused still, and have the same pause between their tries.
void JobController::ObjectIsThere(JobEntry& entry, std::string_view reason, std::string_view subject) {
  if (ObjectsReady(entry)) entry.plugin_objects.retry.Succeed();
  entry.problems.End(reason, subject);
}

// A create of one of them: it is tried again after a pause.
void JobController::ObjectRefused(JobEntry& entry, const WriteOutcome& outcome, Problem problem) {
  const absl::Time now = context_.ApiNow();
  entry.plugin_objects.retry.Fail(now, context_.random());
  if (outcome.kind == WriteOutcome::Kind::kRefused &&
      runtime::ShouldReportCreate(outcome.error, entry.plugin_objects.retry.Lasts(now))) {
    ReportProblem(entry, std::move(problem));
  }
}

void JobController::EnsureObject(JobEntry& entry, const WantedObject& object) {
  const std::string key = KeyOf(object.plural, object.name);
  const bool made = IsMade(entry.plugin_objects.made, key);
  const bool changed = made && object.on_change == WantedObject::OnChange::kPatch &&
                       HashOf(entry.plugin_objects.made.at(key)) != object.hash;
  if (made && !changed) return;
  if (object.data_bytes > kMostDataBytes) {
    // Until the spec is another one.
    if (entry.problems.Find("PluginError", SubjectOf(object)) == nullptr) ReportProblem(entry, TooLarge(object));
    return;
  }
  if (!entry.plugin_objects.busy.insert(key).second) return;
  if (changed) return PatchObject(entry, object, UidOf(entry.plugin_objects.made.at(key)), /*resource_version=*/0);
  // Not by us, but made: the marker says so.
  if (IsMarked(entry.job->status(), object.plugin)) {
    CompareObject(entry, object, /*after_create=*/false);
  } else {
    MakeObject(entry, object);
  }
}

void JobController::MakeObject(JobEntry& entry, const WantedObject& object) {
  if (!object.needs_ssh_keys) {
    CreateObject(entry, object, object.json);
    return;
  }
  const std::string key = KeyOf(object.plural, object.name);
  keys_.MakeKeys(entry.record.uid(), [this, alive = alive_, job_key = entry.key, uid = entry.record.uid(), key,
                                      object](absl::StatusOr<SshKeyPair> keys) {
    JobEntry* live = *alive ? Live(job_key, uid) : nullptr;
    if (live == nullptr || !live->plugin_objects.busy.contains(key)) return;
    if (!keys.ok()) {
      live->plugin_objects.busy.erase(key);
      live->plugin_objects.retry.Fail(context_.ApiNow(), context_.random());
      ReportProblem(
          *live, {.words = {"PluginError", std::string(ToStd(keys.status().message()))}, .subject = SubjectOf(object)});
      context_.Wake(job_key);
      return;
    }
    CreateObject(*live, object, WithSshKeys(object, *keys));
  });
}

void JobController::CreateObject(JobEntry& entry, const WantedObject& object, std::string json) {
  auto request = kube::WriteOf(KindOf(object), entry.ns, object.name);
  request.mutable_create()->set_body(std::move(json));
  context_.Write(entry.key, std::move(request),
                 [this, job_key = entry.key, uid = entry.record.uid(), object](WriteOutcome outcome) {
                   JobEntry* live = Live(job_key, uid);
                   if (live == nullptr) return;
                   const std::string key = KeyOf(object.plural, object.name);
                   if (outcome.kind == WriteOutcome::Kind::kDone) {
                     live->plugin_objects.busy.erase(key);
                     live->plugin_objects.made[key] =
                         fmt::format("{} {}", object.hash, outcome.object.generic().meta().uid());
                     ObjectIsThere(*live, "PluginError", SubjectOf(object));
                   } else if (runtime::IsNameTaken(outcome)) {
                     // Ours from before a crash, or somebody else's.
                     CompareObject(*live, object, /*after_create=*/true);
                     return;
                   } else {
                     live->plugin_objects.busy.erase(key);
                     ObjectRefused(*live, outcome, ProblemOf(object, ": " + outcome.error.message()));
                   }
                   context_.Wake(job_key);
                 });
}

// An object of that name exists: ours by its owner, or never touched. Ours takes the patch where the plugin wants that.
void JobController::CompareObject(JobEntry& entry, const WantedObject& object, bool after_create) {
  auto request = kube::GetOf(KindOf(object), entry.ns, object.name);
  context_.Get(entry.key, std::move(request),
               [this, job_key = entry.key, uid = entry.record.uid(), object,
                after_create](absl::StatusOr<gateway::v1::GetResponse> response) {
                 JobEntry* live = Live(job_key, uid);
                 if (live == nullptr) return;
                 const std::string key = KeyOf(object.plural, object.name);
                 const auto give_up = [&] {
                   live->plugin_objects.busy.erase(key);
                   live->plugin_objects.retry.Fail(context_.ApiNow(), context_.random());
                   context_.Wake(job_key);
                 };
                 if (!response.ok() || !response->has_object()) {
                   if (response.ok() && response->error().code() == 404) {
                     live->plugin_objects.made[key].clear();
                     // One that was just said to exist is not made again at once: the two answers may take turns for
                     // ever.
                     if (after_create) return give_up();
                     MakeObject(*live, object);
                   } else {
                     if (response.ok() && runtime::ShouldReportToUser(response->error())) {
                       ReportProblem(*live, ProblemOf(object, ": " + response->error().message()));
                     }
                     give_up();
                   }
                   return;
                 }
                 const kube::v1::ObjectMeta& meta = response->object().generic().meta();
                 if (!kube::IsOwnedBy(meta, uid)) {
                   Problem taken = ProblemOf(object, " exists and belongs to somebody else; it is left alone");
                   taken.kind = ProblemKind::kTaken;
                   ReportProblem(*live, std::move(taken));
                   give_up();
                   return;
                 }
                 if (object.on_change != WantedObject::OnChange::kPatch) {
                   live->plugin_objects.busy.erase(key);
                   live->plugin_objects.made[key] = fmt::format("{} {}", object.hash, meta.uid());
                   ObjectIsThere(*live, "PluginError", SubjectOf(object));
                   context_.Wake(job_key);
                   return;
                 }
                 PatchObject(*live, object, meta.uid(), meta.resource_version());
               });
}

// `resource_version` 0: what is there was not looked at since the object was made. Only the one of that UID takes the
// patch.
void JobController::PatchObject(JobEntry& entry, const WantedObject& object, const std::string& object_uid,
                                int64_t resource_version) {
  auto request = kube::WriteOf(KindOf(object), entry.ns, object.name);
  kube::SetMergePatch(object.patch, object_uid, request).set_resource_version(resource_version);
  context_.Write(entry.key, std::move(request),
                 [this, job_key = entry.key, uid = entry.record.uid(), object, object_uid,
                  was_read = resource_version != 0](WriteOutcome outcome) {
                   JobEntry* live = Live(job_key, uid);
                   if (live == nullptr) return;
                   const int code = outcome.error.code();
                   // Another object may have the name, or none.
                   if (!was_read && outcome.kind == WriteOutcome::Kind::kRefused && (code == 404 || code == 409)) {
                     return CompareObject(*live, object, /*after_create=*/false);
                   }
                   const std::string key = KeyOf(object.plural, object.name);
                   live->plugin_objects.busy.erase(key);
                   if (outcome.kind == WriteOutcome::Kind::kDone) {
                     live->plugin_objects.made[key] = fmt::format("{} {}", object.hash, object_uid);
                     ObjectIsThere(*live, "PluginError", SubjectOf(object));
                   } else {
                     live->plugin_objects.retry.Fail(context_.ApiNow(), context_.random());
                     if (code != 404 && runtime::ShouldReportToUser(outcome)) {
                       ReportProblem(*live, ProblemOf(object, ": " + outcome.error.message()));
                     }
                   }
                   context_.Wake(job_key);
                 });
}

void JobController::ObjectIsGone(JobEntry& entry, const std::string& object_key) {
  entry.plugin_objects.made.erase(object_key);
  if (entry.plugin_objects.made.empty()) entry.plugin_objects.retry.Succeed();
}

// Removes an object of which no more is known than that it may exist: what it is, the API server says.
void JobController::FindAndDeleteObject(JobEntry& entry, const std::string& object_key) {
  const auto [plural, name] = kube::SplitKey(object_key);
  if (plural.empty() || !entry.plugin_objects.busy.insert(object_key).second) return;
  auto request = kube::GetOf(KindOf(plural), entry.ns, name);
  context_.Get(entry.key, std::move(request),
               [this, job_key = entry.key, uid = entry.record.uid(),
                object_key](absl::StatusOr<gateway::v1::GetResponse> response) {
                 JobEntry* live = Live(job_key, uid);
                 if (live == nullptr) return;
                 live->plugin_objects.busy.erase(object_key);
                 const bool there = response.ok() && response->has_object();
                 if (!live->job || MakesPods(live->job->status().phase())) {
                   context_.Wake(job_key);  // It is wanted again.
                 } else if (there && kube::IsOwnedBy(response->object().generic().meta(), uid)) {
                   DeleteObject(*live, object_key, response->object().generic().meta().uid());
                 } else if (there || (response.ok() && response->error().code() == 404)) {
                   ObjectIsGone(*live, object_key);
                   context_.Wake(job_key);
                 } else {
                   TryAgain(*live, live->plugin_objects.retry);
                 }
               });
}

void JobController::DeleteObject(JobEntry& entry, const std::string& object_key, const std::string& object_uid) {
  const auto [plural, name] = kube::SplitKey(object_key);
  if (plural.empty() || object_uid.empty()) return;
  if (!entry.plugin_objects.busy.insert(object_key).second) return;
  // From here on it may exist or not, for us and, by the next status write, for whoever comes after us: a job that is
  // resumed meanwhile is not to take it for made.
  entry.plugin_objects.made[object_key].clear();
  auto request = kube::WriteOf(KindOf(plural), entry.ns, name);
  request.mutable_delete_()->set_uid(object_uid);
  context_.Write(entry.key, std::move(request),
                 [this, job_key = entry.key, uid = entry.record.uid(), object_key](WriteOutcome outcome) {
                   JobEntry* live = Live(job_key, uid);
                   if (live == nullptr) return;
                   live->plugin_objects.busy.erase(object_key);
                   const int code = outcome.error.code();
                   if (outcome.kind == WriteOutcome::Kind::kDone || code == 404) {
                     ObjectIsGone(*live, object_key);
                     context_.Wake(job_key);
                   } else if (code == 409 || code == 422) {
                     // Another object has the name. Ours it may be all the same: what we remember of it may be older.
                     context_.Wake(job_key);
                   } else {
                     TryAgain(*live, live->plugin_objects.retry);
                     if (runtime::ShouldReportToUser(outcome)) {
                       ReportProblem(*live,
                                     {.words = {"FailedDelete", fmt::format("{} cannot be deleted: {}", object_key,
                                                                            outcome.error.message())},
                                      .subject = object_key});
                     }
                   }
                 });
}

}  // namespace basalt::jobsvc
