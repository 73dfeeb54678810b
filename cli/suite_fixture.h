#pragma once

// A suite on loopback for the tests of commands: a gateway that names one jobsvc, whose answers the test sets.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/job/v1/job.grpc.pb.h"
#include "cli/commands.h"
#include "cli/connect/served_fixture.h"
#include "common/base/mutex.h"

namespace basalt::cli {

inline job::v1::Job MakeJob(const std::string& name, kube::v1::JobPhase phase, const std::string& ns = "default") {
  job::v1::Job job;
  job.mutable_object()->mutable_meta()->set_namespace_(ns);
  job.mutable_object()->mutable_meta()->set_name(name);
  job.mutable_object()->mutable_meta()->set_uid("uid-" + name);
  job.mutable_object()->mutable_status()->set_phase(phase);
  return job;
}

inline job::v1::WatchJobsResponse MakeResponse(job::v1::WatchJobsResponse::Type type, job::v1::Job job = {}) {
  job::v1::WatchJobsResponse response;
  response.set_type(type);
  *response.mutable_job() = std::move(job);
  return response;
}

inline job::v1::WatchJobsResponse State(job::v1::Job job) {
  return MakeResponse(job::v1::WatchJobsResponse::TYPE_STATE, std::move(job));
}

// The messages of one call of WatchJobs.
struct Stream {
  std::vector<job::v1::WatchJobsResponse> responses;
  // How the call ends. Without an end the call stays open until Say() adds messages, or the command is over.
  std::optional<grpc::Status> end;
};

inline Stream EndsWith(std::vector<job::v1::WatchJobsResponse> responses,
                       grpc::StatusCode code = grpc::StatusCode::ABORTED) {
  return {std::move(responses), grpc::Status(code, "that was all")};
}

class ScriptedJobs final : public job::v1::JobService::Service {
 public:
  // The resourceVersion of each submitted job. SubmitJob answers the name "submitted" for every manifest.
  static constexpr int64_t kMadeAt = 10;

  std::map<std::string, job::v1::Job> jobs;            // By name. Set before the command runs.
  std::map<std::string, job::v1::JobHistory> history;  // By name. Set before the command runs.

  // Sets the streams of the calls of WatchJobs, in order. The last stream is repeated.
  void SetStreams(std::deque<Stream> streams) {
    const MutexLock lock(mutex_);
    streams_ = std::move(streams);
  }
  // Sends more messages on the open stream, or on the next one.
  void Say(Stream more) {
    const MutexLock lock(mutex_);
    more_ = std::move(more);
    changed_.NotifyAll();
  }
  // Makes `jobs` and `history` visible to the handlers of calls from now on, each of which takes the lock.
  void Publish() { const MutexLock lock(mutex_); }
  // Ends the streams of the command that is over.
  void EndCommand() {
    const MutexLock lock(mutex_);
    ++commands_;
    changed_.NotifyAll();
  }
  // Ends all streams at the end of the test, also those of calls that come late.
  void EndAll() {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.NotifyAll();
  }
  // Returns the names of the calls ("SubmitJob", …) since the last TakeAsked().
  std::vector<std::string> TakeAsked() {
    const MutexLock lock(mutex_);
    return std::exchange(asked_, {});
  }
  // Returns the tokens of the calls of WatchJobs, in order, since the last TakeTokens().
  std::vector<std::string> TakeTokens() {
    const MutexLock lock(mutex_);
    return std::exchange(tokens_, {});
  }

  grpc::Status GetJob(grpc::ServerContext*, const job::v1::GetJobRequest* request, job::v1::Job* response) override {
    Note("GetJob");
    return Find(jobs, request->name(), "job default/{} does not exist", *response);
  }
  grpc::Status GetJobHistory(grpc::ServerContext*, const job::v1::GetJobHistoryRequest* request,
                             job::v1::JobHistory* response) override {
    Note("GetJobHistory");
    return Find(history, request->name(), "there is no history of a job default/{}", *response);
  }
  grpc::Status ExplainJob(grpc::ServerContext*, const job::v1::ExplainJobRequest* request,
                          job::v1::JobExplanation*) override {
    Note("ExplainJob");
    job::v1::Job job;
    return Find(jobs, request->name(), "job default/{} does not exist", job);
  }
  grpc::Status ListJobs(grpc::ServerContext*, const job::v1::ListJobsRequest*,
                        job::v1::ListJobsResponse* response) override {
    Note("ListJobs");
    for (const auto& [name, job] : jobs) *response->add_jobs() = job;
    return grpc::Status::OK;
  }
  grpc::Status SubmitJob(grpc::ServerContext*, const job::v1::SubmitJobRequest* request,
                         job::v1::Job* response) override {
    Note(request->dry_run() ? "dry run" : "SubmitJob");
    if (!refusal.empty()) return {grpc::StatusCode::INVALID_ARGUMENT, refusal};
    *response = MakeJob("submitted", kube::v1::JOB_PHASE_UNSPECIFIED);
    response->mutable_object()->mutable_meta()->set_resource_version(kMadeAt);
    return grpc::Status::OK;
  }
  grpc::Status ScaleJob(grpc::ServerContext*, const job::v1::ScaleJobRequest* request,
                        job::v1::Job* response) override {
    Note("ScaleJob");
    job::v1::Job job;
    if (grpc::Status found = Find(jobs, request->name(), "job default/{} does not exist", job); !found.ok()) {
      return found;
    }
    for (const job::v1::TaskScale& scale : request->tasks()) {
      const auto& tasks = job.object().spec().tasks();
      if (std::none_of(tasks.begin(), tasks.end(), [&](const auto& task) { return task.name() == scale.task(); })) {
        return {grpc::StatusCode::NOT_FOUND,
                fmt::format("job default/{} has no task {}", request->name(), scale.task())};
      }
    }
    *response = job;
    return grpc::Status::OK;
  }
  grpc::Status CommandJob(grpc::ServerContext*, const job::v1::CommandJobRequest* request,
                          job::v1::CommandJobResponse* response) override {
    Note("CommandJob");
    response->set_command(fmt::format("{}-command", request->name()));
    return grpc::Status::OK;
  }
  grpc::Status DeleteJob(grpc::ServerContext*, const job::v1::DeleteJobRequest*, job::v1::DeleteJobResponse*) override {
    Note("DeleteJob");
    return grpc::Status::OK;
  }
  grpc::Status WatchJobs(grpc::ServerContext*, const job::v1::WatchJobsRequest* request,
                         grpc::ServerWriter<job::v1::WatchJobsResponse>* writer) override {
    Note("WatchJobs");
    std::optional<Stream> stream;
    int command = 0;
    {
      const MutexLock lock(mutex_);
      tokens_.push_back(request->token());
      command = commands_;
      if (streams_.empty()) return {grpc::StatusCode::ABORTED, "nobody said what to tell"};
      stream = streams_.front();
      if (streams_.size() > 1) streams_.pop_front();
    }
    for (; stream; stream = More(command)) {
      for (const job::v1::WatchJobsResponse& response : stream->responses) writer->Write(response);
      if (stream->end) return *stream->end;
    }
    return grpc::Status::CANCELLED;
  }

  std::string refusal;  // The message with which each submission is refused. Empty to accept.

 private:
  template <typename Message>
  static grpc::Status Find(const std::map<std::string, Message>& all, const std::string& name, std::string_view missing,
                           Message& response) {
    const auto found = all.find(name);
    if (found == all.end()) return {grpc::StatusCode::NOT_FOUND, fmt::format(fmt::runtime(missing), name)};
    response = found->second;
    return grpc::Status::OK;
  }

  // Waits for the messages of Say(). Nullopt if the command is over.
  std::optional<Stream> More(int command) {
    const MutexLock lock(mutex_);
    while (!more_ && commands_ == command && !over_) changed_.Wait(mutex_);
    return commands_ == command && !over_ ? std::exchange(more_, std::nullopt) : std::nullopt;
  }

  void Note(std::string method) {
    const MutexLock lock(mutex_);
    asked_.push_back(std::move(method));
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Stream> streams_ BASALT_GUARDED_BY(mutex_);
  std::optional<Stream> more_ BASALT_GUARDED_BY(mutex_);
  int commands_ BASALT_GUARDED_BY(mutex_) = 0;
  bool over_ BASALT_GUARDED_BY(mutex_) = false;
  std::vector<std::string> tokens_ BASALT_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ BASALT_GUARDED_BY(mutex_);
};

class SuiteTest : public ServedTest {
 protected:
  SuiteTest() {
    auto jobs = std::make_unique<ScriptedJobs>();
    jobs_ = jobs.get();
    jobs_address_ = Serve(std::move(jobs));
    gateway_ = ServeTopology(gateway::v1::SERVICE_KIND_JOB, "jobsvc-0", jobs_address_);
  }

  ~SuiteTest() override { jobs_->EndAll(); }

  Ran Run(const std::vector<std::string>& words) {
    return Captured([&] { return Type(words); });
  }
  // Runs the command and returns its exit code.
  int Type(const std::vector<std::string>& words) {
    std::vector<const char*> arguments = {"basaltctl"};
    if (words.front() != "--gateway") arguments.insert(arguments.end(), {"--gateway", gateway_.c_str()});
    for (const std::string& word : words) arguments.push_back(word.c_str());
    jobs_->Publish();
    const int exit_code = Main(static_cast<int>(arguments.size()), arguments.data());
    jobs_->EndCommand();
    return exit_code;
  }

  ScriptedJobs& jobs() { return *jobs_; }
  const std::string& gateway() const { return gateway_; }
  const std::string& jobs_address() const { return jobs_address_; }

 private:
  ScriptedJobs* jobs_ = nullptr;
  std::string jobs_address_;
  std::string gateway_;
};

}  // namespace basalt::cli
