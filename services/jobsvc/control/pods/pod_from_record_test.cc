// A record of a pod contains everything that was observed, for a process that starts on it.
#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#include "services/jobsvc/control/part_fixture.h"
#include "services/jobsvc/control/pods/pod_records.h"
#include "services/jobsvc/core/pods/testing.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc::testing {
namespace {

class PodFromRecordTest : public PartTest {};

TEST_F(PodFromRecordTest, ARecordTellsOfThePodWhatWasObserved) {
  struct Case {
    const char* what;
    std::function<void(kube::v1::Pod&)> edit;
    bool is_whole;  // The record contains everything that was observed.
  };
  const Case cases[] = {
      {"the job's", [](kube::v1::Pod&) {}, true},
      {"labelled", [](kube::v1::Pod& pod) { pod.set_job_uid_label(kJobUid); }, true},
      {"being deleted", [](kube::v1::Pod& pod) { pod.set_deletion_ms(3000); }, true},
      {"disrupted",
       [](kube::v1::Pod& pod) {
         pod.set_disruption_reason("PreemptionByScheduler");
         pod.set_disruption_ms(1500);
       },
       true},
      {"marked", [](kube::v1::Pod& pod) { pod.set_out_of_sync(true); }, true},
      {"not ready", [](kube::v1::Pod& pod) { pod.set_all_ready(false); }, true},
      {"of another owner",
       [](kube::v1::Pod& pod) {
         pod.set_owner_uid("another");
         pod.clear_job_version();
       },
       true},
      {"of no owner",
       [](kube::v1::Pod& pod) {
         pod.clear_owner_uid();
         pod.clear_job_version();
       },
       true},
      {"the job's by its owner alone", [](kube::v1::Pod& pod) { pod.clear_task(); }, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    PodSet pods = MakePodSet({{"w", 2}});
    job.pod_records = {};
    kube::v1::Pod pod = MakePod("j-w-1", "a", kube::v1::POD_PHASE_FAILED, /*version=*/4);
    pod.set_resource_version(7);
    pod.set_creation_ms(1000);
    pod.set_finished_ms(2000);
    pod.set_node_name("n");
    pod.set_reason("OOMKilled");
    pod.set_partition(3);
    pod.set_restarts(2);
    pod.set_exit_code(137);
    pod.set_all_ready(true);
    test.edit(pod);
    kv::WriteBatch batch;
    job.pod_records.Store(job, pods.Apply(pod), &pod, host, batch);
    ASSERT_TRUE(context.store().Write(batch).ok());
    kube::v1::Pod restored;
    const auto read = [&](std::string_view name, const storage::v1::PodRecord& record) {
      restored = PodFromRecord(name, job, record);
    };
    ASSERT_TRUE(ForEachPod(context.store(), job.slot, job.key, read).ok());
    PodSet fresh = MakePodSet({{"w", 2}});
    EXPECT_EQ(fresh.Apply(restored).after.flags, pods.Find("j-w-1")->flags);
    if (test.is_whole) {
      EXPECT_EQ(restored.DebugString(), pod.DebugString());
    }
  }
}

TEST_F(PodFromRecordTest, ARecordWithoutTheTimeOfADeletionTellsOfTheDeletion) {
  storage::v1::PodRecord record;
  record.set_uid("a");
  record.set_flags(kPodTerminating);
  EXPECT_NE(PodFromRecord("j-w-0", job, record).deletion_ms(), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
