// Which requests about pods are sent, and which conditions hold them back.
#include "services/jobsvc/control/pods/pod_writes.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "services/jobsvc/control/pods/pod_writes_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

TEST_F(PodWritesTest, EachRemainingEffectIsSent) {
  ASSERT_FALSE(job.compiled->invalid()) << job.compiled->refusal.message;
  struct Case {
    const char* what;
    std::function<void()> become;
    const char* sent;
  };
  const Case cases[] = {
      {"all are there", [] {}, ""},
      {"one is missing", [this] { Lose(1); }, "create j-t-1; "},
      {"a target is marked", [this] { Target({"uid-1"}); }, "mark j-t-1 uid-1 at 5; "},
      {"what is marked is deleted", [this] { Observe(1, /*is_marked=*/true); }, "delete j-t-1 uid-1; "},
      {"only so many at once",
       [this] {
         for (int index = 0; index < 3; ++index) Lose(index);
       },
       "create j-t-0; create j-t-1; "},
      {"a full kill deletes together",
       [this] {
         for (int index = 0; index < 3; ++index) Observe(index, /*is_marked=*/false, /*is_labelled=*/true);
         SetPhase(kube::v1::JOB_PHASE_ABORTING);
         PodRules rules;
         rules.kill_all = true;
         job.pods.SetRules(std::move(rules));
       },
       "delete together; "},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    test.become();
    Apply();
    EXPECT_EQ(UnderWay(), test.sent);
    Apply();
    EXPECT_EQ(UnderWay(), test.sent) << "it is under way";
  }
}

TEST_F(PodWritesTest, DeletionsAndCreatesAreHeldBackByTheirOwnConditions) {
  const std::string deletion = "delete j-t-1 uid-1; ";
  const std::string create = "create j-t-0; ";
  struct Case {
    const char* what;
    std::function<void()> become;
    std::string sent;
  };
  const Case cases[] = {
      {"nothing does", [] {}, deletion + create},
      {"creates do not get through",
       [this] {
         PodEffect effect{PodEffect::Kind::kCreate};
         effect.name = "j-t-0";
         effect.place = {0, 0};
         job.pod_creates.Create(job, effect, host);
         AnswerAll({.kind = WriteOutcome::Kind::kNotSent});
       },
       deletion},
      {"deletions are refused",
       [this] {
         Apply();
         ASSERT_EQ(context.writes.size(), 2U);
         context.writes[0].done(Refused(403, "Forbidden", "no"));
         context.writes[1].done(Done());
         context.writes.clear();
       },
       create},
      {"objects of plugins are being written", [this] { job.plugin_objects.effects().Begin("secrets/x"); }, create},
      {"they are being removed, and no pod waits for that",
       [this] {
         job.plugin_objects.effects().Begin("secrets/x");
         SetPhase(kube::v1::JOB_PHASE_ABORTING);
       },
       deletion},
      {"the spec is refused",
       [this] {
         job.compiled->refusal = {"SpecError", "no"};
       },
       deletion},
      {"an action is not written yet", [this] { job.record.add_pending(); }, deletion},
      {"the PodGroup is not admitted", [this] { job.groups["j"].set_phase("Pending"); }, deletion},
      {"pods are being deleted together", [this] { host.collecting().insert(job.key); }, ""},
      {"a state of the one is not judged yet",
       [this] { job.pod_changes.Observe(MakePod("j-t-1", "uid-1", kube::v1::POD_PHASE_FAILED)); }, create},
      {"a state of the other is not judged yet",
       [this] { job.pod_changes.Observe(MakePod("j-t-0", "next", kube::v1::POD_PHASE_PENDING)); }, deletion},
      {"the name of the one is held", [this] { job.pod_writes.Hold(job, "j-t-1", absl::Seconds(1), host); }, create},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    Lose(0);
    Observe(1, /*is_marked=*/true);
    test.become();
    Apply();
    EXPECT_EQ(UnderWay(), test.sent);
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
