// Deadlines of one job, step by step: where they come from, which are due, and which are stored. The whole controller
// over time is tested in services/jobsvc/testing/deadline_records_test.cc.
#include "services/jobsvc/control/actions/deadline_records.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "services/jobsvc/control/part_fixture.h"
#include "services/jobsvc/core/pods/testing.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc::testing {
namespace {

using storage::v1::PendingAction;

class DeadlineStepsTest : public PartTest {
 protected:
  DeadlineStepsTest() { Begin(); }

  // Begins with a running job of two pods in task w. A policy restarts a pod that is pending for ten seconds.
  void Begin() {
    kv::WriteBatch batch;
    DropJobRecords(job.slot, job.key, batch);
    Write(batch);
    job.deadlines = {};
    job.persisted = {};
    job.record.clear_pending();
    job.record_dirty = false;
    job.pods.Reset("j", kJobUid);
    job.pods.SetTasks({{"w", 2}});
    kube::v1::JobSpec& spec = job.compiled->spec;
    spec.Clear();
    kube::v1::TaskSpec& task = *spec.add_tasks();
    task.set_name("w");
    task.set_replicas(2);
    kube::v1::LifecyclePolicy& policy = *task.add_policies();
    policy.set_action("RestartPod");
    policy.add_events("PodPending");
    policy.set_timeout_ms(10'000);
    SetPhase(kube::v1::JOB_PHASE_RUNNING);
    job.job->mutable_status()->set_version(0);
  }
  void Write(const kv::WriteBatch& batch) { ASSERT_TRUE(context.store().Write(batch).ok()); }
  int64_t NowMs() { return absl::ToUnixMillis(host.Now()); }
  // Observes the pod, and stores its record.
  void Observe(const kube::v1::Pod& pod) {
    kv::WriteBatch batch;
    job.pod_records.Store(job, job.pods.Apply(pod), &pod, host, batch);
    Write(batch);
  }
  kube::v1::Pod PendingPod() {
    kube::v1::Pod pod = MakePod("j-w-0", "a", kube::v1::POD_PHASE_PENDING);
    pod.set_creation_ms(NowMs() - 5'000);
    return pod;
  }
  // Returns a deadline of the pod with UID a, due in ten seconds.
  PendingAction Deadline(const std::string& event, const std::string& action, const std::string& pod = "j-w-0") {
    PendingAction deadline;
    deadline.set_event(event);
    deadline.set_action(action);
    deadline.set_task("w");
    deadline.set_pod(pod);
    deadline.set_pod_uid("a");
    deadline.set_due_ms(NowMs() + 10'000);
    return deadline;
  }
  std::string Store() {
    kv::WriteBatch batch;
    StoreDeadlines(job, batch);
    Write(batch);
    return ChangesOf(batch);
  }
};

TEST_F(DeadlineStepsTest, ThoseOfPodsThatArePendingFollowFromTheirRecords) {
  struct Case {
    const char* what;
    std::function<void()> become;
    std::string derived;  // "<event> in <milliseconds>"; empty if there is none.
  };
  const auto observe = [this](const std::function<void(kube::v1::Pod&)>& edit) {
    kube::v1::Pod pod = PendingPod();
    edit(pod);
    Observe(pod);
  };
  const Case cases[] = {
      {"pending since its creation, at the end of that second", [&] { observe([](kube::v1::Pod&) {}); },
       "PodPending in 6000"},
      {"since a time that nobody knows", [&] { observe([](kube::v1::Pod& pod) { pod.clear_creation_ms(); }); },
       "PodPending in 10000"},
      {"it runs", [&] { observe([](kube::v1::Pod& pod) { pod.set_phase(kube::v1::POD_PHASE_RUNNING); }); }, ""},
      {"it is being deleted", [&] { observe([](kube::v1::Pod& pod) { pod.set_deletion_ms(1); }); }, ""},
      {"it is marked", [&] { observe([](kube::v1::Pod& pod) { pod.set_out_of_sync(true); }); }, ""},
      {"it is not the job's", [&] { observe([](kube::v1::Pod& pod) { pod.set_owner_uid("another"); }); }, ""},
      {"it is surplus", [&] { observe([](kube::v1::Pod& pod) { pod.set_name("j-w-7"); }); }, ""},
      {"another pod has the name by now",
       [&] {
         Observe(PendingPod());
         kube::v1::Pod next = PendingPod();
         next.set_uid("b");
         job.pods.Apply(next);
       },
       ""},
      {"what was due is to be carried out",
       [&] {
         Observe(PendingPod());
         *job.record.add_pending() = Deadline("PodPending", "RestartPod");
       },
       ""},
      {"what is to be carried out was not waited for",
       [&] {
         Observe(PendingPod());
         job.record.add_pending()->set_pod("j-w-0");
       },
       "PodPending in 6000"},
      {"one is kept",
       [&] {
         Observe(PendingPod());
         job.deadlines.Restore(Deadline("PodFailed", "AbortJob"));
       },
       "PodFailed in 10000"},
      {"no policy waits",
       [&] {
         Observe(PendingPod());
         job.compiled->spec.mutable_tasks(0)->mutable_policies(0)->clear_timeout_ms();
       },
       ""},
      {"no policy is about that",
       [&] {
         Observe(PendingPod());
         job.compiled->spec.mutable_tasks(0)->mutable_policies(0)->set_events(0, "PodFailed");
       },
       ""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    test.become();
    job.deadlines_derived = false;
    DeriveDeadlines(job, host);
    EXPECT_TRUE(job.deadlines_derived);
    EXPECT_LE(job.deadlines.size(), 1U);
    std::string derived;
    for (const PendingAction* deadline : job.deadlines.Earliest(2)) {
      derived += fmt::format("{} in {}", deadline->event(), deadline->due_ms() - NowMs());
    }
    EXPECT_EQ(derived, test.derived);
    EXPECT_EQ(Store(), "") << "nothing new is kept";
  }
}

TEST_F(DeadlineStepsTest, WithoutARecordOfTheJobThoseOfTheStatusAreKept) {
  job.deadlines.Restore(Deadline("PodFailed", "RestartPod", "j-w-1"));
  job.persisted.deadlines = {Deadline("PodEvicted", "RestartPod")};
  job.deadlines_derived = false;
  AdoptDeadlines(job);
  EXPECT_TRUE(job.deadlines_derived);
  EXPECT_EQ(Store(), "put deadline j-w-0; drop deadline j-w-1; ");
}

TEST_F(DeadlineStepsTest, ADueDeadlineFiresWhereItStillHolds) {
  struct Case {
    const char* what;
    absl::Duration later;
    std::function<void()> become;
    bool is_fired;
    const char* changes;
  };
  const absl::Duration due = absl::Seconds(10);
  const Case cases[] = {
      {"not yet", due - absl::Milliseconds(1), [] {}, false, ""},
      {"due", due, [] {}, true, "drop deadline j-w-0; "},
      {"another pod runs by now", due, [this] { job.pods.Apply(MakePod("j-w-0", "b", kube::v1::POD_PHASE_RUNNING)); },
       false, "drop deadline j-w-0; "},
      {"the job has ended", due, [this] { SetPhase(kube::v1::JOB_PHASE_FAILED); }, false, "drop deadline j-w-0; "},
      {"the job has ended before", absl::ZeroDuration(), [this] { SetPhase(kube::v1::JOB_PHASE_COMPLETED); }, false,
       "drop deadline j-w-0; "},
      {"the run of that pod is over", absl::ZeroDuration(), [this] { job.job->mutable_status()->set_version(1); },
       false, "drop deadline j-w-0; "},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    job.deadlines.Restore(Deadline("PodFailed", "RestartPod"));
    context.Advance(test.later);
    test.become();
    kv::WriteBatch batch;
    FireDueDeadlines(job, host, batch);
    EXPECT_EQ(ChangesOf(batch), test.changes);
    ASSERT_EQ(job.record.pending_size(), test.is_fired ? 1 : 0);
    if (test.is_fired) {
      EXPECT_EQ(job.record.pending(0).action(), "RestartPod");
    }
    EXPECT_EQ(job.record_dirty, test.is_fired);
  }
}

TEST_F(DeadlineStepsTest, AnActionCleansUpWaitingAndDueDeadlines) {
  struct Case {
    const char* done;     // An action about pod j-w-0 of task w.
    const char* waits;    // An answer to the end of that pod, which is not due.
    const char* pending;  // The action that is pending, to be carried out next.
    bool is_due;          // `pending` is a deadline, not an answer without a timeout.
    bool waits_still;
    bool is_pending_still;
  };
  const Case cases[] = {
      {"RestartPod", "RestartPod", "RestartPod", true, false, false},
      {"RestartPod", "RestartPod", "RestartPod", false, false, true},
      {"RestartPod", "RestartTask", "RestartPod", true, true, false},
      {"RestartTask", "RestartPod", "RestartTask", true, true, false},
      {"RestartJob", "AbortJob", "RestartTask", true, false, true},
      {"SyncJob", "RestartJob", "RestartJob", true, true, true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(fmt::format("{} over {} and {}", test.done, test.waits, test.pending));
    Begin();
    job.deadlines.Restore(Deadline("PodFailed", test.waits));
    PendingAction& pending = *job.record.add_pending();
    pending = Deadline("PodFailed", test.pending);
    if (!test.is_due) pending.clear_due_ms();
    PendingAction done = Deadline("PodFailed", test.done);
    done.clear_due_ms();
    ClearDeadlines(job, {done});
    EXPECT_EQ(job.deadlines.size(), test.waits_still ? 1U : 0U);
    EXPECT_EQ(job.record.pending_size(), test.is_pending_still ? 1 : 0);
    EXPECT_EQ(Store(), test.waits_still ? "" : "drop deadline j-w-0; ");
  }
}

TEST_F(DeadlineStepsTest, AKeptDeadlineIsWrittenOnceAndGivesWayToTheNext) {
  EXPECT_TRUE(job.deadlines.Add(Deadline("PodFailed", "RestartPod")));
  EXPECT_EQ(Store(), "put deadline j-w-0; ");
  EXPECT_EQ(Store(), "");
  std::string kept;
  const auto visit = [&kept](const std::string& of, const PendingAction& deadline) {
    kept += fmt::format("{} {} {}; ", of, deadline.event(), deadline.action());
  };
  ASSERT_TRUE(ForEachDeadline(context.store(), job.slot, visit).ok());
  EXPECT_EQ(kept, "default/j PodFailed RestartPod; ");
  EXPECT_TRUE(job.deadlines.Add(Deadline("PodPending", "AbortJob")));
  EXPECT_EQ(Store(), "drop deadline j-w-0; ") << "the next follows from the pod";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
