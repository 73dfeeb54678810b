#include "services/jobsvc/api/job_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

constexpr int kDefaultPage = 500;
constexpr int kMaxPage = 1000;

std::string KeyOf(const std::string& ns, const std::string& name) { return (ns.empty() ? "default" : ns) + "/" + name; }

absl::Status NotFound(const std::string& key) {
  return MakeStatus(absl::StatusCode::kNotFound, fmt::format("job {} does not exist", key));
}

absl::Status NotReady(const std::string& key) {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    fmt::format("job {}: this replica does not have its slot, or is still starting; try again", key));
}

absl::Status StatusOf(const gateway::v1::KubeError& error) {
  absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
  if (error.code() == 404) code = absl::StatusCode::kNotFound;
  if (error.code() == 409)
    code = error.reason() == "AlreadyExists" ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kAborted;
  if (error.code() == 400 || error.code() == 422) code = absl::StatusCode::kInvalidArgument;
  if (error.code() == 403) code = absl::StatusCode::kPermissionDenied;
  if (error.code() == 429) code = absl::StatusCode::kResourceExhausted;
  if (error.code() == 503 && error.retry_after_ms() > 0) {
    code = absl::StatusCode::kUnavailable;  // It says when to come again: it has not done it.
  } else if (error.code() >= 500) {
    return MakeStatus(
        absl::StatusCode::kUnknown,
        fmt::format("the API server failed and may have done it; look before you repeat it: {}", error.message()));
  }
  return MakeStatus(code, error.message());
}

absl::Status StatusOf(const runtime::WriteOutcome& outcome) {
  switch (outcome.kind) {
    case runtime::WriteOutcome::Kind::kDone:
      return absl::OkStatus();
    case runtime::WriteOutcome::Kind::kRefused:
      return StatusOf(outcome.error);
    case runtime::WriteOutcome::Kind::kNotSent:
      return MakeStatus(absl::StatusCode::kUnavailable,
                        fmt::format("nothing was written: {}", ToStd(outcome.status.message())));
    case runtime::WriteOutcome::Kind::kUnknown:
      return MakeStatus(absl::StatusCode::kUnknown,
                        fmt::format("it may or may not have been written; look before you repeat it: {}",
                                    ToStd(outcome.status.message())));
  }
  return absl::OkStatus();
}

job::v1::HistoryEntry ToMessage(const storage::v1::HistoryRecord& record) {
  job::v1::HistoryEntry entry;
  entry.set_sequence(record.sequence());
  entry.set_time_ms(record.time_ms());
  entry.set_from_phase(record.from_phase());
  entry.set_to_phase(record.to_phase());
  entry.set_event(record.event());
  entry.set_subject(record.subject());
  entry.set_exit_code(record.exit_code());
  entry.set_pod_reason(record.pod_reason());
  entry.set_rule(record.rule());
  entry.set_action(record.action());
  entry.set_outcome(record.outcome());
  entry.set_committed(record.committed());
  *entry.mutable_counts() = record.counts();
  entry.set_version(record.version());
  return entry;
}

job::v1::PodSummary ToMessage(std::string_view name, const storage::v1::PodRecord& record) {
  job::v1::PodSummary pod;
  pod.set_name(std::string(name));
  pod.set_task(record.task_name());
  pod.set_index(record.index());
  pod.set_phase(static_cast<kube::v1::PodPhase>(record.phase()));
  pod.set_terminating((record.flags() & kPodTerminating) != 0);
  pod.set_node_name(record.node_name());
  pod.set_exit_code(record.exit_code());
  pod.set_reason(record.reason());
  pod.set_restarts(record.restarts());
  pod.set_creation_ms(record.creation_ms());
  pod.set_version(record.version());
  return pod;
}

bool Matches(const job::v1::ListJobsRequest& request, const JobEntry& entry) {
  if (!entry.job) return false;
  if (!request.namespace_().empty() && entry.ns != request.namespace_()) return false;
  if (!request.queue().empty() && (!entry.compiled || entry.compiled->spec.queue() != request.queue())) return false;
  if (request.phases().empty()) return true;
  return std::find(request.phases().begin(), request.phases().end(), entry.job->status().phase()) !=
         request.phases().end();
}

// What a replica must have before it can tell of all its jobs, over all workers.
struct Slots {
  size_t owned = 0;
  size_t ready = 0;

  void Add(JobController& controller) {
    const runtime::SlotCounts counts = controller.context().Slots();
    owned += counts.owned;
    ready += counts.ready;
  }
  // UNAVAILABLE: another replica may know, or this one a moment later.
  absl::Status Complete() const {
    if (owned == 0) return absl::UnavailableError("this replica owns no slot; try again");
    if (ready == owned) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("{} of this replica's {} slots are still starting; try again", owned - ready, owned));
  }
};

// Gathers the answers of all workers; the last one finishes.
struct Gather {
  Mutex mutex;
  size_t left = 0;
  Slots slots;
  std::map<std::string, job::v1::Job> jobs;
  bool more = false;
};

}  // namespace

job::v1::Job ToMessage(JobController& controller, const JobEntry& entry) {
  job::v1::Job message;
  if (!entry.job) {
    message.mutable_object()->mutable_meta()->set_namespace_(entry.ns);
    message.mutable_object()->mutable_meta()->set_name(entry.name);
    message.mutable_object()->mutable_meta()->set_uid(entry.record.uid());
    return message;
  }
  *message.mutable_object() = *entry.job;
  message.set_pod_group_phase(controller.GroupOf(entry).phase);
  if (entry.compiled) {
    *message.mutable_object()->mutable_spec() = entry.compiled->spec;
    message.set_total_replicas(static_cast<int32_t>(entry.pods.total()));
    const std::set<std::string> none;
    message.set_waiting_for(WaitingFor(controller.ViewOf(entry, none)));
  }
  return message;
}

void PublishChanges(JobController& controller, WatchHub& hub) {
  controller.SetListener([&controller, &hub](JobEntry& entry) {
    if (!entry.job) {
      hub.PublishGone(entry.key, ToMessage(controller, entry));
      return;
    }
    // What people see follows from these; the sentence is only made for those who watch.
    const GroupView& group = controller.GroupOf(entry);
    uint64_t shown = static_cast<uint64_t>(entry.job->meta().resource_version());
    for (const uint64_t part : {std::hash<std::string>()(group.phase + group.uid), uint64_t{group.stale},
                                uint64_t{entry.pods.missing().size()}, uint64_t{entry.pods.to_delete().size()},
                                uint64_t{entry.pods.held().size()}}) {
      shown = shown * 0x100000001b3 ^ part;
    }
    if (shown == entry.shown && entry.shown_revision != 0) return;
    entry.shown = shown;
    entry.shown_revision = hub.Publish(entry.key, [&] { return ToMessage(controller, entry); });
  });
}

void JobApi::Submit(job::v1::SubmitJobRequest request, rpc::Done<job::v1::Job> done) {
  auto manifest = ReadManifest(request.manifest_json(), request.namespace_());
  if (!manifest.ok()) {
    done(manifest.status());
    return;
  }
  const bool dry_run = request.dry_run();
  const std::string key = KeyOf(manifest->job.meta().namespace_(), manifest->job.meta().name());
  auto shared = std::make_shared<rpc::Done<job::v1::Job>>(std::move(done));
  workers_.OnWorkerOf(
      SlotOf(key), [key, dry_run, manifest = *std::move(manifest), shared](JobController& controller) mutable {
        if (!controller.context().IsReady(SlotOf(key))) return (*shared)(NotReady(key));
        gateway::v1::WriteRequest write;
        write.mutable_resource()->set_group("batch.volcano.sh");
        write.mutable_resource()->set_version("v1alpha1");
        write.mutable_resource()->set_plural("jobs");
        write.set_namespace_(manifest.job.meta().namespace_());
        write.set_name(manifest.job.meta().name());
        write.mutable_create()->set_body(std::move(manifest.json));
        write.set_dry_run(dry_run);
        job::v1::Job checked;
        if (dry_run) *checked.mutable_object() = std::move(manifest.job);
        auto answered = [key, dry_run, shared, checked = std::move(checked)](runtime::WriteOutcome outcome) {
          if (outcome.kind == runtime::WriteOutcome::Kind::kRefused && outcome.error.reason() == "AlreadyExists") {
            return (*shared)(MakeStatus(absl::StatusCode::kAlreadyExists, fmt::format("job {} exists already", key)));
          }
          const absl::Status status = StatusOf(outcome);
          if (dry_run && status.code() == absl::StatusCode::kUnknown) {
            const bool refused = outcome.kind == runtime::WriteOutcome::Kind::kRefused;
            return (*shared)(MakeStatus(
                absl::StatusCode::kUnavailable,
                fmt::format("job {} could not be checked: {}", key,
                            refused ? std::string_view(outcome.error.message()) : ToStd(outcome.status.message()))));
          }
          if (!status.ok()) return (*shared)(status);
          if (dry_run) return (*shared)(checked);
          job::v1::Job answer;
          *answer.mutable_object() = std::move(*outcome.object.mutable_job());
          (*shared)(std::move(answer));
        };
        controller.context().Write(key, std::move(write), std::move(answered));
      });
}

void JobApi::Get(job::v1::GetJobRequest request, rpc::Done<job::v1::Job> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::Job>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, shared](JobController& controller) {
    if (!controller.context().IsReady(SlotOf(key))) return (*shared)(NotReady(key));
    const JobEntry* entry = controller.Find(key);
    if (entry == nullptr || !entry->job) return (*shared)(NotFound(key));
    job::v1::Job answer = ToMessage(controller, *entry);
    const absl::Status status = ForEachPod(controller.context().store(), entry->slot, key,
                                           [&](std::string_view name, const storage::v1::PodRecord& record) {
                                             *answer.add_pods() = ToMessage(name, record);
                                           });
    if (!status.ok()) return (*shared)(status);
    std::sort(answer.mutable_pods()->begin(), answer.mutable_pods()->end(), [](const auto& a, const auto& b) {
      return std::forward_as_tuple(a.task(), a.index(), a.name()) <
             std::forward_as_tuple(b.task(), b.index(), b.name());
    });
    (*shared)(std::move(answer));
  });
}

void JobApi::List(job::v1::ListJobsRequest request, rpc::Done<job::v1::ListJobsResponse> done) {
  const size_t size = request.page_size() <= 0 ? kDefaultPage : std::min(request.page_size(), kMaxPage);
  auto gather = std::make_shared<Gather>();
  gather->left = workers_.count();
  auto shared = std::make_shared<rpc::Done<job::v1::ListJobsResponse>>(std::move(done));
  for (size_t worker = 0; worker < workers_.count(); ++worker) {
    workers_.OnWorker(worker, [request, size, gather, shared](JobController& controller) {
      std::map<std::string, job::v1::Job> found;
      bool more = false;
      const auto& entries = controller.entries();
      for (auto it = entries.upper_bound(request.page_token()); it != entries.end(); ++it) {
        if (!Matches(request, *it->second)) continue;
        if (found.size() >= size) {
          more = true;
          break;
        }
        found.emplace(it->first, ToMessage(controller, *it->second));
      }
      {
        MutexLock lock(gather->mutex);
        gather->jobs.merge(found);
        gather->more |= more;
        gather->slots.Add(controller);
        if (--gather->left > 0) return;
      }
      // A part of the jobs would look like all of them.
      if (const absl::Status complete = gather->slots.Complete(); !complete.ok()) return (*shared)(complete);
      job::v1::ListJobsResponse response;
      for (auto& [key, job] : gather->jobs) {
        if (static_cast<size_t>(response.jobs_size()) == size) {
          gather->more = true;
          break;
        }
        response.set_next_page_token(key);
        *response.add_jobs() = std::move(job);
      }
      if (!gather->more) response.clear_next_page_token();
      (*shared)(std::move(response));
    });
  }
}

void JobApi::History(job::v1::GetJobHistoryRequest request, rpc::Done<job::v1::JobHistory> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::JobHistory>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, uid = request.uid(), shared](JobController& controller) {
    const uint32_t slot = SlotOf(key);
    if (!controller.context().IsReady(slot)) return (*shared)(NotReady(key));
    const auto uids = ReadHistoryIndex(controller.context().store(), slot, key);
    if (!uids.ok()) return (*shared)(uids.status());
    const bool known = uid.empty() ? !uids->empty() : std::find(uids->begin(), uids->end(), uid) != uids->end();
    if (!known) {
      return (*shared)(MakeStatus(absl::StatusCode::kNotFound,
                                  uid.empty() ? fmt::format("there is no history of a job {}", key)
                                              : fmt::format("there is no history of a job {} with UID {}", key, uid)));
    }
    job::v1::JobHistory history;
    history.set_uid(uid.empty() ? uids->back() : uid);
    const auto records = ReadHistory(controller.context().store(), slot, history.uid());
    if (!records.ok()) return (*shared)(records.status());
    for (const auto& record : *records) *history.add_entries() = ToMessage(record);
    (*shared)(std::move(history));
  });
}

void JobApi::Delete(job::v1::DeleteJobRequest request, rpc::Done<job::v1::DeleteJobResponse> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::DeleteJobResponse>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, uid = request.uid(), shared](JobController& controller) {
    if (!controller.context().IsReady(SlotOf(key))) return (*shared)(NotReady(key));
    const JobEntry* entry = controller.Find(key);
    if (entry == nullptr || !entry->job) return (*shared)(NotFound(key));
    if (!uid.empty() && entry->record.uid() != uid) {
      return (*shared)(MakeStatus(
          absl::StatusCode::kNotFound,
          fmt::format("job {} with UID {} does not exist; the present one has UID {}", key, uid, entry->record.uid())));
    }
    gateway::v1::WriteRequest write;
    write.mutable_resource()->set_group("batch.volcano.sh");
    write.mutable_resource()->set_version("v1alpha1");
    write.mutable_resource()->set_plural("jobs");
    write.set_namespace_(entry->ns);
    write.set_name(entry->name);
    write.mutable_delete_()->set_uid(entry->job->meta().uid());
    write.mutable_delete_()->set_propagation_policy("Background");
    controller.context().Write(key, std::move(write), [key, shared](runtime::WriteOutcome outcome) {
      const absl::Status status = StatusOf(outcome);
      if (status.code() == absl::StatusCode::kNotFound) return (*shared)(NotFound(key));
      if (!status.ok()) return (*shared)(status);
      (*shared)(job::v1::DeleteJobResponse());
    });
  });
}

std::shared_ptr<WatchHub::Subscription> JobApi::Watch(const job::v1::WatchJobsRequest& request,
                                                      std::function<void()> notify) {
  int64_t since = -1;
  auto subscription = hub_.Subscribe(request.namespace_(), request.name(), request.token(), std::move(notify), &since);
  auto gather = std::make_shared<Gather>();
  gather->left = workers_.count();
  for (size_t worker = 0; worker < workers_.count(); ++worker) {
    workers_.OnWorker(worker, [this, subscription, since, gather](JobController& controller) {
      for (const auto& [key, entry] : controller.entries()) {
        if (!entry->job || entry->shown_revision <= since || !subscription->Wants(key)) continue;
        hub_.Offer(subscription, key, ToMessage(controller, *entry));
      }
      {
        MutexLock lock(gather->mutex);
        gather->slots.Add(controller);
        if (--gather->left > 0) return;
      }
      hub_.SnapshotDone(subscription, gather->slots.Complete());
    });
  }
  return subscription;
}

}  // namespace basalt::jobsvc
