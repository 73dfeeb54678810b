// The inputs of JobController: slots, states and ends of objects.
#include "services/jobsvc/control/job_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/object_meta.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

JobController::JobController(runtime::Context& context, KeyMaker& keys, JobMetrics& metrics,
                             JobControllerOptions options)
    : host_(context, keys, metrics, std::move(options)),
      context_(context),
      metrics_(metrics),
      entries_(host_.entries()),
      queues_(host_.queues()),
      publisher_(context.random()),
      events_(host_),
      history_(host_),
      outcome_(host_, history_) {}

JobEntry& JobController::EntryOf(std::string_view key) {
  return entries_.FindOrMake(key, [key] {
    auto entry = std::make_unique<JobEntry>();
    const auto [ns, name] = kube::SplitKey(key);
    entry->key = key;
    entry->ns = ns;
    entry->name = name;
    entry->slot = SlotOf(key);
    entry->pods.Reset(entry->name, {});
    return entry;
  });
}

JobEntry* JobController::Lookup(std::string_view key) const { return entries_.Find(key); }

void JobController::Erase(JobEntry& entry) {
  entry.claims.StopAwaiting(entry, host_);
  StopFollowing(entry);
  entries_.Erase(entry.key);
}

void JobController::StopFollowing(const JobEntry& entry) {
  priority_classes_.DropJob(entry.key);
  if (entry.compiled) queues_.MoveJob(entry.key, entry.compiled->spec.queue(), "");
}

const JobEntry* JobController::Find(std::string_view key) const { return Lookup(key); }

void JobController::ForEachShown(uint32_t slot, const runtime::VisitObject& visit) {
  for (const std::string& key : entries_.KeysOf(slot)) {
    JobEntry& entry = *Lookup(key);
    const bool is_seen = entry.job.has_value();
    if (is_seen || entry.IsUncertain()) visit(key, entry.shown, is_seen);
  }
}

absl::StatusOr<std::vector<runtime::KnownObject>> JobController::OpenSlot(uint32_t slot) {
  const kv::KvStore& store = context_.store();
  kv::Damage damage;
  // Jobs of which a record is missing, or of which a record exists without the others.
  std::set<std::string> incomplete;
  std::vector<runtime::KnownObject> known;
  entries_.Open(slot);
  const auto load_job = [&](std::string job_key, storage::v1::JobRecord record) {
    JobEntry& entry = EntryOf(job_key);
    entry.record = std::move(record);
    entry.stored = true;
    if (entry.record.status_unread() || entry.record.has_intent()) entry.newest_status.Doubt();
    LoadEvents(entry);
    entry.pods.Reset(entry.name, entry.record.uid());
    if (!entry.record.gone()) {
      known.push_back({std::string(kube::kWatchJobs), job_key, entry.record.uid(), entry.ns, entry.name,
                       entry.record.resource_version()});
    }
    for (const auto& group : entry.record.pod_groups()) {
      known.push_back(
          {std::string(kube::kWatchPodGroups), job_key, group.uid(), entry.ns, group.name(), group.resource_version()});
    }
  };
  const auto job_of = [&](const std::string& job_key) -> JobEntry* {
    JobEntry* const entry = Lookup(job_key);
    if (entry != nullptr && entry->slot == slot) return entry;
    incomplete.insert(job_key);
    return nullptr;
  };
  const auto load_pod = [&](const std::string& job_key, std::string_view pod, const storage::v1::PodRecord& record) {
    JobEntry* const entry = job_of(job_key);
    if (entry == nullptr) return;
    entry->pods.Restore(pod, record);
    known.push_back({std::string(kube::kWatchJobPods), job_key, record.uid(), entry->ns, std::string(pod),
                     record.resource_version()});
  };
  const auto load_deadline = [&](const std::string& job_key, storage::v1::PendingAction deadline) {
    if (JobEntry* const entry = job_of(job_key); entry != nullptr) entry->deadlines.Restore(std::move(deadline));
  };
  const auto load_ended_pod = [&](const std::string& job_key, const storage::v1::EndedPod& pod) {
    if (JobEntry* const entry = job_of(job_key); entry != nullptr) entry->pod_records.RestoreEnded(pod);
  };
  BASALT_RETURN_IF_ERROR(ForEachJob(store, slot, load_job, &damage));
  BASALT_RETURN_IF_ERROR(ForEachPodOfSlot(store, slot, load_pod, &damage));
  BASALT_RETURN_IF_ERROR(ForEachDeadline(store, slot, load_deadline, &damage));
  BASALT_RETURN_IF_ERROR(ForEachEndedPod(store, slot, load_ended_pod, &damage));
  for (const kv::DamagedRecord& record : damage) incomplete.insert(record.owner);
  const auto load_shown = [&](const std::string& job_key, const storage::v1::PublishedObject& shown) {
    if (JobEntry* const entry = Lookup(job_key); entry != nullptr) entry->shown = runtime::ShownOf(shown);
  };
  BASALT_RETURN_IF_ERROR(publisher_.Open(store, slot, context_.SlotEpoch(slot), load_shown, damage));
  if (!damage.empty() || !incomplete.empty()) {
    BASALT_RETURN_IF_ERROR(BeginAnew(slot, incomplete, damage));
    std::erase_if(known, [&](const runtime::KnownObject& object) { return incomplete.contains(object.routing_key); });
  }
  history_.Open();
  return known;
}

void JobController::CloseSlot(uint32_t slot) {
  if (!entries_.IsOpen(slot)) return;
  for (const std::string& key : entries_.KeysOf(slot)) {
    JobEntry& entry = *Lookup(key);
    if (entry.compiled) metrics_.Forget(key, entry.compiled->spec.queue());
    entry.claims.StopAwaiting(entry, host_);
    StopFollowing(entry);
  }
  entries_.Close(slot);
  std::erase_if(host_.collecting(), [slot](const std::string& key) { return SlotOf(key) == slot; });
  history_.Close(slot);
  publisher_.Close(slot);
}

void JobController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  JobEntry& entry = EntryOf(routing_key);
  switch (object.kind_case()) {
    case kube::v1::Object::kJob:
      entry.Receive(std::move(*object.mutable_job()));
      break;
    case kube::v1::Object::kPod:
      entry.pod_changes.Observe(std::move(*object.mutable_pod()));
      break;
    case kube::v1::Object::kPodGroup:
      entry.groups.insert_or_assign(object.pod_group().meta().name(), object.pod_group());
      entry.groups_dirty = true;
      entry.group_sync.Forget();
      break;
    case kube::v1::Object::kCommand:
      entry.commands[object.command().meta().name()] = object.command();
      break;
    default:
      break;
  }
}

void JobController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  JobEntry& entry = EntryOf(routing_key);
  if (gone.watch == kube::kWatchJobs) {
    if (entry.job && entry.job->meta().uid() == gone.uid) entry.job.reset();
    if (!entry.job && entry.has_uid(gone.uid)) entry.job_dirty = true;
    entry.group_sync.Forget();
  } else if (gone.watch == kube::kWatchPodGroups) {
    const auto it = entry.groups.find(gone.name);
    if (it != entry.groups.end() && it->second.meta().uid() == gone.uid) entry.groups.erase(it);
    entry.groups_dirty = true;
    entry.group_sync.Forget();
  } else if (gone.watch == kube::kWatchCommands) {
    const auto it = entry.commands.find(gone.name);
    if (it != entry.commands.end() && it->second.meta().uid() == gone.uid) {
      entry.commands.erase(it);
      entry.command_cleanup.Forget(gone.uid);
    }
  } else {
    entry.pod_changes.ObserveEnd(gone);
  }
}

void JobController::OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (object.has_priority_class()) {
    ReceivePriorityClass(object.priority_class(), gone);
  } else if (object.has_queue()) {
    ReceiveQueue(object.queue(), gone);
  } else if (watch == kClaims && !gone) {
    Claims::Arrived(object.generic().meta(), host_);
  }
}

// A group that exists is patched by its job's next pass. A group that does not exist yet is created by the values of
// that time.
void JobController::ReceivePriorityClass(const kube::v1::PriorityClass& priority_class, bool gone) {
  for (const std::string& key : priority_classes_.Receive(priority_class, gone)) {
    JobEntry& entry = *Lookup(key);
    entry.stale_priorities = true;
    if (entry.job && MakesPods(entry.job->status().phase())) context_.Wake(key);
  }
}

// Policies may have refused the group of a job while its queue was closed.
void JobController::ReceiveQueue(const kube::v1::Queue& queue, bool gone) {
  for (const std::string& key : queues_.Receive(queue, gone, absl::ToUnixMillis(context_.ApiNow()))) {
    JobEntry& entry = *Lookup(key);
    if (!entry.job || !WaitsForQueue(entry.job->status().phase(), GroupOf(entry))) continue;
    entry.group_sync.TryNow();
    context_.Wake(key);
  }
}

}  // namespace basalt::jobsvc
