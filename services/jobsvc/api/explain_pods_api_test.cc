// The fate of the pods of a job, and how the job ended by that, as the API explains them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/jobsvc/api/explain_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;
using ::testing::HasSubstr;

TEST_F(ExplainApiTest, PodsThatDoNotStartAreCountedByWhy) {
  Begin(MakeJob("j", 1, 3));
  for (const char* pod : {"default/j-t0-0", "default/j-t0-2"}) {
    rig_.kube().EditPod(pod, [](kube::v1::Pod& changed) {
      changed.set_node_name("node-1");
      changed.set_reason("ImagePullBackOff");
    });
  }
  rig_.Run();
  const auto explanation = Explain();
  const Cause pulled = Find(explanation, Cause::KIND_PODS, "2 pods are on a node, not started: ImagePullBackOff");
  EXPECT_EQ(pulled.subject(), "pod j-t0-0");
  EXPECT_GT(SinceMs(pulled), 0);
  Find(explanation, Cause::KIND_PODS, "1 pod is not on a node yet");
}

TEST_F(ExplainApiTest, PodsThatCrashAgainAndAgainHoldAJobUp) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->mutable_tasks(1)->set_template_json(R"({"spec":{"containers":[{"name":"c","image":"i"}]}})");
  BeginRunning(job);
  const auto crash = [&](const std::string& pod, const std::string& reason) {
    rig_.kube().EditPod("default/" + pod, [&](kube::v1::Pod& changed) {
      changed.set_restarts(changed.restarts() + 1);
      changed.set_reason(reason);
    });
    rig_.Run();
  };
  crash("j-t0-0", "");
  EXPECT_THAT(Explain().summary(), HasSubstr("Nothing holds it up")) << "it runs again";
  EXPECT_THAT(Explain().summary(), HasSubstr("Containers have restarted in place once."));
  crash("j-t0-0", "CrashLoopBackOff");
  crash("j-t0-1", "CrashLoopBackOff");
  const auto explanation = Explain();
  const Cause cause =
      Find(explanation, Cause::KIND_PODS, "2 pods restart in place again and again (CrashLoopBackOff, 3 restarts)");
  EXPECT_EQ(cause.subject(), "pod j-t0-0");
  EXPECT_EQ(cause.advice(), "See 'kubectl logs j-t0-0 --previous -n default'.");
  EXPECT_EQ(cause.message().find("Always"), std::string::npos) << cause.message();
  EXPECT_THAT(explanation.summary(), HasSubstr("2 pods restart in place again and again"));
  EXPECT_EQ(explanation.summary().find("Nothing holds it up"), std::string::npos) << explanation.summary();
  crash("j-t1-0", "Completed");
  EXPECT_THAT(
      Find(Explain(), Cause::KIND_PODS, "1 pod restarts in place again and again (Completed, 1 restart)").message(),
      HasSubstr("with restartPolicy Always no pod of task t1 ever finishes"));
}

TEST_F(ExplainApiTest, TheCauseBehindADependencyIsExplainedFirst) {
  kube::v1::Job job = MakeJob("j", 2, 1);
  job.mutable_spec()->set_min_available(1);
  job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
  Begin(job);
  rig_.kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) {
    pod.set_node_name("node-1");
    pod.set_reason("ImagePullBackOff");
  });
  rig_.Run();
  const auto explanation = Explain();
  Find(explanation, Cause::KIND_PODS, "1 pod is on a node, not started: ImagePullBackOff");
  EXPECT_EQ(explanation.causes(0).kind(), Cause::KIND_PODS) << "what keeps it comes before what is behind it";
  EXPECT_THAT(explanation.summary(), HasSubstr("See 'kubectl describe pod j-t0-0 -n default'."));
}

TEST_F(ExplainApiTest, HowItFailedAndWhenItIsDeletedIsTold) {
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 2), "PodFailed", "TerminateJob");
  job.mutable_spec()->set_ttl_seconds_after_finished(3600);
  BeginRunning(job);
  rig_.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  EXPECT_EQ(explanation.phase(), kube::v1::JOB_PHASE_TERMINATED);
  Find(explanation, Cause::KIND_ENDED, "the job is Terminated");
  const Cause deletion = Find(explanation, Cause::KIND_DEADLINE, "the job will be deleted");
  EXPECT_EQ(UntilMs(deletion), rig_.kube().job("default/j").status().last_transition_ms() + 3'600'000);
}

TEST_F(ExplainApiTest, AFailedJobIsExplainedByItsFailedPods) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->mutable_tasks(0)->set_min_available(2);
  BeginRunning(job);
  const int64_t now_ms = NowMs();
  int64_t ago_ms = 0;
  for (const char* pod : {"default/j-t0-0", "default/j-t0-1", "default/j-t1-0"}) {
    rig_.kube().EditPod(pod, [&](kube::v1::Pod& failed) {
      failed.set_phase(kPodFailed);
      failed.set_exit_code(7);
      failed.set_reason("Error");
      failed.set_finished_ms(now_ms - (ago_ms += 1000));
    });
  }
  rig_.kube().SetPodPhase("default/j-t1-1", kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  for (const bool lost : {false, true}) {
    SCOPED_TRACE(lost ? "its disk is lost" : "it is remembered");
    if (lost) {
      RestartFor(absl::Seconds(5), /*lose_disk=*/true);
    }
    const auto explanation = Explain();
    ASSERT_EQ(explanation.phase(), kFailed);
    const Cause first = Find(explanation, Cause::KIND_PODS, "1 of 2 pods of task t1 failed, j-t1-0: exit 7, Error");
    EXPECT_EQ(first.subject(), "pod j-t1-0");
    EXPECT_EQ(first.advice(), "Look at 'kubectl logs j-t1-0 -n default'. Correct it and submit it again.");
    Find(explanation, Cause::KIND_PODS, "2 of 2 pods of task t0 failed, first j-t0-1: exit 7, Error");
    EXPECT_THAT(explanation.summary(), HasSubstr("1 of 2 pods of task t1 failed, j-t1-0: exit 7, Error. Look at"));
  }
}

TEST_F(ExplainApiTest, TheRestartThatUsedUpTheRetriesIsNamed) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  job.mutable_spec()->set_max_retry(2);
  auto* policy = job.mutable_spec()->add_policies();
  policy->set_exit_code(42);
  policy->set_action("RestartJob");
  Begin(job);
  for (int run = 0; run < 2; ++run) {
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(5));
    for (const char* pod : {"default/j-t0-0", "default/j-t0-1"}) {
      rig_.kube().EditPod(pod, [&](kube::v1::Pod& failed) {
        failed.set_phase(kPodFailed);
        failed.set_exit_code(42);
        failed.set_reason("Error");
        failed.set_finished_ms(NowMs());
      });
    }
    rig_.Run(absl::Seconds(10));
  }
  const auto explanation = Explain();
  ASSERT_EQ(explanation.phase(), kFailed);
  EXPECT_EQ(explanation.entered_by().to_phase(), kFailed);
  const Cause cause =
      Find(explanation, Cause::KIND_PODS,
           "2 of 2 pods of task t0 failed, first j-t0-0: exit 42, Error; RestartJob used 2 of 2 retries");
  EXPECT_THAT(cause.advice(), HasSubstr("submit it again, with a higher maxRetry"));
  const std::string origin =
      "maxRetry is used up: RestartJob because of PodFailed of pod j-t0-0, exit code 42, Error (by spec.policies[0]).";
  EXPECT_THAT(explanation.summary(), HasSubstr(origin));

  rig_.kube().RemovePod("default/j-t0-0");
  rig_.kube().RemovePod("default/j-t0-1");
  rig_.Run(absl::Seconds(10));
  const auto later = Explain();
  EXPECT_THAT(later.summary(), HasSubstr(origin)) << "when no failed pod is there any more";
  EXPECT_THAT(later.summary(), HasSubstr("See 'basaltctl job history j -n default'. Correct it"));
}

TEST_F(ExplainApiTest, WhyItIsRestartedAndHowOftenItMayBe) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
  rig_.kube().SchedulePods();
  rig_.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  EXPECT_EQ(explanation.phase(), kRestarting);
  EXPECT_THAT(explanation.summary(),
              HasSubstr("RestartJob because of PodFailed of pod j-t0-1, exit code 3 (by spec.policies[0])"));
  Find(explanation, Cause::KIND_KILL, "pods that have to go are still there");
  Find(explanation, Cause::KIND_RETRIES, "1 of 3 retries are used");
}

TEST_F(ExplainApiTest, TooManyRestartsInPlaceAreToldWithTheLastOfThem) {
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 2), "TaskFailed", "AbortJob");
  // The exit code of a restart is no failure of the pod: a policy for that code does not match.
  auto* by_code = job.mutable_spec()->mutable_tasks(0)->add_policies();
  by_code->set_exit_code(3);
  by_code->set_action("CompleteJob");
  BeginRunning(std::move(job));
  rig_.kube().EditPod("default/j-t0-1", [](kube::v1::Pod& pod) {
    pod.set_restarts(3);
    pod.set_last_exit_code(3);
  });
  rig_.Run(absl::Seconds(5));
  EXPECT_THAT(Explain().summary(), HasSubstr("AbortJob because of TaskFailed of task t0 by pod j-t0-1, exit code 3 (by "
                                             "spec.policies[0])"));
}

TEST_F(ExplainApiTest, AResumeIsNotExplainedAsTheAbortBeforeIt) {
  BeginRunning(MakeJob("j", 1, 2));
  rig_.kube().SchedulePods();
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(5));
  const auto aborting = Explain();
  EXPECT_EQ(aborting.phase(), kube::v1::JOB_PHASE_ABORTING);
  EXPECT_THAT(Find(aborting, Cause::KIND_KILL, "its pods are still going (2)").advice(),
              HasSubstr("kubectl describe pod j-t0-0"));
  rig_.kube().PutCommand("default", "go", "ResumeJob", "j");
  rig_.Run(absl::Seconds(5));
  const auto resumed = Explain();
  EXPECT_EQ(resumed.phase(), kRestarting);
  EXPECT_THAT(resumed.summary(), HasSubstr("ResumeJob by command go"));
}

TEST_F(ExplainApiTest, AnAbortedJobCanBeResumed) {
  BeginRunning(MakeJob("j", 1, 1));
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  EXPECT_THAT(Find(explanation, Cause::KIND_ENDED, "the job is Aborted").advice(), HasSubstr("basaltctl job resume j"));
  EXPECT_THAT(explanation.summary(), HasSubstr("AbortJob by command stop."));
}

TEST_F(ExplainApiTest, KnownPodsOutliveARecordThatProvesStale) {
  Begin(MakeJob("j", 1, 2));
  for (const char* pod : {"default/j-t0-0", "default/j-t0-1"}) {
    rig_.kube().EditPod(pod, [](kube::v1::Pod& changed) {
      changed.set_node_name("node-1");
      changed.set_reason("ImagePullBackOff");
    });
  }
  rig_.Run(absl::Minutes(1));
  const auto pods = [this] {
    std::string text;
    const job::v1::Job job = Get();
    for (const job::v1::PodSummary& pod : job.pods()) text += pod.DebugString();
    return text;
  };
  const std::string before = pods();
  ASSERT_THAT(before, HasSubstr("node-1"));
  ASSERT_TRUE(CommitLate(rig_.kube(), "default/j"));
  rig_.Run(absl::Seconds(1));
  EXPECT_EQ(pods(), before);
  Find(Explain(), Cause::KIND_PODS, "2 pods are on a node, not started: ImagePullBackOff");
}

TEST_F(ExplainApiTest, WhyKubernetesEvictedAPodIsNamed) {
  for (const auto timeout : {absl::ZeroDuration(), absl::Minutes(10)}) {
    const bool is_pending = timeout > absl::ZeroDuration();
    BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "AbortJob", timeout));
    rig_.kube().EditPod("default/j-t0-0", [&](kube::v1::Pod& pod) {
      pod.set_phase(kPodFailed);
      pod.set_disruption_reason("PreemptionByScheduler");
      pod.set_disruption_ms(NowMs() / 1000 * 1000);
    });
    rig_.Run(absl::Seconds(20));
    const auto explanation = Explain();
    if (is_pending) {
      Find(explanation, Cause::KIND_DEADLINE, "AbortJob because of PodEvicted, PreemptionByScheduler");
    } else {
      EXPECT_THAT(explanation.summary(), HasSubstr("PodEvicted of pod j-t0-0, PreemptionByScheduler"));
      Find(explanation, Cause::KIND_PODS, "j-t0-0: PreemptionByScheduler");
    }
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Minutes(1));
  }
}

TEST_F(ExplainApiTest, KnownPodsThatHoldNamesOutliveTheirJob) {
  BeginRunning(MakeJob("j", 1, 1));
  rig_.kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) { pod.set_node_name("node-1"); });
  rig_.Run();
  const job::v1::PodSummary before = Get().pods(0);
  // The job was replaced while no process was running, and its pods are still there.
  kube::v1::Object another;
  *another.mutable_job() = rig_.kube().job("default/j");
  another.mutable_job()->mutable_meta()->set_uid("another");
  rig_.Show(another);
  rig_.Run();
  const job::v1::Job job = Get();
  ASSERT_EQ(job.pods_size(), 1);
  EXPECT_EQ(job.pods(0).DebugString(), before.DebugString());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
