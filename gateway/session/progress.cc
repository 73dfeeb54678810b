#include "gateway/session/progress.h"

#include <algorithm>

namespace basalt::gateway {

Progress::~Progress() {
  *alive_ = false;
  loop_.Cancel(timer_);
}

void Progress::Arm() {
  if (timer_ != kNoTimer || taken_.has_value() || !marks_.Moved()) return;
  // The mark is never taken inside the change itself, so that it covers the rest of the changes that came together.
  timer_ = loop_.RunAt(std::max(loop_.Now(), last_ + interval_), [this, alive = alive_] {
    if (!*alive) return;
    timer_ = kNoTimer;
    taken_ = Taken{backlog_.position(), marks_.Now()};
    on_taken_();
  });
}

void Progress::AddTo(Batch& batch) {
  if (!taken_.has_value() || backlog_.Front() <= taken_->position) return;
  std::optional<v1::Progress> progress = marks_.Advance(taken_->marks);
  taken_.reset();
  last_ = loop_.Now();
  if (progress.has_value()) {
    v1::Item item;
    *item.mutable_progress() = *std::move(progress);
    batch.Add(std::move(item));
  }
  Arm();
}

}  // namespace basalt::gateway
