// Answers to a submission: the job is created, is refused, or has warnings.
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "services/jobsvc/api/job_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(JobApiTest, ASubmittedJobIsMadeWithItsDefaultsAndRuns) {
  const auto job = Submit(ManifestOf("j"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_NE(job->object().meta().uid(), "");
  EXPECT_GT(job->object().meta().resource_version(), 0);
  EXPECT_EQ(job->object().meta().namespace_(), "default");
  EXPECT_EQ(job->object().spec().min_available(), 2);
  EXPECT_EQ(job->object().spec().scheduler_name(), "volcano");
  Run();
  EXPECT_EQ(RigOf("j").kube().pods().size(), 2u);
}

TEST_F(JobApiTest, BadInputIsNamedAndNothingIsSent) {
  for (const bool dry_run : {false, true}) {
    const auto refused = Submit(ManifestOf("j", R"("minAvailable":"x")"), dry_run);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ToStd(refused.status().message()), "spec.minAvailable: expected a number, found a string");
  }
  EXPECT_EQ(Submit("{").status().code(), absl::StatusCode::kInvalidArgument);
  for (JobRig& rig : rigs_) EXPECT_TRUE(rig.kube().log().empty());
}

TEST_F(JobApiTest, ADryRunAsksKubernetesAndMakesNothing) {
  const auto checked = Submit(ManifestOf("j"), /*dry_run=*/true);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->object().spec().min_available(), 2) << "with its defaults";
  EXPECT_EQ(checked->object().meta().uid(), "");
  const JobKube& kube = RigOf("j").kube();
  ASSERT_EQ(kube.log().size(), 1u);
  EXPECT_TRUE(kube.log()[0].dry_run);
  EXPECT_TRUE(kube.jobs().empty());
  EXPECT_EQ(Get("j").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Submit(ManifestOf("j")).ok());
  EXPECT_EQ(Submit(ManifestOf("j"), true).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(JobApiTest, ARefusalOfKubernetesKeepsItsWordsAndGetsAFittingCode) {
  struct Case {
    int code;
    const char* reason;
    absl::StatusCode expected;
  };
  for (const Case& c : std::vector<Case>{{400, "BadRequest", absl::StatusCode::kInvalidArgument},
                                         {403, "Forbidden", absl::StatusCode::kPermissionDenied},
                                         {404, "NotFound", absl::StatusCode::kNotFound},
                                         {409, "AlreadyExists", absl::StatusCode::kAlreadyExists},
                                         {409, "Conflict", absl::StatusCode::kAborted},
                                         {413, "RequestEntityTooLarge", absl::StatusCode::kFailedPrecondition},
                                         {422, "Invalid", absl::StatusCode::kInvalidArgument},
                                         {429, "TooManyRequests", absl::StatusCode::kResourceExhausted},
                                         {500, "InternalError", absl::StatusCode::kUnknown},
                                         {503, "ServiceUnavailable", absl::StatusCode::kUnknown}}) {
    RigOf("j").kube().SetRefuse([&](const gateway::v1::WriteRequest&, gateway::v1::KubeError& error) {
      error.set_code(c.code);
      error.set_reason(c.reason);
      error.set_message("metadata.labels: Invalid value");
      return true;
    });
    for (const bool dry_run : {false, true}) {
      const absl::Status status = Submit(ManifestOf("j"), dry_run).status();
      // A submission that may have taken effect is not repeated; a check may be repeated.
      const absl::StatusCode expected =
          dry_run && c.expected == absl::StatusCode::kUnknown ? absl::StatusCode::kUnavailable : c.expected;
      EXPECT_EQ(status.code(), expected) << c.code << " " << c.reason << ": " << status;
      const std::string_view words =
          c.expected == absl::StatusCode::kAlreadyExists ? "job default/j exists already" : "metadata.labels: Invalid";
      EXPECT_NE(ToStd(status.message()).find(words), std::string_view::npos) << status;
    }
  }
  EXPECT_TRUE(RigOf("j").kube().jobs().empty());
}

TEST_F(JobApiTest, ALostAnswerIsToldForASubmissionAndWorthAnotherTryForADryRun) {
  RigOf("j").fate = [](const gateway::v1::WriteRequest&) { return Fate::kLostAnswer; };
  EXPECT_EQ(Submit(ManifestOf("j"), true).status().code(), absl::StatusCode::kUnavailable);
  const absl::Status status = Submit(ManifestOf("j")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_NE(ToStd(status.message()).find("look before you repeat"), std::string_view::npos) << status;
  RigOf("k").fate = [](const gateway::v1::WriteRequest&) { return Fate::kNotSent; };
  EXPECT_EQ(Submit(ManifestOf("k")).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(JobApiTest, ADoubtfulManifestIsAcceptedWithWarnings) {
  const std::string manifest =
      ManifestOf("j", R"("policies":[{"event":"PodPending","action":"RestartJob"}],"plugins":{"pytorch":[]})");
  for (const bool dry_run : {true, false}) {
    const auto answer = Submit(manifest, dry_run);
    ASSERT_TRUE(answer.ok()) << answer.status();
    std::string warnings;
    for (const std::string& warning : answer->warnings()) warnings += warning + "\n";
    EXPECT_EQ(
        warnings,
        "spec.policies[0].timeout is missing: PodPending without a timeout never matches\n"
        "spec.plugins.pytorch looks for its master in the task 'master', which does not exist: the plugin sets nothing "
        "in any pod; name one with --master=\n");
  }
  EXPECT_EQ(Submit(ManifestOf("k"))->warnings_size(), 0);
}

struct KnownQueue {
  std::string name;
  std::string state;
  std::string parent = "root";
};

class SubmitQueueTest : public JobApiTest {
 protected:
  void Know(const std::vector<KnownQueue>& queues) {
    for (const KnownQueue& queue : queues) {
      kube::v1::Object object;
      object.mutable_queue()->mutable_meta()->set_name(queue.name);
      object.mutable_queue()->set_state(queue.state);
      object.mutable_queue()->set_parent(queue.parent);
      for (JobRig* rig : Rigs()) rig->controller().OnShared("queues", object, /*gone=*/false);
    }
  }
  // Returns the refusal, the same of the check as of the submission. Empty if the job is created.
  std::string SubmitTo(const std::string& queue) {
    const std::string manifest = ManifestOf("j", R"("queue":")" + queue + R"(")");
    const absl::Status checked = Submit(manifest, /*dry_run=*/true).status();
    const absl::Status submitted = Submit(manifest).status();
    EXPECT_EQ(checked.code(), submitted.code());
    EXPECT_EQ(checked.message(), submitted.message());
    if (!submitted.ok()) {
      EXPECT_EQ(submitted.code(), absl::StatusCode::kInvalidArgument) << submitted;
      EXPECT_TRUE(RigOf("j").kube().log().empty()) << "nothing is sent";
    }
    return std::string(ToStd(submitted.message()));
  }
};

TEST_F(SubmitQueueTest, OneThatDoesNotExistIsRefused) {
  Know({{"root", "Open", ""}, {"default", "Open"}});
  EXPECT_EQ(SubmitTo("defualt"), "spec.queue 'defualt' does not exist; create the queue or name another");
}

TEST_F(SubmitQueueTest, OneThatIsNotOpenIsRefused) {
  Know({{"default", "Closed"}, {"closing", "Closing"}, {"new", ""}});
  EXPECT_EQ(SubmitTo("default"), "spec.queue 'default' is Closed, not Open; open it or name another");
  EXPECT_EQ(SubmitTo("closing"), "spec.queue 'closing' is Closing, not Open; open it or name another");
  EXPECT_EQ(SubmitTo("new"), "spec.queue 'new' is not initialised, not Open; open it or name another");
}

TEST_F(SubmitQueueTest, OneWithQueuesBelowItIsRefused) {
  Know({{"root", "Open", ""}, {"team", "Open"}, {"team-a", "Open", "team"}});
  EXPECT_EQ(SubmitTo("team"), "spec.queue 'team' has queues below it; name one of them");
  EXPECT_EQ(SubmitTo("team-a"), "");
}

TEST_F(SubmitQueueTest, WhereNoQueueIsKnownNoneIsRefused) { EXPECT_EQ(SubmitTo("any"), ""); }

TEST_F(SubmitQueueTest, TheDefaultOneIsWaitedForWhileItIsBeingMade) {
  Know({{"root", "Open", ""}});
  EXPECT_EQ(SubmitTo("default"), "");
  Know({{"default", ""}});
  EXPECT_EQ(Submit(ManifestOf("k")).status(), absl::OkStatus());
}

TEST_F(SubmitQueueTest, AJobThatIsStoredWaitsForItsQueue) {
  Know({{"root", "Open", ""}, {"default", "Closed"}});
  Put("j");
  Run();
  EXPECT_EQ(RigOf("j").kube().pods().size(), 2u) << "the scheduler judges, not the controller";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
