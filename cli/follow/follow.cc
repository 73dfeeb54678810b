#include "cli/follow/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "cli/connect/job_stream.h"
#include "cli/follow/followed_jobs.h"
#include "cli/follow/printer.h"
#include "cli/view/job_view.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/text.h"

namespace basalt::cli {
namespace {

using job::v1::WatchJobsResponse;
using kube::v1::JobPhase;

// A person who waits for a replica to come back waits this long.
constexpr absl::Duration kReconnectPatience = absl::Minutes(5);
constexpr absl::Duration kReconnectPause = absl::Milliseconds(500);
// Between two looks for a job that is not shown.
constexpr absl::Duration kLookPause = absl::Seconds(1);

// Nothing: it goes on.
using End = std::optional<absl::StatusOr<JobPhase>>;

absl::StatusOr<job::v1::Job> GetJob(JobClient& client, const FollowOptions& follow) {
  job::v1::GetJobRequest request;
  request.set_namespace_(follow.ns);
  request.set_name(follow.name);
  job::v1::Job job;
  BASALT_RETURN_IF_ERROR(client.Ask([&](auto& stub, auto* context) { return stub.GetJob(context, request, &job); }));
  return job;
}

// `after`: " after 10m", or nothing.
absl::Status NotThere(const FollowOptions& follow, JobPhase phase, std::string_view after) {
  const std::string what = phase == kube::v1::JOB_PHASE_UNSPECIFIED
                               ? fmt::format("is not {}{}", follow.awaited, after)
                               : fmt::format("is {}{}, not {}", PhaseText(phase), after, follow.awaited);
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("job {}/{} {}; basaltctl job explain {} -n {} tells why", follow.ns, follow.name, what,
                                follow.name, follow.ns));
}

// In whole seconds, or milliseconds where it is less than one.
std::string Rounded(absl::Duration time) {
  return kube::FormatGoDuration(absl::Trunc(time, time < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Seconds(1)));
}

class Follower {
 public:
  Follower(JobClient& client, const FollowOptions& follow)
      : client_(client),
        follow_(follow),
        uid_(follow.uid),
        version_(follow.version),
        printer_(follow.output, follow.quiet, /*with_namespace=*/follow.ns.empty()) {}

  absl::StatusOr<JobPhase> Run() {
    const absl::StatusOr<JobPhase> end = FollowStreams();
    printer_.Finish();
    return end;
  }

 private:
  absl::StatusOr<JobPhase> FollowStreams();
  End Read(JobStream& stream);
  End Take(WatchJobsResponse&& change);
  End LookForIt();
  // Where one is waited for, which job of that name a message is about.
  enum class Whose { kMeant, kOlder, kLater };
  Whose WhoseIs(const WatchJobsResponse& change);
  absl::StatusOr<job::v1::JobService::Stub*> FindAgain(absl::Status why);
  absl::Status NobodyAnswers() const;
  absl::Status Deleted() const {
    return MakeStatus(absl::StatusCode::kNotFound, fmt::format("job {}/{} was deleted", follow_.ns, follow_.name));
  }

  JobClient& client_;
  const FollowOptions& follow_;
  FollowedJobs told_;
  std::string uid_;                                   // Of the job that is meant; empty: not known yet.
  int64_t version_;                                   // It was there with that one.
  bool seen_ = false;                                 // It was shown.
  JobPhase phase_ = kube::v1::JOB_PHASE_UNSPECIFIED;  // Its last.
  absl::Time look_ = absl::InfiniteFuture();          // When it is to be looked for.
  int missed_ = 0;                                    // Looks in a row that did not find it.
  Printer printer_;
  bool answered_ = false;                       // Somebody has told something.
  absl::Time silent_ = absl::InfiniteFuture();  // Since then nobody has.
  std::string why_silent_;                      // The newest reason.
};

Follower::Whose Follower::WhoseIs(const WatchJobsResponse& change) {
  const bool is_state = change.type() == WatchJobsResponse::TYPE_STATE;
  if (follow_.until == nullptr || (!is_state && change.type() != WatchJobsResponse::TYPE_DELETED)) return Whose::kMeant;
  const kube::v1::ObjectMeta& meta = change.job().object().meta();
  if (uid_.empty() && is_state) uid_ = meta.uid();
  if (uid_.empty() || uid_ == meta.uid()) {
    seen_ |= is_state;
    if (seen_) look_ = absl::InfiniteFuture();
    return Whose::kMeant;
  }
  // A replica may not have seen yet that the one before it has gone.
  const bool is_older = !seen_ && (!is_state || meta.resource_version() < version_);
  return is_older ? Whose::kOlder : Whose::kLater;
}

End Follower::Take(WatchJobsResponse&& change) {
  switch (WhoseIs(change)) {
    case Whose::kOlder:
      return std::nullopt;
    case Whose::kLater:
      return Deleted();
    case Whose::kMeant:
      break;
  }
  for (const WatchJobsResponse& gone : told_.Take(change)) {
    if (follow_.until != nullptr) return Deleted();
    printer_.ShowGone(gone);
  }
  if (change.type() == WatchJobsResponse::TYPE_SYNCED) {
    printer_.Complete();
    if (!seen_ && (follow_.must_exist || !uid_.empty())) look_ = absl::Now();
  }
  if (change.type() != WatchJobsResponse::TYPE_STATE) return std::nullopt;
  const JobPhase phase = change.job().object().status().phase();
  printer_.Show(std::move(change));
  if (follow_.until == nullptr) return std::nullopt;
  phase_ = phase;
  if (follow_.until(phase)) return phase;
  return std::nullopt;
}

// One that no pass has looked at yet is not told of, nor that it goes. By a client of its own: the other keeps its
// stub.
End Follower::LookForIt() {
  look_ = absl::Now() + kLookPause;
  JobClient client(client_.gateway());
  const absl::StatusOr<job::v1::Job> job = GetJob(client, follow_);
  if (uid_.empty() && !job.ok()) return job.status();
  if (job.status().code() == absl::StatusCode::kNotFound) {
    // Whoever got its slot meanwhile may know of it a moment later.
    if (missed_++ == 0) return std::nullopt;
    return Deleted();
  }
  missed_ = 0;
  if (!job.ok()) return std::nullopt;
  const kube::v1::ObjectMeta& meta = job->object().meta();
  if (uid_.empty()) {
    uid_ = meta.uid();
    version_ = meta.resource_version();
  }
  if (uid_ != meta.uid() && meta.resource_version() > version_) return Deleted();
  return std::nullopt;
}

// Until it ends.
End Follower::Read(JobStream& stream) {
  WatchJobsResponse change;
  while (true) {
    printer_.DrawWhatIsDue(absl::Now());
    if (absl::Now() >= look_) {
      if (End end = LookForIt()) return end;
    }
    switch (stream.Next(std::min(printer_.due(), look_), &change)) {
      case JobStream::Event::kEnd:
        return std::nullopt;
      case JobStream::Event::kNothing:
        continue;
      case JobStream::Event::kTold:
        break;
    }
    answered_ = true;
    silent_ = absl::InfiniteFuture();
    why_silent_.clear();
    if (End end = Take(std::move(change))) return end;
  }
}

absl::Status Follower::NobodyAnswers() const {
  const std::string why = why_silent_.empty() ? "" : fmt::format(" ({})", why_silent_);
  std::string what = fmt::format("no jobsvc answered within {}{}", follow_.timeout, why);
  if (answered_) {
    what = fmt::format("no jobsvc has answered for the last {}{}, and --timeout {} is over",
                       Rounded(absl::Now() - silent_), why, follow_.timeout);
  }
  if (phase_ != kube::v1::JOB_PHASE_UNSPECIFIED) {
    what += fmt::format("; job {}/{} was {} before", follow_.ns, follow_.name, PhaseText(phase_));
  }
  return MakeStatus(absl::StatusCode::kUnavailable, what + "; see 'basaltctl topology'");
}

// The replica went away, or is starting: looks for it, or for another.
absl::StatusOr<job::v1::JobService::Stub*> Follower::FindAgain(absl::Status why) {
  client_.TryAnother();
  while (true) {
    why_silent_ = ToStd(why.message());
    if (follow_.deadline == absl::InfiniteFuture() && absl::Now() - silent_ >= kReconnectPatience) return why;
    absl::SleepFor(std::min(kReconnectPause, follow_.deadline - absl::Now()));
    if (absl::Now() >= follow_.deadline) return NobodyAnswers();
    const auto again = client_.Connect(follow_.deadline);
    if (again.ok()) return again;
    why = again.status();
  }
}

absl::StatusOr<JobPhase> Follower::FollowStreams() {
  job::v1::WatchJobsRequest request;
  request.set_namespace_(follow_.ns);
  request.set_name(follow_.name);
  BASALT_ASSIGN_OR_RETURN(auto* stub, client_.Connect(follow_.deadline));
  while (true) {
    request.set_token(told_.token());
    JobStream stream(*stub, request, follow_.deadline);
    if (const End end = Read(stream)) return *end;
    const absl::Status ended = stream.status();
    if (ended.code() == absl::StatusCode::kDeadlineExceeded) {
      const bool silent = !answered_ || silent_ != absl::InfiniteFuture();
      return silent ? NobodyAnswers() : NotThere(follow_, phase_, fmt::format(" after {}", follow_.timeout));
    }
    if (ended.code() != absl::StatusCode::kUnavailable) return ended.ok() ? absl::CancelledError("ended") : ended;
    told_.Interrupted();
    look_ = absl::InfiniteFuture();
    missed_ = 0;
    if (silent_ == absl::InfiniteFuture()) {
      silent_ = absl::Now();
      printer_.Remark(fmt::format("no jobsvc answers ({}): looking for it …", ToStd(ended.message())));
    }
    BASALT_ASSIGN_OR_RETURN(stub, FindAgain(ended));
  }
}

}  // namespace

absl::StatusOr<JobPhase> Follow(JobClient& client, const FollowOptions& follow) {
  return Follower(client, follow).Run();
}

absl::StatusOr<JobPhase> LookOnce(JobClient& client, const FollowOptions& follow) {
  BASALT_ASSIGN_OR_RETURN(const job::v1::Job job, GetJob(client, follow));
  const JobPhase phase = job.object().status().phase();
  if (follow.until(phase)) return phase;
  return NotThere(follow, phase, "");
}

}  // namespace basalt::cli
