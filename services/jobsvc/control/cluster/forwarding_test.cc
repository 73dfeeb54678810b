#include "services/jobsvc/control/cluster/forwarding.h"

#include <gtest/gtest.h>

#include <string>

#include "common/kube/names.h"
#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

class ForwardingTest : public PartTest {
 protected:
  // The queue of the job has other clusters.
  ForwardingTest() {
    AddQueue("far", /*has_other_clusters=*/true);
    AddQueue("near", /*has_other_clusters=*/false);
    job.compiled->spec.set_queue("far");
  }
  void AddQueue(const std::string& name, bool has_other_clusters) {
    kube::v1::Queue queue;
    queue.mutable_meta()->set_name(name);
    queue.set_has_extend_clusters(has_other_clusters);
    host.queues().Receive(queue, /*gone=*/false, /*now_ms=*/0);
  }
  void Apply() { job.forwarding.Apply(job, host); }
};

TEST_F(ForwardingTest, AJobThatIsForwardedAndMakesPodsIsAnnotatedUnlessItIs) {
  struct Case {
    const char* what;
    const char* queue;
    kube::v1::JobPhase phase;
    const char* annotation;  // Null if the job has none.
    bool is_asked;
  };
  const Case cases[] = {
      {"it waits", "far", kube::v1::JOB_PHASE_PENDING, nullptr, true},
      {"it runs", "far", kube::v1::JOB_PHASE_RUNNING, nullptr, true},
      {"it restarts", "far", kube::v1::JOB_PHASE_RESTARTING, nullptr, true},
      {"it is killed", "far", kube::v1::JOB_PHASE_ABORTING, nullptr, false},
      {"it is over", "far", kube::v1::JOB_PHASE_COMPLETED, nullptr, false},
      {"the queue has no other clusters", "near", kube::v1::JOB_PHASE_RUNNING, nullptr, false},
      {"nobody knows the queue", "none", kube::v1::JOB_PHASE_RUNNING, nullptr, false},
      {"it says so already", "far", kube::v1::JOB_PHASE_RUNNING, "true", false},
      {"it says otherwise", "far", kube::v1::JOB_PHASE_RUNNING, "false", true},
  };
  for (const Case& test : cases) {
    BeginAnew();
    job.compiled->spec.set_queue(test.queue);
    SetPhase(test.phase);
    auto& annotations = *job.job->mutable_meta()->mutable_annotations();
    annotations.Clear();
    if (test.annotation != nullptr) {
      kube::v1::KeyValue& annotation = *annotations.Add();
      annotation.set_key(std::string(kube::kJobForwardingKey));
      annotation.set_value(test.annotation);
    }
    Apply();
    EXPECT_EQ(context.writes.size(), test.is_asked ? 1U : 0U) << test.what;
  }
}

TEST_F(ForwardingTest, TheJobOfThatUidIsPatchedWhateverItsVersion) {
  Apply();
  ASSERT_EQ(context.writes.size(), 1U);
  const gateway::v1::WriteRequest& request = context.writes.front().request;
  EXPECT_EQ(request.resource().plural(), "jobs");
  EXPECT_EQ(request.namespace_() + "/" + request.name(), "default/j");
  EXPECT_EQ(request.subresource(), "");
  EXPECT_EQ(request.patch().uid(), "job-uid");
  EXPECT_EQ(request.patch().resource_version(), 0);
  EXPECT_EQ(request.patch().body(), R"({"metadata":{"annotations":{"volcano.sh/job-forwarding":"true"}}})");
}

TEST_F(ForwardingTest, AFailedWriteIsTriedAgainAndARefusalIsReported) {
  const AnswerCase cases[] = {
      {"a newer state", Refused(409, "Conflict"), true, false},
      {"gone", Refused(404, "NotFound", "no"), true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), true, true},
      {"invalid", Refused(422, "Invalid", "no"), true, true},
      {"too many", Refused(429, "TooManyRequests", "no"), true, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false},
  };
  for (const AnswerCase& test : cases) CheckAnswer(test, "ForwardingError", [this] { Apply(); });
}

TEST_F(ForwardingTest, OnceWrittenNothingIsWrongAnyMore) {
  Apply();
  Answer(Refused(403, "Forbidden", "no"));
  ASSERT_NE(job.problems.Find("ForwardingError"), nullptr);
  EXPECT_EQ(job.problems.Find("ForwardingError")->words.message,
            "the annotation volcano.sh/job-forwarding cannot be written: no");
  context.Advance(absl::Seconds(1));
  Apply();
  EXPECT_TRUE(job.problems.has("ForwardingError")) << "it is tried";
  Answer(Done());
  EXPECT_FALSE(job.problems.has("ForwardingError"));
  EXPECT_FALSE(job.forwarding.under_way());
  EXPECT_FALSE(job.forwarding.retry().since());
}

TEST_F(ForwardingTest, ARefusalHoldsNeitherAnotherSpecNorAnotherJob) {
  CheckPause(
      "ForwardingError", [this] { Apply(); }, [this] { job.forwarding.TryNow(); },
      [this] { return job.forwarding.retry(); });
  EXPECT_EQ(context.writes.front().request.patch().uid(), "another");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
