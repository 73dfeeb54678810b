#include "services/jobsvc/api/job_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/label_selector.h"
#include "common/kube/requests.h"
#include "common/kube/timestamp.h"
#include "common/rpc/list_part.h"
#include "common/runtime/gather_workers.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_list.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

using job::v1::HistoryEntry;
using storage::v1::HistoryRecord;

static_assert(int{HistoryEntry::RESULT_CARRIED_OUT} == int{HistoryRecord::RESULT_CARRIED_OUT});
static_assert(int{HistoryEntry::RESULT_NOTHING_TO_DO} == int{HistoryRecord::RESULT_NOTHING_TO_DO});
static_assert(int{HistoryEntry::RESULT_REFUSED} == int{HistoryRecord::RESULT_REFUSED});

HistoryEntry ToMessage(const HistoryRecord& record) {
  HistoryEntry entry;
  entry.set_sequence(record.sequence());
  entry.set_allocated_time(kube::ToTimestamp(record.time_ms()).release());
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
  entry.set_pod_phase(record.pod_phase());
  entry.set_result(static_cast<HistoryEntry::Result>(record.result()));
  entry.set_generation(record.generation());
  return entry;
}

namespace {

job::v1::PodSummary SummaryOf(std::string_view name, const storage::v1::PodRecord& record) {
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
  pod.set_allocated_create_time(kube::ToTimestamp(record.creation_ms()).release());
  pod.set_version(record.version());
  return pod;
}

std::optional<std::string_view> LabelOf(const kube::v1::ObjectMeta& meta, std::string_view key) {
  for (const kube::v1::KeyValue& label : meta.labels()) {
    if (label.key() == key) return label.value();
  }
  return std::nullopt;
}

bool Matches(const job::v1::ListJobsRequest& request, const kube::LabelSelector& labels, const JobEntry& entry) {
  if (!entry.job) return false;
  if (!request.namespace_().empty() && entry.ns != request.namespace_()) return false;
  if (!request.queue().empty() && (!entry.compiled || entry.compiled->spec.queue() != request.queue())) return false;
  if (!labels.Matches([&](std::string_view key) { return LabelOf(entry.job->meta(), key); })) return false;
  if (request.phases().empty()) return true;
  return std::find(request.phases().begin(), request.phases().end(), entry.job->status().phase()) !=
         request.phases().end();
}

}  // namespace

job::v1::Job ToMessage(JobController& controller, const JobEntry& entry) {
  job::v1::Job message;
  *message.mutable_object() = *entry.job;
  message.set_pod_group_phase(controller.GroupOf(entry).phase);
  if (entry.compiled) {
    *message.mutable_object()->mutable_spec() = entry.compiled->spec;
    message.set_total_replicas(static_cast<int32_t>(entry.pods.shape().total()));
    const std::set<std::string> none;
    message.set_waiting_for(WaitingFor(controller.ViewOf(entry, none), controller.QueueOf(entry)));
  }
  return message;
}

void JobApi::Get(job::v1::GetJobRequest request, rpc::Done<job::v1::Job> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::Job>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, shared](JobController& controller) {
    const absl::StatusOr<const JobEntry*> entry = FindJob(controller, key);
    if (!entry.ok()) return (*shared)(entry.status());
    job::v1::Job answer = ToMessage(controller, **entry);
    const absl::Status status = ForEachPod(controller.context().store(), (*entry)->slot, key,
                                           [&](std::string_view name, const storage::v1::PodRecord& record) {
                                             if ((*entry)->pod_records.IsUnreportedSuccess(name)) return;
                                             *answer.add_pods() = SummaryOf(name, record);
                                           });
    if (!status.ok()) return (*shared)(status);
    std::sort(answer.mutable_pods()->begin(), answer.mutable_pods()->end(), [](const auto& a, const auto& b) {
      return std::forward_as_tuple(a.task(), a.index(), a.name()) <
             std::forward_as_tuple(b.task(), b.index(), b.name());
    });
    (*shared)(std::move(answer));
  });
}

void JobApi::ListPart(job::v1::ListPartRequest asked, rpc::Done<job::v1::ListPartResponse> done) {
  auto parsed = kube::LabelSelector::Parse(asked.request().label_selector());
  if (!parsed.ok()) return done(Annotate(parsed.status(), "label_selector"));
  const auto labels = std::make_shared<const kube::LabelSelector>(*std::move(parsed));
  const size_t size = rpc::PageSizeOf(asked.request().page_size());
  const auto request = std::make_shared<const job::v1::ListJobsRequest>(std::move(*asked.mutable_request()));
  const SlotSet slots = SlotSet::FromBytes(asked.slots());
  const auto list = [request, labels, size, slots](JobController& controller) {
    const auto add = [&](const std::string&, const JobEntry& entry, job::v1::ListPartResponse& part) {
      if (slots.Contains(entry.slot) && Matches(*request, *labels, entry)) {
        *part.add_jobs() = ToMessage(controller, entry);
      }
    };
    return rpc::MakePart<JobList>(controller.entries(), request->page_token(), size, add);
  };
  auto merge = [size, done = std::move(done)](auto parts) mutable {
    if (!parts.ok()) return done(parts.status());
    done(rpc::MergeParts<JobList>(*std::move(parts), size));
  };
  runtime::GatherWorkers<job::v1::ListPartResponse>(workers_, slots, list, std::move(merge));
}

void JobApi::History(job::v1::GetJobHistoryRequest request, rpc::Done<job::v1::JobHistory> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::JobHistory>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, uid = request.uid(), shared](JobController& controller) {
    const uint32_t slot = SlotOf(key);
    if (!controller.context().IsReady(slot)) return (*shared)(NotReady(key));
    const auto jobs = controller.history().ObjectsOf(slot, key);
    if (!jobs.ok()) return (*shared)(jobs.status());
    const auto job = std::find_if(jobs->rbegin(), jobs->rend(),
                                  [&](const auto& record) { return uid.empty() || record.uid() == uid; });
    if (job == jobs->rend()) {
      return (*shared)(OfJob(absl::StatusCode::kNotFound, key,
                             uid.empty() ? fmt::format("there is no history of a job {}", key)
                                         : fmt::format("there is no history of a job {} with UID {}", key, uid)));
    }
    job::v1::JobHistory history;
    history.set_cluster(std::string(controller.context().cluster()));
    history.set_uid(job->uid());
    history.set_allocated_gone_time(kube::ToTimestamp(job->gone_ms()).release());
    const auto records = controller.HistoryOf(slot, history.uid());
    if (!records.ok()) return (*shared)(records.status());
    for (const auto& record : *records) *history.add_entries() = ToMessage(record);
    // The intent is decided, and its write may have been sent.
    const JobEntry* entry = controller.Find(key);
    if (entry != nullptr && entry->has_uid(history.uid()) && entry->record.intent().has_history()) {
      *history.add_entries() = ToMessage(entry->record.intent().history_entry());
    }
    (*shared)(std::move(history));
  });
}

void JobApi::Delete(job::v1::DeleteJobRequest request, const std::string& user_token,
                    rpc::Done<job::v1::DeleteJobResponse> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::DeleteJobResponse>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, user_token, uid = request.uid(), shared](JobController& controller) {
    const absl::StatusOr<const JobEntry*> entry = FindJob(controller, key, uid);
    if (!entry.ok()) return (*shared)(entry.status());
    auto write = kube::WriteOf(kube::kJobs, (*entry)->ns, (*entry)->name);
    write.mutable_delete_()->set_uid((*entry)->job->meta().uid());
    write.mutable_delete_()->set_propagation_policy("Background");
    write.set_user_token(user_token);
    controller.context().WriteForCaller(key, std::move(write), [key, shared](runtime::WriteOutcome outcome) {
      const absl::Status status = StatusOf(outcome);
      if (status.code() == absl::StatusCode::kNotFound) return (*shared)(NotFound(key));
      if (!status.ok()) return (*shared)(status);
      (*shared)(job::v1::DeleteJobResponse());
    });
  });
}

}  // namespace basalt::jobsvc
