#include "gateway/access/job_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/excerpt.h"
#include "common/kube/label_selector.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"

namespace basalt::gateway {
namespace {

// The jobs for which requests under the key are permitted.
struct Jobs {
  std::string uid;       // The job that is in the cache; empty if there is none.
  std::string gone_uid;  // The job that went a moment ago; empty if there is none.
  bool Has(std::string_view it) const { return !it.empty() && (it == uid || it == gone_uid); }
  bool empty() const { return uid.empty() && gone_uid.empty(); }
};

Jobs JobsOf(const v1::Owner& owner, const Known& known) {
  const auto [ns, name] = kube::SplitKey(owner.key());
  return {known.cache.UidOf(kube::kWatchJobs, ns, name), known.memory.GoneUid(owner.key(), known.now)};
}

Permission NoJob(const Ask& ask) {
  return Refuse(RefusalReason::kUnknown, absl::StatusCode::kUnavailable,
                fmt::format("{} '{}': no job '{}' is known", What(ask), CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320),
                            CutUtf8(ask.owner.key(), 320)));
}

Permission Unseen() {
  Permission permission;
  permission.is_unseen = true;
  return permission;
}

bool BeginsWith(std::string_view name, std::string_view first, std::string_view second) {
  return name.size() > first.size() + second.size() && name.starts_with(first) &&
         name.substr(first.size()).starts_with(second);
}

Permission CheckClaim(const Ask& ask, const Cache& cache) {
  // A new claim takes nothing from anybody, and its body names the job.
  if (ask.verb == kCreate) return {};
  const std::string_view job_name = kube::SplitKey(ask.owner.key()).name;
  if (BeginsWith(ask.name, job_name, "-pvc-")) return {};
  const std::string uid = cache.UidOf(kube::kWatchJobs, ask.ns, job_name);
  const std::vector<WatchInfo>& watches = cache.watches();
  for (size_t i = 0; i < watches.size() && !uid.empty(); ++i) {
    if (watches[i].id != kube::kWatchJobs) continue;
    const ObjectId id = cache.Find(static_cast<WatchIndex>(i), uid);
    if (id == kNoObject) continue;
    const kube::v1::Object job = cache.Read(id);
    const auto& volumes = job.job().spec().volumes();
    const bool names = std::any_of(volumes.begin(), volumes.end(), [&](const kube::v1::VolumeSpec& volume) {
      return volume.volume_claim_name() == ask.name;
    });
    return names ? Permission() : NotOfThatKey(ask);
  }
  return NotKnown(ask);
}

Permission CheckCollection(const Ask& ask, const Jobs& jobs) {
  const std::string name = fmt::format("{}={}", kube::kJobNameKey, kube::SplitKey(ask.owner.key()).name);
  const std::string uid = fmt::format("{}=", kube::kJobUidKey);
  const std::vector<std::string_view> requirements = kube::SplitRequirements(ask.label_selector);
  const bool has_name = std::find(requirements.begin(), requirements.end(), name) != requirements.end();
  const bool has_uid = std::any_of(requirements.begin(), requirements.end(), [&](std::string_view requirement) {
    return requirement.starts_with(uid) && jobs.Has(requirement.substr(uid.size()));
  });
  return has_name && has_uid ? Permission() : NotOfThatKey(ask);
}

// Returns the UID of the pod's controller. Empty if no pod watch shows the pod.
std::string ControllerOf(std::string_view uid, const Cache& cache) {
  const std::vector<WatchInfo>& watches = cache.watches();
  for (size_t i = 0; i < watches.size() && !uid.empty(); ++i) {
    if (!watches[i].id.starts_with("pods/")) continue;
    const ObjectId id = cache.Find(static_cast<WatchIndex>(i), uid);
    if (id != kNoObject) return cache.Read(id).pod().owner_uid();
  }
  return {};
}

Permission CheckPodOfJob(const Ask& ask, bool named, const Jobs& jobs, const Known& known) {
  if (ask.verb == kDeleteCollection) return CheckCollection(ask, jobs);
  if (ask.verb == kCreate) return named ? Permission() : NotOfThatKey(ask);
  if (ask.verb == kGet) return CheckRouted(ask, "pods/", named, known.cache);
  const std::string uid = ask.uid.empty() ? known.cache.UidOf("pods/", ask.ns, ask.name) : std::string(ask.uid);
  switch (RoutedTo(ask, "pods/", uid, known.cache)) {
    case Routed::kHere:
      return jobs.Has(ControllerOf(uid, known.cache)) ? Permission() : NotOfThatKey(ask);
    case Routed::kElsewhere:
      return NotOfThatKey(ask);
    case Routed::kNowhere:
      return named ? Unseen() : NotKnown(ask);
  }
  return NotKnown(ask);
}

bool HasNameOf(const Ask& ask, std::string_view job, const AccessRow& row) {
  return std::any_of(row.suffixes.begin(), row.suffixes.end(), [&ask, job](std::string_view suffix) {
    return ask.name.size() == job.size() + suffix.size() && ask.name.starts_with(job) && ask.name.ends_with(suffix);
  });
}

// No watch shows objects of these kinds.
Permission CheckNamedAfterJob(const Ask& ask, const Jobs& jobs, const AccessMemory& memory) {
  if (ask.verb == kCreate || ask.verb == kGet) return {};
  return memory.IsOwned(ask.uid, jobs.uid) || memory.IsOwned(ask.uid, jobs.gone_uid) ? Permission() : Unseen();
}

}  // namespace

Permission CheckOfJob(const Ask& ask, const AccessRow& row, const Known& known) {
  // A Command whose job does not exist may be deleted, too.
  if (row.rule == AccessRule::kJobsCommand && ask.verb != kCreate) {
    return CheckRouted(ask, kube::kWatchCommands, /*named=*/false, known.cache);
  }
  const Jobs jobs = JobsOf(ask.owner, known);
  if (jobs.empty() || (ask.verb == kCreate && row.rule != AccessRule::kJobsEvent && jobs.uid.empty()))
    return NoJob(ask);
  const std::string_view job = kube::SplitKey(ask.owner.key()).name;
  Permission permission;
  switch (row.rule) {
    case AccessRule::kJobsPod:
      permission = CheckPodOfJob(ask, BeginsWith(ask.name, job, "-"), jobs, known);
      break;
    case AccessRule::kJobsCommand:
      break;
    case AccessRule::kJobsClaim:
      permission = CheckClaim(ask, known.cache);
      break;
    case AccessRule::kNamedAfterJob:
      permission = HasNameOf(ask, job, row) ? CheckNamedAfterJob(ask, jobs, known.memory) : NotOfThatKey(ask);
      break;
    default:
      return IsEventAbout(job, ask.name) ? Permission() : NotOfThatKey(ask);
  }
  if (ask.verb == kCreate && permission.status.ok()) permission.job_uid = jobs.uid;
  return permission;
}

std::string OwningJob(const v1::Owner& owner, const kube::v1::Object& found, const Known& known) {
  const Jobs jobs = JobsOf(owner, known);
  if (found.has_pod()) return jobs.Has(found.pod().owner_uid()) ? found.pod().owner_uid() : std::string();
  for (const kube::v1::OwnerReference& reference : found.generic().meta().owner_references()) {
    if (reference.kind() == kube::kJobs.name && reference.api_version() == kube::kJobApiVersion &&
        jobs.Has(reference.uid())) {
      return reference.uid();
    }
  }
  return {};
}

}  // namespace basalt::gateway
