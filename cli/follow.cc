#include "cli/follow.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

// A person who waits for a replica to come back waits this long.
constexpr int kReconnectTries = 60;
constexpr absl::Duration kReconnectPause = absl::Milliseconds(500);

absl::Status Deleted(const std::string& key) {
  return MakeStatus(absl::StatusCode::kNotFound, fmt::format("job {} was deleted", key));
}

// By a client of its own: the one that follows keeps its stub.
absl::Status Exists(const GlobalOptions& options, const std::string& ns, const std::string& name) {
  job::v1::GetJobRequest request;
  request.set_namespace_(ns);
  request.set_name(name);
  job::v1::Job job;
  JobClient client(options.gateway);
  return client.Ask([&](auto& stub, auto* context) { return stub.GetJob(context, request, &job); });
}

}  // namespace

int64_t NowMs() { return absl::ToUnixMillis(absl::Now()); }

absl::StatusOr<kube::v1::JobPhase> Follow(JobClient& client, const GlobalOptions& options,
                                          const FollowOptions& follow) {
  const std::string& name = follow.name;
  const bool live = isatty(STDOUT_FILENO) != 0 && options.output.empty();
  job::v1::WatchJobsRequest request;
  if (!options.all_namespaces || !name.empty()) request.set_namespace_(options.ns);
  request.set_name(name);
  std::map<std::string, job::v1::Job> jobs;
  std::map<std::string, uint32_t> slots;     // Of the jobs: RESET takes them back by slot.
  std::string uid;                           // Of the job that is waited for.
  ptrdiff_t drawn = 0;                       // Lines of the last picture.
  std::map<std::string, std::string> lines;  // The last that was printed of each job.
  BASALT_ASSIGN_OR_RETURN(auto* stub, client.Connect());
  int tries = 0;  // In a row that told nothing.
  while (true) {
    grpc::ClientContext context;
    if (follow.deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(follow.deadline));
    auto stream = stub->WatchJobs(&context, request);
    job::v1::WatchJobsResponse change;
    while (stream->Read(&change)) {
      tries = 0;
      if (!change.token().empty()) request.set_token(change.token());
      const kube::v1::ObjectMeta& meta = change.job().object().meta();
      const std::string key = meta.namespace_() + "/" + meta.name();
      switch (change.type()) {
        case job::v1::WatchJobsResponse::TYPE_STATE:
          if (follow.until != nullptr && uid.empty()) uid = meta.uid();
          if (follow.until != nullptr && uid != meta.uid()) {
            context.TryCancel();
            return Deleted(key);  // This is another one.
          }
          jobs[key] = change.job();
          slots[key] = change.slot();
          break;
        case job::v1::WatchJobsResponse::TYPE_DELETED:
          jobs.erase(key);
          if (follow.until != nullptr && meta.name() == name) {
            context.TryCancel();
            return Deleted(key);
          }
          break;
        case job::v1::WatchJobsResponse::TYPE_RESET:
          // Its snapshot follows; what is not in it is gone.
          std::erase_if(jobs, [&](const auto& job) {
            return std::find(change.slots().begin(), change.slots().end(), slots[job.first]) != change.slots().end();
          });
          continue;
        case job::v1::WatchJobsResponse::TYPE_SYNCED:
          // One that no pass has looked at yet is not told either.
          if (follow.must_exist && jobs.empty()) {
            if (const absl::Status there = Exists(options, request.namespace_(), name); !there.ok()) {
              context.TryCancel();
              return there;
            }
          }
          continue;
        default:
          continue;
      }
      if (follow.quiet) {
        // Nothing is shown.
      } else if (!options.output.empty()) {
        Print(FormatMessage(change, options.output));
      } else if (live) {
        std::vector<job::v1::Job> rows;
        for (const auto& [unused, job] : jobs) rows.push_back(job);
        const std::string picture = FormatJobs(rows, options.all_namespaces, NowMs(), StandardLook());
        // Over the picture before; what stands above stays.
        Print((drawn == 0 ? std::string() : fmt::format("\x1b[{}A\x1b[J", drawn)) + picture);
        drawn = std::count(picture.begin(), picture.end(), '\n');
      } else if (change.type() == job::v1::WatchJobsResponse::TYPE_STATE) {
        // What changed may be nothing that the line tells.
        if (std::string line = FormatChange(change.job()); line != lines[key]) Print(lines[key] = std::move(line));
      }
      const kube::v1::JobPhase phase = change.job().object().status().phase();
      if (follow.until != nullptr && change.type() == job::v1::WatchJobsResponse::TYPE_STATE && follow.until(phase)) {
        context.TryCancel();
        return phase;
      }
    }
    const absl::Status ended = FromGrpc(stream->Finish());
    if (ended.code() != absl::StatusCode::kUnavailable) return ended.ok() ? absl::CancelledError("ended") : ended;
    // The replica went away, or is starting: look for it, or for another, and resume by token.
    client.TryAnother();
    absl::StatusOr<job::v1::JobService::Stub*> again = ended;
    while (!again.ok()) {
      if (absl::Now() >= follow.deadline) return absl::DeadlineExceededError("no replica answers");
      if (tries++ == kReconnectTries) return again.status();
      absl::SleepFor(kReconnectPause);
      again = client.Connect();
    }
    stub = *again;
  }
}

}  // namespace basalt::cli
