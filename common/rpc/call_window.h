#pragma once

// Decides which calls of one stream wait, which are under way, and which go into the next message. Pure: no clock, no
// thread, no transport. A value of one owner.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/status.h"

namespace basalt::rpc {

// The limits of a CallWindow. Sums of limits do not overflow.
struct CallBounds {
  static constexpr size_t kNone = std::numeric_limits<size_t>::max() / 4;
  size_t call_bytes = kNone;     // Size of one call.
  size_t message_calls = kNone;  // Calls in one message.
  size_t message_bytes = kNone;
  size_t sent_calls = kNone;  // Calls that are sent and not answered: the server has to keep them.
  size_t sent_bytes = kNone;
  size_t open_calls = kNone;  // Calls that are not answered, sent or not: the caller has to keep them.
  size_t open_bytes = kNone;
};

// `Call` is the data of a call that the window keeps until the call is sent. A call that exceeds a limit for several
// calls is still accepted if it is alone.
template <typename Call>
class CallWindow {
 public:
  explicit CallWindow(const CallBounds& bounds) : bounds_(bounds) {}

  // Requires: `id` is above all ids before. RESOURCE_EXHAUSTED: a limit is reached, and the call is not added.
  absl::Status Add(uint64_t id, size_t bytes, Call call) {
    if (bytes > bounds_.call_bytes) {
      return Exhausted(fmt::format("the call has {} bytes, and a message may have {}", bytes, bounds_.call_bytes));
    }
    const size_t open = waiting_.size() + sent_.size();
    if (open > 0 && (open >= bounds_.open_calls || waiting_bytes_ + sent_bytes_ + bytes > bounds_.open_bytes)) {
      return Exhausted(fmt::format("{} calls wait for answers already; come again later", open));
    }
    waiting_.push_back({id, bytes, std::move(call)});
    waiting_bytes_ += bytes;
    return absl::OkStatus();
  }

  // The calls added so far were requested together, and may be sent now. May be repeated.
  void EndTurn() { gathered_ = waiting_.size(); }

  // Returns the next message, with calls in the order in which they were added, and counts them as sent. Empty if no
  // call may be sent, or if the server has as many calls as it may have.
  std::vector<Call> NextMessage() {
    std::vector<Call> message;
    size_t bytes = 0;
    while (gathered_ > 0 && Fits(message.size(), bytes, waiting_.front().bytes)) {
      Waiting& next = waiting_.front();
      bytes += next.bytes;
      sent_.emplace(next.id, next.bytes);
      sent_bytes_ += next.bytes;
      waiting_bytes_ -= next.bytes;
      message.push_back(std::move(next.call));
      waiting_.pop_front();
      --gathered_;
    }
    return message;
  }

  // Removes a call that was not sent. Returns false if the call was sent or is unknown.
  bool Remove(uint64_t id) {
    const auto found = std::lower_bound(waiting_.begin(), waiting_.end(), id,
                                        [](const Waiting& waiting, uint64_t sought) { return waiting.id < sought; });
    if (found == waiting_.end() || found->id != id) return false;
    if (static_cast<size_t>(found - waiting_.begin()) < gathered_) --gathered_;
    waiting_bytes_ -= found->bytes;
    waiting_.erase(found);
    return true;
  }

  // Removes all calls that were not sent, and returns their ids in order.
  std::vector<uint64_t> TakeWaiting() {
    std::vector<uint64_t> ids;
    ids.reserve(waiting_.size());
    for (const Waiting& waiting : waiting_) ids.push_back(waiting.id);
    waiting_.clear();
    waiting_bytes_ = 0;
    gathered_ = 0;
    return ids;
  }

  // The server has answered the call. Until then the call counts as sent, even if no caller waits for it any more. An
  // unknown id is ignored.
  void Answered(uint64_t id) {
    const auto found = sent_.find(id);
    if (found == sent_.end()) return;
    sent_bytes_ -= found->second;
    sent_.erase(found);
  }

  bool AllSent() const { return waiting_.empty(); }
  size_t sent() const { return sent_.size(); }

 private:
  struct Waiting {
    uint64_t id;
    size_t bytes;
    Call call;
  };

  static absl::Status Exhausted(std::string_view why) { return MakeStatus(absl::StatusCode::kResourceExhausted, why); }

  bool Fits(size_t calls, size_t bytes, size_t next) const {
    if (calls > 0 && (calls >= bounds_.message_calls || bytes + next > bounds_.message_bytes)) return false;
    return sent_.empty() || (sent_.size() < bounds_.sent_calls && sent_bytes_ + next <= bounds_.sent_bytes);
  }

  CallBounds bounds_;
  std::deque<Waiting> waiting_;  // Ascending ids.
  size_t gathered_ = 0;          // How many of the first ones in `waiting_` may be sent.
  size_t waiting_bytes_ = 0;
  std::unordered_map<uint64_t, size_t> sent_;  // Size of each call. Never iterated over.
  size_t sent_bytes_ = 0;
};

}  // namespace basalt::rpc
