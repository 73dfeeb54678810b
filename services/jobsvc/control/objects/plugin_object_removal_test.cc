// The removing half of PluginObjects.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "services/jobsvc/control/objects/objects_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

class PluginObjectRemovalTest : public ObjectsTest {
 protected:
  // Begins with a job that has made these objects, and is over.
  void Remember(const std::map<std::string, std::string>& objects) {
    BeginAnew();
    (void)Passes();
    SetPhase(kube::v1::JOB_PHASE_RUNNING);
    job.persisted.objects = objects;
    job.plugin_objects.Load(job);
    SetPhase(kube::v1::JOB_PHASE_COMPLETED);
  }
  const MadeObjects& made() const { return job.plugin_objects.made(); }
};

TEST_F(PluginObjectRemovalTest, AnObjectIsDeletedByItsUidOrLookedForFirst) {
  struct Case {
    const char* what;
    std::map<std::string, std::string> objects;
    Asked asked;
  };
  const Case cases[] = {
      {"nothing was made", {}, Asked::kNothing},
      {"it is there", {{"services/j", "h object-uid"}}, Asked::kDelete},
      {"it may be there", {{"services/j", ""}}, Asked::kRead},
      {"nobody knows its UID", {{"services/j", "h"}}, Asked::kRead},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Remember(test.objects);
    Apply();
    Apply();
    EXPECT_EQ(WhatIsAsked(), test.asked);
  }
}

TEST_F(PluginObjectRemovalTest, TheKindFollowsFromWhatIsRememberedAlone) {
  Remember({{"networkpolicies/n", "h object-uid"}});
  Apply();
  ASSERT_EQ(WhatIsAsked(), Asked::kDelete);
  const gateway::v1::WriteRequest& deletion = context.writes.front().request;
  EXPECT_EQ(deletion.resource().group(), "networking.k8s.io");
  EXPECT_EQ(deletion.resource().plural(), "networkpolicies");
  EXPECT_EQ(deletion.namespace_() + "/" + deletion.name(), "default/n");
  EXPECT_EQ(deletion.delete_().uid(), "object-uid");
  Remember({{"secrets/s", ""}});
  Apply();
  ASSERT_EQ(WhatIsAsked(), Asked::kRead);
  const gateway::v1::GetRequest& read = context.gets.front().request;
  EXPECT_EQ(read.resource().plural(), "secrets");
  EXPECT_EQ(read.namespace_() + "/" + read.name(), "default/s");
}

TEST_F(PluginObjectRemovalTest, TheOwnerOfAnObjectThatWasReadDecidesOverItsDeletion) {
  struct Case {
    const char* what;
    absl::StatusOr<gateway::v1::GetResponse> read;
    Asked next;
    bool is_gone;
    bool backs_off;
  };
  const Case cases[] = {
      {"ours", Found("job-uid"), Asked::kDelete, false, false},
      {"somebody else's", Found("another"), Asked::kNothing, true, false},
      {"nobody's", Found(""), Asked::kNothing, true, false},
      {"nothing", Error(404), Asked::kNothing, true, false},
      {"nobody may look", Error(403), Asked::kNothing, false, true},
      {"no answer", absl::UnavailableError("away"), Asked::kNothing, false, true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Remember({{"services/j", ""}});
    Apply();
    AnswerRead(test.read);
    Apply();
    ASSERT_EQ(WhatIsAsked(), test.next);
    if (test.next == Asked::kDelete) {
      EXPECT_EQ(context.writes.front().request.delete_().uid(), "object-uid");
    }
    EXPECT_EQ(made().empty(), test.is_gone);
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(Passes().contains(job.key), test.is_gone) << "the status forgets it";
    EXPECT_EQ(Passes(absl::Seconds(1)).contains(job.key), test.backs_off);
    Apply();
    EXPECT_EQ(WhatIsAsked(), test.backs_off ? Asked::kRead : test.next);
  }
}

TEST_F(PluginObjectRemovalTest, AnObjectThatIsWantedAgainIsLeftAlone) {
  for (const bool is_there : {true, false}) {
    const std::optional<kube::v1::Job> stored = job.job;
    Remember({{"services/j", ""}});
    Apply();
    SetPhase(kube::v1::JOB_PHASE_RESTARTING);
    if (!is_there) job.job.reset();
    AnswerRead(Found("job-uid"));
    EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
    EXPECT_FALSE(made().empty());
    EXPECT_TRUE(Passes().contains(job.key));
    job.job = stored;
  }
}

TEST_F(PluginObjectRemovalTest, AnAnswerToADeletionSaysWhetherTheObjectIsGone) {
  struct Case {
    const char* what;
    WriteOutcome outcome;
    bool is_gone;
    bool backs_off;
    bool has_problem;
  };
  const Case cases[] = {
      {"deleted", Done(), true, false, false},
      {"gone already", Refused(404, "NotFound"), true, false, false},
      {"another has the name", Refused(409, "Conflict"), false, false, false},
      {"the same", Refused(422, "Invalid"), false, false, false},
      {"forbidden", Refused(403, "Forbidden", "no"), false, true, true},
      {"too many", Refused(429, "TooManyRequests"), false, true, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, false, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, false, true, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Remember({{"services/j", "h object-uid"}});
    Apply();
    EXPECT_FALSE(made().Has("services/j")) << "nobody takes it for made from here on";
    EXPECT_FALSE(made().empty()) << "it may be there still";
    Answer(test.outcome);
    Apply();
    EXPECT_EQ(WhatIsAsked(), test.is_gone || test.backs_off ? Asked::kNothing : Asked::kRead);
    EXPECT_EQ(made().empty(), test.is_gone);
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(job.problems.has("FailedDelete"), test.has_problem);
    EXPECT_EQ(Passes().contains(job.key), !test.backs_off || test.has_problem);
    EXPECT_EQ(Passes(absl::Seconds(1)).contains(job.key), test.backs_off);
    Apply();
    EXPECT_EQ(WhatIsAsked(), test.is_gone ? Asked::kNothing : Asked::kRead) << "its UID may be another by now";
  }
}

TEST_F(PluginObjectRemovalTest, TheProblemNamesTheObject) {
  Remember({{"services/j", "h object-uid"}});
  Apply();
  Answer(Refused(403, "Forbidden", "no"));
  ASSERT_NE(job.problems.Find("FailedDelete", "services/j"), nullptr);
  EXPECT_EQ(job.problems.Find("FailedDelete")->words.message, "services/j cannot be deleted: no");
}

TEST_F(PluginObjectRemovalTest, ThePauseIsOverWithTheLastObject) {
  Remember({{"configmaps/c", "h one"}, {"services/j", "h two"}});
  Apply();
  ASSERT_EQ(context.writes.size(), 2U);
  AnswerOldest(Refused(403, "Forbidden", "no"));
  Answer(Done());
  EXPECT_TRUE(BacksOff()) << "the other is refused still";
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  context.Advance(absl::Seconds(1));
  Apply();
  AnswerRead(Error(404));
  EXPECT_TRUE(made().empty());
  EXPECT_FALSE(HasFailed());
}

TEST_F(PluginObjectRemovalTest, AJobThatIsResumedMakesWhatItDeletesOnceThatIsOver) {
  WantedObject object;
  object.plugin = "svc";
  object.version = "v1";
  object.plural = "services";
  object.kind = "Service";
  object.name = "j";
  object.hash = "h";
  job.compiled->objects = {object};
  Remember({{"services/j", "h object-uid"}});
  Apply();
  SetPhase(kube::v1::JOB_PHASE_PENDING);
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kDelete) << "it is under way";
  EXPECT_FALSE(job.plugin_objects.IsReady(job));
  Answer(Done());
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kCreate);
}

TEST_F(PluginObjectRemovalTest, AnAnswerDoesNotReachTheNextJobOfTheName) {
  Remember({{"services/j", "h object-uid"}});
  Apply();
  job.record.set_uid("another");
  Answer(Done());
  EXPECT_FALSE(made().empty());
  EXPECT_TRUE(job.plugin_objects.effects().contains("services/j"));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
