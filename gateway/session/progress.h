#pragma once

// The next Progress of one stream: when its marks are taken, and when they are sent. Marks are taken at most once in
// an interval, with the backlog's position, and are sent when nothing at or before that position is left (correctness
// 1): everything that they cover went before them, even when changes never cease. Confined to one loop.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "gateway/session/backlog.h"
#include "gateway/session/batch.h"
#include "gateway/session/sent_marks.h"

namespace basalt::gateway {

class Progress {
 public:
  // All references must outlive this object. `on_taken` is called when marks wait to be sent.
  Progress(Loop& loop, Backlog& backlog, SentMarks& marks, absl::Duration interval, std::function<void()> on_taken)
      : loop_(loop), backlog_(backlog), marks_(marks), interval_(interval), on_taken_(std::move(on_taken)) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Takes the marks as soon as the interval permits it, if they have moved.
  void Arm();
  bool waits() const { return taken_.has_value(); }
  // Adds the marks that were taken if everything that they cover went before.
  void AddTo(Batch& batch);

 private:
  struct Taken {
    uint64_t position;
    std::vector<v1::Mark> marks;
  };

  Loop& loop_;
  Backlog& backlog_;
  SentMarks& marks_;
  const absl::Duration interval_;
  const std::function<void()> on_taken_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<Taken> taken_;  // Not sent yet.
  absl::Time last_ = absl::InfinitePast();
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::gateway
