#include "cli/follow/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "cli/connect/watched.h"
#include "cli/follow/followed_objects.h"
#include "cli/follow/printer.h"
#include "cli/follow/watch_loop.h"
#include "cli/view/job_view.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/text.h"

namespace basalt::cli {
namespace {

using job::v1::WatchJobsResponse;
using kube::v1::JobPhase;

// The pause between two lookups of a job that the watch does not publish.
constexpr absl::Duration kLookPause = absl::Seconds(1);

// The result of following. Nullopt while following continues.
using End = std::optional<absl::StatusOr<JobPhase>>;

absl::StatusOr<job::v1::Job> GetJob(JobClient& client, const FollowOptions& follow) {
  job::v1::GetJobRequest request;
  request.set_namespace_(follow.ns);
  request.set_name(follow.name);
  return client.Ask(&JobStub::GetJob, request);
}

// Returns the error for a job that has not reached an awaited phase. `after` is empty or a text like " after 10m".
absl::Status NotThere(const FollowOptions& follow, JobPhase phase, std::string_view after) {
  const std::string what = phase == kube::v1::JOB_PHASE_UNSPECIFIED
                               ? fmt::format("is not {}{}", follow.awaited, after)
                               : fmt::format("is {}{}, not {}", PhaseText(phase), after, follow.awaited);
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("job {}/{} {}; basaltctl job explain {} -n {} tells why", follow.ns, follow.name, what,
                                follow.name, follow.ns));
}

// Formats a duration in whole seconds, or in milliseconds if it is less than one second.
std::string Rounded(absl::Duration time) {
  return kube::FormatGoDuration(absl::Trunc(time, time < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Seconds(1)));
}

class Follower final : public WatchLoop<WatchedJobs>::Reader {
 public:
  Follower(JobClient& client, const FollowOptions& follow)
      : client_(client),
        follow_(follow),
        uid_(follow.uid),
        version_(follow.version),
        printer_(follow.output, follow.quiet, /*with_namespace=*/follow.ns.empty()),
        loop_(client, RequestOf(follow), follow.deadline, *this) {}

  absl::StatusOr<JobPhase> Run() {
    const absl::Status ended = loop_.Run();
    printer_.Finish();
    if (end_) return *end_;
    if (ended.code() != absl::StatusCode::kDeadlineExceeded || follow_.deadline == absl::InfiniteFuture()) return ended;
    const bool is_silent = !loop_.has_answered() || loop_.silent_since() != absl::InfiniteFuture();
    return is_silent ? NobodyAnswers() : NotThere(follow_, phase_, fmt::format(" after {}", follow_.timeout));
  }

  bool Take(WatchJobsResponse&& change) override;
  bool Look(absl::Time now) override;
  absl::Time due() const override { return std::min(printer_.due(), look_); }
  void Interrupted(const absl::Status& why, bool first) override;
  const std::string& token() const override { return followed_.token(); }

 private:
  static job::v1::WatchJobsRequest RequestOf(const FollowOptions& follow) {
    job::v1::WatchJobsRequest request;
    request.set_namespace_(follow.ns);
    request.set_name(follow.name);
    return request;
  }
  End EndOf(WatchJobsResponse&& change);
  End LookForIt();
  // Which job of the name a message is about: the followed one, an earlier, or a later one. Without `until` always
  // kMeant.
  enum class Whose { kMeant, kOlder, kLater };
  Whose WhoseIs(const WatchJobsResponse& change);
  absl::Status NobodyAnswers() const;
  absl::Status Deleted() const {
    return MakeStatus(absl::StatusCode::kNotFound, fmt::format("job {}/{} was deleted", follow_.ns, follow_.name));
  }

  JobClient& client_;
  const FollowOptions& follow_;
  FollowedObjects<WatchedJobs> followed_;
  std::string uid_;                                   // UID of the followed job. Empty until it is known.
  int64_t version_;                                   // A resourceVersion that the followed job had.
  bool seen_ = false;                                 // The watch has published the followed job.
  JobPhase phase_ = kube::v1::JOB_PHASE_UNSPECIFIED;  // The last phase of the followed job.
  absl::Time look_ = absl::InfiniteFuture();          // Time of the next lookup by GetJob.
  int missed_ = 0;                                    // Number of lookups in a row that found no job.
  Printer printer_;
  End end_;
  WatchLoop<WatchedJobs> loop_;
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
  // A replica may not have observed yet that the earlier job has gone.
  const bool is_older = !seen_ && (!is_state || meta.resource_version() < version_);
  return is_older ? Whose::kOlder : Whose::kLater;
}

End Follower::EndOf(WatchJobsResponse&& change) {
  switch (WhoseIs(change)) {
    case Whose::kOlder:
      return std::nullopt;
    case Whose::kLater:
      return Deleted();
    case Whose::kMeant:
      break;
  }
  for (const WatchJobsResponse& gone : followed_.Take(change)) {
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

// Looks the job up by GetJob, since the watch publishes neither a job that has had no pass yet, nor its deletion. Uses
// another client, because the stream needs the stub of client_.
End Follower::LookForIt() {
  look_ = absl::Now() + kLookPause;
  JobClient client(client_.gateway());
  const absl::StatusOr<job::v1::Job> job = GetJob(client, follow_);
  if (uid_.empty() && !job.ok()) return job.status();
  if (job.status().code() == absl::StatusCode::kNotFound) {
    // A replica that has just got the slot may not have observed the job yet.
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

bool Follower::Take(WatchJobsResponse&& change) {
  end_ = EndOf(std::move(change));
  return end_.has_value();
}

bool Follower::Look(absl::Time now) {
  printer_.DrawWhatIsDue(now);
  if (now >= look_) end_ = LookForIt();
  return end_.has_value();
}

void Follower::Interrupted(const absl::Status& why, bool first) {
  followed_.Interrupted();
  look_ = absl::InfiniteFuture();
  missed_ = 0;
  if (first) printer_.Remark(fmt::format("no jobsvc answers ({}): looking for it …", ToStd(why.message())));
}

absl::Status Follower::NobodyAnswers() const {
  const std::string why = loop_.why_silent().empty() ? "" : fmt::format(" ({})", loop_.why_silent());
  std::string what = fmt::format("no jobsvc answered within {}{}", follow_.timeout, why);
  if (loop_.has_answered()) {
    what = fmt::format("no jobsvc has answered for the last {}{}, and --timeout {} is over",
                       Rounded(absl::Now() - loop_.silent_since()), why, follow_.timeout);
  }
  if (phase_ != kube::v1::JOB_PHASE_UNSPECIFIED) {
    what += fmt::format("; job {}/{} was {} before", follow_.ns, follow_.name, PhaseText(phase_));
  }
  return MakeStatus(absl::StatusCode::kUnavailable, what + "; see 'basaltctl topology'");
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
