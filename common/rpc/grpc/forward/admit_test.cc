// Which calls of a user reach a handler, and the audit log's lines about them, under simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "common/rpc/grpc/forward/serve.h"
#include "common/rpc/grpc/user_access_fixture.h"

namespace basalt::rpc {
namespace {

using job::v1::DeleteJobRequest;
using job::v1::DeleteJobResponse;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AdmitTest : public UserAccessFixture {
 protected:
  // Deletes the job team-a/x.
  void Delete(const Client& client) {
    Admit<DeleteJobRequest, DeleteJobResponse>(
        loop, members, {.deadline = absl::InfiniteFuture(), .forwarded_by = "", .client = client},
        {.ns = "team-a", .name = "x"},
        [this](const absl::StatusOr<DeleteJobResponse>& got) { answers.push_back(got.status()); },
        [this](Done<DeleteJobResponse> done) { taken = std::move(done); });
    time.RunDueTasks();
  }

  std::vector<absl::Status> answers;
  Done<DeleteJobResponse> taken = nullptr;  // The handler's end of the call.
};

// One line, however the call ends, also if its holder drops the call, as a process that shuts down does.
TEST_F(AdmitTest, EachChangeIsOneLineOfTheAuditLogWithItsOutcome) {
  const Client operator_client{.uri = "spiffe://basalt.local/cluster/blue/role/operator/eve"};
  const struct {
    const char* how;
    Client client;
    std::function<void()> before, after;
    const char* outcome;
    bool is_answered = true;
  } cases[] = {
      {"done", User("ann"), nullptr, [this] { taken(DeleteJobResponse()); }, "OK"},
      {"not found", User("ann"), nullptr, [this] { taken(absl::NotFoundError("no job")); }, "NOT_FOUND"},
      {"of an operator", operator_client, nullptr, [this] { taken(DeleteJobResponse()); }, "OK"},
      {"refused", User("bob"), nullptr, nullptr, "PERMISSION_DENIED"},
      {"not reviewed", User("cid"), [this] { answer = absl::UnavailableError("no gateway"); }, nullptr, "UNAVAILABLE"},
      {"dropped by the handler", User("ann"), nullptr, [this] { taken = nullptr; }, "UNKNOWN", false},
      {"dropped by the handler, of an operator", operator_client, nullptr, [this] { taken = nullptr; }, "UNKNOWN",
       false},
      {"dropped by the review", User("dan"), [this] { holds_reviews = true; }, [this] { held.clear(); }, "UNKNOWN",
       false},
      {"dropped on its way to the handler", User("eli"), [this] { holds_reviews = true; },
       [this] {
         loop.Pause();
         AnswerReviews();
         loop.Kill();
       },
       "UNKNOWN", false},
  };
  for (const auto& test : cases) {
    answers.clear();
    allowed = {"delete team-a/"};
    if (test.client.user == "bob") allowed.clear();
    const std::vector<std::string> lines = AuditOf([&] {
      if (test.before) test.before();
      Delete(test.client);
      if (test.after) test.after();
      taken = nullptr;
      answer = absl::OkStatus();
      time.Advance(absl::Minutes(1));
    });
    ASSERT_THAT(lines, SizeIs(1)) << test.how;
    EXPECT_THAT(
        lines[0],
        AllOf(HasSubstr(fmt::format(R"("client":"{}","rpc":"/basalt.job.v1.JobService/DeleteJob")", test.client.uri)),
              HasSubstr(R"("namespace":"team-a","name":"x")"),
              HasSubstr(fmt::format(R"("outcome":"{}")", test.outcome))))
        << test.how;
    EXPECT_EQ(answers.size(), test.is_answered ? 1u : 0u) << test.how;
  }
}

TEST_F(AdmitTest, ACallOfAMemberIsNoLineOfTheAuditLog) {
  EXPECT_THAT(AuditOf([this] {
                Delete({.user_token = User("ann").user_token, .user = "ann"});
                taken(DeleteJobResponse());
                Delete({});
                taken = nullptr;
              }),
              IsEmpty());
  EXPECT_EQ(reviews, 0);
}

TEST_F(AdmitTest, TheHandlerSeesNothingBeforeTheReviewHasAllowedIt) {
  holds_reviews = true;
  allowed = {"delete team-a/x"};
  Delete(User("ann"));
  AnswerReviews();  // The review about all jobs of the namespace: the user may not delete these.
  EXPECT_EQ(taken, nullptr);
  AnswerReviews();
  EXPECT_NE(taken, nullptr);
}

}  // namespace
}  // namespace basalt::rpc
