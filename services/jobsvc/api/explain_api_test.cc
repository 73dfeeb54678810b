// The waits of a job, as the API explains them: for scheduler, queue, claims, other tasks, deadlines and kills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "services/jobsvc/api/explain_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;
using ::testing::HasSubstr;

TEST_F(ExplainApiTest, NothingHoldsUpAJobThatRuns) {
  BeginRunning(MakeJob("j", 1, 2));
  const auto explanation = Explain();
  EXPECT_EQ(explanation.phase(), kRunning);
  EXPECT_EQ(explanation.causes_size(), 0) << explanation.DebugString();
  EXPECT_THAT(explanation.summary(), HasSubstr("Job default/j is Running, for "));
  EXPECT_THAT(explanation.summary(), HasSubstr("Nothing holds it up: of 2 pods 2 run, 0 have succeeded and 0 have "
                                               "failed. It ends when all 2 pods have finished: Completed if all "
                                               "succeed, else Failed."));
  EXPECT_EQ(explanation.entered_by().to_phase(), kRunning);
}

TEST_F(ExplainApiTest, TheSchedulersWordsComeFirst) {
  rig_.kube().new_group_phase = "Pending";
  Begin(MakeJob("j", 1, 2));
  const int64_t when = NowMs() - 60'000;
  rig_.kube().EditGroup(GroupKey(), [&](kube::v1::PodGroup& group) {
    auto* condition = group.add_conditions();
    condition->set_type("Unschedulable");
    condition->set_status("True");
    condition->set_message("2/2 tasks in gang unschedulable: not enough cpu");
    condition->set_last_transition_ms(when);
  });
  rig_.Run();
  const auto explanation = Explain();
  ASSERT_GE(explanation.causes_size(), 2);
  EXPECT_EQ(explanation.causes(0).kind(), Cause::KIND_UNSCHEDULABLE);
  EXPECT_EQ(SinceMs(explanation.causes(0)), when);
  EXPECT_EQ(explanation.causes(1).kind(), Cause::KIND_POD_GROUP);
  EXPECT_THAT(explanation.summary(), HasSubstr("2/2 tasks in gang unschedulable: not enough cpu."));
  EXPECT_THAT(explanation.summary(), HasSubstr("This has been so for 1m1s."));
  EXPECT_THAT(explanation.summary(), HasSubstr("2 pods must fit at once (minMember of the PodGroup)"));
}

TEST_F(ExplainApiTest, AQueueThatIsClosedOrMissingIsNamed) {
  rig_.kube().new_group_phase = "Pending";
  Begin(MakeJob("j", 1, 2));
  PutQueue("Closed");
  EXPECT_EQ(Find(Explain(), Cause::KIND_QUEUE, "queue default is Closed").subject(), "queue default");
  EXPECT_GT(SinceMs(Find(Explain(), Cause::KIND_QUEUE, "")), 0);
  PutQueue("");
  EXPECT_THAT(Find(Explain(), Cause::KIND_QUEUE, "queue default does not exist").advice(),
              HasSubstr("Create the queue"));
}

TEST_F(ExplainApiTest, AQueueWithOthersBelowItIsNamedWithWhatHelps) {
  rig_.kube().new_group_phase = "Pending";
  Begin(MakeJob("j", 1, 2));
  kube::v1::Object below;
  below.mutable_queue()->mutable_meta()->set_name("below");
  below.mutable_queue()->set_state("Open");
  below.mutable_queue()->set_parent("default");
  rig_.controller().OnShared("queues", below, /*gone=*/false);
  const auto explanation = Explain();
  EXPECT_THAT(Find(explanation, Cause::KIND_QUEUE, "queue default has queues below it").advice(),
              HasSubstr("one of those below it"));
  EXPECT_EQ(Get().waiting_for(), "queue default has queues below it");
  int queues = 0;
  for (const Cause& cause : explanation.causes()) {
    if (cause.message().find("queue default") != std::string::npos) ++queues;
  }
  EXPECT_EQ(queues, 1) << explanation.DebugString();
}

TEST_F(ExplainApiTest, SinceWhenAQueueARefusalAndAKillHoldItUp) {
  Refuse(Creates("pods"), "denied by policy");
  rig_.Run(absl::Seconds(10));
  const int64_t refused_ms = NowMs();
  Begin(MakeJob("j", 1, 2));
  rig_.Run(absl::Minutes(2));
  ExpectSince(Find(Explain(), Cause::KIND_REFUSED, "denied by policy"), refused_ms);
  RestartFor(absl::Minutes(1));
  ExpectSince(Find(Explain(), Cause::KIND_REFUSED, "denied by policy"), refused_ms, 5000);

  rig_.kube().SetRefuse(nullptr);
  PutQueue("Open");
  rig_.Run(absl::Minutes(1));
  rig_.kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Seconds(5));
  rig_.kube().SchedulePods();
  rig_.kube().new_group_phase = "Pending";
  const int64_t killed_ms = NowMs();
  rig_.kube().PutCommand("default", "again", "RestartJob", "j");
  rig_.Run(absl::Seconds(40));
  ExpectSince(Find(Explain(), Cause::KIND_KILL, ""), killed_ms);

  rig_.kube().FinishDeletions();
  rig_.Run(absl::Seconds(5));
  const int64_t closed_ms = NowMs();
  PutQueue("Closed");
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(SinceMs(Find(Explain(), Cause::KIND_QUEUE, "queue default is Closed")), closed_ms);
}

TEST_F(ExplainApiTest, AClaimThatIsMissingIsNamedAndNoTryIsPromised) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  AddClaim(job, "data");
  Begin(job);
  const Cause cause = Find(Explain(), Cause::KIND_CLAIM, "claim data does not exist");
  EXPECT_EQ(cause.subject(), "claim data");
  EXPECT_GT(SinceMs(cause), 0);
  EXPECT_EQ(UntilMs(cause), 0) << "it is watched";
  EXPECT_THAT(cause.advice(), HasSubstr("Create PersistentVolumeClaim data in namespace default"));
}

TEST_F(ExplainApiTest, TheTimeOfEachCauseOutlivesTheProcess) {
  struct Row {
    Cause::Kind kind;
    std::function<void(kube::v1::Job&)> prepare;
  };
  const Row rows[] = {
      {Cause::KIND_REFUSED, [&](kube::v1::Job&) { Refuse(Creates("pods"), "denied by policy"); }},
      {Cause::KIND_PLUGIN,
       [&](kube::v1::Job& job) {
         Refuse(Creates("configmaps"), "denied by policy");
         job.mutable_spec()->add_plugins()->set_name("svc");
       }},
      {Cause::KIND_POD_GROUP,
       [&](kube::v1::Job&) { rig_.kube().refuse_group = absl::UnavailableError("pgsvc is on its way"); }},
      {Cause::KIND_CLAIM, [&](kube::v1::Job& job) { AddClaim(job, "data"); }},
      {Cause::KIND_SPEC, [&](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_min_available(4); }},
      {Cause::KIND_QUEUE,
       [&](kube::v1::Job& job) {
         rig_.kube().new_group_phase = "Pending";
         job.mutable_spec()->set_queue("nobodys");
       }},
      {Cause::KIND_NAME_HELD, [&](kube::v1::Job&) { rig_.kube().PutForeignPod("default", "j-t0-0", /*job_name=*/""); }},
  };
  const std::string usual_phase = rig_.kube().new_group_phase;
  for (const Row& row : rows) {
    SCOPED_TRACE(Cause::Kind_Name(row.kind));
    rig_.Run(absl::Seconds(10));
    const int64_t begun_ms = NowMs();
    kube::v1::Job job = MakeJob("j", 1, 1);
    row.prepare(job);
    Begin(job);
    rig_.Run(absl::Minutes(2));
    ExpectSince(Find(Explain(), row.kind, ""), begun_ms, 5000);
    RestartFor(absl::Minutes(1));
    ExpectSince(Find(Explain(), row.kind, ""), begun_ms, 5000);
    rig_.kube().SetRefuse(nullptr);
    rig_.kube().refuse_group = absl::OkStatus();
    rig_.kube().new_group_phase = usual_phase;
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Seconds(5));
  }
}

TEST_F(ExplainApiTest, EachTaskThatWaitsForAnotherIsNamed) {
  kube::v1::Job job = MakeJob("j", 3, 1);
  job.mutable_spec()->set_min_available(1);
  for (int task : {1, 2}) job.mutable_spec()->mutable_tasks(task)->mutable_depends_on()->add_names("t0");
  Begin(job);
  rig_.Run(absl::Minutes(1));
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_DEPENDENCY, "task t1 waits for task t0");
  EXPECT_EQ(cause.subject(), "task t1");
  EXPECT_EQ(SinceMs(cause), kube::ToMs(explanation.entered_by().time()));
  EXPECT_LE(SinceMs(cause), NowMs() - 60'000);
  EXPECT_EQ(Find(explanation, Cause::KIND_DEPENDENCY, "task t2 waits for task t0").subject(), "task t2");
}

// The group requests the first task alone. The explanation has the scheduler's message about that task, with its number
// of pods.
TEST_F(ExplainApiTest, TheFirstOfTasksThatWaitForEachOtherNeedsRoom) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
  Begin(job);
  rig_.kube().EditGroup(GroupKey(), [&](kube::v1::PodGroup& changed) {
    auto* condition = changed.add_conditions();
    condition->set_type("Unschedulable");
    condition->set_status("True");
    condition->set_message("2/2 tasks in gang unschedulable");
  });
  rig_.Run();
  EXPECT_THAT(Find(Explain(), Cause::KIND_UNSCHEDULABLE, "").advice(), HasSubstr("2 pods must fit at once"));
}

TEST_F(ExplainApiTest, ADeadlineSaysWhatWillHappenAndWhen) {
  Begin(WithPolicy(MakeJob("j", 1, 1), "PodPending", "AbortJob", absl::Minutes(10)));
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_DEADLINE, "AbortJob because of PodPending");
  EXPECT_EQ(cause.subject(), "pod j-t0-0");
  EXPECT_EQ(UntilMs(cause) - SinceMs(cause), 600'000);
  EXPECT_THAT(explanation.summary(), HasSubstr("AbortJob because of PodPending (spec.policies[0]), about pod j-t0-0."));
}

TEST_F(ExplainApiTest, AJobThatIsNotThereIsNotFound) {
  job::v1::ExplainJobRequest request;
  request.set_name("none");
  absl::Status status;
  api_.Explain(std::move(request), [&](const auto& got) { status = got.status(); });
  rig_.Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
