#include "gateway/session/sender.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/status.h"

namespace basalt::gateway {

Sender::Sender(Loop& loop, rpc::AttachSink& sink, std::function<int64_t()> api_time_ms, const SessionOptions& options,
               BatchSource& source)
    : loop_(loop), sink_(sink), api_time_ms_(std::move(api_time_ms)), options_(options), source_(source) {}

Sender::~Sender() {
  *alive_ = false;
  loop_.Cancel(gather_timer_);
}

void Sender::Schedule() {
  if (scheduled_ || closed_) return;
  scheduled_ = true;
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    scheduled_ = false;
    SendNext();
  });
}

void Sender::OnSent() {
  in_flight_ = false;
  Schedule();
}

absl::Status Sender::OnAck(int64_t sequence) {
  if (sequence > sequence_) {
    return Invalid(fmt::format("batch {} is acknowledged, but only {} were sent", sequence, sequence_));
  }
  acknowledged_ = std::max(acknowledged_, sequence);
  while (!unacknowledged_.empty() && unacknowledged_.front().first <= sequence) unacknowledged_.pop_front();
  Schedule();
  return absl::OkStatus();
}

void Sender::Close(const absl::Status& status) {
  if (closed_) return;
  closed_ = true;
  sink_.Close(status);
}

absl::Duration Sender::Lag() const {
  return unacknowledged_.empty() ? absl::ZeroDuration() : loop_.Now() - unacknowledged_.front().second;
}

bool Sender::Gathers(const BatchSource::Waiting& waiting) {
  const bool enough = sequence_ - acknowledged_ < options_.eager || waiting.changes == 0 ||
                      waiting.changes >= static_cast<int64_t>(options_.max_items);
  if (waiting.at_once || enough || gathered_) return false;
  if (gather_timer_ == kNoTimer) {
    gather_timer_ = loop_.RunAfter(options_.gather, [this, alive = alive_] {
      if (!*alive) return;
      gather_timer_ = kNoTimer;
      gathered_ = true;
      Schedule();
    });
  }
  return true;
}

void Sender::SendNext() {
  if (closed_ || in_flight_) return;
  const bool window_is_full = sequence_ - acknowledged_ >= options_.window;
  const BatchSource::Waiting waiting = source_.waiting();
  if (window_is_full && !waiting.over_window) return;
  if (Gathers(waiting)) return;
  const size_t expected_bytes = std::min(last_bytes_ + last_bytes_ / 8, options_.max_bytes);
  Batch batch(options_.max_items, options_.max_bytes, expected_bytes);
  source_.Fill(batch, sequence_ + 1, window_is_full);
  if (batch.empty()) return;
  ++sequence_;
  gathered_ = false;
  loop_.Cancel(std::exchange(gather_timer_, kNoTimer));
  unacknowledged_.emplace_back(sequence_, loop_.Now());
  in_flight_ = true;
  last_bytes_ = batch.bytes();
  sink_.Send(batch.encoder().Finish(sequence_, api_time_ms_()));
}

}  // namespace basalt::gateway
