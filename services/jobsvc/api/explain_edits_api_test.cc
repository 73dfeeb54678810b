// Jobs after edits that the API server should have refused, as the API explains them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/jobsvc/api/explain_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;
using ::testing::HasSubstr;

class ExplainEditsTest : public ExplainApiTest {
 protected:
  void Edit(const std::function<void(kube::v1::JobSpec&)>& edit) {
    rig_.kube().EditJob("default/j", [&](kube::v1::Job& job) { edit(*job.mutable_spec()); });
    rig_.Run(absl::Seconds(20));
  }
};

TEST_F(ExplainEditsTest, AFieldThatMayNotChangeIsToldUntilItIsChangedBack) {
  BeginRunning(MakeJob("j", 1, 2));
  const int64_t before_ms = NowMs();
  Edit([](kube::v1::JobSpec& spec) { spec.set_min_success(1); });
  const int64_t after_ms = NowMs();
  for (const bool restarted : {false, true}) {
    if (restarted) {
      rig_.Kill();
      rig_.Start();
      PutQueue("Open");
      rig_.Run(absl::Seconds(20));
    }
    const auto explanation = Explain();
    const Cause cause = Find(explanation, Cause::KIND_SPEC, "spec.minSuccess cannot be changed");
    EXPECT_THAT(cause.advice(), HasSubstr("change it back, or delete the job and submit it again"));
    EXPECT_GE(SinceMs(cause), before_ms);
    EXPECT_LE(SinceMs(cause), after_ms);
    EXPECT_THAT(explanation.summary(), HasSubstr("Nothing holds it up"));
  }
  Edit([](kube::v1::JobSpec& spec) { spec.clear_min_success(); });
  EXPECT_EQ(Explain().causes_size(), 0);
}

// torchx cancels a job in this way.
TEST_F(ExplainEditsTest, APhaseThatSomebodyWroteIsNamed) {
  BeginRunning(MakeJob("j", 1, 2));
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_plural("jobs");
  request.set_subresource("status");
  request.set_namespace_("default");
  request.set_name("j");
  request.mutable_patch()->set_body(R"({"status":{"state":{"phase":"Aborted"}}})");
  ASSERT_EQ(rig_.kube().Write(request).error().code(), 0);
  rig_.Run(absl::Seconds(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_TRUE(rig_.kube().pods().empty());
  const auto explanation = Explain();
  EXPECT_EQ(explanation.entered_by().outcome(), "Aborted was written over Running");
  EXPECT_THAT(explanation.summary(), HasSubstr("somebody wrote the phase into the status"));
}

TEST_F(ExplainEditsTest, PodsOfATaskThatIsRemovedAreToldAndHoldNothingUp) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->set_min_available(2);
  BeginRunning(job);
  Edit([](kube::v1::JobSpec& spec) { spec.mutable_tasks()->RemoveLast(); });
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_PODS, "2 pods are of no task that the spec has");
  EXPECT_EQ(cause.subject(), "pod j-t1-0");
  Find(explanation, Cause::KIND_SPEC, "spec.tasks are 1, not 2");
  EXPECT_THAT(explanation.summary(), HasSubstr("Nothing holds it up: of 2 pods 2 run"));
  rig_.kube().SetAllPods(kPodSucceeded);
  rig_.Run(absl::Seconds(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kCompleted);
  const auto ended = Explain();
  for (const Cause& other : ended.causes()) EXPECT_NE(other.kind(), Cause::KIND_PODS) << other.DebugString();
}

TEST_F(ExplainEditsTest, APodOfNoTaskThatHasNotStartedIsNotWaitedFor) {
  kube::v1::Job job = MakeJob("j", 2, 1);
  job.mutable_spec()->set_min_available(1);
  Begin(job);
  Edit([](kube::v1::JobSpec& spec) { spec.mutable_tasks()->RemoveLast(); });
  Find(Explain(), Cause::KIND_PODS, "1 pod is not on a node yet");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
