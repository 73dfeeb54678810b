#include "services/jobsvc/control/publisher.h"

#include <string_view>
#include <utility>

#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/watch_records.h"

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

void Publisher::Close(uint32_t slot) {
  std::erase_if(changes_, [slot](const ShownChange& change) { return change.slot == slot; });
  logs_.erase(slot);
  if (listener_) listener_({.kind = ShownChange::Kind::kClosed, .slot = slot});
}

const watch::RevisionLog* Publisher::LogOf(uint32_t slot) const {
  const auto it = logs_.find(slot);
  return it == logs_.end() ? nullptr : &it->second;
}

void Publisher::PublishIfChanged(JobEntry& entry, const GroupView& group, const QueueView& queue,
                                 kv::WriteBatch& batch) {
  const auto log = logs_.find(entry.slot);
  if (log == logs_.end()) return;
  const uint64_t state = StateOf(entry, group, queue);
  if (state == entry.shown && entry.shown_revision != 0) return;
  entry.shown = state;
  entry.shown_revision = RecordPublished(entry.slot, entry.key, state, log->second, random_, batch);
  changes_.push_back(
      {.kind = ShownChange::Kind::kShown, .slot = entry.slot, .position = log->second.position(), .key = entry.key});
}

void Publisher::PublishEnd(JobEntry& entry, kv::WriteBatch& batch) {
  if (std::exchange(entry.shown_revision, 0) == 0) {
    changes_.push_back({.kind = ShownChange::Kind::kUnseen, .slot = entry.slot, .key = entry.key});
    return;
  }
  const auto log = logs_.find(entry.slot);
  if (log == logs_.end()) return;
  RecordDeleted(entry.slot, entry.key, entry.record.uid(), log->second, random_, batch);
  changes_.push_back({.kind = ShownChange::Kind::kGone,
                      .slot = entry.slot,
                      .position = log->second.position(),
                      .key = entry.key,
                      .uid = entry.record.uid()});
}

void Publisher::Tell() {
  for (ShownChange& change : std::exchange(changes_, {})) {
    if (!listener_) continue;
    if (change.kind == ShownChange::Kind::kShown) change.entry = lookup_(change.key);
    listener_(change);
  }
}

}  // namespace basalt::jobsvc
