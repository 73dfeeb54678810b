// Commands by the API, over a real controller and a small API server, under simulated time.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "services/jobsvc/api/testing.h"
#include "services/jobsvc/store/history_store.h"

namespace basalt::jobsvc::testing {
namespace {

class CommandApiTest : public ::testing::Test {
 protected:
  CommandApiTest() {
    rig_.Start();
    kube::v1::Job job = MakeJob("j", 2, 4);
    job.mutable_spec()->set_max_retry(10);
    auto* policy = job.mutable_spec()->mutable_tasks(1)->mutable_partition_policy();
    policy->set_total_partitions(2);
    policy->set_partition_size(2);
    rig_.kube().PutJob(job);
    rig_.Run();
    rig_.kube().SetAllPods(kube::v1::POD_PHASE_RUNNING);
    rig_.Run(absl::Seconds(5));
    EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }

  static job::v1::CommandJobRequest Request(const std::string& action) {
    job::v1::CommandJobRequest request;
    request.set_name("j");
    request.set_action(action);
    return request;
  }
  // Returns the name of the Command.
  absl::StatusOr<std::string> Ask(job::v1::CommandJobRequest request, absl::Duration time = absl::Seconds(10)) {
    std::optional<absl::StatusOr<job::v1::CommandJobResponse>> answer;
    api_.Command(std::move(request), /*user_token=*/"", [&](auto got) { answer = std::move(got); });
    rig_.Run(time);
    if (!answer) return absl::InternalError("no answer");
    if (!answer->ok()) return answer->status();
    return (*answer)->command();
  }
  std::string Refusal(const job::v1::CommandJobRequest& request) {
    const auto answer = Ask(request);
    return answer.ok() ? "accepted" : std::string(ToStd(answer.status().message()));
  }
  // Returns the pods that are still those with which the test began.
  std::string Kept() {
    std::string kept;
    for (const auto& [name, pod] : rig_.kube().pods()) {
      if (first_.contains(name) && first_.at(name) == pod.uid()) kept += (kept.empty() ? "" : " ") + name.substr(10);
    }
    return kept;
  }
  void SetUp() override {
    for (const auto& [name, pod] : rig_.kube().pods()) first_[name] = pod.uid();
  }

  JobRig rig_;
  RigWorkers workers_{{&rig_}};
  JobApi api_{workers_, std::make_shared<watch::WatchHub>()};
  std::map<std::string, std::string> first_;
};

// The disk is lost, and the job cannot be read: it is not known whether there is such a pod.
TEST_F(CommandApiTest, ACommandWaitsUntilTheJobHasBeenRead) {
  rig_.Kill();
  rig_.LoseDisk();
  rig_.kube().refuse_get = [](const gateway::v1::GetRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    return true;
  };
  rig_.Start();
  rig_.Run();
  job::v1::CommandJobRequest request = Request("RestartPod");
  request.set_pod("j-t0-0");
  EXPECT_EQ(Ask(request, absl::Seconds(1)).status().code(), absl::StatusCode::kUnavailable);
  rig_.kube().refuse_get = nullptr;
  rig_.Run(absl::Minutes(1));
  EXPECT_TRUE(Ask(request).ok());
}

TEST_F(CommandApiTest, AJobIsSuspendedAndResumed) {
  const auto asked = Ask(Request("AbortJob"));
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_TRUE(asked->starts_with("j-abortjob-")) << *asked;
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_TRUE(rig_.kube().commands().empty()) << "carried out, and removed";
  ASSERT_TRUE(Ask(Request("ResumeJob")).ok());
  rig_.Run(absl::Seconds(5));
  rig_.kube().SetAllPods(kube::v1::POD_PHASE_RUNNING);
  rig_.Run(absl::Seconds(5));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  EXPECT_EQ(rig_.kube().job("default/j").status().retry_count(), 0) << "W14";
}

TEST_F(CommandApiTest, ATaskAPartitionAndAPodAreRestartedAndNothingElse) {
  job::v1::CommandJobRequest pod = Request("RestartPod");
  pod.set_pod("j-t0-1");
  ASSERT_TRUE(Ask(pod).ok());
  EXPECT_EQ(Kept(), "t0-0 t0-2 t0-3 t1-0 t1-1 t1-2 t1-3");
  job::v1::CommandJobRequest partition = Request("RestartPartition");
  partition.set_task("t1");
  partition.set_partition(0);
  ASSERT_TRUE(Ask(partition).ok());
  EXPECT_EQ(Kept(), "t0-0 t0-2 t0-3 t1-2 t1-3");
  job::v1::CommandJobRequest task = Request("RestartTask");
  task.set_task("t0");
  ASSERT_TRUE(Ask(task).ok());
  EXPECT_EQ(Kept(), "t1-2 t1-3");
  EXPECT_EQ(rig_.kube().job("default/j").status().version(), 0);
  const auto history = HistoryStore(rig_.store()).Read(SlotOf("default/j"), rig_.kube().job("default/j").meta().uid());
  std::string subjects;
  for (const auto& entry : *history) {
    if (entry.event() == "CommandIssued") subjects += entry.subject().substr(entry.subject().find(" for ")) + ";";
  }
  EXPECT_EQ(subjects, " for pod j-t0-1; for task t1, partition 0; for task t0;");
}

TEST_F(CommandApiTest, ARequestThatIsRepeatedMakesOneCommand) {
  job::v1::CommandJobRequest request = Request("RestartJob");
  request.set_request_id("once");
  rig_.kube().ClearLog();
  std::optional<absl::StatusOr<job::v1::CommandJobResponse>> first;
  std::optional<absl::StatusOr<job::v1::CommandJobResponse>> second;
  api_.Command(request, /*user_token=*/"", [&](auto got) { first = std::move(got); });
  api_.Command(request, /*user_token=*/"", [&](auto got) { second = std::move(got); });
  rig_.Run(absl::Seconds(20));
  ASSERT_TRUE(first && first->ok() && second && second->ok());
  EXPECT_EQ((*first)->command(), (*second)->command());
  EXPECT_EQ(rig_.kube().Count("create", "commands"), 1);
  EXPECT_EQ(rig_.kube().job("default/j").status().version(), 1);
  ASSERT_TRUE(Ask(Request("RestartJob")).ok());
  EXPECT_EQ(rig_.kube().job("default/j").status().version(), 2) << "one without an id is another one";
}

TEST_F(CommandApiTest, ABadCommandIsRefusedByFieldAndNothingIsWritten) {
  const auto with = [](const std::string& action, auto edit) {
    job::v1::CommandJobRequest request = Request(action);
    edit(request);
    return request;
  };
  rig_.kube().ClearLog();
  EXPECT_TRUE(Refusal(Request("Explode")).starts_with("action: 'Explode' is none; use AbortJob"));
  EXPECT_TRUE(Refusal(Request("SyncJob")).starts_with("action: 'SyncJob' is none"));
  EXPECT_TRUE(Refusal(Request("")).starts_with("action: '' is none"));
  EXPECT_EQ(Refusal(Request("RestartTask")), "task: RestartTask needs one") << "W32";
  EXPECT_EQ(Refusal(Request("RestartPod")), "pod: RestartPod needs one");
  EXPECT_EQ(Refusal(with("RestartPartition", [](auto& it) { it.set_task("t1"); })),
            "partition: RestartPartition needs one");
  EXPECT_EQ(Refusal(with("AbortJob", [](auto& it) { it.set_task("t0"); })), "task: AbortJob takes none");
  EXPECT_EQ(Refusal(with("RestartTask", [](auto& it) { it.set_task("t9"); })), "job default/j has no task t9");
  EXPECT_EQ(Refusal(with("RestartPod", [](auto& it) { it.set_pod("j-t0-9"); })), "job default/j has no pod j-t0-9");
  EXPECT_EQ(Refusal(with("RestartPartition",
                         [](auto& it) {
                           it.set_task("t0");
                           it.set_partition(0);
                         })),
            "partition: task t0 has no partitions");
  EXPECT_EQ(Refusal(with("RestartPartition",
                         [](auto& it) {
                           it.set_task("t1");
                           it.set_partition(2);
                         })),
            "partition: 2 is not between 0 and 1, which task t1 has");
  EXPECT_EQ(Refusal(with("AbortJob", [](auto& it) { it.set_name("none"); })), "job default/none does not exist");
  EXPECT_TRUE(Refusal(with("AbortJob", [](auto& it) {
                it.set_uid("old");
              })).starts_with("job default/j with UID old does not exist"));
  EXPECT_EQ(rig_.kube().WritesButEvents(), 0);
  EXPECT_EQ(Kept(), "t0-0 t0-1 t0-2 t0-3 t1-0 t1-1 t1-2 t1-3");
}

// Kubernetes knows no target below the job, and anybody may write a Command.
TEST_F(CommandApiTest, ACommandWithoutTheTargetThatItNeedsIsAnsweredAndDoesNothing) {
  for (const char* action : {"RestartTask", "RestartPod", "RestartPartition", "Nonsense"}) {
    rig_.kube().PutCommand("default", "by-hand", action, "j");
    rig_.Run(absl::Seconds(10));
    EXPECT_TRUE(rig_.kube().commands().empty()) << action;
  }
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  EXPECT_EQ(rig_.kube().job("default/j").status().retry_count(), 0);
  EXPECT_EQ(Kept(), "t0-0 t0-1 t0-2 t0-3 t1-0 t1-1 t1-2 t1-3");
}

TEST_F(CommandApiTest, ARefusalOfTheServerIsQuoted) {
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (request.resource().plural() != "commands") return false;
    error.set_code(403);
    error.set_reason("Forbidden");
    error.set_message("commands is forbidden for basalt-gateway");
    return true;
  });
  const auto answer = Ask(Request("AbortJob"));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ToStd(answer.status().message()), "commands is forbidden for basalt-gateway");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
