// The records of pods that are there, and of pods that are gone.
#include "services/jobsvc/control/pods/pod_records.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/control/part_fixture.h"
#include "services/jobsvc/core/pods/testing.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc::testing {
namespace {

class PodRecordsTest : public PartTest {
 protected:
  PodRecordsTest() { Begin(); }

  // Begins with a running job of two pods in task w, of which nothing is known.
  void Begin() {
    job.ResetParts();
    job.pods.Reset("j", kJobUid);
    job.pods.SetTasks({{"w", 2}});
    job.pod_records = {};
    job.persisted = {};
    job.job_dirty = false;
    SetPhase(kube::v1::JOB_PHASE_RUNNING);
  }
  void Observe(const kube::v1::Pod& pod, kv::WriteBatch& batch) {
    job.pod_records.Store(job, job.pods.Apply(pod), &pod, host, batch);
  }
  void ObserveEnd(const std::string& uid, kv::WriteBatch& batch) {
    job.pod_records.Store(job, job.pods.Remove("j-w-0", uid), nullptr, host, batch);
  }
  // The pod at index 0 has succeeded and is gone, and the status does not report that.
  void LeaveUnreportedSuccess() {
    kv::WriteBatch batch;
    Observe(MakePod("j-w-0", "a", kube::v1::POD_PHASE_SUCCEEDED), batch);
    ObserveEnd("a", batch);
    ASSERT_TRUE(job.pod_records.IsUnreportedSuccess("j-w-0"));
  }
  void KeepEnded(const std::string& uid, int32_t version, kv::WriteBatch& batch) {
    PodEntry pod;
    pod.uid = uid;
    pod.version = version;
    job.pod_records.KeepEnded(job, pod, batch);
  }
};

TEST_F(PodRecordsTest, AChangeLeavesTheNewestStateOrWhatMustOutlastThePod) {
  struct Case {
    const char* what;
    kube::v1::PodPhase phase;  // The phase of the pod of UID a; unspecified if the pod was not observed.
    const char* ended;         // The UID whose end is observed; empty if there is none.
    std::set<int32_t> done;    // Indices in the status.
    const char* changes;
    bool is_unreported;
  };
  const Case cases[] = {
      {"it runs", kube::v1::POD_PHASE_RUNNING, "", {}, "put j-w-0; ", false},
      {"its end", kube::v1::POD_PHASE_RUNNING, "a", {}, "put j-w-0; drop j-w-0; ", false},
      {"the end of another", kube::v1::POD_PHASE_RUNNING, "b", {}, "put j-w-0; ", false},
      {"the end of one that nobody has seen", kube::v1::POD_PHASE_UNSPECIFIED, "a", {}, "", false},
      {"its work is done", kube::v1::POD_PHASE_SUCCEEDED, "", {}, "put j-w-0; ", false},
      {"its end, when its work was done", kube::v1::POD_PHASE_SUCCEEDED, "a", {}, "put j-w-0; ", true},
      {"the status tells of it", kube::v1::POD_PHASE_SUCCEEDED, "a", {0}, "put j-w-0; drop j-w-0; ", false},
      {"the status tells of another", kube::v1::POD_PHASE_SUCCEEDED, "a", {1}, "put j-w-0; ", true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    if (!test.done.empty()) job.persisted.done["w"] = test.done;
    kv::WriteBatch batch;
    if (test.phase != kube::v1::POD_PHASE_UNSPECIFIED) Observe(MakePod("j-w-0", "a", test.phase), batch);
    if (*test.ended != 0) ObserveEnd(test.ended, batch);
    EXPECT_EQ(ChangesOf(batch), test.changes);
    EXPECT_EQ(job.pod_records.IsUnreportedSuccess("j-w-0"), test.is_unreported);
  }
}

TEST_F(PodRecordsTest, ASuccessThatNobodyTellsOfIsKeptUntilItIsToldOrCannotBe) {
  const auto do_again = [this](PodIndex place) {
    Decision decision;
    decision.again.push_back(place);
    job.commit.Record(job, std::move(decision));
  };
  const auto end = [this](int64_t sequence, bool is_overtaken) {
    SetPhase(kube::v1::JOB_PHASE_COMPLETED);
    job.persisted.sequence = sequence;
    job.persisted.overtaken = is_overtaken;
  };
  struct Case {
    const char* what;
    std::function<void()> become;
    bool is_dropped;
  };
  const Case cases[] = {
      {"nothing has changed", [] {}, false},
      {"a status that does not tell of it", [&] { job.job_dirty = true; }, false},
      {"a status that tells of it",
       [&] {
         job.job_dirty = true;
         job.persisted.done["w"] = {0};
       },
       true},
      {"a status that tells of another",
       [&] {
         job.job_dirty = true;
         job.persisted.done["w"] = {1};
       },
       false},
      {"it is to be done again",
       [&] {
         do_again({0, 0});
       },
       true},
      {"another is to be done again",
       [&] {
         do_again({0, 1});
       },
       false},
      {"its task is no more",
       [&] {
         job.job_dirty = true;
         job.pods.SetTasks({{"v", 2}});
       },
       true},
      {"a kill has retained nothing",
       [&] {
         job.job_dirty = true;
         PodRules rules;
         rules.delete_terminal_below = 1;
         job.pods.SetRules(std::move(rules));
       },
       true},
      {"we have ended the job", [&] { end(/*sequence=*/5, /*is_overtaken=*/false); }, false},
      {"another controller has ended it", [&] { end(/*sequence=*/0, /*is_overtaken=*/false); }, true},
      {"another controller has ended it after us", [&] { end(/*sequence=*/5, /*is_overtaken=*/true); }, true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    LeaveUnreportedSuccess();
    test.become();
    kv::WriteBatch batch;
    job.pod_records.DropReported(job, batch);
    EXPECT_EQ(ChangesOf(batch), test.is_dropped ? "drop j-w-0; " : "");
    EXPECT_EQ(job.pod_records.IsUnreportedSuccess("j-w-0"), !test.is_dropped);
  }
}

TEST_F(PodRecordsTest, TheNextPodOfTheNameTakesTheRecordOver) {
  LeaveUnreportedSuccess();
  kv::WriteBatch batch;
  Observe(MakePod("j-w-0", "b", kube::v1::POD_PHASE_RUNNING), batch);
  job.pod_records.DropUnreported(job, batch);
  EXPECT_EQ(ChangesOf(batch), "put j-w-0; ");
}

TEST_F(PodRecordsTest, WithoutAJobNobodyWillTellOfASuccess) {
  LeaveUnreportedSuccess();
  kv::WriteBatch batch;
  job.pod_records.DropUnreported(job, batch);
  job.pod_records.DropUnreported(job, batch);
  EXPECT_EQ(ChangesOf(batch), "drop j-w-0; ");
}

TEST_F(PodRecordsTest, ThatAnEndWasAnsweredIsWrittenOnce) {
  kv::WriteBatch batch;
  KeepEnded("a", 1, batch);
  KeepEnded("a", 1, batch);
  EXPECT_EQ(ChangesOf(batch), "put ended a; ");
  storage::v1::EndedPod found;
  found.set_uid("b");
  job.pod_records.RestoreEnded(found);
  kv::WriteBatch nothing;
  KeepEnded("b", 0, nothing);
  EXPECT_EQ(ChangesOf(nothing), "") << "it was found in the store";
  EXPECT_TRUE(job.pod_records.HasEnded("a"));
  EXPECT_TRUE(job.pod_records.HasEnded("b"));
  EXPECT_FALSE(job.pod_records.HasEnded("c"));
}

TEST_F(PodRecordsTest, AnAnsweredEndIsForgottenWithItsVersionOrItsJob) {
  struct Case {
    const char* what;
    bool job_dirty;
    kube::v1::JobPhase phase;
    int32_t version;  // The version of the status. One pod is of version 1, and one of 2.
    const char* changes;
  };
  const Case cases[] = {
      {"the first version", true, kube::v1::JOB_PHASE_RUNNING, 1, ""},
      {"the next", true, kube::v1::JOB_PHASE_RUNNING, 2, "drop ended a; "},
      {"the one after both", true, kube::v1::JOB_PHASE_RUNNING, 3, "drop ended a; drop ended b; "},
      {"an aborted job may be resumed", true, kube::v1::JOB_PHASE_ABORTED, 1, ""},
      {"a finished job", true, kube::v1::JOB_PHASE_FAILED, 1, "drop ended a; drop ended b; "},
      {"the job has not changed", false, kube::v1::JOB_PHASE_FAILED, 3, ""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    kv::WriteBatch kept;
    KeepEnded("a", 1, kept);
    KeepEnded("b", 2, kept);
    job.job_dirty = test.job_dirty;
    SetPhase(test.phase);
    job.job->mutable_status()->set_version(test.version);
    kv::WriteBatch batch;
    job.pod_records.DropOutdatedEnded(job, batch);
    EXPECT_EQ(ChangesOf(batch), test.changes);
    kv::WriteBatch rest;
    job.pod_records.DropEnded(job, rest);
    EXPECT_EQ(ChangesOf(batch) + ChangesOf(rest), "drop ended a; drop ended b; ");
  }
}

TEST_F(PodRecordsTest, AJobThatBeginsAnewLeavesNothingButWhatIsAnothers) {
  LeaveUnreportedSuccess();
  kv::WriteBatch kept;
  Observe(MakePod("j-w-1", "b", kube::v1::POD_PHASE_RUNNING), kept);
  storage::v1::PodRecord neighbour;
  neighbour.set_uid("c");
  PutPod(job.slot, "default/j2", "j2-w-0", neighbour, kept);
  KeepEnded("d", 0, kept);
  ASSERT_TRUE(context.store().Write(kept).ok());
  kv::WriteBatch batch;
  job.pod_records.DropAll(job, batch);
  ASSERT_TRUE(context.store().Write(batch).ok());
  EXPECT_FALSE(job.pod_records.IsUnreportedSuccess("j-w-0"));
  EXPECT_FALSE(job.pod_records.HasEnded("d"));
  std::string left;
  const auto pod = [&left](const std::string&, std::string_view name, const storage::v1::PodRecord&) { left += name; };
  const auto ended = [&left](const std::string&, const storage::v1::EndedPod& record) { left += record.uid(); };
  ASSERT_TRUE(ForEachPodOfSlot(context.store(), job.slot, pod).ok());
  ASSERT_TRUE(ForEachEndedPod(context.store(), job.slot, ended).ok());
  EXPECT_EQ(left, "j2-w-0");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
