#pragma once

// Decides when one stream sends its next batch: one at a time (OnSent), and at most `window` of them unacknowledged.
// Small changes gather while batches are unacknowledged. The source fills the batches. Confined to one loop.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"
#include "gateway/session/batch.h"
#include "gateway/session/session_options.h"

namespace basalt::gateway {

class BatchSource {
 public:
  struct Waiting {
    bool over_window = false;  // A batch goes out even if the window is full.
    bool at_once = false;      // A batch waits for no more items.
    int64_t changes = 0;
  };

  virtual ~BatchSource() = default;
  virtual Waiting waiting() const = 0;
  // Fills the batch, which goes out under that sequence unless it stays empty.
  virtual void Fill(Batch& batch, int64_t sequence, bool window_is_full) = 0;
};

class Sender {
 public:
  // All references must outlive this object.
  Sender(Loop& loop, rpc::AttachSink& sink, std::function<int64_t()> api_time_ms, const SessionOptions& options,
         BatchSource& source);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Something may be waiting: sends it on a later turn of the loop.
  void Schedule();
  // The transport has taken the last batch.
  void OnSent();
  // INVALID_ARGUMENT for a sequence that was never sent.
  absl::Status OnAck(int64_t sequence);
  // Ends the stream. Idempotent.
  void Close(const absl::Status& status);

  bool closed() const { return closed_; }
  int64_t sequence() const { return sequence_; }
  int64_t acknowledged() const { return acknowledged_; }
  // Returns how long the oldest unacknowledged batch has waited; zero if there is none.
  absl::Duration Lag() const;

 private:
  void SendNext();
  // Whether the changes are to wait for more of them.
  bool Gathers(const BatchSource::Waiting& waiting);

  Loop& loop_;
  rpc::AttachSink& sink_;
  const std::function<int64_t()> api_time_ms_;
  const SessionOptions options_;
  BatchSource& source_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  bool closed_ = false;
  bool in_flight_ = false;  // A batch is with the transport.
  bool scheduled_ = false;
  int64_t sequence_ = 0;
  int64_t acknowledged_ = 0;
  std::deque<std::pair<int64_t, absl::Time>> unacknowledged_;  // Sequences, and when they were sent.
  size_t last_bytes_ = 0;                                      // The size of the batch before.
  TimerId gather_timer_ = kNoTimer;
  bool gathered_ = false;  // The waiting changes have waited long enough.
};

}  // namespace basalt::gateway
