// Actions that wait to be carried out: answers of policies, commands, and deadlines that become due.
#include "services/jobsvc/control/actions/pending_actions.h"

#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class PendingActionsTest : public PartTest {
 protected:
  PendingActionsTest() {
    job.pods.Reset("j", "job-uid");
    job.pods.SetTasks({{"w", 2}});
    kube::v1::TaskSpec& task = *job.compiled->spec.add_tasks();
    task.set_name("w");
    task.set_replicas(2);
    AddPolicy(task, "PodFailed", "AbortJob", 0);
    AddPolicy(task, "PodEvicted", "RestartJob", 10'000);
  }
  static void AddPolicy(kube::v1::TaskSpec& task, const char* event, const char* action, int64_t timeout_ms) {
    kube::v1::LifecyclePolicy& policy = *task.add_policies();
    policy.set_action(action);
    policy.add_events(event);
    if (timeout_ms != 0) policy.set_timeout_ms(timeout_ms);
  }
  JobEvent EventOf(std::string_view kind, int32_t index) {
    JobEvent event;
    event.kind = kind;
    event.task = 0;
    event.index = index;
    event.pod = "j-w-" + std::to_string(index);
    event.pod_uid = "uid-" + std::to_string(index);
    event.version = 0;
    event.time_ms = absl::ToUnixMillis(host.Now());
    return event;
  }
  void AddCommand(const std::string& name, int64_t resource_version, const std::string& target) {
    kube::v1::Command& command = job.commands[name];
    command.mutable_meta()->set_name(name);
    command.mutable_meta()->set_uid("uid-of-" + name);
    command.mutable_meta()->set_resource_version(resource_version);
    command.mutable_target()->set_uid(target);
    command.set_action("AbortJob");
  }
};

TEST_F(PendingActionsTest, AnAnswerWithoutATimeoutIsPendingAtOnce) {
  QueueActions(job, {EventOf(kEventPodRunning, 0)});
  EXPECT_EQ(job.record.pending_size(), 0);
  EXPECT_FALSE(job.record_dirty);
  JobEvent later = EventOf(kEventPodFailed, 0);
  later.time_ms += 1000;
  QueueActions(job, {later, EventOf(kEventPodFailed, 1)});
  ASSERT_EQ(job.record.pending_size(), 2);
  EXPECT_TRUE(job.record_dirty);
  EXPECT_EQ(job.record.pending(0).pod(), "j-w-1") << "in the order of the facts";
  EXPECT_EQ(job.record.pending(0).action(), "AbortJob");
  EXPECT_EQ(job.record.pending(0).rule(), "spec.tasks[0].policies[0]");
  EXPECT_EQ(job.record.pending(0).subject(), "pod j-w-1");
}

TEST_F(PendingActionsTest, AnAnswerWithATimeoutWaitsAndManyAreOneEvent) {
  QueueActions(job, {EventOf(kEventPodEvicted, 0), EventOf(kEventPodEvicted, 1)});
  EXPECT_EQ(job.record.pending_size(), 0);
  EXPECT_EQ(job.deadlines.size(), 2U);
  ASSERT_EQ(job.pending_events.size(), 1U);
  EXPECT_EQ(job.pending_events[0].message,
            "RestartJob in 10s because of PodEvicted (pod j-w-0 and 1 more, spec.tasks[0].policies[1])");
  EXPECT_EQ(job.deadlines.NextDue(), absl::ToUnixMillis(host.Now()) + 10'000);
}

TEST_F(PendingActionsTest, CommandsAreTakenOneAtATimeInTheOrderOfTheirResourceVersion) {
  AddCommand("late", 9, "job-uid");
  AddCommand("early", 4, "job-uid");
  AddCommand("of-another-job", 1, "another");
  EnqueueNextCommand(job);
  EnqueueNextCommand(job);
  ASSERT_EQ(job.record.pending_size(), 1);
  EXPECT_EQ(job.record.pending(0).command_uid(), "uid-of-early");
  ASSERT_EQ(job.pending_events.size(), 1U);
  EXPECT_EQ(job.pending_events[0].message, "command early asks for AbortJob");
  job.record.clear_pending();
  job.persisted.last_command_uid = "uid-of-early";
  EnqueueNextCommand(job);
  EXPECT_EQ(job.record.pending_size(), 0) << "it is carried out and not deleted yet";
  job.commands.erase("early");
  EnqueueNextCommand(job);
  ASSERT_EQ(job.record.pending_size(), 1);
  EXPECT_EQ(job.record.pending(0).command_uid(), "uid-of-late");
}

TEST_F(PendingActionsTest, TheRemovalOfAPodWhoseFailureIsAnsweredIsNotAnsweredAsWell) {
  const auto restart_for = [this](std::string_view kind, int32_t index) {
    return ActionOf(EventOf(kind, index), {.action = "RestartPod", .rule = "", .timeout_ms = {}}, job.compiled->spec);
  };
  for (const int32_t index : {0, 1}) {
    *job.record.add_pending() = restart_for(kEventPodEvicted, index);
    storage::v1::PendingAction later = restart_for(kEventPodEvicted, index);
    later.set_action("RestartJob");
    later.set_due_ms(1'000'000);
    job.deadlines.Add(later);
  }
  DropAnsweredEnds({restart_for(kEventPodEvicted, 1)}, job);
  EXPECT_EQ(job.record.pending_size(), 2);
  EXPECT_EQ(job.deadlines.size(), 2U);
  DropAnsweredEnds({restart_for(kEventPodFailed, 0)}, job);
  ASSERT_EQ(job.record.pending_size(), 1);
  EXPECT_EQ(job.record.pending(0).pod(), "j-w-1");
  EXPECT_EQ(job.deadlines.Find("j-w-0"), nullptr);
  EXPECT_NE(job.deadlines.Find("j-w-1"), nullptr);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
