// Claims that somebody else has to make.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "services/jobsvc/control/objects/objects_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::testing::Refused;

class AwaitedClaimsTest : public ObjectsTest {
 protected:
  // The job names the claim c.
  AwaitedClaimsTest() { job.compiled->claims = {{"c", ""}}; }
  void WaitForClaim() {
    Apply();
    AnswerRead(Error(404));
    ASSERT_TRUE(job.claims.IsAwaited("c"));
  }
  void Arrive(const std::string& ns, const std::string& name) {
    kube::v1::ObjectMeta meta;
    meta.set_namespace_(ns);
    meta.set_name(name);
    Claims::Arrived(meta, host);
  }
};

TEST_F(AwaitedClaimsTest, AClaimThatArrivesWakesAllThatWaitForIt) {
  WaitForClaim();
  JobEntry& other = host.entries().FindOrMake("default/k");
  other.key = "default/k";
  other.ns = "default";
  other.record.set_uid("other-uid");
  other.job = job.job;
  other.compiled = job.compiled;
  other.plugin_objects.Apply(other, host);
  AnswerRead(Error(404));
  (void)Passes();
  Arrive("elsewhere", "c");
  Arrive("default", "d");
  EXPECT_EQ(Passes(), std::set<std::string>{});
  Arrive("default", "c");
  EXPECT_EQ(Passes(), (std::set<std::string>{"default/j", "default/k"}));
  for (const JobEntry* entry : {&job, &other}) {
    EXPECT_TRUE(entry->claims.HasAll(*entry));
    EXPECT_FALSE(entry->claims.IsAwaited("c"));
    EXPECT_FALSE(entry->problems.has("PVCError"));
  }
}

TEST_F(AwaitedClaimsTest, AClaimThatIsNotNamedAnyMoreIsNotAwaited) {
  struct Case {
    const char* what;
    bool is_there;
    kube::v1::JobPhase phase;
    const char* named;
    bool is_awaited;
  };
  const Case cases[] = {
      {"it is named", true, kube::v1::JOB_PHASE_RUNNING, "c", true},
      {"the job is killed", true, kube::v1::JOB_PHASE_ABORTING, "c", false},
      {"the spec names another", true, kube::v1::JOB_PHASE_RUNNING, "d", false},
      {"the job is gone", false, kube::v1::JOB_PHASE_RUNNING, "c", false},
  };
  const std::optional<kube::v1::Job> stored = job.job;
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    job.job = stored;
    BeginAnew();
    job.compiled->claims = {{"c", ""}};
    Apply();
    SetPhase(test.phase);
    if (!test.is_there) job.job.reset();
    job.compiled->claims = {{test.named, ""}};
    AnswerRead(Error(404));
    EXPECT_EQ(job.claims.IsAwaited("c"), test.is_awaited);
    EXPECT_EQ(host.claim_waits().Take("default", "c").size(), test.is_awaited ? 1U : 0U);
  }
}

TEST_F(AwaitedClaimsTest, AKilledJobAwaitsNothing) {
  WaitForClaim();
  SetPhase(kube::v1::JOB_PHASE_ABORTING);
  Apply();
  EXPECT_FALSE(job.claims.IsAwaited("c"));
  Arrive("default", "c");
  EXPECT_FALSE(job.claims.HasAll(job)) << "it is looked for again once it is wanted";
  SetPhase(kube::v1::JOB_PHASE_RUNNING);
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kRead);
}

TEST_F(AwaitedClaimsTest, ThatAClaimIsNotThereTakesThePlaceOfThatItCouldNotBeRead) {
  Apply();
  AnswerRead(Error(403));
  EXPECT_EQ(job.problems.Reported().message, "claim c: no");
  context.Advance(absl::Seconds(1));
  WaitForClaim();
  EXPECT_EQ(job.problems.Reported().message, "claim c does not exist; the job waits for it");
}

TEST_F(AwaitedClaimsTest, ARefusalBesideAnAwaitedClaimDoesNotTakeItsPlace) {
  WaitForClaim();
  job.compiled->claims.push_back({"d", "{}"});
  for (int tries = 0; tries < 3; ++tries) {
    context.Advance(absl::Seconds(40));
    Apply();
    Answer(Refused(403, "Forbidden", "no"));
  }
  EXPECT_NE(job.problems.Find("PVCError", "claim d"), nullptr);
  EXPECT_EQ(job.problems.Reported().message, "claim c does not exist; the job waits for it");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
