// Parts with one kind of request each: what every answer to it leads to.
#include <gtest/gtest.h>

#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

// What is to be seen after an answer.
struct Case {
  const char* what;
  WriteOutcome outcome;
  bool again;        // After the pause it is sent once more.
  bool has_problem;  // Users are told.
};

class SingleEffectsTest : public PartTest {
 protected:
  // `apply` sends one request at first; `reason` is that of its problem.
  template <typename Apply>
  void Check(const Case& test, std::string_view reason, Apply apply) {
    SCOPED_TRACE(test.what);
    job.ResetParts();
    context.writes.clear();
    apply();
    ASSERT_EQ(context.writes.size(), 1U);
    apply();
    ASSERT_EQ(context.writes.size(), 1U) << "it is under way";
    Answer(test.outcome);
    apply();
    EXPECT_TRUE(context.writes.empty()) << "it backs off, or is over";
    EXPECT_EQ(job.problems.has(reason), test.has_problem);
    context.Advance(absl::Seconds(1));
    apply();
    EXPECT_EQ(context.writes.size(), test.again ? 1U : 0U);
  }
};

TEST_F(SingleEffectsTest, TheDeletionAfterTheTimeToLive) {
  job.compiled->spec.set_ttl_seconds_after_finished(0);
  SetPhase(kube::v1::JOB_PHASE_COMPLETED);
  const Case cases[] = {
      {"accepted: the watch shows the end", Done(), false, false},
      {"a newer state", Refused(409, "Conflict"), true, false},
      {"gone already", Refused(404, "NotFound"), true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), true, true},
      {"too many", Refused(429, "TooManyRequests"), true, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false},
  };
  for (const Case& test : cases) {
    Check(test, "TTLError", [this] { job.ttl.Apply(job, host); });
  }
}

TEST_F(SingleEffectsTest, TheAnnotationOfAJobThatIsForwarded) {
  kube::v1::Queue queue;
  queue.mutable_meta()->set_name("far");
  queue.set_has_extend_clusters(true);
  host.queues().Receive(queue, /*gone=*/false, /*now_ms=*/0);
  job.compiled->spec.set_queue("far");
  const auto apply = [this] { job.forwarding.Apply(job, host); };
  const Case cases[] = {
      {"a newer state", Refused(409, "Conflict"), true, false},
      {"gone", Refused(404, "NotFound"), true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), true, true},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false},
  };
  for (const Case& test : cases) Check(test, "ForwardingError", apply);
  context.writes.clear();
  job.ResetParts();
  auto& annotation = *job.job->mutable_meta()->add_annotations();
  annotation.set_key(std::string(kube::kJobForwardingKey));
  annotation.set_value("true");
  apply();
  EXPECT_TRUE(context.writes.empty()) << "it says so already";
}

TEST_F(SingleEffectsTest, TheDeletionOfACommandThatIsCarriedOut) {
  kube::v1::Command command;
  command.mutable_meta()->set_name("c");
  command.mutable_meta()->set_uid("command-uid");
  job.commands["c"] = command;
  const auto apply = [this] { job.command_cleanup.Apply(job, host); };
  apply();
  EXPECT_TRUE(context.writes.empty()) << "it is not carried out yet";
  job.persisted.last_command_uid = "command-uid";
  const Case cases[] = {
      {"accepted: the watch shows the end", Done(), false, false},
      {"gone already", Refused(404, "NotFound"), false, false},
      {"a conflict", Refused(409, "Conflict"), true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), true, true},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false},
  };
  for (const Case& test : cases) Check(test, "CommandError", apply);
}

TEST_F(SingleEffectsTest, AnAnswerDoesNotReachTheNextJobOfTheName) {
  job.compiled->spec.set_ttl_seconds_after_finished(0);
  SetPhase(kube::v1::JOB_PHASE_COMPLETED);
  job.ttl.Apply(job, host);
  job.record.set_uid("another");
  Answer(Refused(403, "Forbidden", "no"));
  EXPECT_FALSE(job.problems.has("TTLError"));
  EXPECT_FALSE(job.ttl.retry().since());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
