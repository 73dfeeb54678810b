// The sending half of JobController: the status patch, then whatever is left to be done so that the world matches it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/render/job_status_json.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

void JobController::Act(std::string_view key) {
  if (!changes_.empty()) PublishChanges();
  JobEntry* found = Lookup(key);
  if (found == nullptr || !found->job) return;
  JobEntry& entry = *found;
  if (entry.commit.unsent) SendStatus(entry);
  RecordEvents(entry);
  // Newer than what was judged: the pass that is due knows better.
  if (entry.job_dirty || !entry.compiled) return;
  if (entry.job->meta().deletion_ms() != 0) return StopAwaiting(entry);
  // A transition that is meant holds back the effects of the status before it.
  if (entry.record.has_intent() && entry.record.intent().has_history()) return;
  if (entry.job->status().phase() == kube::v1::JOB_PHASE_UNSPECIFIED) return;
  ActOnCommands(entry);
  ActOnForwarding(entry);
  ActOnGroup(entry);
  ActOnObjects(entry);
  ActOnPods(entry);
  ActOnTtl(entry);
}

void JobController::AddProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names) {
  if (!entry.job) return;  // It has gone since: nobody is left to be told.
  // The status told of it when it was written last.
  std::optional<absl::Time> known_since;
  const kube::v1::JobStatus& told = entry.job->status();
  if (told.reason() == problem.words.reason && told.last_transition_ms() != 0) {
    known_since = absl::FromUnixMillis(told.last_transition_ms());
  }
  if (entry.problems.Report(problem, names, context_.ApiNow(), options_.event_interval, known_since)) {
    entry.pending_events.push_back({true, std::move(problem.words.reason), std::move(problem.words.message)});
  }
}

void JobController::ReportProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names) {
  AddProblem(entry, std::move(problem), names);
  context_.Wake(entry.key);
}

void JobController::ReportProblem(JobEntry& entry, std::string_view reason, std::string message,
                                  std::initializer_list<std::string_view> names) {
  ReportProblem(entry, {.words = {std::string(reason), std::move(message)}}, names);
}

void JobController::TryAgain(JobEntry& entry, Retry& retry) {
  retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(entry.key, retry.until());
}

void JobController::SendStatus(JobEntry& entry) {
  entry.commit.unsent = false;
  entry.commit.in_flight = true;
  const storage::v1::Intent& intent = entry.record.intent();
  auto request = kube::WriteOf(kube::kJobs, entry.ns, entry.name);
  request.set_subresource("status");
  kube::SetMergePatch(JobStatusPatch(entry.job->status(), intent.status()), entry.record.uid(), request)
      .set_resource_version(intent.resource_version());
  metrics_.StatusWrite();
  context_.Write(
      entry.key, std::move(request),
      [this, key = entry.key, uid = entry.record.uid(), nonce = intent.nonce()](WriteOutcome outcome) {
        JobEntry* live = Committing(key, uid, nonce);
        if (live == nullptr) return;
        switch (outcome.kind) {
          case WriteOutcome::Kind::kDone:
            // The answer's object has come through OnState: ResolvePendingCommit sees it.
            live->commit.in_flight = false;
            break;
          case WriteOutcome::Kind::kRefused:
            live->commit.in_flight = false;
            if (outcome.error.code() == 409) {
              live->commit.conflict_version = live->record.intent().resource_version();
            } else {
              obs::LogWarning("a status write was refused", {{"job", key}, {"error", outcome.error.message()}});
              live->commit.problem = {"JobStatusError", outcome.error.message()};
              live->pending_events.push_back({true, "JobStatusError", outcome.error.message()});
            }
            live->commit.retry.Fail(context_.ApiNow(), context_.random());
            break;
          case WriteOutcome::Kind::kNotSent:
            live->commit.in_flight = false;
            live->commit.retry.Fail(context_.ApiNow(), context_.random());
            break;
          case WriteOutcome::Kind::kUnknown:
            ResolveUnknownStatusWrite(key, uid, nonce);
            break;
        }
        context_.Wake(key);
      });
}

// The watch may have shown the commit before its answer came, and the next one be under way: an answer is about the
// commit of its nonce alone.
JobEntry* JobController::Committing(const std::string& key, const std::string& uid, const std::string& nonce) {
  JobEntry* live = Live(key, uid);
  const bool same = live != nullptr && live->commit.in_flight && live->record.intent().nonce() == nonce;
  return same ? live : nullptr;
}

void JobController::ResolveUnknownStatusWrite(const std::string& key, const std::string& uid,
                                              const std::string& nonce) {
  const JobEntry& asked = *Live(key, uid);
  auto request = kube::GetOf(kube::kJobs, asked.ns, asked.name);
  context_.Get(key, std::move(request), [this, key, uid, nonce](absl::StatusOr<gateway::v1::GetResponse> response) {
    JobEntry* live = Committing(key, uid, nonce);
    if (live == nullptr) return;
    if (!response.ok()) {
      // The commit stays open until somebody can say what became of it.
      context_.loop().RunAfter(absl::Milliseconds(500), [this, alive = alive_, key, uid, nonce] {
        if (*alive && Committing(key, uid, nonce) != nullptr) ResolveUnknownStatusWrite(key, uid, nonce);
      });
      return;
    }
    live->commit.in_flight = false;
    if (response->has_object() && response->object().has_job()) {
      kube::v1::Job& job = *response->mutable_object()->mutable_job();
      if (live->job && job.meta().uid() == uid &&
          job.meta().resource_version() > live->job->meta().resource_version()) {
        ReceiveJob(*live, std::move(job));
      }
    }
    context_.Wake(key);
  });
}

void JobController::ActOnCommands(JobEntry& entry) {
  for (auto& [name, command] : entry.commands) {
    if (command.meta().uid() != entry.persisted.last_command_uid || command.meta().deletion_ms() != 0) continue;
    if (entry.command_cleanup.retry.Blocks(context_.ApiNow()))
      return context_.WakeAt(entry.key, entry.command_cleanup.retry.until());
    // Until the watch shows that it is gone.
    if (!entry.command_cleanup.deleted.insert(command.meta().uid()).second) continue;
    auto request = kube::WriteOf(kube::kCommands, entry.ns, name);
    request.mutable_delete_()->set_uid(command.meta().uid());
    context_.Write(entry.key, std::move(request),
                   [this, key = entry.key, uid = entry.record.uid(), command_uid = command.meta().uid(),
                    command_name = name](WriteOutcome outcome) {
                     JobEntry* live = Live(key, uid);
                     if (live == nullptr) return;
                     // Gone already: the watch will say so. Anything else is tried again.
                     if (outcome.kind == WriteOutcome::Kind::kDone || outcome.error.code() == 404) return;
                     live->command_cleanup.deleted.erase(command_uid);
                     TryAgain(*live, live->command_cleanup.retry);
                     if (runtime::ShouldReportToUser(outcome)) {
                       ReportProblem(
                           *live,
                           {.words = {"CommandError", fmt::format("command {} is carried out and cannot be deleted: {}",
                                                                  command_name, outcome.error.message())},
                            .subject = fmt::format("command {}", command_name)});
                     }
                   });
  }
}

// Job spec 9.1: jobs of a queue with other clusters say so, once (C11); before the PodGroup, which takes the annotation
// over, unless that is refused.
void JobController::ActOnForwarding(JobEntry& entry) {
  if (!IsForwarded(entry) || !MakesPods(entry.job->status().phase())) return;
  const auto& annotations = entry.job->meta().annotations();
  const bool is_reported = std::any_of(annotations.begin(), annotations.end(), [](const kube::v1::KeyValue& it) {
    return it.key() == kube::kJobForwardingKey && it.value() == "true";
  });
  if (is_reported || entry.forwarding.in_flight) return;
  if (entry.forwarding.retry.Blocks(context_.ApiNow())) {
    return context_.WakeAt(entry.key, entry.forwarding.retry.until());
  }
  entry.forwarding.in_flight = true;
  auto request = kube::WriteOf(kube::kJobs, entry.ns, entry.name);
  kube::SetAnnotation(kube::kJobForwardingKey, entry.record.uid(), request);
  context_.Write(
      entry.key, std::move(request), [this, key = entry.key, uid = entry.record.uid()](WriteOutcome outcome) {
        JobEntry* live = Live(key, uid);
        if (live == nullptr) return;
        live->forwarding.in_flight = false;
        if (outcome.kind == WriteOutcome::Kind::kDone) {
          live->forwarding.retry.Succeed();
          live->problems.End("ForwardingError");
          return;
        }
        TryAgain(*live, live->forwarding.retry);
        if (outcome.error.code() != 404 && runtime::ShouldReportToUser(outcome)) {
          ReportProblem(
              *live, "ForwardingError",
              fmt::format("the annotation {} cannot be written: {}", kube::kJobForwardingKey, outcome.error.message()));
        }
      });
}

// Job spec 12.2. The precondition on the resourceVersion is the second look at the live object.
void JobController::ActOnTtl(JobEntry& entry) {
  if (!IsFinished(entry.job->status().phase()) || !entry.compiled->spec.has_ttl_seconds_after_finished() ||
      entry.ttl.in_flight || entry.record.has_intent() || entry.job->status().last_transition_ms() == 0) {
    return;
  }
  const int64_t ended_ms = entry.job->status().last_transition_ms();
  const absl::Duration ttl = absl::Seconds(entry.compiled->spec.ttl_seconds_after_finished());
  const absl::Time due = absl::FromUnixMillis(ttl > absl::ZeroDuration() ? EndOfSecond(ended_ms) : ended_ms) + ttl;
  if (context_.ApiNow() < due) {
    context_.WakeAt(entry.key, due);
    return;
  }
  if (entry.ttl.retry.Blocks(context_.ApiNow())) return context_.WakeAt(entry.key, entry.ttl.retry.until());
  entry.ttl.in_flight = entry.ttl.asked = true;
  auto request = kube::WriteOf(kube::kJobs, entry.ns, entry.name);
  gateway::v1::Delete& deletion = *request.mutable_delete_();
  deletion.set_uid(entry.record.uid());
  deletion.set_resource_version(entry.job->meta().resource_version());
  deletion.set_propagation_policy("Foreground");
  context_.Write(
      entry.key, std::move(request), [this, key = entry.key, uid = entry.record.uid()](WriteOutcome outcome) {
        JobEntry* live = Live(key, uid);
        if (live == nullptr || outcome.kind == WriteOutcome::Kind::kDone) return;
        live->ttl.in_flight = false;
        if (outcome.kind != WriteOutcome::Kind::kUnknown) live->ttl.asked = false;
        TryAgain(*live, live->ttl.retry);
        if (outcome.error.code() != 404 && runtime::ShouldReportToUser(outcome)) {
          ReportProblem(*live, "TTLError",
                        fmt::format("its time to live is over and it cannot be deleted: {}", outcome.error.message()));
        }
      });
}

}  // namespace basalt::jobsvc
