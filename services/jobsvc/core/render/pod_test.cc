#include "services/jobsvc/core/render/pod.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/stable_text.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/volumes.h"

namespace basalt::jobsvc {
namespace {

constexpr PodContext kContext{.version = 2, .retry_count = 1, .pod_group_name = "j-uid-1"};

std::string Pod(const kube::v1::Job& job, int task, int32_t index, const PodContext& context = kContext) {
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  const absl::StatusOr<CompiledTask> compiled = CompileTask(job, spec, task);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? BuildPod(*compiled, index, context) : "";
}

void Put(google::protobuf::RepeatedPtrField<kube::v1::KeyValue>* map, std::string_view key, std::string_view value) {
  kube::v1::KeyValue* entry = map->Add();
  entry->set_key(std::string(key));
  entry->set_value(std::string(value));
}

std::string_view Member(const json::value& pod, std::string_view map, std::string_view key) {
  const json::value* found = FindPath(pod, {"metadata", map});
  return found == nullptr ? std::string_view() : FindString(*found, key);
}

TEST(PodTest, IsCompleteAndExact) {
  kube::v1::Job job = TestJob("j", {{"w", 3, R"({"metadata":{"name":"ignored","finalizers":["x/y"],"labels":{"a":"1",
      "volcano.sh/job-name":"overwritten"},"annotations":{"b":"2","volcano.sh/task-index":"overwritten"}},
      "spec":{"restartPolicy":"OnFailure","unknownField":{"deep":[1,null]},"containers":[{"name":"c","image":"i"}]}})"}});
  job.mutable_spec()->set_queue("q");
  ExpectJson(Pod(job, 0, 2), R"({"apiVersion":"v1","kind":"Pod","metadata":{
    "name":"j-w-2","namespace":"ns",
    "ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"uid-1","controller":true,
      "blockOwnerDeletion":true}],
    "annotations":{"b":"2","volcano.sh/task-index":"2","volcano.sh/task-spec":"w",
      "scheduling.k8s.io/group-name":"j-uid-1","scheduling.volcano.sh/group-name":"j-uid-1","volcano.sh/job-name":"j",
      "volcano.sh/queue-name":"q","volcano.sh/job-version":"2","volcano.sh/template-uid":"j-w",
      "volcano.sh/pod-template-key":"j-w","volcano.sh/job-retry-count":"1"},
    "labels":{"a":"1","volcano.sh/task-index":"2","volcano.sh/job-name":"j","volcano.sh/task-spec":"w",
      "volcano.sh/job-namespace":"ns","volcano.sh/queue-name":"q","basalt.dev/job-uid":"uid-1","basalt.dev/job-version":"2"}},
    "spec":{"restartPolicy":"OnFailure","unknownField":{"deep":[1,null]},"schedulerName":"volcano",
      "containers":[{"name":"c","image":"i"}]}})");
}

TEST(PodTest, TemplateBeatsTheJobForSchedulerAndPriority) {
  kube::v1::Job job = TestJob(
      "j", {{"a"}, {"b", 1, R"({"spec":{"schedulerName":"s","priorityClassName":"p","containers":[{"name":"c"}]}})"}});
  job.mutable_spec()->set_scheduler_name("volcano-2");
  job.mutable_spec()->set_priority_class_name("high");
  const json::value a = json::parse(Pod(job, 0, 0));
  EXPECT_EQ(FindString(a.at("spec"), "schedulerName"), "volcano-2");
  EXPECT_EQ(FindString(a.at("spec"), "priorityClassName"), "high");
  const json::value b = json::parse(Pod(job, 1, 0));
  EXPECT_EQ(FindString(b.at("spec"), "schedulerName"), "s");
  EXPECT_EQ(FindString(b.at("spec"), "priorityClassName"), "p");
}

TEST(PodTest, HostNetworkGetsItsDnsPolicyUnlessGiven) {
  struct Row {
    std::string spec;
    std::string policy;
  };
  for (const Row& row :
       {Row{R"("hostNetwork":true)", "ClusterFirstWithHostNet"},
        Row{R"("hostNetwork":true,"dnsPolicy":"Default")", "Default"}, Row{R"("hostNetwork":false)", ""},
        Row{R"("hostNetwork":true,"dnsPolicy":"")", "ClusterFirstWithHostNet"}}) {
    const json::value pod =
        json::parse(Pod(TestJob("j", {{"t", 1, R"({"spec":{"containers":[],)" + row.spec + "}}"}}), 0, 0));
    EXPECT_EQ(FindString(pod.at("spec"), "dnsPolicy"), row.policy) << row.spec;
  }
}

TEST(PodTest, VolumesAreMountedInContainersOnlyAndOncePerClaim) {
  kube::v1::Job job = TestJob("j", {{"t"}});
  for (const auto& [path, claim] : {std::pair("/a", "shared"), {"/b", ""}, {"/c", "shared"}}) {
    kube::v1::VolumeSpec* volume = job.mutable_spec()->add_volumes();
    volume->set_mount_path(path);
    volume->set_volume_claim_name(claim);
    if (*claim == '\0') volume->set_volume_claim_json(R"({"accessModes":["ReadWriteOnce"]})");
  }
  const std::string first = "j-" + StableSuffix("volume/uid-1/0");
  const std::string second = "j-" + StableSuffix("volume/uid-1/1");
  const std::string claim = "j-pvc-" + StableSuffix("claim/uid-1/1");
  const json::value pod = json::parse(Pod(job, 0, 0));
  ExpectJson(ToText(pod.at("spec").at("volumes")),
             fmt::format(R"([{{"name":"{}","persistentVolumeClaim":{{"claimName":"shared"}}}},
                             {{"name":"{}","persistentVolumeClaim":{{"claimName":"{}"}}}}])",
                         first, second, claim));
  ExpectJson(ToText(pod.at("spec").at("containers")),
             fmt::format(R"([{{"name":"c","volumeMounts":[{{"name":"{}","mountPath":"/a"}},
                                                          {{"name":"{}","mountPath":"/b"}}]}}])",
                         first, second));
  ExpectJson(ToText(pod.at("spec").at("initContainers")), R"([{"name":"i"}])");

  const JobView view = TestView(job);
  const std::vector<JobVolume> volumes = VolumesOf(view, job.spec());
  ASSERT_EQ(volumes.size(), 2u);
  EXPECT_FALSE(volumes[0].generated);
  EXPECT_TRUE(volumes[0].claim_json.empty());
  EXPECT_EQ(volumes[1].claim, claim);
  EXPECT_EQ(ClaimMarkerKey(claim), "volume-pvc-" + claim);
  ExpectJson(
      volumes[1].claim_json,
      fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}","namespace":"ns",
    "ownerReferences":[{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"uid-1","controller":true,
    "blockOwnerDeletion":true}}]}},"spec":{{"accessModes":["ReadWriteOnce"]}}}})",
                  claim));
}

// Job spec, appendix B.
TEST(PodTest, PartitionLabel) {
  EXPECT_EQ(PartitionOf(0, 2), 0);
  EXPECT_EQ(PartitionOf(1, 2), 0);
  EXPECT_EQ(PartitionOf(2, 2), 1);
  EXPECT_EQ(PartitionOf(3, 2), 1);
  EXPECT_EQ(PartitionOf(10, 5), 2);
  EXPECT_EQ(PartitionOf(7, 0), 0);
  kube::v1::Job job = TestJob("j", {{"t", 12}});
  EXPECT_EQ(Member(json::parse(Pod(job, 0, 10)), "labels", "volcano.sh/partition-id"), "");
  job.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_partition_size(5);
  const json::value pod = json::parse(Pod(job, 0, 10));
  EXPECT_EQ(Member(pod, "labels", "volcano.sh/partition-id"), "2");
  EXPECT_EQ(Member(pod, "labels", "volcano.sh/task-partition-id"), "2");
}

TEST(PodTest, AnUnnamedTaskIsCalledDefault) {
  kube::v1::Job job = TestJob("j", {{""}});
  const absl::StatusOr<CompiledTask> compiled = CompileTask(job, job.spec(), 0);
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(Member(json::parse(compiled->Build(0, kContext)), "annotations", "volcano.sh/task-spec"), "default");
}

TEST(PodTest, PluginsWorkInTheirOrder) {
  kube::v1::Job job = TestJob("j", {{"worker", 2}, {"master", 1}});
  for (const char* name : {"hcclrank", "ssh", "svc", "env", "pytorch"})
    job.mutable_spec()->add_plugins()->set_name(name);
  const json::value pod = json::parse(Pod(job, 0, 1));
  std::vector<std::string> env;
  for (const json::value& variable : pod.at("spec").at("containers").as_array()[0].at("env").as_array()) {
    env.emplace_back(FindString(variable, "name"));
  }
  EXPECT_EQ(env, (std::vector<std::string>{"VK_TASK_INDEX", "VC_TASK_INDEX", "VC_WORKER_HOSTS", "VC_WORKER_NUM",
                                           "VC_MASTER_HOSTS", "VC_MASTER_NUM", "MASTER_ADDR", "MASTER_PORT",
                                           "WORLD_SIZE", "RANK"}));
  std::vector<std::string> volumes;
  for (const json::value& volume : pod.at("spec").at("volumes").as_array())
    volumes.emplace_back(FindString(volume, "name"));
  EXPECT_EQ(volumes, (std::vector<std::string>{"j-svc", "j-ssh"}));
  EXPECT_EQ(FindString(pod.at("spec"), "hostname"), "j-worker-1");
  EXPECT_EQ(Member(pod, "annotations", "hccl/rankIndex"), "2") << "as pytorch's RANK, which comes before";
}

// Plugins put the hosts of other tasks into a pod.
TEST(PodTest, AHostNameOfAnotherTaskIsNeverTakenForAMark) {
  kube::v1::Job job = TestJob(
      "j", {{"worker", 1},
            {"master", 1, R"({"spec":{"hostname":"basalt0mark","subdomain":"basalt1markx","containers":[]}})"}});
  for (const char* name : {"svc", "pytorch"}) job.mutable_spec()->add_plugins()->set_name(name);
  const json::value pod = json::parse(Pod(job, 0, 0));
  std::string address;
  for (const json::value& variable : pod.at("spec").at("containers").as_array()[0].at("env").as_array()) {
    if (FindString(variable, "name") == "MASTER_ADDR") address = FindString(variable, "value");
  }
  EXPECT_EQ(address, "basalt0mark.basalt1markx");
}

// A template may contain any text, also the text of a mark.
TEST(PodTest, MarksAreNeverTakenForTexts) {
  kube::v1::Job job = TestJob("j", {{"t", 1, R"({"metadata":{"annotations":{"m":"basalt0mark0000 \u0062asalt1mark0001",
      "q":"\"\\\n\u0001ünïcode"}},"spec":{"containers":[{"name":"c"}]}})"}});
  Put(job.mutable_meta()->mutable_annotations(), "volcano.sh/revocable-zone", "basalt2mark0002\"\n");
  const json::value pod = json::parse(Pod(job, 0, 7));
  EXPECT_EQ(Member(pod, "annotations", "m"), "basalt0mark0000 basalt1mark0001");
  EXPECT_EQ(Member(pod, "annotations", "q"), "\"\\\n\x01ünïcode");
  EXPECT_EQ(Member(pod, "annotations", "volcano.sh/revocable-zone"), "basalt2mark0002\"\n");
  EXPECT_EQ(Member(pod, "annotations", "volcano.sh/task-index"), "7");
}

TEST(PodTest, ABrokenTemplateIsNamed) {
  const kube::v1::Job job = TestJob("j", {{"t", 1, "{"}});
  EXPECT_EQ(CompileTask(job, job.spec(), 0).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::jobsvc
