// The effects of answers to marks and deletions of pods, on the names and on the job.
#include "services/jobsvc/control/pods/pod_writes.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "services/jobsvc/control/pods/pod_writes_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

struct KillAnswer {
  const char* what;
  WriteOutcome outcome;
  absl::Duration hold;  // Nothing is written under the name for this time.
  bool backs_off;       // No other pod is marked or deleted, either.
  bool has_problem;
};

class PodKillsTest : public PodWritesTest {
 protected:
  // Checks the answer to the request by which one pod is to go.
  void Check(const KillAnswer& test, bool is_marked) {
    SCOPED_TRACE(test.what);
    Begin();
    Observe(1, is_marked);
    Target({"uid-1"});
    const std::string request = is_marked ? "delete j-t-1 uid-1; " : "mark j-t-1 uid-1 at 5; ";
    Apply();
    ASSERT_EQ(UnderWay(), request);
    Apply();
    ASSERT_EQ(UnderWay(), request) << "it is under way";
    AnswerAll(test.outcome);
    EXPECT_EQ(job.pod_writes.kill_retry().Blocks(host.Now()), test.backs_off);
    EXPECT_EQ(job.problems.has("FailedDelete"), test.has_problem);
    if (test.hold > absl::ZeroDuration()) {
      context.Advance(test.hold - absl::Milliseconds(1));
      Apply();
      EXPECT_EQ(UnderWay(), "");
      context.Advance(absl::Milliseconds(1));
    }
    if (test.backs_off) {
      Apply();
      EXPECT_EQ(UnderWay(), "");
      context.Advance(absl::Seconds(1));
    }
    Apply();
    EXPECT_EQ(UnderWay(), request);
  }
};

TEST_F(PodKillsTest, AnAnswerToAMarkHoldsTheNameOrBacksOff) {
  const absl::Duration none = absl::ZeroDuration();
  const KillAnswer cases[] = {
      {"done: the state comes along", Done(), none, false, false},
      {"a newer state is there", Refused(409, "Conflict"), absl::Seconds(1), false, false},
      {"gone", Refused(404, "NotFound"), absl::Seconds(1), false, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, absl::Seconds(1), false, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, absl::Seconds(1), false, false},
      {"invalid", Refused(422, "Invalid", "no"), none, true, true},
      {"forbidden", Refused(403, "Forbidden", "no"), none, true, true},
      {"too many", Refused(429, "TooManyRequests"), none, true, false},
  };
  for (const KillAnswer& test : cases) Check(test, /*is_marked=*/false);
}

TEST_F(PodKillsTest, AMarkThatMeetsANewerVersionReadsThePod) {
  Observe(1);
  Target({"uid-1"});
  Apply();
  AnswerAll(Refused(409, "Conflict"));
  gateway::v1::GetResponse read;
  read.mutable_object()->mutable_pod()->set_name("j-t-1");
  read.mutable_object()->mutable_pod()->set_uid("uid-1");
  AnswerRead(read);
  ASSERT_EQ(context.merged.size(), 1U);
  EXPECT_EQ(context.merged[0].object.pod().name(), "j-t-1");
  context.merged.clear();
  context.Advance(absl::Seconds(1));
  Apply();
  AnswerAll(Refused(409, "Conflict"));
  read.mutable_object()->mutable_pod()->set_uid("another");
  AnswerRead(read);
  EXPECT_TRUE(context.merged.empty()) << "the watch will show the end of the pod that is meant";
}

TEST_F(PodKillsTest, AnAnswerToADeletionHoldsTheNameOrBacksOff) {
  const absl::Duration none = absl::ZeroDuration();
  const KillAnswer cases[] = {
      {"done: the state comes along", Done(), none, false, false},
      {"gone: the watch says so", Refused(404, "NotFound"), absl::Seconds(5), false, false},
      {"another pod has the name", Refused(409, "Conflict"), absl::Seconds(1), false, false},
      {"invalid", Refused(422, "Invalid"), absl::Seconds(1), false, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, absl::Seconds(1), false, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, absl::Seconds(1), false, false},
      {"forbidden", Refused(403, "Forbidden", "no"), none, true, true},
      {"too many", Refused(429, "TooManyRequests"), none, true, false},
  };
  for (const KillAnswer& test : cases) Check(test, /*is_marked=*/true);
}

TEST_F(PodKillsTest, PodsThatAreRefusedDoNotHoldUpTheOthers) {
  for (int index = 0; index < 3; ++index) Observe(index, /*is_marked=*/true);
  for (const char* sent : {"delete j-t-0 uid-0; delete j-t-1 uid-1; ", "delete j-t-0 uid-0; delete j-t-1 uid-1; ",
                           "delete j-t-2 uid-2; delete j-t-0 uid-0; "}) {
    Apply();
    EXPECT_EQ(UnderWay(), sent);
    AnswerAll(Refused(403, "Forbidden", "no"));
    context.Advance(absl::Seconds(1));
  }
}

TEST_F(PodKillsTest, ARefusalIsOverOnceNothingIsToGo) {
  struct Case {
    const char* what;
    std::function<void()> become;
    bool backs_off;
    bool has_problem;
  };
  const Case cases[] = {
      {"it is to go still", [] {}, true, true},
      {"it is gone", [this] { Lose(1); }, false, false},
      {"another is to be marked",
       [this] {
         Lose(1);
         Target({"uid-0"});
       },
       true, true},
      {"it is gone, and the job has ended",
       [this] {
         Lose(1);
         SetPhase(kube::v1::JOB_PHASE_COMPLETED);
       },
       false, false},
      {"objects of plugins are to go still",
       [this] {
         Lose(1);
         SetPhase(kube::v1::JOB_PHASE_COMPLETED);
         job.persisted.objects["secrets/x"] = "hash uid";
         job.plugin_objects.Load(job);
       },
       false, true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    Observe(1, /*is_marked=*/true);
    Apply();
    AnswerAll(Refused(403, "Forbidden", "no"));
    test.become();
    job.pod_writes.EndProblem(job);
    EXPECT_EQ(job.pod_writes.kill_retry().Blocks(host.Now()), test.backs_off);
    EXPECT_EQ(job.problems.has("FailedDelete"), test.has_problem);
  }
}

TEST_F(PodKillsTest, AHoldAndAPauseEndEarly) {
  Observe(1, /*is_marked=*/true);
  Apply();
  AnswerAll(Refused(404, "NotFound"));
  job.pod_writes.EndHold("j-t-1");
  Apply();
  EXPECT_EQ(UnderWay(), "delete j-t-1 uid-1; ") << "the watch has shown the name";
  AnswerAll(Refused(403, "Forbidden", "no"));
  job.pod_writes.TryNow();
  Apply();
  EXPECT_EQ(UnderWay(), "delete j-t-1 uid-1; ") << "the spec is another one";
}

TEST_F(PodKillsTest, ARefusalDoesNotReachTheNextJobOfTheName) {
  Observe(1, /*is_marked=*/true);
  Apply();
  job.ResetParts();
  job.record.set_uid("another");
  AnswerAll(Refused(403, "Forbidden", "no"));
  EXPECT_FALSE(job.problems.has("FailedDelete"));
  EXPECT_FALSE(job.pod_writes.kill_retry().since());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
