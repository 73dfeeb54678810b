#pragma once

// Users whose rights a test sets: UserAccess under simulated time, with reviews that the test answers. Heavy (gRPC).
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/sim_loop.h"
#include "common/rpc/grpc/user_access.h"
#include "common/rpc/members.h"
#include "common/time/sim_time.h"

namespace basalt::rpc {

// Returns the lines that the audit log gets while `act` runs.
template <typename Act>
std::vector<std::string> AuditOf(Act act) {
  ::testing::internal::CaptureStderr();
  act();
  std::vector<std::string> lines;
  std::istringstream log(::testing::internal::GetCapturedStderr());
  for (std::string line; std::getline(log, line);) {
    if (line.find(R"("level":"audit")") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

class UserAccessFixture : public ::testing::Test {
 protected:
  using ReviewRequest = gateway::v1::ReviewAccessRequest;
  using ReviewDone = Done<gateway::v1::ReviewAccessResponse>;

  UserAccessFixture() {
    const auto guard =
        std::make_shared<CallGuard>(identity::IdentityRules("basalt.local", "blue"),
                                    std::make_shared<identity::DeniedList>(), [this](const RefusedCall& call) {
                                      refused.push_back(std::string(call.client) + " " + std::string(call.reason));
                                    });
    const auto review = [this](ReviewRequest request, ReviewDone done) {
      ++reviews;
      if (!holds_reviews) return Answer(request, std::move(done));
      held.emplace_back(std::move(request), std::move(done));
    };
    access = std::make_shared<UserAccess>(loop, guard, review, TokenBucketOptions{.per_second = 1, .burst = 3});
  }

  // Returns the user that a token which is valid for `left` would name.
  static Client User(const std::string& name, absl::Duration left = absl::InfiniteDuration()) {
    gateway::v1::UserClaims claims;
    claims.set_user(name);
    gateway::v1::UserToken token;
    token.set_claims(claims.SerializeAsString());
    return {
        .is_user = true, .uri = "user:" + name, .user_token = token.SerializeAsString(), .user = name, .left = left};
  }
  // Answers the reviews that are held now, and runs the tasks that follow.
  void AnswerReviews() {
    for (auto& [request, done] : std::exchange(held, {})) Answer(request, std::move(done));
    time.RunDueTasks();
  }

  // The only replica of its service.
  struct OnlyMember final : Members {
    explicit OnlyMember(const UserAccessFixture& fixture) : test(fixture) { name.set_replica("a"); }
    gateway::v1::Member self() const override { return name; }
    std::vector<gateway::v1::Member> all() const override { return {name}; }
    std::shared_ptr<UserAccess> users() const override { return test.access; }
    const UserAccessFixture& test;
    gateway::v1::Member name;
  };

  SimTime time;
  SimLoop loop{time, "main"};
  std::shared_ptr<UserAccess> access;
  absl::Status answer;            // The answer to every review, unless it is OK.
  std::set<std::string> allowed;  // "get team-a/x"; for another group than Volcano's "get team-a/x of GROUP".
  absl::Duration valid = absl::Seconds(30);
  bool holds_reviews = false;
  std::vector<std::string> asked;  // In the form of `allowed`.
  int reviews = 0;
  std::vector<std::string> refused;
  std::vector<std::pair<ReviewRequest, ReviewDone>> held;
  const OnlyMember members{*this};

 private:
  void Answer(const ReviewRequest& request, ReviewDone done) {
    if (!answer.ok()) return done(answer);
    gateway::v1::ReviewAccessResponse response;
    for (const auto& question : request.questions()) {
      asked.push_back(question.verb() + " " + question.namespace_() + "/" + question.name());
      if (!question.group().ends_with("volcano.sh")) asked.back() += " of " + question.group();
      auto& one = *response.add_answers();
      one.set_allowed(allowed.contains(asked.back()));
      one.set_valid_ms(absl::ToInt64Milliseconds(valid));
    }
    done(std::move(response));
  }
};

}  // namespace basalt::rpc
