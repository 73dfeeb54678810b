#pragma once

// A watch that continues over interruptions: if a replica ends, another is asked by the newest token, for some minutes.
// Blocking; for one thread.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/connect/channel.h"
#include "cli/connect/client.h"
#include "cli/connect/watch_stream.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {

// For `Watched` see cli/connect/watched.h.
template <typename Watched>
class WatchLoop {
 public:
  using Request = typename Watched::Request;
  using Response = typename Watched::Response;

  class Reader {
   public:
    virtual ~Reader() = default;
    // Takes a message. Returns true to end the watch.
    virtual bool Take(Response&& response) = 0;
    // Called after each message, and at due(). Returns true to end the watch.
    virtual bool Look(absl::Time now) = 0;
    virtual absl::Time due() const = 0;
    // Called when a stream has ended and the next one will continue from token(). `first` is true for the first
    // interruption since a replica answered.
    virtual void Interrupted(const absl::Status& why, bool first) = 0;
    virtual const std::string& token() const = 0;
  };

  // `client` and `reader` outlive the loop.
  WatchLoop(Client<typename Watched::Service>& client, Request request, absl::Time deadline, Reader& reader)
      : client_(client), request_(std::move(request)), deadline_(deadline), reader_(reader) {}

  // Runs the watch. OK if the reader has ended it. DEADLINE_EXCEEDED at the deadline. UNAVAILABLE if no replica has
  // answered for too long.
  absl::Status Run();

  bool has_answered() const { return has_answered_; }  // A replica has sent a message.
  // Since when no replica answers. Infinite future while one does.
  absl::Time silent_since() const { return silent_since_; }
  // The newest reason why no replica answers.
  const std::string& why_silent() const { return why_silent_; }

 private:
  // How long a watch without a deadline waits for a replica to come back.
  static constexpr absl::Duration kPatience = absl::Minutes(5);
  static constexpr absl::Duration kPause = absl::Milliseconds(500);

  bool Read(WatchStream<Watched>& stream);
  absl::StatusOr<typename Watched::Service::Stub*> FindAgain(absl::Status why);

  Client<typename Watched::Service>& client_;
  Request request_;
  const absl::Time deadline_;
  Reader& reader_;
  bool has_answered_ = false;
  bool may_log_in_ = true;  // A user logs in again once, until the next message comes.
  absl::Time silent_since_ = absl::InfiniteFuture();
  std::string why_silent_;
};

// Reads until the stream ends, or until the reader ends the watch: then returns true.
template <typename Watched>
bool WatchLoop<Watched>::Read(WatchStream<Watched>& stream) {
  using Event = typename WatchStream<Watched>::Event;
  Response response;
  while (true) {
    if (reader_.Look(absl::Now())) return true;
    switch (stream.Next(reader_.due(), &response)) {
      case Event::kEnd:
        return false;
      case Event::kNothing:
        continue;
      case Event::kMessage:
        break;
    }
    has_answered_ = true;
    may_log_in_ = true;
    silent_since_ = absl::InfiniteFuture();
    why_silent_.clear();
    if (reader_.Take(std::move(response))) return true;
  }
}

// Connects to a replica after the last one went away, or while it is starting.
template <typename Watched>
absl::StatusOr<typename Watched::Service::Stub*> WatchLoop<Watched>::FindAgain(absl::Status why) {
  client_.TryAnother();
  while (true) {
    why_silent_ = ToStd(why.message());
    if (deadline_ == absl::InfiniteFuture() && absl::Now() - silent_since_ >= kPatience) return why;
    absl::SleepFor(std::min(kPause, deadline_ - absl::Now()));
    if (absl::Now() >= deadline_) return absl::DeadlineExceededError(why.message());
    auto again = client_.Connect(deadline_);
    if (again.ok()) return again;
    why = again.status();
  }
}

template <typename Watched>
absl::Status WatchLoop<Watched>::Run() {
  BASALT_ASSIGN_OR_RETURN(auto* stub, client_.Connect(deadline_));
  while (true) {
    request_.set_token(reader_.token());
    WatchStream<Watched> stream(*stub, request_, deadline_);
    if (Read(stream)) return absl::OkStatus();
    absl::Status ended = stream.status();
    // The token of a user may end while a stream is open.
    if (ended.code() == absl::StatusCode::kUnauthenticated && std::exchange(may_log_in_, false)) {
      const absl::StatusOr<bool> is_another_token = LogInUserAgain(client_.gateway());
      if (is_another_token.ok() && *is_another_token) {
        reader_.Interrupted(ended, /*first=*/false);
        continue;
      }
      // If the error is UNAVAILABLE, no gateway answers now, and the loop below waits for one.
      if (!is_another_token.ok()) ended = is_another_token.status();
    }
    if (ended.code() != absl::StatusCode::kUnavailable) return ended.ok() ? absl::CancelledError("ended") : ended;
    const bool first = silent_since_ == absl::InfiniteFuture();
    if (first) silent_since_ = absl::Now();
    reader_.Interrupted(ended, first);
    BASALT_ASSIGN_OR_RETURN(stub, FindAgain(ended));
  }
}

}  // namespace basalt::cli
