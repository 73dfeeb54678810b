// Observed pods: the events that follow, and the records in the store.
#include "services/jobsvc/control/pods/pod_changes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/control/part_fixture.h"
#include "services/jobsvc/core/pods/testing.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::POD_PHASE_FAILED;
using kube::v1::POD_PHASE_RUNNING;
using kube::v1::POD_PHASE_SUCCEEDED;

class PodChangesTest : public PartTest {
 protected:
  explicit PodChangesTest(JobControllerOptions options = {}) : PartTest(std::move(options)) { Begin(); }

  // Begins with task w of two pods. A pod that fails aborts the job.
  void Begin() {
    kv::WriteBatch batch;
    job.pod_records.DropAll(job, batch);
    EXPECT_TRUE(context.store().Write(batch).ok());
    job.pods.Reset("j", kJobUid);
    job.pods.SetTasks({{"w", 2}});
    job.record.set_uid(std::string(kJobUid));
    job.pod_changes = {};
    job.pod_records = {};
    job.persisted = {};
    job.compiled.emplace();
    kube::v1::TaskSpec& task = *job.compiled->spec.add_tasks();
    task.set_name("w");
    task.set_replicas(2);
    kube::v1::LifecyclePolicy& policy = *task.add_policies();
    policy.set_action("AbortJob");
    policy.add_events("PodFailed");
    last_version_ = 0;
  }
  void Observe(const std::string& uid, kube::v1::PodPhase phase) {
    kube::v1::Pod pod = MakePod("j-w-0", uid, phase);
    pod.set_resource_version(++last_version_);
    job.pod_changes.Observe(std::move(pod));
  }
  void ObserveEnd(const std::string& uid) {
    runtime::Gone gone;
    gone.name = "j-w-0";
    gone.uid = uid;
    gone.reason = runtime::Gone::Reason::kDeleted;
    job.pod_changes.ObserveEnd(gone);
  }
  // The tombstone carries the last state.
  void ObserveEndIn(const std::string& uid, kube::v1::PodPhase phase, int32_t version = 0) {
    kube::v1::Object last;
    *last.mutable_pod() = MakePod("j-w-0", uid, phase, version);
    last.mutable_pod()->set_resource_version(++last_version_);
    job.pod_changes.ObserveEnd({.reason = runtime::Gone::Reason::kDeleted, .uid = uid, .name = "j-w-0", .last = &last});
  }
  // Kubernetes ends the pod, or is about to.
  void ObserveDisrupted(const std::string& uid, kube::v1::PodPhase phase, int64_t deletion_ms = 0) {
    kube::v1::Pod pod = MakePod("j-w-0", uid, phase);
    pod.set_resource_version(++last_version_);
    pod.set_deletion_ms(deletion_ms);
    pod.set_disruption_reason("PreemptionByScheduler");
    pod.set_disruption_ms(1000);
    job.pod_changes.Observe(std::move(pod));
  }
  // Starts another process on the same disk.
  void StartAgain() {
    job.pods.Reset("j", kJobUid);
    ASSERT_TRUE(ForEachPod(context.store(), job.slot, job.key, [&](std::string_view name, const auto& record) {
                  job.pods.Restore(name, record);
                }).ok());
    job.pods.SetTasks({{"w", 2}});
    job.pod_changes = {};
  }
  // Returns the kinds of the events, each with the UID of its pod.
  std::vector<std::string> Apply() {
    kv::WriteBatch batch;
    std::vector<std::string> kinds;
    for (const JobEvent& event : job.pod_changes.Apply(job, host, batch)) {
      kinds.push_back(fmt::format("{} {}", event.kind, event.pod_uid));
      last_reason_ = event.reason;
    }
    EXPECT_TRUE(context.store().Write(batch).ok());
    return kinds;
  }
  // Returns the UID in the record of the only pod. Empty if there is none.
  std::string RecordedUid() {
    std::string uid;
    EXPECT_TRUE(ForEachPod(context.store(), job.slot, job.key, [&uid](std::string_view, const auto& record) {
                  uid = record.uid();
                }).ok());
    return uid;
  }

  std::string last_reason_;  // The reason of the last event.

 private:
  int64_t last_version_ = 0;
};

TEST_F(PodChangesTest, ThePodsOfOnePassHaveOneMoment) {
  class TickingContext : public runtime::testing::ScriptedContext {
   public:
    absl::Time ApiNow() const override { return ScriptedContext::ApiNow() + absl::Milliseconds(50) * ++looks_; }

   private:
    mutable int looks_ = 0;
  };
  TickingContext ticking;
  PartHost ticking_host(ticking, keys, metrics, {});
  for (const char* name : {"j-w-0", "j-w-1"}) {
    kube::v1::Pod pod = MakePod(name, name, kube::v1::POD_PHASE_PENDING);
    pod.set_resource_version(1);
    job.pod_changes.Observe(std::move(pod));
  }
  kv::WriteBatch batch;
  const std::vector<JobEvent> events = job.pod_changes.Apply(job, ticking_host, batch);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].time_ms, events[1].time_ms);
}

TEST_F(PodChangesTest, AnEndCountsFromWhenThePodWasLastKnownToBeAlive) {
  struct Case {
    const char* what;
    bool restarts;              // A process starts after the pod has ended.
    absl::Duration after_seen;  // The time from the observation that the pod runs to its end, by the clock of the node.
    bool is_believed;
  };
  const Case cases[] = {
      {"under the eyes of this process", false, absl::Minutes(2), false},
      {"while nobody looked", true, absl::Minutes(2), true},
      {"while nobody looked, before it was seen to run", true, -absl::Minutes(2), false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    Observe("a", POD_PHASE_RUNNING);
    Apply();
    const absl::Time seen = host.Now();
    context.Advance(absl::Minutes(5));
    if (test.restarts) StartAgain();
    kube::v1::Pod pod = MakePod("j-w-0", "a", POD_PHASE_FAILED);
    pod.set_resource_version(100);
    pod.set_finished_ms(absl::ToUnixMillis(seen + test.after_seen) / 1000 * 1000);
    job.pod_changes.Observe(std::move(pod));
    kv::WriteBatch batch;
    const std::vector<JobEvent> events = job.pod_changes.Apply(job, host, batch);
    ASSERT_EQ(events.size(), 1U);
    const absl::Time time = absl::FromUnixMillis(events[0].time_ms);
    EXPECT_EQ(time, test.is_believed ? seen + test.after_seen + absl::Seconds(1) : host.Now());
    EXPECT_EQ(events[0].observed, !test.is_believed);
  }
}

// W34.
TEST_F(PodChangesTest, AnEvictionIsOneWhateverOfItIsSeen) {
  using Steps = std::function<void()>;
  const auto fails = [this] { ObserveDisrupted("a", POD_PHASE_FAILED); };
  const auto goes = [this] { ObserveEnd("a"); };
  const std::string preempted = "PreemptionByScheduler";
  struct Case {
    const char* what;
    std::vector<Steps> passes;
    std::string reason;
  };
  const Case cases[] = {
      {"it fails and is removed", {fails, goes}, preempted},
      {"both in one pass", {[&] { fails(), goes(); }}, preempted},
      {"with a restart in between", {fails, [this] { StartAgain(); }, goes}, preempted},
      {"it is deleted before it fails",
       {[this] { ObserveDisrupted("a", POD_PHASE_RUNNING, 2000); },
        [this] { ObserveDisrupted("a", POD_PHASE_FAILED, 2000); }, goes},
       preempted},
      {"its end is not seen",
       {[this] { ObserveDisrupted("a", POD_PHASE_RUNNING); }, [this] { StartAgain(); }, goes},
       preempted},
      {"nothing is seen",
       {[this] { Observe("a", POD_PHASE_RUNNING); }, [this] { StartAgain(); }, goes},
       std::string(kReasonUnknown)},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    Observe("a", POD_PHASE_RUNNING);
    Apply();
    std::vector<std::string> events;
    for (const Steps& pass : test.passes) {
      pass();
      for (const std::string& event : Apply()) events.push_back(event);
    }
    EXPECT_EQ(events, std::vector<std::string>{"PodEvicted a"});
    EXPECT_EQ(last_reason_, test.reason);
  }
}

class UpstreamsEvictionsTest : public PodChangesTest {
 protected:
  static JobControllerOptions AsUpstream() {
    JobControllerOptions options;
    options.upstream_evictions = true;
    return options;
  }
  UpstreamsEvictionsTest() : PodChangesTest(AsUpstream()) {}
};

TEST_F(UpstreamsEvictionsTest, APodThatKubernetesEndsFailsAndIsEvictedOnceItIsRemoved) {
  Observe("a", POD_PHASE_RUNNING);
  Apply();
  ObserveDisrupted("a", POD_PHASE_FAILED);
  EXPECT_EQ(Apply(), std::vector<std::string>{"PodFailed a"});
  ObserveEnd("a");
  EXPECT_EQ(Apply(), std::vector<std::string>{"PodEvicted a"});
}

TEST_F(PodChangesTest, AreTakenInTheOrderOfObservation) {
  struct Step {
    const char* uid;
    kube::v1::PodPhase phase;  // Unspecified if the pod is gone.
  };
  constexpr kube::v1::PodPhase kGone = kube::v1::POD_PHASE_UNSPECIFIED;
  struct Case {
    const char* what;
    std::vector<Step> steps;
    std::vector<std::string> events;
    const char* recorded;
  };
  const Case cases[] = {
      {"one runs", {{"a", POD_PHASE_RUNNING}}, {"PodRunning a"}, "a"},
      {"the newest state of a UID alone counts",
       {{"a", POD_PHASE_RUNNING}, {"a", POD_PHASE_FAILED}},
       {"PodFailed a"},
       "a"},
      {"the end of one that no pass has seen", {{"a", POD_PHASE_RUNNING}, {"a", kGone}}, {"PodRunning a"}, ""},
      {"the next of the name",
       {{"a", POD_PHASE_FAILED}, {"a", kGone}, {"b", POD_PHASE_RUNNING}},
       {"PodFailed a", "PodRunning b"},
       "b"},
      {"the end of one before the next says nothing about the next",
       {{"b", POD_PHASE_RUNNING}, {"a", kGone}},
       {"PodRunning b"},
       "b"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    for (const Step& step : test.steps) {
      if (step.phase == kGone) {
        ObserveEnd(step.uid);
      } else {
        Observe(step.uid, step.phase);
      }
    }
    EXPECT_EQ(Apply(), test.events);
    EXPECT_TRUE(job.pod_changes.empty());
    EXPECT_EQ(RecordedUid(), test.recorded);
  }
}

// The process that made the next pod may not have known of the pod before.
TEST_F(PodChangesTest, TheLastStateOfOneBeforeDoesNotTakeThePlaceOfTheNext) {
  for (const bool in_one_pass : {true, false}) {
    SCOPED_TRACE(in_one_pass);
    Begin();
    Observe("b", POD_PHASE_RUNNING);
    std::vector<std::string> events;
    if (!in_one_pass) events = Apply();
    ObserveEndIn("a", POD_PHASE_FAILED);
    for (const std::string& event : Apply()) events.push_back(event);
    EXPECT_EQ(events, (std::vector<std::string>{"PodRunning b", "PodFailed a"}));
    ASSERT_NE(job.pods.Find("j-w-0"), nullptr);
    EXPECT_EQ(job.pods.Find("j-w-0")->uid, "b");
    EXPECT_EQ(job.pods.counts().running(), 1);
    EXPECT_EQ(job.pods.counts().failed(), 0);
    EXPECT_EQ(RecordedUid(), "b");
    Observe("b", POD_PHASE_SUCCEEDED);
    Apply();
    EXPECT_EQ(job.pods.counts().succeeded(), 1);
  }
}

// The end of the older pod may be observed after that of the next one.
TEST_F(PodChangesTest, TheLastStateOfOneBeforeLeavesTheWorkThatTheNextHasDone) {
  Observe("b", POD_PHASE_RUNNING);
  Apply();
  ObserveEndIn("b", POD_PHASE_SUCCEEDED);
  Apply();
  ASSERT_EQ(job.pods.done().by_task()[0], std::set<int32_t>{0});
  const std::string recorded = RecordedUid();
  ObserveEndIn("a", POD_PHASE_FAILED);
  EXPECT_EQ(Apply(), std::vector<std::string>{"PodFailed a"});
  EXPECT_EQ(job.pods.done().by_task()[0], std::set<int32_t>{0});
  EXPECT_EQ(job.pods.counts().succeeded(), 1);
  EXPECT_EQ(job.pods.counts().failed(), 0);
  ASSERT_EQ(job.pods.missing().size(), 1U);
  EXPECT_EQ(*job.pods.missing().begin(), (PodIndex{0, 1}));
  EXPECT_EQ(RecordedUid(), recorded);
}

TEST_F(PodChangesTest, WorkOfANewerVersionTakesThePlaceOfThatOfAnOlderOne) {
  Observe("a", POD_PHASE_SUCCEEDED);
  Apply();
  ObserveEnd("a");
  Apply();
  ASSERT_EQ(job.pods.done().by_task()[0], std::set<int32_t>{0});
  ObserveEndIn("b", POD_PHASE_SUCCEEDED, /*version=*/1);
  Apply();
  job.pods.SetRules({.version = 1, .delete_terminal_below = 1});
  EXPECT_EQ(job.pods.done().by_task()[0], std::set<int32_t>{0});
}

TEST_F(PodChangesTest, TheLastStateOfOneBeforeDoesNotCompleteTheTaskOfTheNext) {
  job.pods.SetTasks({{"w", 1}});
  job.compiled->spec.mutable_tasks(0)->set_replicas(1);
  Observe("b", POD_PHASE_RUNNING);
  Apply();
  ObserveEndIn("a", POD_PHASE_SUCCEEDED);
  EXPECT_EQ(Apply(), std::vector<std::string>());
  Observe("b", POD_PHASE_SUCCEEDED);
  EXPECT_EQ(Apply(), std::vector<std::string>{"TaskCompleted b"});
}

TEST_F(PodChangesTest, AnEndThatWasAnsweredIsAnsweredOnce) {
  Observe("a", POD_PHASE_FAILED);
  EXPECT_EQ(Apply(), std::vector<std::string>{"PodFailed a"});
  ObserveEnd("a");
  Apply();
  EXPECT_TRUE(job.pod_records.HasEnded("a"));
  Observe("a", POD_PHASE_FAILED);
  EXPECT_TRUE(Apply().empty()) << "a watch that begins anew shows it once more";
  EXPECT_EQ(job.pods.known(), 0U);
}

TEST_F(PodChangesTest, AnEarlierStateGivesWayToWhatWasObservedSince) {
  struct Case {
    const char* what;
    const char* since;  // The UID that was observed since; empty if nothing was.
    bool is_gone;
    bool counts;
  };
  const Case cases[] = {
      {"nothing since", "", false, true},
      {"a newer state of the same pod", "a", false, false},
      {"its end", "a", true, false},
      {"another pod of the name", "b", false, false},
      {"the end of another pod", "b", true, true},
  };
  for (const Case& test : cases) {
    Begin();
    if (*test.since != 0 && test.is_gone) ObserveEnd(test.since);
    if (*test.since != 0 && !test.is_gone) Observe(test.since, POD_PHASE_RUNNING);
    job.pod_changes.ObserveEarlier(MakePod("j-w-0", "a", POD_PHASE_SUCCEEDED));
    Apply();
    EXPECT_EQ(job.pods.counts().succeeded(), test.counts ? 1 : 0) << test.what;
  }
}

TEST_F(PodChangesTest, ASuccessIsRecordedUntilTheStatusTellsOfIt) {
  Observe("a", POD_PHASE_SUCCEEDED);
  Apply();
  ObserveEnd("a");
  Apply();
  EXPECT_TRUE(job.pod_records.IsUnreportedSuccess("j-w-0"));
  EXPECT_EQ(RecordedUid(), "a");
  kv::WriteBatch batch;
  job.job_dirty = true;
  job.pod_records.DropReported(job, batch);
  EXPECT_TRUE(batch.empty());
  job.persisted.done["w"] = {0};
  job.pod_records.DropReported(job, batch);
  EXPECT_FALSE(batch.empty());
  EXPECT_FALSE(job.pod_records.IsUnreportedSuccess("j-w-0"));
}

TEST_F(PodChangesTest, WithoutAJobAPodIsKeptForTheJobThatMayCome) {
  job.stored = true;
  Observe("a", POD_PHASE_RUNNING);
  kube::v1::Pod stray = MakePod("j-w-1", "b", POD_PHASE_RUNNING);
  stray.set_owner_uid("the next job");
  job.pod_changes.Observe(std::move(stray));
  kv::WriteBatch batch;
  job.pod_changes.ApplyWithoutJob(job, host, batch);
  EXPECT_EQ(job.pods.known(), 1U);
  EXPECT_TRUE(job.pod_changes.IsNewest("j-w-1", "b"));
  EXPECT_FALSE(job.pod_changes.IsNewest("j-w-0", "a"));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
