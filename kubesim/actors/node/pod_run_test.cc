#include "kubesim/actors/node/pod_run.h"

#include <gtest/gtest.h>

namespace basalt::actors {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'750'000'000);

json::value Pod(std::string_view text) { return *ParseJson(text); }

std::string At(int seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", kStart + absl::Seconds(seconds), absl::UTCTimeZone());
}

class Life {
 public:
  explicit Life(std::string_view pod)
      : pod_(Pod(pod)), run(pod_, {{absl::Seconds(2), 0}, "1.1.1.1", "10.0.0.1"}, kStart) {}
  std::string Phase(double seconds) {
    next = run.Advance(kStart + absl::Seconds(seconds));
    return run.phase();
  }
  json::value State(std::string_view list = "containerStatuses", size_t index = 0) {
    const json::value status = run.Status();
    return *Find(Find(status, list)->get_array()[index], "state");
  }
  std::string Condition(std::string_view type) {
    const json::value status = run.Status();
    for (const json::value& condition : Find(status, "conditions")->get_array()) {
      if (FindString(condition, "type") == type) {
        return std::string(FindString(condition, "status")) + " " + std::string(FindString(condition, "reason"));
      }
    }
    return "absent";
  }
  void Delete() {
    json::value deleted = pod_;
    deleted.as_object()["metadata"].as_object()["deletionTimestamp"] = At(0);
    run.Observe(deleted);
  }

 private:
  json::value pod_;

 public:
  PodRun run;
  absl::Time next;
};

TEST(PodRunTest, RunsForTheTimeOfItsCommandAndSucceeds) {
  Life life(R"({"metadata":{"uid":"u"},"spec":{"restartPolicy":"Never","containers":[
      {"name":"c","image":"busybox","command":["sleep","5"]}]}})");
  EXPECT_EQ(life.Phase(0), "Running");
  EXPECT_TRUE(life.run.TakeChanged());
  EXPECT_FALSE(life.run.TakeChanged());
  EXPECT_EQ(life.next, kStart + absl::Seconds(5));
  EXPECT_EQ(life.Condition("Ready"), "True ");
  EXPECT_EQ(ToText(life.State()), R"({"running":{"startedAt":")" + At(0) + R"("}})");
  EXPECT_EQ(life.Phase(60), "Succeeded");
  EXPECT_EQ(life.Condition("Ready"), "False PodCompleted");
  const json::value state = life.State();
  const json::value& terminated = *Find(state, "terminated");
  EXPECT_EQ(FindInt(terminated, "exitCode", -1), 0);
  EXPECT_EQ(FindString(terminated, "reason"), "Completed");
  EXPECT_EQ(FindString(terminated, "finishedAt"), At(5));
}

TEST(PodRunTest, TheCommandWinsOverAnnotationsAndTheseOverTheDefault) {
  const auto end = [](std::string_view pod) {
    Life life(pod);
    life.Phase(0);
    const absl::Time due = life.next;
    life.Phase(1000);
    return std::make_pair(absl::ToDoubleSeconds(due - kStart), life.run.phase());
  };
  const std::string annotations =
      R"("annotations":{"kubesim.basalt.dev/duration":"1m30s","kubesim.basalt.dev/exit-code":"3"})";
  EXPECT_EQ(end(R"({"metadata":{},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"nginx"}]}})"),
            std::make_pair(2.0, std::string("Succeeded")));
  EXPECT_EQ(end("{\"metadata\":{" + annotations +
                R"(},"spec":{"restartPolicy":"Never","containers":[{"name":"c","command":["python","x"]}]}})"),
            std::make_pair(90.0, std::string("Failed")));
  EXPECT_EQ(end("{\"metadata\":{" + annotations +
                R"(},"spec":{"restartPolicy":"Never","containers":[{"name":"c","args":["sleep","7"]}]}})"),
            std::make_pair(7.0, std::string("Succeeded")));
}

TEST(PodRunTest, FailsWhenAnyContainerFailsAndOnlyWhenAllHaveEnded) {
  Life life(R"({"metadata":{},"spec":{"restartPolicy":"Never","containers":[
      {"name":"a","command":["sh","-c","sleep 1; exit 2"]},{"name":"b","command":["sleep","4"]}]}})");
  EXPECT_EQ(life.Phase(2), "Running");
  EXPECT_EQ(FindInt(*Find(life.State(), "terminated"), "exitCode"), 2);
  EXPECT_EQ(life.Condition("Ready"), "False ContainersNotReady");
  EXPECT_EQ(life.Phase(4), "Failed");
  EXPECT_EQ(life.Condition("Ready"), "False PodFailed");
}

TEST(PodRunTest, InitContainersRunOneAfterTheOtherBeforeTheOthers) {
  Life life(R"({"metadata":{},"spec":{"restartPolicy":"Never",
      "initContainers":[{"name":"i","command":["sleep","3"]},{"name":"j","command":["sleep","2"]}],
      "containers":[{"name":"c","command":["sleep","1"]}]}})");
  EXPECT_EQ(life.Phase(1), "Pending");
  EXPECT_EQ(life.Condition("Initialized"), "False ContainersNotInitialized");
  EXPECT_EQ(ToText(life.State()), R"({"waiting":{"reason":"PodInitializing"}})");
  EXPECT_EQ(life.Phase(4), "Pending");
  EXPECT_NE(Find(life.State("initContainerStatuses", 1), "running"), nullptr);
  EXPECT_EQ(life.Phase(5.5), "Running");
  EXPECT_EQ(life.Condition("Initialized"), "True ");
  EXPECT_EQ(life.Phase(6), "Succeeded");
}

TEST(PodRunTest, AFailedInitContainerFailsAPodThatIsNeverRestarted) {
  Life life(R"({"metadata":{},"spec":{"restartPolicy":"Never",
      "initContainers":[{"name":"i","command":["false"]}],"containers":[{"name":"c"}]}})");
  EXPECT_EQ(life.Phase(0), "Failed");
}

TEST(PodRunTest, OnFailureRestartsWithBackOffUntilTheBoundOfTheBackOff) {
  Life life(R"({"metadata":{},"spec":{"restartPolicy":"OnFailure","containers":[
      {"name":"c","command":["sh","-c","sleep 1; exit 1"]}]}})");
  EXPECT_EQ(life.Phase(1.5), "Running");  // The first restart comes at once.
  EXPECT_NE(Find(life.State(), "running"), nullptr);
  life.Phase(2.5);  // The container ended at 2 and waits for 10 s.
  EXPECT_EQ(ToText(life.State()), R"({"waiting":{"reason":"CrashLoopBackOff"}})");
  EXPECT_EQ(life.next, kStart + absl::Seconds(12));
  life.Phase(13.5);  // The container ended again at 13 and waits for 20 s.
  EXPECT_EQ(life.next, kStart + absl::Seconds(33));
  const json::value status = life.run.Status();
  EXPECT_EQ(FindInt(Find(status, "containerStatuses")->get_array()[0], "restartCount"), 3);
  EXPECT_EQ(life.run.phase(), "Running");
}

TEST(PodRunTest, AlwaysRestartsAlsoAfterSuccessAndOnFailureDoesNot) {
  Life always(R"({"metadata":{},"spec":{"containers":[{"name":"c","command":["sleep","1"]}]}})");
  EXPECT_EQ(always.Phase(100), "Running");
  Life on_failure(
      R"({"metadata":{},"spec":{"restartPolicy":"OnFailure","containers":[{"name":"c","command":["sleep","1"]}]}})");
  EXPECT_EQ(on_failure.Phase(100), "Succeeded");
}

TEST(PodRunTest, ReadinessComesAfterItsDelay) {
  Life life(R"({"metadata":{},"spec":{"restartPolicy":"Never","containers":[
      {"name":"c","command":["sleep","10"],"readinessProbe":{"initialDelaySeconds":3}}]}})");
  EXPECT_EQ(life.Phase(1), "Running");
  EXPECT_EQ(life.Condition("Ready"), "False ContainersNotReady");
  EXPECT_EQ(life.next, kStart + absl::Seconds(3));
  life.Phase(3);
  EXPECT_EQ(life.Condition("Ready"), "True ");
}

TEST(PodRunTest, DeletionStopsItWithSigtermUnlessItHasEndedByThen) {
  const std::string_view pod =
      R"({"metadata":{},"spec":{"restartPolicy":"OnFailure","containers":[{"name":"c","command":["sleep","5"]}]}})";
  Life stopped(pod);
  stopped.Phase(1);
  stopped.Delete();
  EXPECT_FALSE(stopped.run.removable());
  EXPECT_EQ(stopped.Phase(2), "Failed");
  EXPECT_EQ(FindInt(*Find(stopped.State(), "terminated"), "exitCode"), 143);
  EXPECT_TRUE(stopped.run.removable());
  Life ended(pod);
  ended.Phase(1);
  ended.Delete();
  EXPECT_EQ(ended.Phase(5), "Succeeded");
  Life fresh(pod);
  fresh.Delete();
  EXPECT_TRUE(fresh.run.removable());
  EXPECT_EQ(fresh.Phase(0), "Pending");
}

TEST(PodRunTest, APodThatRunsAlreadyIsTakenUpWhereItIs) {
  Life first(R"({"metadata":{},"spec":{"restartPolicy":"Never","containers":[{"name":"c","command":["sleep","9"]}]}})");
  first.Phase(1);
  json::value pod =
      Pod(R"({"metadata":{},"spec":{"restartPolicy":"Never","containers":[{"name":"c","command":["sleep","9"]}]}})");
  pod.as_object()["status"] = first.run.Status();
  PodRun second(pod, {}, kStart + absl::Seconds(4));
  EXPECT_EQ(second.Advance(kStart + absl::Seconds(4)), kStart + absl::Seconds(9));
  EXPECT_FALSE(second.TakeChanged());
  EXPECT_EQ(second.phase(), "Running");
  second.Advance(kStart + absl::Seconds(9));
  EXPECT_EQ(second.phase(), "Succeeded");
}

TEST(PodRunTest, ASidecarDoesNotHoldUpTheOthersAndEndsWithThem) {
  Life life(R"({"metadata":{},"spec":{"restartPolicy":"Never",
      "initContainers":[{"name":"s","restartPolicy":"Always"}],"containers":[{"name":"c","command":["sleep","3"]}]}})");
  EXPECT_EQ(life.Phase(0), "Running");
  EXPECT_EQ(life.Phase(3), "Succeeded");
  EXPECT_EQ(FindInt(*Find(life.State("initContainerStatuses"), "terminated"), "exitCode", -1), 0);
}

constexpr std::string_view kLong = R"({"metadata":{"uid":"u"},"spec":{"restartPolicy":"Never","containers":[
    {"name":"c","image":"busybox","command":["sleep","50"]}]}})";

TEST(PodRunTest, ADisruptionIsSaidBeforeThePodEndsAndAnEvictionEndsThePod) {
  Life life(kLong);
  EXPECT_FALSE(life.run.Evict(kStart)) << "it has not begun";
  EXPECT_EQ(life.Phase(1), "Running");
  life.run.TakeChanged();
  EXPECT_TRUE(life.run.Disrupt(kStart + absl::Seconds(1), "PreemptionByScheduler"));
  EXPECT_TRUE(life.run.TakeChanged());
  EXPECT_EQ(life.Phase(2), "Running");
  EXPECT_EQ(life.Condition("DisruptionTarget"), "True PreemptionByScheduler");
  EXPECT_TRUE(life.run.Evict(kStart + absl::Seconds(3)));
  EXPECT_EQ(life.Phase(3), "Failed");
  EXPECT_EQ(FindString(life.run.Status(), "reason"), "Evicted");
  EXPECT_EQ(FindInt(*Find(life.State(), "terminated"), "exitCode"), 137);
  EXPECT_FALSE(life.run.Evict(kStart + absl::Seconds(4)));
  EXPECT_FALSE(life.run.Disrupt(kStart + absl::Seconds(4), "EvictionByEvictionAPI"));
}

TEST(PodRunTest, ContainersStartAndEndByTheClockOfTheNode) {
  const json::value pod = Pod(kLong);
  PodRun run(pod, {.clock_ahead = absl::Hours(-1)}, kStart);
  run.Advance(kStart + absl::Seconds(60));
  const json::value status = run.Status();
  const json::value& terminated = *FindPath(Find(status, "containerStatuses")->as_array()[0], {"state", "terminated"});
  EXPECT_EQ(FindString(terminated, "startedAt"), At(-3600));
  EXPECT_EQ(FindString(terminated, "finishedAt"), At(-3550));
}

}  // namespace
}  // namespace basalt::actors
