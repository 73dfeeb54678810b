#include "services/jobsvc/control/status/status_commit.h"

#include <utility>

#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/render/job_status_json.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// A conflict means that there is a newer state: the job is read and decided on again, and no problem is reported.
constexpr EffectPolicy kStatusWrite{
    .already_exists = Meaning::kHeld, .conflict = Meaning::kHeld, .unknown = Meaning::kLook};

}  // namespace

CommitShown ShownOf(const storage::v1::JobRecord& record, const ControlledState& persisted) {
  if (!record.has_intent()) {
    const bool is_ours =
        persisted.sequence < record.committed_sequence() ||
        (persisted.sequence == record.committed_sequence() && persisted.nonce == record.committed_nonce());
    return is_ours ? CommitShown::kNothing : CommitShown::kStale;
  }
  const storage::v1::Intent& intent = record.intent();
  if (persisted.sequence < intent.sequence()) return CommitShown::kNotYet;
  const bool is_ours = persisted.sequence == intent.sequence() && persisted.nonce == intent.nonce();
  return is_ours ? CommitShown::kCommitted : CommitShown::kStale;
}

StatusCommit::State StatusCommit::Next(State state, Step step) {
  switch (step) {
    case Step::kRecord:
      return State::kRecorded;
    case Step::kSend:
      return state == State::kRecorded ? State::kSent : state;
    case Step::kLose:
      return state == State::kSent ? State::kUnknown : state;
    case Step::kAnswer:
      return state == State::kSent || state == State::kUnknown ? State::kIdle : state;
    case Step::kResolve:
      break;
  }
  return State::kIdle;
}

void StatusCommit::Record(JobEntry& entry, Decision decision) {
  storage::v1::Intent& intent = *entry.record.mutable_intent();
  intent.Clear();
  intent.set_sequence(decision.sequence);
  intent.set_nonce(std::move(decision.nonce));
  intent.set_has_history(decision.has_history);
  intent.set_consumed(decision.consumed);
  intent.set_kills(decision.kills);
  intent.set_resource_version(entry.job->meta().resource_version());
  if (decision.has_history) *intent.mutable_history_entry() = decision.history;
  *intent.mutable_status() = std::move(decision.status);
  events_ = std::move(decision.pending_events);
  again_ = std::move(decision.again);
  state_ = Next(state_, Step::kRecord);
  entry.record_dirty = true;
}

void StatusCommit::Send(JobEntry& entry, PartHost& host) {
  if (state_ != State::kRecorded) return;
  state_ = Next(state_, Step::kSend);
  const storage::v1::Intent& intent = entry.record.intent();
  auto request = kube::WriteOf(kube::kJobs, entry.ns, entry.name);
  request.set_subresource("status");
  kube::SetMergePatch(JobStatusPatch(entry.job->status(), intent.status()), entry.record.uid(), request)
      .set_resource_version(intent.resource_version());
  host.metrics().StatusWrite();
  host.Write(entry, std::move(request), [&host, nonce = intent.nonce()](JobEntry& live, const WriteOutcome& outcome) {
    StatusCommit* const commit = Find(live, nonce);
    if (commit != nullptr) commit->Answered(live, outcome, host);
  });
}

StatusCommit* StatusCommit::Find(JobEntry& entry, const std::string& nonce) {
  StatusCommit& commit = entry.commit;
  const bool is_sent = commit.state_ == State::kSent || commit.state_ == State::kUnknown;
  return is_sent && entry.record.intent().nonce() == nonce ? &commit : nullptr;
}

void StatusCommit::Answered(JobEntry& entry, const WriteOutcome& outcome, PartHost& host) {
  const Meaning meaning = MeaningOf(AnswerOf(outcome), kStatusWrite);
  if (meaning == Meaning::kLook) {
    state_ = Next(state_, Step::kLose);
    entry.newest_status.Doubt();
    return host.Wake(entry);
  }
  state_ = Next(state_, Step::kAnswer);
  // If the write succeeded, its object has already come through OnState, and the next pass applies it.
  if (meaning == Meaning::kHeld) {
    outdated_.Record(entry.record.intent().resource_version());
    entry.newest_status.Doubt();
  } else if (meaning != Meaning::kSucceeded) {
    if (meaning == Meaning::kRefused) {
      const std::string& words = outcome.error.message();
      obs::LogWarning("a status write was refused", {{"job", entry.key}, {"error", words}});
      problem_ = {"JobStatusError", words};
      entry.pending_events.push_back({true, "JobStatusError", words});
    }
    retry_.Fail(host.Now(), host.context().random());
  }
  host.Wake(entry);
}

void StatusCommit::EndLook(const JobEntry& entry, PartHost& host) {
  if (state_ == State::kUnknown) state_ = Next(state_, Step::kAnswer);
  if (entry.job && outdated_.Blocks(entry.job->meta().resource_version())) host.TryAgain(entry, retry_);
  outdated_.Forget();
}

void StatusCommit::Resolve(JobEntry& entry) {
  state_ = Next(state_, Step::kResolve);
  retry_.Succeed();
  problem_ = {};
  differs_since.reset();
  for (PendingEvent& event : std::exchange(events_, {})) entry.pending_events.push_back(std::move(event));
  for (const PodIndex& place : std::exchange(again_, {})) entry.pods.SetSucceededGone(place, false);
}

void StatusCommit::DropIntent(JobEntry& entry) {
  state_ = Next(state_, Step::kResolve);
  events_.clear();
  again_.clear();
  entry.record.clear_intent();
  entry.record_dirty = true;
}

}  // namespace basalt::jobsvc
