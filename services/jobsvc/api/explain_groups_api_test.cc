// Objects that have to be there before the pods of a job, and are not: its PodGroup and the objects of its plugins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/api/explain_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;
using ::testing::HasSubstr;

class ExplainGroupsTest : public ExplainApiTest {
 protected:
  std::string GroupSubject() { return "PodGroup j-" + rig_.kube().job("default/j").meta().uid(); }
  static kube::v1::Job WithSvc() {
    kube::v1::Job job = MakeJob("j", 1, 1);
    job.mutable_spec()->add_plugins()->set_name("svc");
    return job;
  }
};

TEST_F(ExplainGroupsTest, AGroupThatIsNotMadeYetIsNamedWithItsNextTry) {
  rig_.kube().refuse_group = absl::FailedPreconditionError("the group of an older version is still going");
  Begin(MakeJob("j", 1, 1));
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_POD_GROUP, "its PodGroup is being made");
  EXPECT_EQ(cause.subject(), GroupSubject());
  EXPECT_EQ(cause.advice(), "");
  EXPECT_EQ(SinceMs(cause), kube::ToMs(explanation.entered_by().time()) + 3) << "the first try";
  EXPECT_GT(UntilMs(cause), NowMs());
  EXPECT_THAT(explanation.summary(), HasSubstr(" Its PodGroup is being made."));
}

// However old the group is, the job has waited for its end no longer than it is in its phase.
TEST_F(ExplainGroupsTest, AGroupOfTheRunBeforeIsWaitedForSinceThisRun) {
  BeginRunning(MakeJob("j", 1, 1));
  rig_.Run(absl::Hours(3));
  Lose(Deletes("podgroups"));
  const int64_t restarted_ms = NowMs();
  rig_.kube().PutCommand("default", "again", "RestartJob", "j");
  rig_.Run(absl::Minutes(1));
  const auto explanation = Explain();
  ASSERT_EQ(explanation.phase(), kPending);
  const Cause cause = Find(explanation, Cause::KIND_POD_GROUP, "its PodGroup of the run before is still going");
  EXPECT_EQ(cause.subject(), GroupSubject());
  EXPECT_GT(UntilMs(cause), NowMs());
  ExpectSince(cause, restarted_ms);
  EXPECT_THAT(explanation.summary(), HasSubstr(" Its PodGroup of the run before is still going."));
}

TEST_F(ExplainGroupsTest, AGroupThatIsTakenAwayIsWaitedForSinceItsDeletion) {
  BeginRunning(MakeJob("j", 1, 2));
  rig_.Run(absl::Hours(3));
  rig_.kube().EditGroup(GroupKey(), [&](kube::v1::PodGroup& group) { group.mutable_meta()->set_deletion_ms(1); });
  const int64_t deleted_ms = rig_.kube().groups().at(GroupKey()).meta().deletion_ms();
  rig_.kube().RemovePod("default/j-t0-0");
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(SinceMs(Find(Explain(), Cause::KIND_POD_GROUP, "still going")), deleted_ms);
}

TEST_F(ExplainGroupsTest, AGroupThatIsRefusedIsToldInTheWordsOfTheRefusal) {
  rig_.Run(absl::Seconds(10));
  const int64_t refused_ms = NowMs();
  rig_.kube().refuse_group = absl::InvalidArgumentError("denied by policy");
  Begin(MakeJob("j", 1, 1));
  rig_.Run(absl::Minutes(2));
  const auto explanation = Explain();
  ASSERT_EQ(explanation.causes_size(), 1) << explanation.DebugString();
  const Cause& cause = explanation.causes(0);
  EXPECT_EQ(cause.kind(), Cause::KIND_POD_GROUP);
  EXPECT_EQ(cause.subject(), GroupSubject());
  EXPECT_EQ(cause.message(), "denied by policy");
  EXPECT_THAT(cause.advice(), HasSubstr("it is tried again by itself"));
  EXPECT_GT(UntilMs(cause), NowMs());
  ExpectSince(cause, refused_ms);
  EXPECT_THAT(explanation.summary(), HasSubstr(" Denied by policy. This has been so for 2m"));
}

TEST_F(ExplainGroupsTest, AGroupThatCannotBePutRightIsToldOfAJobThatHasItsPods) {
  BeginRunning(MakeJob("j", 1, 1));
  rig_.Run(absl::Minutes(1));
  rig_.kube().refuse_group = absl::InvalidArgumentError("denied by policy");
  const int64_t edited_ms = NowMs();
  rig_.kube().EditGroup(GroupKey(), [](kube::v1::PodGroup& group) { group.mutable_spec()->set_min_member(9); });
  rig_.Run(absl::Minutes(2));
  const auto explanation = Explain();
  ASSERT_EQ(explanation.causes_size(), 1) << explanation.DebugString();
  EXPECT_EQ(explanation.causes(0).kind(), Cause::KIND_REFUSED);
  EXPECT_EQ(explanation.causes(0).message(), "denied by policy");
  ExpectSince(explanation.causes(0), edited_ms);
  rig_.kube().refuse_group = absl::OkStatus();
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(Explain().causes_size(), 0);
}

TEST_F(ExplainGroupsTest, AnAnnotationThatCannotBeWrittenIsTold) {
  kube::v1::Object queue;
  queue.mutable_queue()->mutable_meta()->set_name("default");
  queue.mutable_queue()->set_state("Open");
  queue.mutable_queue()->set_has_extend_clusters(true);
  rig_.controller().OnShared("queues", queue, /*gone=*/false);
  Refuse(JobPatches(), "denied by policy");
  rig_.Run(absl::Seconds(10));
  const int64_t refused_ms = NowMs();
  BeginRunning(MakeJob("j", 1, 1));
  rig_.Run(absl::Minutes(2));
  const Cause cause = Find(Explain(), Cause::KIND_REFUSED, "");
  EXPECT_EQ(cause.message(), "the annotation volcano.sh/job-forwarding cannot be written: denied by policy");
  EXPECT_EQ(cause.subject(), "");
  EXPECT_GT(UntilMs(cause), NowMs());
  ExpectSince(cause, refused_ms);
  EXPECT_THAT(Explain().summary(), HasSubstr("Nothing holds it up"));
}

TEST_F(ExplainGroupsTest, AnObjectOfAPluginThatIsRefusedIsNamedWithItsPlugin) {
  Refuse(Creates("services"), "denied by policy");
  rig_.Run(absl::Seconds(10));
  const int64_t refused_ms = NowMs();
  Begin(WithSvc());
  rig_.Run(absl::Minutes(2));
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_PLUGIN, "");
  EXPECT_EQ(cause.message(), "plugin svc: Service j: denied by policy");
  EXPECT_THAT(cause.advice(), HasSubstr("Mend what the API server names"));
  EXPECT_GT(UntilMs(cause), NowMs());
  ExpectSince(cause, refused_ms);
  EXPECT_THAT(explanation.summary(), HasSubstr(" Plugin svc: Service j: denied by policy. This has been so for 2m"));
}

TEST_F(ExplainGroupsTest, ObjectsOfAPluginThatAreNotMadeYetAreToldWithTheirNextTry) {
  Lose(Creates("services"));
  Begin(WithSvc());
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_PLUGIN, "the objects of its plugins are being made");
  EXPECT_GT(UntilMs(cause), NowMs());
  const int64_t began_ms = rig_.kube().job("default/j").meta().creation_ms();
  EXPECT_GE(SinceMs(cause), began_ms);
  EXPECT_LT(SinceMs(cause), began_ms + 1000);
  EXPECT_THAT(explanation.summary(), HasSubstr(" The objects of its plugins are being made."));
}

// Nothing else that the job waited for matters any more.
TEST_F(ExplainGroupsTest, ADeletionIsTheOnlyCauseOfAJobThatIsBeingDeleted) {
  Refuse(Creates("services"), "denied by policy");
  Begin(WithSvc());
  rig_.kube().HoldDeletedJob("default/j");
  const int64_t deleted_ms = rig_.kube().job("default/j").meta().deletion_ms();
  rig_.Run(absl::Minutes(1));
  const auto explanation = Explain();
  ASSERT_EQ(explanation.causes_size(), 1) << explanation.DebugString();
  const Cause& cause = explanation.causes(0);
  EXPECT_EQ(cause.kind(), Cause::KIND_DELETION);
  EXPECT_EQ(cause.subject(), "");
  EXPECT_EQ(cause.message(), "the job is being deleted");
  EXPECT_EQ(SinceMs(cause), deleted_ms);
  EXPECT_EQ(cause.advice(), "What stays for long has a finalizer, or pods on a node that does not answer.");
  EXPECT_THAT(explanation.summary(),
              HasSubstr(" The job is being deleted. This has been so for 1m0s. What stays for long has a finalizer"));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
