// People act on an existing job by basaltctl: suspend, resume, restart, complete, scale, explain, wait.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;

class CommandTest : public WorldTest {
 protected:
  void Begin(const std::string& name) {
    world_.Submit(name, JobManifest(name, 2, "300s", "minAvailable: 2", "labels: {kind: ask}"));
    Waits(name, "Running");
  }
  void Waits(const std::string& name, const std::string& phase) {
    const Ran ran = world_.Ctl({"job", "wait", name, "--for", phase, "--timeout", "60s"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("job default/{} is {}", name, phase)));
  }
  void Asks(const std::vector<std::string>& words, const std::string& action) {
    const Ran ran = world_.Ctl(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(action + " asked for"));
  }
  std::string UidOf(const std::string& pod) {
    const json::value object = world_.KubeGet("/api/v1/namespaces/default/pods/" + pod);
    const json::value* uid = FindPath(object, {"metadata", "uid"});
    return uid == nullptr ? std::string() : std::string(uid->as_string());
  }
};

TEST_F(CommandTest, AJobIsSuspendedResumedAndCompleted) {
  Begin("ask");
  Asks({"job", "suspend", "ask"}, "AbortJob");
  Waits("ask", "Aborted");
  const Ran waits = world_.Ctl({"job", "wait", "ask", "--for", "Running", "--timeout", "1s"});
  EXPECT_EQ(waits.exit_code, 1) << "it may be resumed yet: " << waits.out << waits.err;
  EXPECT_THAT(waits.err, HasSubstr("job default/ask is Aborted after 1s, not Running"));
  Asks({"job", "resume", "ask"}, "ResumeJob");
  Waits("ask", "Running");
  Asks({"job", "complete", "ask"}, "CompleteJob");
  Waits("ask", "Completed");
  const Ran history = world_.Ctl({"job", "history", "ask"});
  for (const char* action : {"AbortJob", "ResumeJob", "CompleteJob"}) EXPECT_THAT(history.out, HasSubstr(action));
  const Ran over = world_.Ctl({"job", "wait", "ask", "--for", "Running", "--timeout", "20s"});
  EXPECT_EQ(over.exit_code, 3) << "it never will be: " << over.out << over.err;
  EXPECT_THAT(over.out, HasSubstr("is Completed"));
  EXPECT_EQ(world_.Ctl({"job", "delete", "ask"}).exit_code, 0);
  const Ran gone = world_.Ctl({"job", "wait", "ask", "--for", "Deleted", "--timeout", "60s"});
  EXPECT_EQ(gone.exit_code, 0) << gone.out << gone.err;
}

TEST_F(CommandTest, OnePodIsRestartedAndTheOtherStays) {
  Begin("part");
  const std::string first = UidOf("part-work-0");
  const std::string second = UidOf("part-work-1");
  ASSERT_NE(first, "");
  const Ran restarted = world_.Ctl({"job", "restart", "part", "--pod", "part-work-1", "--wait", "--timeout", "60s"});
  EXPECT_EQ(restarted.exit_code, 0) << restarted.err;
  EXPECT_THAT(restarted.out, HasSubstr("job default/part: RestartPod: kill of 1 pod"));
  // The wait returns for the Running that the command caused, not for the Running before the command.
  Waits("part", "Running");
  EXPECT_NE(UidOf("part-work-1"), second);
  EXPECT_EQ(UidOf("part-work-0"), first);
  Asks({"job", "terminate", "part"}, "TerminateJob");
  Waits("part", "Terminated");
}

TEST_F(CommandTest, AJobIsScaledAndExplained) {
  Begin("size");
  const Ran scaled = world_.Ctl({"job", "scale", "size", "work=3", "--min-available", "1"});
  EXPECT_EQ(scaled.exit_code, 0) << scaled.err;
  EXPECT_EQ(scaled.out, "job default/size: work=3\n");
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return !UidOf("size-work-2").empty(); }));
  // The submission gave the task a minimum of its own.
  const Ran refused = world_.Ctl({"job", "scale", "size", "work=1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("spec.tasks[0].minAvailable is 2, with 1 replicas"));
  EXPECT_EQ(world_.Ctl({"job", "scale", "size", "work=1", "--task-min-available", "work=1"}).exit_code, 0);
  EXPECT_TRUE(
      Eventually(absl::Seconds(60), [&] { return UidOf("size-work-2").empty() && UidOf("size-work-1").empty(); }));
  Waits("size", "Running");
  const Ran explained = world_.Ctl({"job", "explain", "size"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("Job default/size is Running"));
  Asks({"job", "suspend", "size"}, "AbortJob");
  Waits("size", "Aborted");
  const Ran aborted = world_.Ctl({"job", "explain", "size", "-o", "json"});
  EXPECT_THAT(aborted.out, HasSubstr("AbortJob by command ")) << aborted.err;
  EXPECT_THAT(aborted.out, HasSubstr("basaltctl job resume size"));
}

TEST_F(CommandTest, JobsAreListedByTheirLabels) {
  Begin("tagged");
  EXPECT_THAT(world_.Ctl({"job", "list", "-l", "kind in (ask, tell),!old"}).out, HasSubstr("tagged"));
  EXPECT_THAT(world_.Ctl({"job", "list", "-l", "kind=tell"}).err, HasSubstr("No jobs found"));
  const Ran refused = world_.Ctl({"job", "list", "-l", "a in b"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("label_selector: unable to parse requirement: found 'b'"));
}

}  // namespace
}  // namespace basalt::e2e
