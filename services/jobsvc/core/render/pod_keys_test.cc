// The labels and annotations of a pod, one by one: job spec 1.10. A scheduler, vcctl or Basalt itself reads them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::jobsvc {
namespace {

using Give = std::function<void(kube::v1::Job& job)>;

struct KeyRow {
  std::string id;
  std::string key;
  std::string annotation;  // Empty if absent.
  std::string label;
  Give given;
};

class PodKeyTest : public testing::TestWithParam<KeyRow> {};

// Pod 3 of the task "w" of the job "j" in the queue "q", in its second version after one retry.
TEST_P(PodKeyTest, IsWhereItBelongs) {
  kube::v1::Job job = TestJob("j", {{"w", 6}});
  job.mutable_spec()->set_queue("q");
  if (GetParam().given) GetParam().given(job);
  const absl::StatusOr<CompiledTask> task = CompileTask(job, EffectiveSpec(job), 0);
  ASSERT_TRUE(task.ok()) << task.status();
  const json::value pod = json::parse(task->Build(
      3,
      {.version = 2, .retry_count = 1, .pod_group_name = "j-uid-1", .forwarding = GetParam().id == "JobForwarding"}));
  EXPECT_EQ(FindString(pod.at("metadata").at("annotations"), GetParam().key), GetParam().annotation);
  EXPECT_EQ(FindString(pod.at("metadata").at("labels"), GetParam().key), GetParam().label);
}

void Put(google::protobuf::RepeatedPtrField<kube::v1::KeyValue>* map, std::string_view key, std::string_view value) {
  kube::v1::KeyValue* entry = map->Add();
  entry->set_key(std::string(key));
  entry->set_value(std::string(value));
}

// The job has this value in an annotation, and another one in a label.
Give JobSays(std::string key, std::string annotation, std::string label = "") {
  return [=](kube::v1::Job& job) {
    Put(job.mutable_meta()->mutable_annotations(), key, annotation);
    if (!label.empty()) Put(job.mutable_meta()->mutable_labels(), key, label);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Keys, PodKeyTest,
    testing::Values(
        KeyRow{"TaskSpec", "volcano.sh/task-spec", "w", "w", {}},
        KeyRow{"TaskIndex", "volcano.sh/task-index", "3", "3", {}},
        KeyRow{"JobName", "volcano.sh/job-name", "j", "j", {}},
        KeyRow{"JobNamespace", "volcano.sh/job-namespace", "", "ns", {}},
        KeyRow{"QueueName", "volcano.sh/queue-name", "q", "q", {}},
        KeyRow{"JobVersion", "volcano.sh/job-version", "2", "", {}},
        KeyRow{"JobRetryCount", "volcano.sh/job-retry-count", "1", "", {}},
        KeyRow{"TemplateUid", "volcano.sh/template-uid", "j-w", "", {}},
        KeyRow{"PartitionId", "volcano.sh/partition-id", "", "1",
               [](kube::v1::Job& job) {
                 job.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_partition_size(2);
               }},
        KeyRow{"GroupName", "scheduling.k8s.io/group-name", "j-uid-1", "", {}},
        KeyRow{"VolcanoGroupName", "scheduling.volcano.sh/group-name", "j-uid-1", "", {}},
        KeyRow{"NumaTopologyPolicy", "volcano.sh/numa-topology-policy", "restricted", "",
               [](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_topology_policy("restricted"); }},
        KeyRow{"NumaTopologyPolicyNone", "volcano.sh/numa-topology-policy", "none", "",
               [](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_topology_policy("none"); }},
        KeyRow{"NothingElseOfTheJob", "other", "", "", JobSays("other", "no", "no")},
        KeyRow{"Preemptable", "volcano.sh/preemptable", "true", "false",
               JobSays("volcano.sh/preemptable", "true", "false")},
        KeyRow{"CooldownTime", "volcano.sh/cooldown-time", "600s", "300s",
               JobSays("volcano.sh/cooldown-time", "600s", "300s")},
        KeyRow{"RevocableZone", "volcano.sh/revocable-zone", "*", "", JobSays("volcano.sh/revocable-zone", "*", "no")},
        KeyRow{"JdbMinAvailable", "volcano.sh/jdb-min-available", "50%", "",
               JobSays("volcano.sh/jdb-min-available", "50%")},
        KeyRow{"JdbMaxUnavailable", "volcano.sh/jdb-max-unavailable", "2", "",
               JobSays("volcano.sh/jdb-max-unavailable", "2")},
        KeyRow{"JdbMaxUnavailableBesideMinAvailable", "volcano.sh/jdb-max-unavailable", "", "",
               [](kube::v1::Job& job) {
                 JobSays("volcano.sh/jdb-max-unavailable", "2")(job);
                 JobSays("volcano.sh/jdb-min-available", "50%")(job);
               }},
        KeyRow{"JobForwarding", "volcano.sh/job-forwarding", "true", "true", {}}),
    [](const auto& row) { return row.param.id; });

}  // namespace
}  // namespace basalt::jobsvc
