// What people see of jobs: when it changed, in which order, and who hears of it.
#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/control/watch_records.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

namespace {

// A hash that is the same in every process, as it is stored.
uint64_t Mix(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash * 0x100000001b3;
}

uint64_t Mix(uint64_t hash, uint64_t number) {
  return Mix(hash, std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
}

// Of all that a job's message follows from.
uint64_t StateOf(const JobEntry& entry, const GroupView& group, const QueueView& view) {
  uint64_t state = 0xcbf29ce484222325;
  state = Mix(state, static_cast<uint64_t>(entry.job->meta().resource_version()));
  state = Mix(Mix(state, group.phase), group.uid);
  for (const uint64_t part : {uint64_t{group.stale}, uint64_t{entry.pods.missing().size()},
                              uint64_t{entry.pods.to_delete().size()}, uint64_t{entry.pods.held().size()}}) {
    state = Mix(state, part);
  }
  if (WaitsForQueue(entry.job->status().phase(), group)) {
    state = Mix(state, view.queue == nullptr ? "none" : view.queue->state());
    if (view.has_children) state = Mix(state, "has children");
  }
  return state;
}

}  // namespace

const watch::RevisionLog* JobController::WatchOf(uint32_t slot) const {
  const auto it = watches_.find(slot);
  return it == watches_.end() ? nullptr : &it->second;
}

void JobController::NoteShown(JobEntry& entry, kv::WriteBatch& batch) {
  const auto watch = watches_.find(entry.slot);
  if (watch == watches_.end()) return;
  const uint64_t state = StateOf(entry, GroupOf(entry), entry.compiled ? QueueOf(entry) : QueueView());
  if (state == entry.shown && entry.shown_revision != 0) return;
  entry.shown = state;
  entry.shown_revision = RecordPublished(entry.slot, entry.key, state, watch->second, context_.random(), batch);
  changes_.push_back(
      {.kind = ShownChange::Kind::kShown, .slot = entry.slot, .position = watch->second.position(), .key = entry.key});
}

// A stored job is not refused for its queue: it waits, and says so, where nobody does what is needed by himself.
void JobController::ReportQueue(JobEntry& entry) {
  const bool wants_pods = !entry.pods.missing().empty() || !entry.pods.held().empty();
  std::string message;
  const std::string& name = entry.compiled->spec.queue();
  if (wants_pods && !entry.compiled->invalid() && WaitsForQueue(entry.job->status().phase(), GroupOf(entry))) {
    const QueueView view = QueueOf(entry);
    // The default queue is made for everybody, and a new one is opened. A cluster without any does not say which there
    // are.
    const bool comes =
        view.queue == nullptr ? name == kube::kDefaultQueue || queues_.all().empty() : view.queue->state().empty();
    if (!comes) message = QueueProblem(name, view);
  }
  const Problem* const told = entry.problems.Find(kQueueError);
  if (told != nullptr && told->words.message != message) entry.problems.End(kQueueError);
  if (message.empty()) return;
  AddProblem(entry,
             {.words = {std::string(kQueueError), std::move(message)}, .subject = fmt::format("queue {}", name)});
}

void JobController::NoteGone(JobEntry& entry, kv::WriteBatch& batch) {
  if (std::exchange(entry.shown_revision, 0) == 0) {
    changes_.push_back({.kind = ShownChange::Kind::kUnseen, .slot = entry.slot, .key = entry.key});
    return;
  }
  const auto watch = watches_.find(entry.slot);
  if (watch == watches_.end()) return;
  RecordDeleted(entry.slot, entry.key, entry.record.uid(), watch->second, context_.random(), batch);
  changes_.push_back({.kind = ShownChange::Kind::kGone,
                      .slot = entry.slot,
                      .position = watch->second.position(),
                      .key = entry.key,
                      .uid = entry.record.uid()});
}

void JobController::PublishChanges() {
  for (ShownChange& change : std::exchange(changes_, {})) {
    if (!listener_) continue;
    if (change.kind == ShownChange::Kind::kShown) change.entry = Lookup(change.key);
    listener_(change);
  }
}

}  // namespace basalt::jobsvc
