#include "services/jobsvc/control/actions/command_cleanup.h"

#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

class CommandCleanupTest : public PartTest {
 protected:
  // Begins with a command c that is carried out.
  CommandCleanupTest() {
    Add("c", "command-uid");
    job.persisted.last_command_uid = "command-uid";
  }
  void Add(const std::string& name, const std::string& uid) {
    kube::v1::Command& command = job.commands[name];
    command.mutable_meta()->set_name(name);
    command.mutable_meta()->set_uid(uid);
  }
  void Apply() { job.command_cleanup.Apply(job, host); }
};

TEST_F(CommandCleanupTest, ACommandIsDeletedOnceTheStatusSaysThatItIsCarriedOut) {
  struct Case {
    const char* what;
    const char* last_command;
    int64_t deletion_ms;
    bool is_asked;
  };
  const Case cases[] = {
      {"no command is", "", 0, false},
      {"another is", "another", 0, false},
      {"it is", "command-uid", 0, true},
      {"it is being deleted", "command-uid", 1, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BeginAnew();
    job.persisted.last_command_uid = test.last_command;
    job.commands["c"].mutable_meta()->set_deletion_ms(test.deletion_ms);
    Apply();
    ASSERT_EQ(context.writes.size(), test.is_asked ? 1U : 0U);
    if (!test.is_asked) continue;
    const gateway::v1::WriteRequest& request = context.writes.front().request;
    EXPECT_EQ(request.resource().plural(), "commands");
    EXPECT_EQ(request.namespace_() + "/" + request.name(), "default/c");
    EXPECT_EQ(request.delete_().uid(), "command-uid");
  }
}

TEST_F(CommandCleanupTest, AFailedDeletionIsTriedAgainAndARefusalIsReported) {
  const AnswerCase cases[] = {
      {"accepted: the watch shows the end", Done(), false, false},
      {"gone already", Refused(404, "NotFound", "no"), false, false},
      {"another has the name", Refused(409, "Conflict", "no"), true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), true, true},
      {"invalid", Refused(422, "Invalid", "no"), true, true},
      {"too many", Refused(429, "TooManyRequests", "no"), true, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false},
  };
  for (const AnswerCase& test : cases) CheckAnswer(test, "CommandError", [this] { Apply(); });
}

TEST_F(CommandCleanupTest, AnAcceptedDeletionIsNotRepeatedBeforeTheWatchShowsTheEnd) {
  Apply();
  Answer(Done());
  context.Advance(absl::Hours(1));
  Apply();
  EXPECT_TRUE(context.writes.empty());
  job.command_cleanup.Forget("another");
  Apply();
  EXPECT_TRUE(context.writes.empty());
  job.command_cleanup.Forget("command-uid");
  Apply();
  EXPECT_EQ(context.writes.size(), 1U);
}

TEST_F(CommandCleanupTest, TheNextCommandIsNotHeldByOneThatGoesButByOneThatIsRefused) {
  Add("d", "next-uid");
  Apply();
  ASSERT_EQ(context.writes.size(), 1U);
  job.persisted.last_command_uid = "next-uid";
  Apply();
  ASSERT_EQ(context.writes.size(), 2U);
  EXPECT_EQ(context.writes.back().request.name(), "d");
  AnswerOldest(Refused(403, "Forbidden", "no"));
  AnswerOldest({.kind = WriteOutcome::Kind::kNotSent});
  Apply();
  EXPECT_TRUE(context.writes.empty());
  context.Advance(absl::Seconds(1));
  Apply();
  ASSERT_EQ(context.writes.size(), 1U);
  EXPECT_EQ(context.writes.front().request.name(), "d") << "the one before is not what the status tells of";
}

TEST_F(CommandCleanupTest, TheProblemLastsWhileACommandIsLeft) {
  Apply();
  Answer(Refused(403, "Forbidden", "no"));
  job.command_cleanup.EndProblem(job);
  ASSERT_NE(job.problems.Find("CommandError", "command c"), nullptr);
  EXPECT_EQ(job.problems.Find("CommandError")->words.message, "command c is carried out and cannot be deleted: no");
  EXPECT_TRUE(job.command_cleanup.retry().Blocks(host.Now()));
  job.commands.clear();
  Add("d", "not-carried-out");
  job.command_cleanup.EndProblem(job);
  EXPECT_FALSE(job.problems.has("CommandError"));
  EXPECT_FALSE(job.command_cleanup.retry().Blocks(host.Now())) << "the next one does not wait for it";
}

TEST_F(CommandCleanupTest, ARefusalHoldsNeitherAnotherSpecNorAnotherJob) {
  CheckPause(
      "CommandError", [this] { Apply(); }, [this] { job.command_cleanup.TryNow(); },
      [this] { return job.command_cleanup.retry(); });
}

}  // namespace
}  // namespace basalt::jobsvc::testing
