// How claims are made and found. Claims that somebody else has to make are tested in awaited_claims_test.cc.
#include "services/jobsvc/control/objects/claims.h"

#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/control/objects/objects_fixture.h"
#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;

class ClaimsTest : public ObjectsTest {
 protected:
  ClaimsTest() { job.compiled->claims = {{"c", "{}"}}; }
  // The claim c is made of `json`. Somebody else makes it if `json` is empty.
  void BeginWith(const char* json) {
    BeginAnew();
    (void)Passes();
    job.compiled->claims = {{"c", json}};
  }
};

TEST_F(ClaimsTest, AClaimIsMadeOrLookedForUnlessTheStatusSaysThatItIsThere) {
  struct Case {
    const char* what;
    const char* json;  // Empty if somebody else makes the claim.
    const char* marker;
    Asked asked;
  };
  const Case cases[] = {
      {"ours to make", "{}", "", Asked::kCreate},
      {"somebody else's to make", "", "", Asked::kRead},
      {"ours is there", "{}", "volume-pvc-c", Asked::kNothing},
      {"somebody else's is there", "", "volume-pvc-c", Asked::kNothing},
      {"a plugin has the name", "{}", "plugin-c", Asked::kCreate},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BeginWith(test.json);
    job.job->mutable_status()->clear_controlled_resources();
    SetResource(*job.job->mutable_status(), test.marker, "c");
    job.claims.Load(job);
    Apply();
    Apply();
    EXPECT_EQ(WhatIsAsked(), test.asked);
    EXPECT_EQ(job.claims.HasAll(job), test.asked == Asked::kNothing);
  }
}

TEST_F(ClaimsTest, TheRequestsNameTheClaim) {
  Apply();
  ASSERT_EQ(WhatIsAsked(), Asked::kCreate);
  const gateway::v1::WriteRequest& create = context.writes.front().request;
  EXPECT_EQ(create.resource().plural(), "persistentvolumeclaims");
  EXPECT_EQ(create.namespace_() + "/" + create.name(), "default/c");
  EXPECT_EQ(create.create().body(), "{}");
  BeginWith("");
  Apply();
  ASSERT_EQ(WhatIsAsked(), Asked::kRead);
  const gateway::v1::GetRequest& read = context.gets.front().request;
  EXPECT_EQ(read.resource().plural(), "persistentvolumeclaims");
  EXPECT_EQ(read.namespace_() + "/" + read.name(), "default/c");
}

TEST_F(ClaimsTest, AnAnswerToACreateSaysWhetherTheClaimIsThere) {
  CheckCreateAnswers(
      "PVCError", [this] { BeginWith("{}"); }, [this] { return job.claims.HasAll(job); });
}

TEST_F(ClaimsTest, TheOwnerOfAClaimThatWasReadDecides) {
  struct Case {
    const char* what;
    const char* json;  // If not empty, a create was refused because the name is taken.
    absl::StatusOr<gateway::v1::GetResponse> read;
    bool is_there;
    bool is_awaited;
    bool backs_off;
    bool has_problem;
  };
  const Case cases[] = {
      {"ours", "{}", Found("job-uid"), true, false, false, false},
      {"somebody else's", "{}", Found("another"), false, false, true, true},
      {"nobody's", "{}", Found(""), false, false, true, true},
      {"nothing any more", "{}", Error(404), false, false, true, false},
      {"nobody may look", "{}", Error(403), false, false, true, true},
      {"too many", "{}", Error(429), false, false, true, false},
      {"no answer", "{}", absl::UnavailableError("away"), false, false, true, false},
      {"somebody else's, as it is to be", "", Found("another"), true, false, false, false},
      {"nobody's, as it may be", "", Found(""), true, false, false, false},
      {"nothing yet", "", Error(404), false, true, false, true},
      {"nobody may look for it", "", Error(403), false, false, true, true},
      {"no answer about it", "", absl::UnavailableError("away"), false, false, true, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BeginWith(test.json);
    Apply();
    if (*test.json != '\0') Answer(Refused(409, "AlreadyExists"));
    AnswerRead(test.read);
    EXPECT_EQ(job.claims.HasAll(job), test.is_there);
    EXPECT_EQ(job.claims.IsAwaited("c"), test.is_awaited);
    EXPECT_EQ(host.claim_waits().Take("default", "c").contains(job.key), test.is_awaited);
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(job.problems.has("PVCError"), test.has_problem);
    EXPECT_TRUE(Passes().contains(job.key));
    Apply();
    EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
    context.Advance(absl::Seconds(1));
    Apply();
    const Asked again = *test.json != '\0' ? Asked::kCreate : Asked::kRead;
    EXPECT_EQ(WhatIsAsked(), test.backs_off ? again : Asked::kNothing);
  }
}

TEST_F(ClaimsTest, ClaimsShareTheirPauseAndEndTheirOwnProblems) {
  job.compiled->claims = {{"c", "{}"}, {"d", "{}"}};
  Apply();
  AnswerOldest(Refused(403, "Forbidden", "no"));
  Answer(Refused(403, "Forbidden", "no"));
  EXPECT_NE(job.problems.Find("PVCError", "claim c"), nullptr);
  context.Advance(absl::Seconds(1));
  Apply();
  AnswerOldest(Done());
  EXPECT_EQ(job.problems.Find("PVCError", "claim c"), nullptr);
  EXPECT_NE(job.problems.Find("PVCError", "claim d"), nullptr);
  EXPECT_TRUE(HasFailed()) << "the other is refused still";
  Answer(Done());
  EXPECT_FALSE(HasFailed());
  EXPECT_FALSE(job.problems.has("PVCError"));
}

TEST_F(ClaimsTest, AnAnswerDoesNotReachTheNextJobOfTheName) {
  Apply();
  BecomeAnotherJob();
  Answer(Done());
  EXPECT_FALSE(job.claims.HasAll(job));
  BeginWith("");
  Apply();
  job.record.set_uid("a-third");
  AnswerRead(Error(404));
  EXPECT_FALSE(job.claims.IsAwaited("c"));
  EXPECT_FALSE(job.problems.has("PVCError"));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
