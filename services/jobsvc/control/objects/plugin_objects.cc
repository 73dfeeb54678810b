#include "services/jobsvc/control/objects/plugin_objects.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/kube/object_meta.h"
#include "common/kube/requests.h"
#include "common/reconcile/effect.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/render/volumes.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// After one object is made, others may still be refused, so the back-off goes on. A taken name may be that of our own
// object, from before a crash.
constexpr EffectPolicy kObjectCreate{.done = Meaning::kHeld, .already_exists = Meaning::kLook};
// For an object that was read just now.
constexpr EffectPolicy kReadObjectPatch{
    .done = Meaning::kHeld, .not_found = Meaning::kTryAgain, .conflict = Meaning::kLook};
// For an object that was not read: another object may have the name, or none.
constexpr EffectPolicy kObjectPatch{
    .done = Meaning::kHeld, .already_exists = Meaning::kLook, .not_found = Meaning::kLook, .conflict = Meaning::kLook};

kube::Kind KindOf(const WantedObject& object) { return {object.group, object.version, object.kind, object.plural}; }

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

void PluginObjects::Load(JobEntry& entry) {
  if (std::exchange(is_loaded_, true)) return;
  made_.Load(entry.persisted.objects);
  // The previous owner may have deleted some of these objects and crashed before recording it.
  if (!MakesPods(entry.job->status().phase())) made_.DoubtAll();
  entry.claims.Load(entry);
}

void PluginObjects::Expect(const JobEntry& entry) {
  const kube::v1::JobStatus& status = entry.job->status();
  const bool are_made = status.phase() == kube::v1::JOB_PHASE_UNSPECIFIED || MakesPods(status.phase());
  for (const WantedObject& object : entry.compiled->objects) {
    // In a phase without pods, objects that a marker names were left behind by a kill that another controller did not
    // finish.
    if (are_made || IsMarked(status, object.plugin)) made_.Expect(object.Key());
  }
}

bool PluginObjects::IsReady(const JobEntry& entry) const {
  for (const WantedObject& object : entry.compiled->objects) {
    if (!made_.IsCurrent(object)) return false;
  }
  return entry.claims.HasAll(entry);
}

std::map<std::string, std::string> PluginObjects::Markers(const JobEntry& entry) const {
  std::map<std::string, std::string> markers;
  for (const std::string& plugin : entry.compiled->plugins) {
    bool all = MakesPods(entry.job->status().phase());
    for (const WantedObject& object : entry.compiled->objects) {
      if (object.plugin == plugin && !made_.Has(object.Key())) all = false;
    }
    // A plugin has no marker in a phase without pods, nor while one of its objects is missing.
    if (all) markers[PluginMarkerKey(plugin)] = plugin;
  }
  for (const std::string& claim : entry.claims.known()) markers[ClaimMarkerKey(claim)] = claim;
  return markers;
}

void PluginObjects::Apply(JobEntry& entry, PartHost& host) {
  if (!MakesPods(entry.job->status().phase())) return RemoveAll(entry, host);
  if (entry.compiled->invalid() || (entry.compiled->objects.empty() && entry.compiled->claims.empty())) return;
  if (host.Waits(entry, effects_.retry())) return;
  for (const WantedObject& object : entry.compiled->objects) Ensure(entry, object, host);
  entry.claims.Apply(entry, host);
}

void PluginObjects::IsThere(JobEntry& entry, std::string_view reason, std::string_view subject) {
  if (IsReady(entry)) effects_.retry().Succeed();
  entry.problems.End(reason, subject);
}

void PluginObjects::ReportRefusal(JobEntry& entry, const WriteOutcome& outcome, Problem problem, PartHost& host) const {
  if (outcome.kind == WriteOutcome::Kind::kRefused &&
      runtime::ShouldReportCreate(outcome.error, effects_.retry().Lasts(host.Now()))) {
    host.ReportProblem(entry, std::move(problem));
  }
}

void PluginObjects::GiveUp(JobEntry& entry, const std::string& key, PartHost& host) {
  effects_.Forget(key);
  effects_.retry().Fail(host.Now(), host.context().random());
  host.Wake(entry);
}

void PluginObjects::Ensure(JobEntry& entry, const WantedObject& object, PartHost& host) {
  if (made_.IsCurrent(object)) return;
  if (object.data_bytes > kMostDataBytes) {
    // The problem lasts until the spec changes.
    if (entry.problems.Find("PluginError", SubjectOf(object)) == nullptr) host.ReportProblem(entry, TooLarge(object));
    return;
  }
  const std::string key = object.Key();
  if (!effects_.Begin(key)) return;
  if (made_.IsOutdated(object)) return Patch(entry, object, made_.UidOf(key), /*resource_version=*/0, host);
  // The marker shows that the object was made, though not by us.
  if (IsMarked(entry.job->status(), object.plugin)) {
    Compare(entry, object, {}, host);
  } else {
    Make(entry, object, host);
  }
}

void PluginObjects::Make(JobEntry& entry, const WantedObject& object, PartHost& host) {
  // If the status does not name the object, the next process would not find what this one has made. The write that
  // names the object is due already.
  if (!entry.persisted.objects.contains(object.Key())) return effects_.Forget(object.Key());
  if (!object.needs_ssh_keys) return Create(entry, object, object.json, host);
  host.keys().MakeKeys(entry.record.uid(), [&host, alive = host.alive(), job_key = entry.key, uid = entry.record.uid(),
                                            object](absl::StatusOr<SshKeyPair> keys) {
    JobEntry* const live = *alive ? host.Live(job_key, uid) : nullptr;
    const std::string key = object.Key();
    if (live == nullptr || !live->plugin_objects.effects_.contains(key)) return;
    if (keys.ok()) return live->plugin_objects.Create(*live, object, WithSshKeys(object, *keys), host);
    live->plugin_objects.effects_.Forget(key);
    live->plugin_objects.effects_.retry().Fail(host.Now(), host.context().random());
    host.ReportProblem(
        *live, {.words = {"PluginError", std::string(ToStd(keys.status().message()))}, .subject = SubjectOf(object)});
    host.Wake(*live);
  });
}

void PluginObjects::Create(JobEntry& entry, const WantedObject& object, std::string json, PartHost& host) {
  auto request = kube::WriteOf(KindOf(object), entry.ns, object.name);
  request.mutable_create()->set_body(std::move(json));
  host.Write(entry, std::move(request), [&host, object](JobEntry& live, const WriteOutcome& outcome) {
    live.plugin_objects.Created(live, object, outcome, host);
  });
}

void PluginObjects::Created(JobEntry& entry, const WantedObject& object, const WriteOutcome& outcome, PartHost& host) {
  const std::string key = object.Key();
  const Meaning meaning = effects_.End(key, AnswerOf(outcome), kObjectCreate, host.Now(), host.context().random());
  if (meaning == Meaning::kLook) return Compare(entry, object, {.after_create = true}, host);
  if (meaning == Meaning::kHeld) {
    made_.Remember(key, object.hash, outcome.object.generic().meta().uid());
    IsThere(entry, "PluginError", SubjectOf(object));
  } else {
    ReportRefusal(entry, outcome, ProblemOf(object, ": " + outcome.error.message()), host);
  }
  host.Wake(entry);
}

void PluginObjects::Compare(JobEntry& entry, const WantedObject& object, Look look, PartHost& host) {
  host.Get(entry, kube::GetOf(KindOf(object), entry.ns, object.name),
           [&host, object, look](JobEntry& live, const absl::StatusOr<gateway::v1::GetResponse>& response) {
             live.plugin_objects.Compared(live, object, look, response, host);
           });
}

// Handles the read of an object. It is ours if the job owns it; an object of another owner is never touched. Our own
// object gets a patch if the plugin wants that.
void PluginObjects::Compared(JobEntry& entry, const WantedObject& object, Look look,
                             const absl::StatusOr<gateway::v1::GetResponse>& response, PartHost& host) {
  const std::string key = object.Key();
  if (!response.ok()) return GiveUp(entry, key, host);
  if (!response->has_object()) {
    if (AnswerOfRead(response) == Answer::kNotFound) {
      made_.Doubt(key);
      // An object that a create has just met is not made again at once: the two answers may alternate for ever.
      if (!look.after_create) return Make(entry, object, host);
    } else if (runtime::ShouldReportToUser(response->error())) {
      host.ReportProblem(entry, ProblemOf(object, ": " + response->error().message()));
    }
    return GiveUp(entry, key, host);
  }
  const kube::v1::ObjectMeta& meta = response->object().generic().meta();
  if (!kube::IsOwnedBy(meta, entry.record.uid())) {
    Problem taken = ProblemOf(object, " exists and belongs to somebody else; it is left alone");
    taken.kind = ProblemKind::kTaken;
    host.ReportProblem(entry, std::move(taken));
    return GiveUp(entry, key, host);
  }
  if (object.on_change == WantedObject::OnChange::kPatch) {
    // Nobody has changed the object: the conflict has another cause.
    if (look.outdated == meta.resource_version()) return GiveUp(entry, key, host);
    return Patch(entry, object, meta.uid(), meta.resource_version(), host);
  }
  effects_.Forget(key);
  made_.Remember(key, object.hash, meta.uid());
  IsThere(entry, "PluginError", SubjectOf(object));
  host.Wake(entry);
}

// `resource_version` is 0 if the object was not read since it was made. Only the object of that UID takes the patch.
void PluginObjects::Patch(JobEntry& entry, const WantedObject& object, const std::string& object_uid,
                          int64_t resource_version, PartHost& host) {
  auto request = kube::WriteOf(KindOf(object), entry.ns, object.name);
  kube::SetMergePatch(object.patch, object_uid, request).set_resource_version(resource_version);
  host.Write(entry, std::move(request),
             [&host, object, object_uid, resource_version](JobEntry& live, const WriteOutcome& outcome) {
               PluginObjects& objects = live.plugin_objects;
               const std::string key = object.Key();
               const EffectPolicy& policy = resource_version != 0 ? kReadObjectPatch : kObjectPatch;
               const Meaning meaning =
                   objects.effects_.End(key, AnswerOf(outcome), policy, host.Now(), host.context().random());
               if (meaning == Meaning::kLook)
                 return objects.Compare(live, object, {.outdated = resource_version}, host);
               if (meaning == Meaning::kHeld) {
                 objects.made_.Remember(key, object.hash, object_uid);
                 objects.IsThere(live, "PluginError", SubjectOf(object));
               } else if (meaning == Meaning::kRefused && runtime::ShouldReportToUser(outcome.error)) {
                 host.ReportProblem(live, ProblemOf(object, ": " + outcome.error.message()));
               }
               host.Wake(live);
             });
}

}  // namespace basalt::jobsvc
