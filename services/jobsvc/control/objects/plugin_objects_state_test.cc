// The objects that PluginObjects knows, its markers, the pause that objects share, and key pairs.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "services/jobsvc/control/objects/objects_fixture.h"
#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;

class PluginObjectsStateTest : public ObjectsTest {
 protected:
  PluginObjectsStateTest() {
    job.compiled->plugins = {"svc"};
    Want("j");
  }
  void Want(const std::string& name) {
    WantedObject& object = job.compiled->objects.emplace_back();
    object.plugin = "svc";
    object.version = "v1";
    object.plural = "services";
    object.kind = "Service";
    object.name = name;
    object.json = "{}";
    object.hash = "h";
  }
  using Map = std::map<std::string, std::string>;
};

TEST_F(PluginObjectsStateTest, ARememberedObjectIsDoubtedWhereItMayBeRemoved) {
  struct Case {
    kube::v1::JobPhase phase;
    const char* remembered;
  };
  const Case cases[] = {
      {kube::v1::JOB_PHASE_RUNNING, "h uid"},
      {kube::v1::JOB_PHASE_RESTARTING, "h uid"},
      {kube::v1::JOB_PHASE_ABORTING, ""},
      {kube::v1::JOB_PHASE_COMPLETED, ""},
  };
  for (const Case& test : cases) {
    BeginAnew();
    SetPhase(test.phase);
    job.persisted.objects = {{"services/j", "h uid"}};
    job.plugin_objects.Load(job);
    EXPECT_EQ(job.plugin_objects.made().all(), (Map{{"services/j", test.remembered}})) << test.phase;
    job.persisted.objects = {{"services/j", "of another pass"}};
    job.plugin_objects.Load(job);
    EXPECT_EQ(job.plugin_objects.made().all(), (Map{{"services/j", test.remembered}})) << "it is read once";
  }
}

TEST_F(PluginObjectsStateTest, ObjectsOfASpecAreExpectedWhereTheyAreMadeOrWereLeft) {
  struct Case {
    const char* what;
    kube::v1::JobPhase phase;
    bool is_marked;
    bool is_expected;
  };
  const Case cases[] = {
      {"new", kube::v1::JOB_PHASE_UNSPECIFIED, false, true},
      {"it runs", kube::v1::JOB_PHASE_RUNNING, false, true},
      {"it is over", kube::v1::JOB_PHASE_COMPLETED, false, false},
      {"over, and they were left", kube::v1::JOB_PHASE_COMPLETED, true, true},
  };
  for (const Case& test : cases) {
    BeginAnew();
    SetPhase(test.phase);
    job.job->mutable_status()->clear_controlled_resources();
    if (test.is_marked) SetResource(*job.job->mutable_status(), PluginMarkerKey("svc"), "svc");
    job.plugin_objects.Expect(job);
    EXPECT_EQ(job.plugin_objects.made().all(), test.is_expected ? (Map{{"services/j", ""}}) : Map{}) << test.what;
  }
}

TEST_F(PluginObjectsStateTest, MarkersNamePluginsWhoseObjectsAreAllThereAndClaims) {
  struct Case {
    const char* what;
    kube::v1::JobPhase phase;
    Map objects;
    Map markers;
  };
  const Map claim{{"volume-pvc-c", "c"}};
  const Map both{{"plugin-svc", "svc"}, {"volume-pvc-c", "c"}};
  const Case cases[] = {
      {"none", kube::v1::JOB_PHASE_RUNNING, {}, claim},
      {"one", kube::v1::JOB_PHASE_RUNNING, {{"services/j", "h u"}, {"services/k", ""}}, claim},
      {"all", kube::v1::JOB_PHASE_RUNNING, {{"services/j", "h u"}, {"services/k", "h v"}}, both},
      {"removed", kube::v1::JOB_PHASE_COMPLETED, {{"services/j", "h u"}, {"services/k", "h v"}}, claim},
  };
  Want("k");
  for (const Case& test : cases) {
    BeginAnew();
    SetPhase(test.phase);
    SetResource(*job.job->mutable_status(), "volume-pvc-c", "c");
    job.persisted.objects = test.objects;
    job.plugin_objects.Load(job);
    EXPECT_EQ(job.plugin_objects.Markers(job), test.markers) << test.what;
  }
}

TEST_F(PluginObjectsStateTest, PodsWaitForWhatIsUnderWayUnlessSomethingIsRefused) {
  EXPECT_FALSE(job.plugin_objects.HoldsPods());
  Apply();
  EXPECT_TRUE(job.plugin_objects.HoldsPods());
  Answer(Refused(403, "Forbidden", "no"));
  context.Advance(absl::Seconds(1));
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kCreate);
  EXPECT_FALSE(job.plugin_objects.HoldsPods());
  Answer(Done(ObjectOf("job-uid")));
  EXPECT_FALSE(job.plugin_objects.HoldsPods());
}

TEST_F(PluginObjectsStateTest, ObjectsShareTheirPauseUntilAllAreThereAndEndTheirOwnProblems) {
  Want("k");
  Apply();
  AnswerOldest(Refused(403, "Forbidden", "no"));
  Answer(Refused(403, "Forbidden", "no"));
  EXPECT_NE(job.problems.Find("PluginError", "Service j"), nullptr);
  context.Advance(absl::Seconds(1));
  Apply();
  AnswerOldest(Done(ObjectOf("job-uid")));
  EXPECT_EQ(job.problems.Find("PluginError", "Service j"), nullptr);
  EXPECT_NE(job.problems.Find("PluginError", "Service k"), nullptr);
  EXPECT_TRUE(HasFailed());
  Answer(Done(ObjectOf("job-uid")));
  EXPECT_FALSE(HasFailed());
  EXPECT_FALSE(job.problems.has("PluginError"));
}

TEST_F(PluginObjectsStateTest, ARefusalHoldsNeitherAnotherSpecNorAnotherJob) {
  CheckPause(
      "PluginError", [this] { Apply(); }, [this] { job.plugin_objects.TryNow(); },
      [this] { return job.plugin_objects.retry(); });
}

TEST_F(PluginObjectsStateTest, AConflictThatLastsIsToldOf) {
  for (int tries = 0; tries < 8; ++tries) {
    Apply();
    Answer(Refused(409, "Conflict", "a quota is written"));
    EXPECT_EQ(job.problems.has("PluginError"), job.plugin_objects.retry().Lasts(host.Now())) << tries;
    context.Advance(job.plugin_objects.retry().until() - host.Now());
  }
  EXPECT_TRUE(job.problems.has("PluginError"));
}

TEST_F(PluginObjectsStateTest, AnObjectWithKeysIsMadeOnceTheyAreThere) {
  job.compiled->objects.front().needs_ssh_keys = true;
  Apply();
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  ASSERT_EQ(keys.asked.size(), 1U);
  EXPECT_EQ(keys.asked.front().seed, "job-uid");
  keys.asked.front().done(SshKeyPair{"private", "public"});
  ASSERT_EQ(WhatIsAsked(), Asked::kCreate);
  EXPECT_NE(context.writes.front().request.create().body().find("id_rsa"), std::string::npos);
}

TEST_F(PluginObjectsStateTest, KeysThatAreNotMadeAreToldOfAndTriedAgain) {
  job.compiled->objects.front().needs_ssh_keys = true;
  Apply();
  ASSERT_EQ(keys.asked.size(), 1U);
  keys.asked.front().done(absl::InternalError("no randomness"));
  EXPECT_TRUE(job.problems.has("PluginError"));
  EXPECT_TRUE(Passes().contains(job.key));
  Apply();
  EXPECT_EQ(keys.asked.size(), 1U) << "it backs off";
  context.Advance(absl::Seconds(1));
  Apply();
  EXPECT_EQ(keys.asked.size(), 2U);
}

TEST_F(PluginObjectsStateTest, NeitherKeysNorAnswersReachTheNextJobOfTheName) {
  job.compiled->objects.front().needs_ssh_keys = true;
  Want("k");
  Apply();
  ASSERT_EQ(keys.asked.size(), 1U);
  BecomeAnotherJob();
  keys.asked.front().done(SshKeyPair{"private", "public"});
  Answer(Done(ObjectOf("job-uid")));
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  EXPECT_TRUE(job.plugin_objects.made().empty());
  Apply();
  EXPECT_EQ(keys.asked.size(), 2U);
  EXPECT_EQ(WhatIsAsked(), Asked::kCreate);
}

TEST_F(PluginObjectsStateTest, KeysThatAreNotWaitedForAnyMoreMakeNothing) {
  job.compiled->objects.front().needs_ssh_keys = true;
  Apply();
  ASSERT_EQ(keys.asked.size(), 1U);
  job.ResetParts();
  keys.asked.front().done(SshKeyPair{"private", "public"});
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
