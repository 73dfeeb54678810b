#include "cli/follow/follow.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

// A person who waits for a replica to come back waits this long.
constexpr absl::Duration kReconnectPatience = absl::Minutes(5);
constexpr absl::Duration kReconnectPause = absl::Milliseconds(500);

absl::Status Deleted(const std::string& key) {
  return MakeStatus(absl::StatusCode::kNotFound, fmt::format("job {} was deleted", key));
}

// By a client of its own: the one that follows keeps its stub.
absl::Status Exists(const std::string& gateway, const std::string& ns, const std::string& name) {
  job::v1::GetJobRequest request;
  request.set_namespace_(ns);
  request.set_name(name);
  job::v1::Job job;
  JobClient client(gateway);
  return client.Ask([&](auto& stub, auto* context) { return stub.GetJob(context, request, &job); });
}

std::string KeyOf(const job::v1::Job& job) {
  return job.object().meta().namespace_() + "/" + job.object().meta().name();
}

// What has been told so far, and shown of it.
class Follower {
 public:
  Follower(const std::string& gateway, const FollowOptions& follow)
      : gateway_(gateway), follow_(follow), live_(follow.output.empty() && !follow.quiet && CanRedraw()) {}

  // The phase that ends it, or why it has to end; nothing where it goes on.
  absl::StatusOr<std::optional<kube::v1::JobPhase>> Take(const job::v1::WatchJobsResponse& change) {
    const std::string key = KeyOf(change.job());
    switch (change.type()) {
      case job::v1::WatchJobsResponse::TYPE_STATE: {
        const std::string& uid = change.job().object().meta().uid();
        if (follow_.until != nullptr && uid_.empty()) uid_ = uid;
        if (follow_.until != nullptr && uid_ != uid) return Deleted(key);  // This is another one.
        unsure_.erase(key);
        jobs_[key] = change;
        Show(key, change);
        const kube::v1::JobPhase phase = change.job().object().status().phase();
        if (follow_.until != nullptr && follow_.until(phase)) return phase;
        return std::nullopt;
      }
      case job::v1::WatchJobsResponse::TYPE_DELETED:
        return Forget(key, change);
      case job::v1::WatchJobsResponse::TYPE_RESET:
        // Its snapshot follows; what is not in it is gone.
        for (const auto& [name, told] : jobs_) {
          if (std::find(change.slots().begin(), change.slots().end(), told.slot()) != change.slots().end()) {
            unsure_.insert(name);
          }
        }
        return std::nullopt;
      case job::v1::WatchJobsResponse::TYPE_SYNCED:
        for (const std::string& name : std::exchange(unsure_, {})) {
          job::v1::WatchJobsResponse gone = jobs_[name];
          gone.set_type(job::v1::WatchJobsResponse::TYPE_DELETED);
          BASALT_RETURN_IF_ERROR(Forget(name, gone).status());
        }
        // One that no pass has looked at yet is not told either.
        if (follow_.must_exist && jobs_.empty()) {
          BASALT_RETURN_IF_ERROR(Exists(gateway_, follow_.ns, follow_.name));
        }
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  void TellInterruption(std::string_view why) {
    std::fprintf(stderr, "no jobsvc answers (%s): looking for it …\n", Printable(why).c_str());
    drawn_ = 0;  // The next picture stands below these words.
  }

 private:
  absl::StatusOr<std::optional<kube::v1::JobPhase>> Forget(const std::string& key,
                                                           const job::v1::WatchJobsResponse& change) {
    jobs_.erase(key);
    lines_.erase(key);
    unsure_.erase(key);
    if (follow_.until != nullptr && change.job().object().meta().name() == follow_.name) return Deleted(key);
    Show(key, change);
    return std::nullopt;
  }

  void Show(const std::string& key, const job::v1::WatchJobsResponse& change) {
    if (follow_.quiet) return;
    if (!follow_.output.empty()) {
      Print(FormatDocument(change, follow_.output));
    } else if (live_) {
      Draw();
    } else if (change.type() == job::v1::WatchJobsResponse::TYPE_DELETED) {
      Print(fmt::format("{}  deleted\n", Printable(key)));
    } else if (std::string line = FormatChange(change.job()); line != lines_[key]) {
      Print(lines_[key] = std::move(line));  // What changed may be nothing that the line tells.
    }
  }

  // Over the picture before; what stands above stays.
  void Draw() {
    std::vector<job::v1::Job> rows;
    for (const auto& [unused, told] : jobs_) rows.push_back(told.job());
    const std::optional<size_t> height = TerminalHeight();
    const std::string picture = FitHeight(
        FormatJobs(rows, follow_.ns.empty(), absl::ToUnixMillis(absl::Now()), StandardLook()), height, TerminalWidth());
    // The window may be smaller by now.
    const size_t up = height ? std::min(drawn_, *height - 1) : drawn_;
    Print((up == 0 ? std::string() : fmt::format("\x1b[{}A\x1b[J", up)) + picture);
    drawn_ = static_cast<size_t>(std::count(picture.begin(), picture.end(), '\n'));
  }

  const std::string& gateway_;
  const FollowOptions& follow_;
  const bool live_;
  std::map<std::string, job::v1::WatchJobsResponse> jobs_;
  std::set<std::string> unsure_;              // RESET took them back, and nothing was said of them since.
  std::string uid_;                           // Of the job that is waited for.
  size_t drawn_ = 0;                          // Lines of the last picture.
  std::map<std::string, std::string> lines_;  // The last that was printed of each job.
};

}  // namespace

absl::StatusOr<kube::v1::JobPhase> Follow(JobClient& client, const FollowOptions& follow) {
  job::v1::WatchJobsRequest request;
  request.set_namespace_(follow.ns);
  request.set_name(follow.name);
  Follower follower(client.gateway(), follow);
  absl::Time lost = absl::InfiniteFuture();  // Since when nobody has told anything.
  std::string why;                           // The newest reason for that.
  const auto nobody = [&] {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("no jobsvc answered within {}{}; see 'basaltctl topology'", follow.timeout,
                                  why.empty() ? "" : fmt::format(" ({})", why)));
  };
  BASALT_ASSIGN_OR_RETURN(auto* stub, client.Connect());
  while (true) {
    grpc::ClientContext context;
    if (follow.deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(follow.deadline));
    auto stream = stub->WatchJobs(&context, request);
    job::v1::WatchJobsResponse change;
    bool heard = false;  // Each says at least when all there is has been told.
    while (stream->Read(&change)) {
      heard = true;
      lost = absl::InfiniteFuture();
      why.clear();
      if (!change.token().empty()) request.set_token(change.token());
      const absl::StatusOr<std::optional<kube::v1::JobPhase>> end = follower.Take(change);
      if (end.ok() && !end->has_value()) continue;
      context.TryCancel();
      if (!end.ok()) return end.status();
      return **end;
    }
    const absl::Status ended = FromGrpc(stream->Finish());
    if (ended.code() == absl::StatusCode::kDeadlineExceeded && !heard) return nobody();
    if (ended.code() != absl::StatusCode::kUnavailable) return ended.ok() ? absl::CancelledError("ended") : ended;
    why = ToStd(ended.message());
    if (lost == absl::InfiniteFuture()) {
      lost = absl::Now();
      follower.TellInterruption(why);
    }
    // The replica went away, or is starting: look for it, or for another, and resume by token.
    client.TryAnother();
    absl::StatusOr<job::v1::JobService::Stub*> again = ended;
    while (!again.ok()) {
      if (absl::Now() >= follow.deadline) return nobody();
      const bool has_deadline = follow.deadline != absl::InfiniteFuture();
      if (!has_deadline && absl::Now() - lost >= kReconnectPatience) return again.status();
      absl::SleepFor(std::min(kReconnectPause, follow.deadline - absl::Now()));
      again = client.Connect();
      if (!again.ok()) why = ToStd(again.status().message());
    }
    stub = *again;
  }
}

}  // namespace basalt::cli
