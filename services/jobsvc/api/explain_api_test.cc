// What the API says of why a job is where it is, over a real controller and a small API server, under simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "services/jobsvc/api/testing.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;
using ::testing::HasSubstr;

class ExplainApiTest : public ::testing::Test {
 protected:
  ExplainApiTest() {
    rig_.Start();
    PutQueue("Open");
  }
  void PutQueue(const std::string& state) {
    kube::v1::Object object;
    object.mutable_queue()->mutable_meta()->set_name("default");
    object.mutable_queue()->set_state(state);
    rig_.controller().OnShared("queues", object, /*gone=*/state.empty());
  }
  void Begin(kube::v1::Job job) {
    rig_.kube().PutJob(std::move(job));
    rig_.Run(absl::Seconds(2));
  }
  void BeginRunning(kube::v1::Job job) {
    Begin(std::move(job));
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(5));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }
  job::v1::JobExplanation Explain() {
    job::v1::ExplainJobRequest request;
    request.set_name("j");
    std::optional<absl::StatusOr<job::v1::JobExplanation>> answer;
    api_.Explain(std::move(request), [&](auto got) { answer = std::move(got); });
    rig_.Run(absl::ZeroDuration());
    if (!answer || !answer->ok()) {
      ADD_FAILURE() << (answer ? answer->status().ToString() : "no answer");
      return {};
    }
    return **std::move(answer);
  }
  // The cause of that kind, whose message has the words; it is an error if there is none.
  static Cause Find(const job::v1::JobExplanation& explanation, Cause::Kind kind, const std::string& words) {
    for (const Cause& cause : explanation.causes()) {
      if (cause.kind() == kind && cause.message().find(words) != std::string::npos) return cause;
    }
    ADD_FAILURE() << "no " << Cause::Kind_Name(kind) << " with '" << words << "' in " << explanation.DebugString();
    return {};
  }
  std::string GroupKey() { return rig_.kube().groups().begin()->first; }

  JobRig rig_;
  RigWorkers workers_{{&rig_}};
  JobApi api_{workers_, std::make_shared<WatchHub>()};
};

TEST_F(ExplainApiTest, OfAJobThatRunsNothingHoldsItUp) {
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
  const int64_t when = absl::ToUnixMillis(rig_.time().Now()) - 60'000;
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
  EXPECT_EQ(explanation.causes(0).since_ms(), when);
  EXPECT_EQ(explanation.causes(1).kind(), Cause::KIND_POD_GROUP);
  EXPECT_THAT(explanation.summary(), HasSubstr("2/2 tasks in gang unschedulable: not enough cpu."));
  EXPECT_THAT(explanation.summary(), HasSubstr("This has been so for 1m1s."));
  EXPECT_THAT(explanation.summary(), HasSubstr("2 pods must fit at once (minAvailable)"));
}

TEST_F(ExplainApiTest, AQueueThatIsClosedOrMissingIsNamed) {
  rig_.kube().new_group_phase = "Pending";
  Begin(MakeJob("j", 1, 2));
  PutQueue("Closed");
  EXPECT_EQ(Find(Explain(), Cause::KIND_QUEUE, "queue default is Closed").subject(), "queue default");
  EXPECT_GT(Find(Explain(), Cause::KIND_QUEUE, "").since_ms(), 0);
  PutQueue("");
  EXPECT_THAT(Find(Explain(), Cause::KIND_QUEUE, "queue default does not exist").advice(),
              HasSubstr("Create the queue"));
}

TEST_F(ExplainApiTest, SinceWhenAQueueARefusalAndAKillHoldItUp) {
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_create() || request.resource().plural() != "pods") return false;
    error.set_code(403);
    error.set_message("denied by policy");
    return true;
  });
  rig_.Run(absl::Seconds(10));
  const auto now_ms = [&] { return absl::ToUnixMillis(rig_.time().Now()); };
  const int64_t refused_ms = now_ms();
  Begin(MakeJob("j", 1, 2));
  rig_.Run(absl::Minutes(2));
  EXPECT_NEAR(static_cast<double>(Find(Explain(), Cause::KIND_REFUSED, "denied by policy").since_ms()),
              static_cast<double>(refused_ms), 1000);
  rig_.Kill();
  rig_.Start();
  rig_.Run(absl::Minutes(1));
  EXPECT_NEAR(static_cast<double>(Find(Explain(), Cause::KIND_REFUSED, "denied by policy").since_ms()),
              static_cast<double>(refused_ms), 5000)
      << "it was so before";

  rig_.kube().SetRefuse(nullptr);
  PutQueue("Open");
  rig_.Run(absl::Minutes(1));
  rig_.kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Seconds(5));
  rig_.kube().graceful_pods = true;
  rig_.kube().new_group_phase = "Pending";
  const int64_t killed_ms = now_ms();
  rig_.kube().PutCommand("default", "again", "RestartJob", "j");
  rig_.Run(absl::Seconds(40));
  EXPECT_NEAR(static_cast<double>(Find(Explain(), Cause::KIND_KILL, "").since_ms()), static_cast<double>(killed_ms),
              1000);

  rig_.kube().FinishDeletions();
  rig_.Run(absl::Seconds(5));
  const int64_t closed_ms = now_ms();
  PutQueue("Closed");
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(Find(Explain(), Cause::KIND_QUEUE, "queue default is Closed").since_ms(), closed_ms);
}

TEST_F(ExplainApiTest, AClaimThatIsMissingIsNamedWithItsNextTry) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  auto* volume = job.mutable_spec()->add_volumes();
  volume->set_mount_path("/data");
  volume->set_volume_claim_name("data");
  Begin(job);
  const Cause cause = Find(Explain(), Cause::KIND_CLAIM, "claim data does not exist");
  EXPECT_EQ(cause.subject(), "claim data");
  EXPECT_GT(cause.since_ms(), 0);
  EXPECT_GT(cause.until_ms(), absl::ToUnixMillis(rig_.time().Now()));
  EXPECT_THAT(cause.advice(), HasSubstr("Create PersistentVolumeClaim data in namespace default"));
}

TEST_F(ExplainApiTest, SinceWhenAClaimIsMissingAndAQueueAndASpecIsRefusedOutlivesTheProcess) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  auto* volume = job.mutable_spec()->add_volumes();
  volume->set_mount_path("/data");
  volume->set_volume_claim_name("data");
  kube::v1::Job refused = MakeJob("j", 1, 1);
  refused.mutable_spec()->mutable_tasks(0)->set_min_available(4);
  kube::v1::Job waits = MakeJob("j", 1, 1);
  waits.mutable_spec()->set_queue("nobodys");
  rig_.kube().new_group_phase = "Pending";
  const std::pair<kube::v1::Job, Cause::Kind> rows[] = {
      {job, Cause::KIND_CLAIM}, {refused, Cause::KIND_SPEC}, {waits, Cause::KIND_QUEUE}};
  for (const auto& [row, kind] : rows) {
    SCOPED_TRACE(Cause::Kind_Name(kind));
    rig_.Run(absl::Seconds(10));
    const int64_t begun_ms = absl::ToUnixMillis(rig_.time().Now());
    Begin(row);
    rig_.Run(absl::Minutes(2));
    EXPECT_NEAR(static_cast<double>(Find(Explain(), kind, "").since_ms()), static_cast<double>(begun_ms), 5000);
    rig_.Kill();
    rig_.Start();
    rig_.Run(absl::Minutes(1));
    EXPECT_NEAR(static_cast<double>(Find(Explain(), kind, "").since_ms()), static_cast<double>(begun_ms), 5000)
        << "after a restart";
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Seconds(5));
  }
}

TEST_F(ExplainApiTest, ANameThatAForeignPodHoldsIsToldWithWhatFreesIt) {
  rig_.kube().PutForeignPod("default", "j-t0-0", /*job_name=*/"");
  Begin(MakeJob("j", 1, 1));
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_NAME_HELD, "the name is held by an object of another owner");
  EXPECT_EQ(cause.subject(), "pod j-t0-0");
  EXPECT_EQ(cause.advice(), "Delete that object, or wait until it is gone.");
  EXPECT_THAT(explanation.summary(), HasSubstr(cause.advice()));
}

TEST_F(ExplainApiTest, AClaimThatCannotBeReadIsNotSaidToBeMissing) {
  rig_.kube().refuse_get = [](const gateway::v1::GetRequest& request, gateway::v1::KubeError& error) {
    if (request.resource().plural() != "persistentvolumeclaims") return false;
    error.set_code(403);
    error.set_message("basalt may not get persistentvolumeclaims");
    return true;
  };
  kube::v1::Job job = MakeJob("j", 1, 1);
  auto* volume = job.mutable_spec()->add_volumes();
  volume->set_mount_path("/data");
  volume->set_volume_claim_name("data");
  Begin(job);
  EXPECT_EQ(Find(Explain(), Cause::KIND_CLAIM, "basalt may not get").message(),
            "claim data: basalt may not get persistentvolumeclaims");
}

TEST_F(ExplainApiTest, WhatTheApiServerRefusesIsToldInItsWordsWithTheBackOff) {
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_create() || request.resource().plural() != "pods") return false;
    error.set_code(403);
    error.set_reason("Forbidden");
    error.set_message("pods \"j-t0-0\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4");
    return true;
  });
  Begin(MakeJob("j", 1, 1));
  const Cause cause = Find(Explain(), Cause::KIND_REFUSED, "exceeded quota: team");
  EXPECT_GT(cause.until_ms(), absl::ToUnixMillis(rig_.time().Now()));
  EXPECT_THAT(cause.advice(), HasSubstr("ResourceQuota"));
}

TEST_F(ExplainApiTest, HowLongTheServerIsLeftAloneIsToldWithoutAnyWordsOfIt) {
  rig_.fate = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() == "pods" ? Fate::kNotSent : Fate::kNormal;
  };
  Begin(MakeJob("j", 1, 1));
  const Cause cause = Find(Explain(), Cause::KIND_PODS, "pods are being made");
  EXPECT_GT(cause.until_ms(), absl::ToUnixMillis(rig_.time().Now()));
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
  EXPECT_EQ(cause.since_ms(), explanation.entered_by().time_ms());
  EXPECT_LE(cause.since_ms(), absl::ToUnixMillis(rig_.time().Now()) - 60'000);
  EXPECT_EQ(Find(explanation, Cause::KIND_DEPENDENCY, "task t2 waits for task t0").subject(), "task t2");
}

TEST_F(ExplainApiTest, AGangThatWaitsForItselfIsNotToldToMakeRoom) {
  for (const char* group : {"Pending", "Inqueue"}) {
    SCOPED_TRACE(group);
    rig_.kube().new_group_phase = group;
    kube::v1::Job job = MakeJob("j", 2, 1);
    job.mutable_spec()->mutable_tasks(1)->set_replicas(2);
    job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
    job.mutable_spec()->set_min_available(3);
    Begin(job);
    rig_.kube().EditGroup(GroupKey(), [&](kube::v1::PodGroup& changed) {
      auto* condition = changed.add_conditions();
      condition->set_type("Unschedulable");
      condition->set_status("True");
      condition->set_message("1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 3 minAvailable.");
    });
    rig_.Run();
    const auto explanation = Explain();
    ASSERT_GE(explanation.causes_size(), 2);
    EXPECT_EQ(explanation.causes(0).message(),
              "minAvailable is 3, and only 1 pod can be made before the tasks with dependsOn: the scheduler waits for "
              "the others, and they for these");
    EXPECT_EQ(explanation.causes(0).advice(),
              "'basaltctl job scale j -n default --min-available 1' lets the first ones start.");
    EXPECT_THAT(explanation.summary(), HasSubstr(explanation.causes(0).advice()));
    EXPECT_EQ(Find(explanation, Cause::KIND_UNSCHEDULABLE, "").message(),
              "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 3 minAvailable");
    EXPECT_EQ(explanation.DebugString().find("add or free resources"), std::string::npos) << explanation.DebugString();
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Seconds(5));
  }
}

TEST_F(ExplainApiTest, AGangOfWhichAPodRunsDoesNotWaitForItself) {
  kube::v1::Job job = MakeJob("j", 2, 1);
  job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
  Begin(job);
  rig_.kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) { pod.set_phase(kPodRunning); });  // And is not ready.
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  EXPECT_EQ(explanation.causes(0).message(), "task t1 waits for task t0") << explanation.DebugString();
}

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
  EXPECT_GT(pulled.since_ms(), 0);
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

TEST_F(ExplainApiTest, ADeadlineSaysWhatWillHappenAndWhen) {
  Begin(WithPolicy(MakeJob("j", 1, 1), "PodPending", "AbortJob", absl::Minutes(10)));
  const auto explanation = Explain();
  const Cause cause = Find(explanation, Cause::KIND_DEADLINE, "AbortJob because of PodPending");
  EXPECT_EQ(cause.subject(), "pod j-t0-0");
  EXPECT_EQ(cause.until_ms() - cause.since_ms(), 600'000);
  EXPECT_THAT(explanation.summary(), HasSubstr("AbortJob because of PodPending (spec.policies[0]), about pod j-t0-0."));
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
  EXPECT_EQ(deletion.until_ms(), rig_.kube().job("default/j").status().last_transition_ms() + 3'600'000);
}

TEST_F(ExplainApiTest, WhatFailedAndWhatCanBeDoneIsToldOfAFailedJob) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->mutable_tasks(0)->set_min_available(2);
  BeginRunning(job);
  const int64_t now_ms = absl::ToUnixMillis(rig_.time().Now());
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
      rig_.Kill();
      rig_.LoseDisk();
      rig_.Start();
      rig_.Run(absl::Seconds(5));
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

TEST_F(ExplainApiTest, WhatUsedUpTheRetriesIsTold) {
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
        failed.set_finished_ms(absl::ToUnixMillis(rig_.time().Now()));
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
  rig_.kube().graceful_pods = true;
  rig_.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  EXPECT_EQ(explanation.phase(), kRestarting);
  EXPECT_THAT(explanation.summary(),
              HasSubstr("RestartJob because of PodFailed of pod j-t0-1, exit code 3 (by spec.policies[0])"));
  Find(explanation, Cause::KIND_KILL, "pods that have to go are still there");
  Find(explanation, Cause::KIND_RETRIES, "1 of 3 retries are used");
}

TEST_F(ExplainApiTest, WhatKeepsPodsFromBeingDeletedIsToldInEveryPhase) {
  for (const char* action : {"AbortJob", "CompleteJob", "RestartJob"}) {
    SCOPED_TRACE(action);
    rig_.kube().SetRefuse(nullptr);
    BeginRunning(MakeJob("j", 1, 2));
    rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (request.resource().plural() != "pods" || request.has_create() || request.has_patch()) return false;
      error.set_code(403);
      error.set_message("pods are kept by policy");
      return true;
    });
    rig_.kube().PutCommand("default", "end", action, "j");
    rig_.Run(absl::Seconds(10));
    const auto explanation = Explain();
    const Cause cause = Find(explanation, Cause::KIND_REFUSED, "pods are kept by policy");
    EXPECT_GT(cause.until_ms(), absl::ToUnixMillis(rig_.time().Now()));
    EXPECT_THAT(explanation.summary(), HasSubstr("pods are kept by policy."));
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Seconds(5));
  }
}

TEST_F(ExplainApiTest, AResumeIsNotExplainedAsTheAbortBeforeIt) {
  BeginRunning(MakeJob("j", 1, 2));
  rig_.kube().graceful_pods = true;
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

TEST_F(ExplainApiTest, WhatIsBehindADependencyIsToldToo) {
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

TEST_F(ExplainApiTest, AStatusThatTheApiServerRefusesIsTold) {
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (request.subresource() != "status") return false;
    error.set_code(403);
    error.set_message("denied by policy");
    return true;
  });
  Begin(MakeJob("j", 1, 1));
  const auto explanation = Explain();
  Find(explanation, Cause::KIND_STATUS_WRITE, "the API server refuses the job's status: denied by policy");
  EXPECT_THAT(explanation.summary(), HasSubstr("denied by policy"));
}

TEST_F(ExplainApiTest, WhatASuspendedJobWasRefusedIsOver) {
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_create() || request.resource().plural() != "pods") return false;
    error.set_code(403);
    error.set_message("exceeded quota: team");
    return true;
  });
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
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_delete_() || request.resource().plural() != "commands") return false;
    error.set_code(403);
    error.set_message("no right to delete commands");
    return true;
  });
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
  EXPECT_GT(cause.until_ms(), absl::ToUnixMillis(rig_.time().Now()));
  Find(explanation, Cause::KIND_COMMAND, "command go waits for its turn");
  rig_.kube().SetRefuse(nullptr);
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kPending);
  EXPECT_EQ(rig_.kube().job("default/j").status().reason(), "");
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

TEST_F(ExplainApiTest, AnAbortedJobCanBeResumed) {
  BeginRunning(MakeJob("j", 1, 1));
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(5));
  const auto explanation = Explain();
  EXPECT_THAT(Find(explanation, Cause::KIND_ENDED, "the job is Aborted").advice(), HasSubstr("basaltctl job resume j"));
  EXPECT_THAT(explanation.summary(), HasSubstr("AbortJob by command stop."));
}

TEST_F(ExplainApiTest, ASpecThatIsRefusedAndOneThatIsOddAreTold) {
  kube::v1::Job job = MakeJob("j", 1, 1);
  job.mutable_spec()->mutable_tasks(0)->set_min_available(4);
  Begin(job);
  const auto explanation = Explain();
  EXPECT_EQ(explanation.causes(0).kind(), Cause::KIND_SPEC);
  EXPECT_THAT(explanation.causes(0).message(), HasSubstr("spec.tasks[0].minAvailable"));
  EXPECT_GT(explanation.causes(0).since_ms(), 0);
  EXPECT_THAT(explanation.summary(), HasSubstr(" spec.tasks[0].minAvailable"));
  EXPECT_EQ(explanation.causes_size(), 1) << "once: " << explanation.DebugString();
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
