#include "common/time/sim_time.h"

namespace basalt {

TimerId SimTime::RunAt(absl::Time when, Task task) {
  const TimerId id = next_id_++;
  when = std::max(when, now_);
  tasks_.emplace(std::make_pair(when, id), std::move(task));
  when_.emplace(id, when);
  return id;
}

void SimTime::Cancel(TimerId id) {
  const auto found = when_.find(id);
  if (found == when_.end()) return;
  tasks_.erase({found->second, id});
  when_.erase(found);
}

bool SimTime::Step() {
  if (tasks_.empty()) return false;
  auto node = tasks_.extract(tasks_.begin());
  when_.erase(node.key().second);
  now_ = node.key().first;
  ++steps_;
  node.mapped()();
  return true;
}

void SimTime::Advance(absl::Duration duration) {
  const absl::Time end = now_ + duration;
  while (!tasks_.empty() && tasks_.begin()->first.first <= end) Step();
  now_ = end;
}

}  // namespace basalt
