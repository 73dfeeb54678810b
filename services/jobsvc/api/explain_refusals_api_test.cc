// Refusals by Kubernetes or by the rules of a spec, as the API explains them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/jobsvc/api/explain_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;
using ::testing::HasSubstr;

TEST_F(ExplainApiTest, ANameThatAForeignPodHoldsIsToldWithWhatFreesIt) {
  struct Row {
    const char* owner;
    const char* words;
    const char* advice;
  };
  for (const Row& row : {Row{"", "the name is held by an object that nobody owns",
                             "Delete that object: nobody owns it, so it does not go by itself."},
                         Row{"somebody", "the name is held by an object of another owner",
                             "Delete that object, or wait until it is gone."}}) {
    SCOPED_TRACE(row.words);
    rig_.kube().PutForeignPod("default", "j-t0-0", /*job_name=*/"");
    rig_.kube().EditPod("default/j-t0-0", [&](kube::v1::Pod& pod) { pod.set_owner_uid(row.owner); });
    Begin(MakeJob("j", 1, 1));
    rig_.Run(absl::Seconds(5));
    const auto explanation = Explain();
    const Cause cause = Find(explanation, Cause::KIND_NAME_HELD, row.words);
    EXPECT_EQ(cause.subject(), "pod j-t0-0");
    EXPECT_EQ(cause.advice(), row.advice);
    EXPECT_THAT(explanation.summary(), HasSubstr(row.advice));
    rig_.kube().DeleteJob("default/j");
    rig_.kube().RemovePod("default/j-t0-0");
    rig_.Run(absl::Minutes(1));
  }
}

TEST_F(ExplainApiTest, ARefusalIsExplainedBesideAHeldNameAndEndsByItself) {
  Refuse(Creates("pods"), "exceeded quota");
  rig_.kube().PutForeignPod("default", "j-t0-0", "j");
  // The watch shows the pod.
  rig_.kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) { pod.set_job_uid_label("another"); });
  Begin(MakeJob("j", 1, 2));
  rig_.Run(absl::Seconds(30));
  const auto explanation = Explain();
  Find(explanation, Cause::KIND_NAME_HELD, "pod j-t0-0: the name is held");
  Find(explanation, Cause::KIND_REFUSED, "exceeded quota");
  rig_.kube().SetRefuse(nullptr);
  rig_.Run(absl::Minutes(2));
  const auto later = Explain();
  for (const Cause& cause : later.causes()) EXPECT_NE(cause.kind(), Cause::KIND_REFUSED) << cause.DebugString();
  EXPECT_THAT(rig_.kube().job("default/j").status().message(), HasSubstr("the name is held"));
}

TEST_F(ExplainApiTest, AClaimThatCannotBeReadIsNotSaidToBeMissing) {
  rig_.kube().refuse_get = [](const gateway::v1::GetRequest& request, gateway::v1::KubeError& error) {
    if (request.resource().plural() != "persistentvolumeclaims") return false;
    error.set_code(403);
    error.set_message("basalt may not get persistentvolumeclaims");
    return true;
  };
  kube::v1::Job job = MakeJob("j", 1, 1);
  AddClaim(job, "data");
  Begin(job);
  EXPECT_EQ(Find(Explain(), Cause::KIND_CLAIM, "basalt may not get").message(),
            "claim data: basalt may not get persistentvolumeclaims");
}

TEST_F(ExplainApiTest, AJobThatHasToBeReadFirstIsToldWithHowTheReadIsRefused) {
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (request.subresource() != "status") return false;
    error.set_code(409);
    error.set_reason("Conflict");
    return true;
  });
  rig_.kube().refuse_get = [](const gateway::v1::GetRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    error.set_message("jobs is forbidden");
    return true;
  };
  Begin(MakeJob("j", 1, 1));
  rig_.Run(absl::Seconds(5));
  const Cause cause = Find(Explain(), Cause::KIND_STATUS_WRITE, "refuses to show the job: jobs is forbidden");
  EXPECT_GT(UntilMs(cause), NowMs());
  rig_.kube().refuse_get = nullptr;
  rig_.kube().SetRefuse(nullptr);
  rig_.Run(absl::Minutes(1));
  const auto later = Explain();
  for (const Cause& other : later.causes()) EXPECT_NE(other.kind(), Cause::KIND_STATUS_WRITE) << other.DebugString();
}

TEST_F(ExplainApiTest, ARefusalIsQuotedWithItsNextTry) {
  Refuse(Creates("pods"), "pods \"j-t0-0\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4");
  Begin(MakeJob("j", 1, 1));
  const Cause cause = Find(Explain(), Cause::KIND_REFUSED, "exceeded quota: team");
  EXPECT_GT(UntilMs(cause), NowMs());
  EXPECT_THAT(cause.advice(), HasSubstr("ResourceQuota"));
}

TEST_F(ExplainApiTest, HowLongTheServerIsLeftAloneIsToldWithoutAnyWordsOfIt) {
  Lose(Creates("pods"));
  Begin(MakeJob("j", 1, 1));
  const Cause cause = Find(Explain(), Cause::KIND_PODS, "pods are being made");
  EXPECT_GT(UntilMs(cause), NowMs());
  EXPECT_GT(SinceMs(cause), 0);
  EXPECT_LE(SinceMs(cause), NowMs() - 1000);
  rig_.Run(absl::Minutes(10));
  EXPECT_EQ(SinceMs(Find(Explain(), Cause::KIND_PODS, "pods are being made")), SinceMs(cause));
}

TEST_F(ExplainApiTest, ARefusedDeletionIsExplainedInEveryPhase) {
  for (const char* action : {"AbortJob", "CompleteJob", "RestartJob"}) {
    SCOPED_TRACE(action);
    rig_.kube().SetRefuse(nullptr);
    BeginRunning(MakeJob("j", 1, 2));
    Refuse(Deletes("pods"), "pods are kept by policy");
    rig_.kube().PutCommand("default", "end", action, "j");
    rig_.Run(absl::Seconds(10));
    const auto explanation = Explain();
    const Cause cause = Find(explanation, Cause::KIND_REFUSED, "pods are kept by policy");
    EXPECT_GT(UntilMs(cause), NowMs());
    EXPECT_THAT(explanation.summary(), HasSubstr("pods are kept by policy."));
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Seconds(5));
  }
}

TEST_F(ExplainApiTest, AStatusThatTheApiServerRefusesIsTold) {
  Refuse(StatusWrites(), "denied by policy");
  Begin(MakeJob("j", 1, 1));
  const auto explanation = Explain();
  Find(explanation, Cause::KIND_STATUS_WRITE, "the API server refuses the job's status: denied by policy");
  EXPECT_THAT(explanation.summary(), HasSubstr("denied by policy"));
}

TEST_F(ExplainApiTest, ASuspensionEndsARefusal) {
  Refuse(Creates("pods"), "exceeded quota: team");
  Begin(MakeJob("j", 1, 1));
  const auto refused = Explain();
  EXPECT_THAT(refused.summary(), HasSubstr("Pod j-t0-0: exceeded quota: team."));
  EXPECT_EQ(refused.causes(0).kind(), Cause::KIND_REFUSED) << refused.DebugString();
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(10));
  const auto aborted = Explain();
  EXPECT_EQ(aborted.summary().find("quota"), std::string::npos) << aborted.summary();
  EXPECT_EQ(aborted.causes_size(), 1) << aborted.DebugString();
}

TEST_F(ExplainApiTest, ACommandThatCannotBeDeletedIsToldWithThoseBehindIt) {
  BeginRunning(MakeJob("j", 1, 1));
  Refuse(Deletes("commands"), "no right to delete commands");
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(1));
  rig_.kube().PutCommand("default", "go", "ResumeJob", "j");
  rig_.Run(absl::Minutes(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(rig_.kube().job("default/j").status().reason(), "CommandError");
  EXPECT_LT(rig_.kube().log().size(), 200u) << "with growing pauses";
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_COMMAND,
                           "command stop is carried out and cannot be deleted: no right to delete commands");
  EXPECT_GT(UntilMs(cause), NowMs());
  Find(explanation, Cause::KIND_COMMAND, "command go waits for its turn");
  rig_.kube().SetRefuse(nullptr);
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kPending);
  EXPECT_EQ(rig_.kube().job("default/j").status().reason(), "");
}

TEST_F(ExplainApiTest, ASpecThatIsRefusedAndOneThatIsOddAreTold) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  job.mutable_spec()->mutable_tasks(0)->set_min_available(4);
  Begin(job);
  const auto explanation = Explain();
  EXPECT_EQ(explanation.causes(0).kind(), Cause::KIND_SPEC);
  EXPECT_THAT(explanation.causes(0).message(), HasSubstr("spec.tasks[0].minAvailable"));
  EXPECT_GT(SinceMs(explanation.causes(0)), 0);
  EXPECT_THAT(explanation.summary(), HasSubstr(" spec.tasks[0].minAvailable"));
  EXPECT_EQ(explanation.causes_size(), 1) << "once: " << explanation.DebugString();
}

TEST_F(ExplainApiTest, AWarningHoldsNothingUp) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  auto* policy = job.mutable_spec()->add_policies();
  policy->add_events("PodPending");
  policy->set_action("AbortJob");
  BeginRunning(job);
  const auto explanation = Explain();
  Find(explanation, Cause::KIND_SPEC, "PodPending");
  EXPECT_THAT(explanation.summary(), HasSubstr("Nothing holds it up"));
}

TEST_F(ExplainApiTest, ASpecIsRefusedSinceItsEditWhateverBecomesOfTheJob) {
  BeginRunning(MakeJob("j", 1, 2));
  const int64_t edited_ms = NowMs();
  EditMinAvailable(9);
  ExpectRefusedSince(edited_ms, "while it runs");
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Minutes(2));
  ASSERT_EQ(rig_.PhaseOf("default/j"), kAborted);
  ExpectRefusedSince(edited_ms, "in another phase");
  EditMinAvailable(8);
  ExpectRefusedSince(edited_ms, "after an edit that is refused as well");
  RestartFor(absl::Minutes(2));
  ExpectRefusedSince(edited_ms, "after a restart");
  EditMinAvailable(2);
  const int64_t again_ms = NowMs();
  EditMinAvailable(9);
  ExpectRefusedSince(again_ms, "once it was accepted in between");
}

TEST_F(ExplainApiTest, TheStatusDatesARefusalWhoseRecordIsLost) {
  BeginRunning(MakeJob("j", 1, 2));
  const int64_t edited_ms = NowMs();
  EditMinAvailable(9);
  RestartFor(absl::Minutes(2), /*lose_disk=*/true);
  ExpectRefusedSince(edited_ms, "since the status told of it");
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Minutes(2));
  rig_.Kill();
  rig_.LoseDisk();
  rig_.Start();
  const int64_t started_ms = NowMs();
  rig_.Run(absl::Minutes(2));
  ExpectRefusedSince(started_ms, "in a phase whose time does not tell of it");
}

TEST_F(ExplainApiTest, TheStatusDatesAPluginThatDoesNotExist) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_plugins()->set_name("torch");
  rig_.Start();
  rig_.kube().PutJob(std::move(job));
  rig_.Run();
  const int64_t made_ms = NowMs();
  rig_.Run(absl::Minutes(2));
  for (const bool lost : {false, true}) {
    rig_.Kill();
    if (lost) rig_.LoseDisk();
    rig_.Start();
    rig_.Run(absl::Minutes(2));
    const job::v1::Cause cause = Find(Explain(), job::v1::Cause::KIND_SPEC, "torch");
    ExpectSince(cause, made_ms, 6000);
  }
}

// Refused requests are repeated with pauses, deletions are never given up, and maxRetry counts restarts alone.
TEST_F(ExplainApiTest, EachLayerOfRetriesIsTold) {
  std::string refused = "delete";
  rig_.kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    const bool deletes = request.has_delete_() || request.has_delete_collection();
    if (request.resource().plural() != "pods" || request.has_patch()) return false;
    if (refused != (deletes ? "delete" : "create")) return false;
    error.set_code(403);
    error.set_message("not to " + refused);
    return true;
  });
  refused = "";
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob");
  job.mutable_spec()->set_max_retry(4);
  BeginRunning(job);
  refused = "delete";
  rig_.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig_.Run(absl::Minutes(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRestarting) << "nothing is given up, and nothing ends the job";
  auto explanation = Explain();
  EXPECT_GT(UntilMs(Find(explanation, Cause::KIND_REFUSED, "not to delete")), NowMs());
  Find(explanation, Cause::KIND_RETRIES, "1 of 4 retries are used");
  refused = "create";
  rig_.Run(absl::Minutes(20));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kPending);
  explanation = Explain();
  EXPECT_GT(UntilMs(Find(explanation, Cause::KIND_REFUSED, "not to create")), NowMs());
  Find(explanation, Cause::KIND_RETRIES, "1 of 4 retries are used");
  refused = "";
  rig_.Run(absl::Minutes(1));
  rig_.kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Seconds(5));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
}

TEST_F(ExplainApiTest, WordsOfTheServerThatReadLikeOursAreARefusalOfItsOwn) {
  Refuse(Creates("pods"),
         "names: the name is held by an object of another owner, or it is there, but without the label");
  Begin(MakeJob("j", 1, 1));
  const Cause cause = Find(Explain(), Cause::KIND_REFUSED, "held by an object of another owner");
  EXPECT_THAT(cause.advice(), HasSubstr("Mend what the API server names"));
}

TEST_F(ExplainApiTest, APodThatHasLostItsLabelIsToldWithWhatBringsItBack) {
  rig_.kube().PutForeignPod("default", "j-t0-0", /*job_name=*/"");
  Begin(MakeJob("j", 1, 1));
  rig_.kube().EditPod("default/j-t0-0", [this](kube::v1::Pod& pod) {
    pod.set_owner_uid(rig_.kube().job("default/j").meta().uid());
    pod.set_creation_ms(NowMs());
  });
  rig_.Run(absl::Minutes(2));
  const Cause cause = Find(Explain(), Cause::KIND_REFUSED, "it is there, but without the label");
  EXPECT_EQ(cause.subject(), "pod j-t0-0");
  EXPECT_EQ(cause.advice(), "Either will do; the job goes on by itself.");
}

TEST_F(ExplainApiTest, ClaimsWhoseNamesBeginAlikeAreExplainedApart) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  for (const char* name : {"data", "data-1"}) {
    AddClaim(job, name);
  }
  Begin(job);
  const auto explanation = Explain();
  EXPECT_EQ(Find(explanation, Cause::KIND_CLAIM, "claim data-1 does not exist").subject(), "claim data-1");
  EXPECT_EQ(Find(explanation, Cause::KIND_CLAIM, "claim data does not exist").subject(), "claim data");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
