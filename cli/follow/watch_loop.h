#pragma once

// A watch that goes on over interruptions: where a replica ends, another is asked by the newest token, for some
// minutes. Blocking; for one thread.
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

// `Watched`: see cli/connect/watched.h.
template <typename Watched>
class WatchLoop {
 public:
  using Request = typename Watched::Request;
  using Response = typename Watched::Response;

  class Reader {
   public:
    virtual ~Reader() = default;
    // True: that was enough.
    virtual bool Take(Response&& told) = 0;
    // The same, whether anything was told or not: whenever something was, and at due().
    virtual bool Look(absl::Time now) = 0;
    virtual absl::Time due() const = 0;
    // A stream has ended, and the next goes on by token(). `first`: somebody had answered before.
    virtual void Interrupted(const absl::Status& why, bool first) = 0;
    virtual const std::string& token() const = 0;
  };

  // Client and reader outlive it.
  WatchLoop(Client<typename Watched::Service>& client, Request request, absl::Time deadline, Reader& reader)
      : client_(client), request_(std::move(request)), deadline_(deadline), reader_(reader) {}

  // OK: the reader has enough. DEADLINE_EXCEEDED; UNAVAILABLE: nobody has answered for too long.
  absl::Status Run();

  bool has_answered() const { return has_answered_; }  // Somebody has told something.
  // Since when nobody answers; in the infinite future where somebody does. And the newest reason.
  absl::Time silent_since() const { return silent_since_; }
  const std::string& why_silent() const { return why_silent_; }

 private:
  // A person who waits for a replica to come back waits this long.
  static constexpr absl::Duration kPatience = absl::Minutes(5);
  static constexpr absl::Duration kPause = absl::Milliseconds(500);

  bool Read(WatchStream<Watched>& stream);
  absl::StatusOr<typename Watched::Service::Stub*> FindAgain(absl::Status why);

  Client<typename Watched::Service>& client_;
  Request request_;
  const absl::Time deadline_;
  Reader& reader_;
  bool has_answered_ = false;
  bool may_log_in_ = true;  // A user does so once, until somebody has told something.
  absl::Time silent_since_ = absl::InfiniteFuture();
  std::string why_silent_;
};

// Until it ends, or, true, the reader has enough.
template <typename Watched>
bool WatchLoop<Watched>::Read(WatchStream<Watched>& stream) {
  using Event = typename WatchStream<Watched>::Event;
  Response told;
  while (true) {
    if (reader_.Look(absl::Now())) return true;
    switch (stream.Next(reader_.due(), &told)) {
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
    if (reader_.Take(std::move(told))) return true;
  }
}

// The replica went away, or is starting: looks for it, or for another.
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
      if (!is_another_token.ok()) ended = is_another_token.status();  // Where no gateway answers, one may come back.
    }
    if (ended.code() != absl::StatusCode::kUnavailable) return ended.ok() ? absl::CancelledError("ended") : ended;
    const bool first = silent_since_ == absl::InfiniteFuture();
    if (first) silent_since_ = absl::Now();
    reader_.Interrupted(ended, first);
    BASALT_ASSIGN_OR_RETURN(stub, FindAgain(ended));
  }
}

}  // namespace basalt::cli
