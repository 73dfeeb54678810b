#include "gateway/session/sent_marks.h"

#include "gateway/route/routes.h"

namespace basalt::gateway {

SentMarks::SentMarks(const Cache& cache, v1::ServiceKind service) : cache_(cache) {
  for (const WatchInfo& watch : cache.watches()) watches_.push_back({.used = gateway::Uses(service, watch.id)});
}

bool SentMarks::Resolved() const {
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (watches_[i].used && !cache_.watches()[i].resolved()) return false;
  }
  return true;
}

std::vector<v1::Mark> SentMarks::Now() const {
  std::vector<v1::Mark> marks;
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (!watches_[i].used) continue;
    const WatchInfo& watch = cache_.watches()[i];
    v1::Mark& mark = marks.emplace_back();
    mark.set_watch(watch.id);
    mark.set_resource_version(watch.resource_version);
    mark.set_state(watch.state);
  }
  return marks;
}

bool SentMarks::Moved() const {
  for (size_t i = 0; i < watches_.size(); ++i) {
    const WatchInfo& watch = cache_.watches()[i];
    const Watch& sent = watches_[i];
    if (sent.used && (sent.resource_version != watch.resource_version || sent.state != watch.state)) return true;
  }
  return false;
}

bool SentMarks::HeldBack() const {
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (!watches_[i].used) continue;
    if (cache_.watches()[i].state == v1::Mark::STATE_FORBIDDEN) return true;
    if (watches_[i].state == v1::Mark::STATE_FORBIDDEN) return true;
  }
  return false;
}

void SentMarks::NoteEnd(const std::vector<v1::Mark>& marks) {
  size_t index = 0;
  for (Watch& sent : watches_) {
    if (sent.used && marks[index++].state() == v1::Mark::STATE_FORBIDDEN) sent.state = v1::Mark::STATE_FORBIDDEN;
  }
}

std::optional<v1::Progress> SentMarks::Advance(const std::vector<v1::Mark>& marks) {
  v1::Progress progress;
  size_t index = 0;
  for (Watch& sent : watches_) {
    if (!sent.used) continue;
    const v1::Mark& mark = marks[index++];
    if (sent.resource_version == mark.resource_version() && sent.state == mark.state()) continue;
    sent.resource_version = mark.resource_version();
    sent.state = mark.state();
    *progress.add_marks() = mark;
  }
  if (progress.marks_size() == 0) return std::nullopt;
  return progress;
}

}  // namespace basalt::gateway
