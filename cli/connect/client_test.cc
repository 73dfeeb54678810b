// The client against real gRPC servers: a gateway that names the replicas, and replicas whose answers the test sets.
#include "cli/connect/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cli/connect/served_fixture.h"
#include "common/base/status.h"

namespace basalt::cli {
namespace {

constexpr absl::Duration kPatience = absl::Milliseconds(500);

class FakeJobs final : public job::v1::JobService::Service {
 public:
  FakeJobs(std::string name, int refusals, bool answered)
      : name_(std::move(name)), left_(refusals), answered_(answered) {}
  grpc::Status GetJob(grpc::ServerContext* context, const job::v1::GetJobRequest*, job::v1::Job* job) override {
    ++calls_;
    if (left_ != 0) {
      --left_;
      if (answered_) context->AddTrailingMetadata("basalt-answer", "1");
      return {grpc::StatusCode::UNAVAILABLE, "job default/j: this replica does not have its slot"};
    }
    job->set_waiting_for(name_);
    job->mutable_object()->set_decode_error(std::string(6 << 20, 'x'));  // Larger than gRPC's default limit.
    return grpc::Status::OK;
  }
  // Answers three pages of one job each.
  grpc::Status ListJobs(grpc::ServerContext*, const job::v1::ListJobsRequest* request,
                        job::v1::ListJobsResponse* response) override {
    const std::string& token = request->page_token();
    response->add_jobs()->set_waiting_for(fmt::format("{} of page {}", request->queue(), token));
    if (token.size() < 2) response->set_next_page_token(token + "x");
    return grpc::Status::OK;
  }
  int calls() const { return calls_; }

 private:
  const std::string name_;
  std::atomic<int> left_;
  const bool answered_;  // Refusals are marked as answers: the call surely was not handled.
  std::atomic<int> calls_ = 0;
};

class ClientTest : public ServedTest {
 protected:
  FakeJobs& AddReplica(const std::string& name, int refusals, bool answered = true) {
    auto jobs = std::make_unique<FakeJobs>(name, refusals, answered);
    FakeJobs& fake = *jobs;
    gateway::v1::MemberStatus& status = *topology_.add_members();
    status.set_attached(true);
    status.mutable_member()->set_service(gateway::v1::SERVICE_KIND_JOB);
    status.mutable_member()->set_replica(name);
    status.mutable_member()->set_address(Serve(std::move(jobs)));
    return fake;
  }
  // Returns the name of the replica that answered, or the error. Call it after all replicas have been added.
  std::string Get(bool order) {
    JobClient client(Serve(std::make_unique<FixedTopologyGateway>(topology_)), kPatience);
    const job::v1::GetJobRequest request;
    const absl::StatusOr<job::v1::Job> job =
        order ? client.Order(&JobStub::GetJob, request) : client.Ask(&JobStub::GetJob, request);
    return job.ok() ? job->waiting_for() : job.status().ToString();
  }

  gateway::v1::Topology topology_;
};

TEST_F(ClientTest, AReplicaThatIsStartingIsAskedAgain) {
  for (const bool order : {false, true}) {
    topology_.Clear();
    AddReplica("jobsvc-0", 3);
    EXPECT_EQ(Get(order), "jobsvc-0");
  }
}

TEST_F(ClientTest, WhereOneReplicaDoesNotOwnTheKeyAnotherIsAsked) {
  for (const bool order : {false, true}) {
    topology_.Clear();
    AddReplica("jobsvc-0", -1);
    AddReplica("jobsvc-1", 0);
    EXPECT_EQ(Get(order), "jobsvc-1");
  }
}

TEST_F(ClientTest, InTheEndTheMessageSaysWhoWasAskedAndWhatToLookAt) {
  FakeJobs& jobs = AddReplica("jobsvc-0", -1);
  const std::string error = Get(/*order=*/true);
  for (const char* words : {"UNAVAILABLE: ", "job default/j: this replica does not have its slot", "asked for 500ms",
                            "jobsvc-0 at 127.0.0.1:", "basaltctl topology"}) {
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }
  EXPECT_GT(jobs.calls(), 1);
}

TEST_F(ClientTest, ACallThatMayHaveBeenHandledIsNotRepeated) {
  FakeJobs& jobs = AddReplica("jobsvc-0", 1, /*answered=*/false);
  const std::string error = Get(/*order=*/true);
  EXPECT_NE(error.find("UNKNOWN: jobsvc-0 at 127.0.0.1:"), std::string::npos) << error;
  EXPECT_NE(error.find("look before you repeat it"), std::string::npos) << error;
  EXPECT_EQ(jobs.calls(), 1);
  EXPECT_EQ(Get(/*order=*/false), "jobsvc-0") << "a question may be asked twice";
}

TEST_F(ClientTest, ReplicasThatAreAwayAreNotAsked) {
  AddReplica("jobsvc-0", 0);
  topology_.mutable_members(0)->set_attached(false);
  EXPECT_NE(Get(false).find("no jobsvc is attached to the gateway at 127.0.0.1:"), std::string::npos);
}

TEST_F(ClientTest, AListIsAskedForUntilItsLastPage) {
  AddReplica("jobsvc-0", 0);
  JobClient client(Serve(std::make_unique<FixedTopologyGateway>(topology_)), kPatience);
  job::v1::ListJobsRequest request;
  request.set_queue("q");
  const absl::StatusOr<job::v1::ListJobsResponse> all =
      AskAllPages<job::v1::ListJobsResponse>(client, request, &JobStub::ListJobs);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->jobs_size(), 3);
  EXPECT_EQ(all->jobs(0).waiting_for(), "q of page ");
  EXPECT_EQ(all->jobs(2).waiting_for(), "q of page xx");
  EXPECT_EQ(all->next_page_token(), "");
}

TEST_F(ClientTest, AListOfWhichAPageIsRefusedIsRefused) {
  AddReplica("jobsvc-0", 0);
  JobClient client(Serve(std::make_unique<FixedTopologyGateway>(topology_)), kPatience);
  const auto list = [](auto& stub, grpc::ClientContext* context, const auto& request, auto* page) {
    if (!request.page_token().empty()) return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "page_token: is old");
    return stub.ListJobs(context, request, page);
  };
  const auto all = AskAllPages<job::v1::ListJobsResponse>(client, job::v1::ListJobsRequest(), list);
  EXPECT_EQ(all.status().code(), absl::StatusCode::kInvalidArgument) << all.status();
}

TEST_F(ClientTest, AGatewayThatIsAwayIsNamedWithWhatToDo) {
  JobClient client("127.0.0.1:1", kPatience);
  const absl::Status status = client.Ask([](auto&, auto*) { return grpc::Status::OK; });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  for (const char* words : {"the gateway at 127.0.0.1:1 does not answer", "--gateway", "BASALT_GATEWAY"}) {
    EXPECT_NE(ToStd(status.message()).find(words), std::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace basalt::cli
