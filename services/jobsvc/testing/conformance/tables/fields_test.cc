// Every field of a Job's spec does what the job specification requires (1.3 to 1.5): a job of one task "t" of two pods
// gets one field more, in its wire form, and goes through the whole of jobsvc.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "common/kube/decode/decode_job.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr std::string_view kSpec =
    R"({"schedulerName":"volcano","minAvailable":2,"queue":"default","maxRetry":3,"tasks":[
  {"name":"t","replicas":2,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox"}]}}}]})";

class JobFields : public ConformanceTest {
 public:
  // Returns the spec with the fields of `given`; those of "task" are set in the task. A null removes a field.
  static kube::v1::Job JobWith(std::string_view given) {
    json::object spec = json::parse(kSpec).as_object();
    const json::value fields = json::parse({given.data(), given.size()});
    for (const auto& [key, value] : fields.as_object()) {
      if (key != "task") {
        spec[key] = value;
        continue;
      }
      json::object& task = spec["tasks"].as_array()[0].as_object();
      for (const auto& [field, of_task] : value.as_object()) task[field] = of_task;
    }
    const auto decoded = kube::DecodeStoredJob(
        ToText(json::object{{"metadata", {{"name", "j"}, {"namespace", "default"}}}, {"spec", std::move(spec)}}));
    EXPECT_TRUE(decoded.ok() && decoded->errors.empty()) << given;
    return decoded->job;
  }

  json::value Body(const std::string& pod) { return kube().pod_body("default/" + pod); }
  std::string Label(const std::string& pod, std::string_view key) {
    return std::string(FindString(Body(pod).at("metadata").at("labels"), key));
  }
  bool Has(const std::string& pod) { return kube().pods().contains("default/" + pod); }
  // Returns whether the job is refused with this text.
  bool Refused(std::string_view words) {
    return Status().reason() == "InvalidJob" && Status().message().find(words) != std::string::npos &&
           kube().pods().empty();
  }
  void PutClaim(const std::string& name) {
    Write("persistentvolumeclaims", name, [&](gateway::v1::WriteRequest& request) {
      request.mutable_create()->set_body(R"({"metadata":{"name":")" + name + "\"}}");
    });
    rig().Run(absl::Minutes(1));
  }
  const kube::v1::SubGroupPolicy& SubGroup() { return Group().spec().sub_group_policy(0); }
  void Again(std::string_view given) {
    Fresh();
    Begin(JobWith(given));
  }
};

struct FieldRow {
  std::string id;
  std::string given;
  std::function<void(JobFields&)> then;  // Called once the pods are made, unless something prevents that.
};

class FieldTest : public JobFields, public ::testing::WithParamInterface<FieldRow> {};

TEST_P(FieldTest, DoesWhatItSays) {
  Begin(JobWith(GetParam().given));
  GetParam().then(*this);
}

const auto kRowName = [](const auto& row) { return row.param.id; };

INSTANTIATE_TEST_SUITE_P(
    OfJob, FieldTest,
    ::testing::Values(
        FieldRow{"schedulerName", R"({"schedulerName":"another"})",
                 [](JobFields& f) { EXPECT_EQ(f.Body("j-t-0").at("spec").at("schedulerName"), "another"); }},
        FieldRow{"minAvailable", R"({"minAvailable":1})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Group().spec().min_member(), 1);
                   f.Pod(1, kPodRunning);
                   EXPECT_EQ(f.Phase(), kRunning);
                 }},
        FieldRow{"volumes",
                 R"({"volumes":[{"mountPath":"/a","volumeClaimName":"a"},{"mountPath":"/b","volumeClaimName":"b"}]})",
                 [](JobFields& f) {
                   EXPECT_TRUE(f.kube().pods().empty());
                   f.PutClaim("a");
                   EXPECT_TRUE(f.kube().pods().empty());
                   f.PutClaim("b");
                   for (const char* pod : {"j-t-0", "j-t-1"}) {
                     const json::value spec = f.Body(pod).at("spec");
                     EXPECT_EQ(spec.at("volumes").as_array().size(), 2u);
                     EXPECT_EQ(spec.at("containers").as_array()[0].at("volumeMounts").as_array().size(), 2u);
                   }
                 }},
        FieldRow{"tasks",
                 R"({"tasks":[{"name":"a","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
                                          {"name":"b","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]})",
                 [](JobFields& f) {
                   EXPECT_TRUE(f.Has("j-a-0"));
                   EXPECT_TRUE(f.Has("j-b-0"));
                   EXPECT_EQ(f.kube().pods().size(), 2u);
                 }},
        FieldRow{"policies", R"({"policies":[{"event":"PodFailed","action":"AbortJob"}]})",
                 [](JobFields& f) {
                   f.Pod(1, kPodFailed, 1);
                   EXPECT_EQ(f.Phase(), kAborted);
                 }},
        FieldRow{"plugins", R"({"plugins":{"env":[],"svc":["--disable-network-policy=true"]}})",
                 [](JobFields& f) {
                   EXPECT_EQ(
                       FindString(f.Body("j-t-1").at("spec").at("containers").as_array()[0].at("env").as_array()[0],
                                  "name"),
                       "VK_TASK_INDEX");
                   EXPECT_TRUE(f.kube().others().contains("services/default/j"));
                   EXPECT_FALSE(f.kube().others().contains("networkpolicies/default/j"));
                 }},
        FieldRow{"runningEstimate", R"({"runningEstimate":"1s"})",
                 [](JobFields& f) {
                   f.kube().SetAllPods(kPodRunning);
                   f.rig().Run(absl::Hours(1));
                   EXPECT_EQ(f.Phase(), kRunning);
                   EXPECT_EQ(f.Status().reason(), "");
                   EXPECT_EQ(f.kube().job("default/j").spec().running_estimate(), "1s");
                 }},
        FieldRow{"queue", R"({"queue":"q"})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Group().spec().queue(), "q");
                   EXPECT_EQ(f.Label("j-t-0", "volcano.sh/queue-name"), "q");
                 }},
        FieldRow{"maxRetry", R"({"maxRetry":1,"policies":[{"event":"PodFailed","action":"RestartJob"}]})",
                 [](JobFields& f) {
                   f.Pod(0, kPodFailed, 1);
                   EXPECT_EQ(f.Phase(), kFailed);
                 }},
        FieldRow{"ttlSecondsAfterFinished", R"({"ttlSecondsAfterFinished":60})",
                 [](JobFields& f) {
                   f.kube().SetAllPods(kPodSucceeded);
                   f.rig().Run(absl::Seconds(55));
                   EXPECT_EQ(f.Phase(), kCompleted);
                   f.rig().Run(absl::Seconds(10));
                   EXPECT_FALSE(f.kube().jobs().contains("default/j"));
                 }},
        FieldRow{"priorityClassName", R"({"priorityClassName":"high"})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Group().spec().priority_class_name(), "high");
                   EXPECT_EQ(f.Body("j-t-0").at("spec").at("priorityClassName"), "high");
                 }},
        FieldRow{"minSuccess", R"({"minSuccess":1})",
                 [](JobFields& f) {
                   f.kube().SetAllPods(kPodRunning);
                   f.rig().Run(absl::Seconds(10));
                   ASSERT_EQ(f.Phase(), kRunning);
                   f.Pod(1, kPodSucceeded);
                   EXPECT_EQ(f.Phase(), kCompleted);
                   EXPECT_EQ(f.kube().pods().size(), 1u);
                 }},
        FieldRow{"networkTopology", R"({"networkTopology":{"mode":"soft","highestTierAllowed":2}})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Group().spec().network_topology().mode(), "soft");
                   EXPECT_EQ(f.Group().spec().network_topology().highest_tier_allowed(), 2);
                 }}),
    kRowName);

INSTANTIATE_TEST_SUITE_P(
    OfTask, FieldTest,
    ::testing::Values(
        FieldRow{"name", R"({"task":{"name":"other"}})",
                 [](JobFields& f) {
                   EXPECT_TRUE(f.Has("j-other-0"));
                   EXPECT_EQ(f.Label("j-other-0", "volcano.sh/task-spec"), "other");
                 }},
        FieldRow{"replicas", R"({"task":{"replicas":3}})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.kube().pods().size(), 3u);
                   EXPECT_TRUE(f.Has("j-t-2"));
                 }},
        FieldRow{"minAvailable", R"({"minAvailable":null,"task":{"minAvailable":1}})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Group().spec().min_task_member(0).min_member(), 1);
                   EXPECT_EQ(f.Status().min_available(), 1);
                   f.Pod(0, kPodSucceeded);
                   f.Pod(1, kPodFailed, 1);
                   EXPECT_EQ(f.Phase(), kCompleted);
                 }},
        FieldRow{"template",
                 R"({"task":{"template":{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["x/y"]},
                   "spec":{"nodeSelector":{"e":"f"},"containers":[{"name":"c","image":"i"}]}}}})",
                 [](JobFields& f) {
                   const json::value pod = f.Body("j-t-1");
                   EXPECT_EQ(f.Label("j-t-1", "a"), "b");
                   EXPECT_EQ(pod.at("metadata").at("annotations").at("c"), "d");
                   EXPECT_EQ(pod.at("spec").at("nodeSelector").at("e"), "f");
                   EXPECT_FALSE(pod.at("metadata").as_object().contains("finalizers"));
                 }},
        FieldRow{"policies", R"({"policies":[{"event":"PodFailed","action":"RestartJob"}],
                                    "task":{"policies":[{"event":"PodFailed","action":"AbortJob"}]}})",
                 [](JobFields& f) {
                   f.Pod(1, kPodFailed, 1);
                   EXPECT_EQ(f.Phase(), kAborted);
                 }},
        FieldRow{"topologyPolicy", R"({"task":{"topologyPolicy":"restricted","template":{"spec":{"containers":[
                   {"name":"c","image":"i","resources":{"requests":{"cpu":"2"}}}]}}}})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Body("j-t-0").at("metadata").at("annotations").at("volcano.sh/numa-topology-policy"),
                             "restricted");
                 }},
        FieldRow{"maxRetry", R"({"task":{"maxRetry":2,"policies":[{"event":"TaskFailed","action":"AbortJob"}]}})",
                 [](JobFields& f) {
                   f.kube().SetAllPods(kPodRunning);
                   f.rig().Run(absl::Seconds(10));
                   for (const char* pod : {"default/j-t-0", "default/j-t-1"}) {
                     EXPECT_EQ(f.Phase(), kRunning);
                     f.kube().EditPod(pod, [](kube::v1::Pod& p) { p.set_restarts(1); });
                     f.rig().Run(absl::Seconds(10));
                   }
                   EXPECT_EQ(f.Phase(), kAborted);
                 }},
        FieldRow{"dependsOn", R"({"minAvailable":1,"tasks":[
                   {"name":"t","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
                   {"name":"b","replicas":1,"dependsOn":{"name":["t"]},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]})",
                 [](JobFields& f) {
                   EXPECT_TRUE(f.Has("j-t-0"));
                   EXPECT_FALSE(f.Has("j-b-0"));
                   f.Pod(0, kPodRunning);
                   EXPECT_TRUE(f.Has("j-b-0"));
                 }},
        FieldRow{
            "partitionPolicy",
            R"({"minAvailable":null,"task":{"replicas":4,"partitionPolicy":{"totalPartitions":2,"partitionSize":2}}})",
            [](JobFields& f) {
              EXPECT_EQ(f.Label("j-t-1", "volcano.sh/partition-id"), "0");
              EXPECT_EQ(f.Label("j-t-2", "volcano.sh/partition-id"), "1");
              EXPECT_EQ(f.Group().spec().sub_group_policy_size(), 1);
            }}),
    kRowName);

INSTANTIATE_TEST_SUITE_P(
    OfPolicy, FieldTest,
    ::testing::Values(
        FieldRow{"policy_action", R"({"policies":[{"event":"PodFailed","action":"TerminateJob"}]})",
                 [](JobFields& f) {
                   f.Pod(0, kPodFailed, 1);
                   EXPECT_EQ(f.Phase(), kube::v1::JOB_PHASE_TERMINATED);
                 }},
        FieldRow{"policy_event", R"({"policies":[{"event":"PodEvicted","action":"AbortJob"}]})",
                 [](JobFields& f) {
                   f.kube().RemovePod("default/j-t-0");
                   f.rig().Run(absl::Seconds(10));
                   EXPECT_EQ(f.Phase(), kAborted);
                 }},
        FieldRow{
            "policy_events",
            R"({"policies":[{"event":"TaskCompleted","events":["PodFailed","PodEvicted"],"action":"AbortJob"}]})",
            [](JobFields& f) {
              const std::string given =
                  R"({"policies":[{"event":"TaskCompleted","events":["PodFailed","PodEvicted"],"action":"AbortJob"}]})";
              f.kube().SetAllPods(kPodSucceeded);
              f.rig().Run(absl::Seconds(10));
              EXPECT_EQ(f.Phase(), kAborted) << "the union of both";
              f.Again(given);
              f.Pod(0, kPodFailed, 1);
              EXPECT_EQ(f.Phase(), kAborted);
              f.Again(given);
              f.kube().RemovePod("default/j-t-1");
              f.rig().Run(absl::Seconds(10));
              EXPECT_EQ(f.Phase(), kAborted);
            }},
        FieldRow{"policy_exitCode", R"({"policies":[{"exitCode":3,"action":"AbortJob"}]})",
                 [](JobFields& f) {
                   f.Pod(0, kPodFailed, 4);
                   EXPECT_NE(f.Phase(), kAborted);
                   f.Pod(1, kPodFailed, 3);
                   EXPECT_EQ(f.Phase(), kAborted);
                 }},
        FieldRow{"policy_timeout", R"({"policies":[{"event":"PodEvicted","action":"AbortJob","timeout":"1m0s"}]})",
                 [](JobFields& f) {
                   f.kube().RemovePod("default/j-t-0");
                   f.rig().Run(absl::Seconds(55));
                   EXPECT_EQ(f.Phase(), kPending);
                   f.rig().Run(absl::Seconds(10));
                   EXPECT_EQ(f.Phase(), kAborted);
                 }}),
    kRowName);

std::string Dependent(std::string_view depends_on) {
  const std::string pods = R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}}})";
  return fmt::format(
      R"({{"minAvailable":1,"tasks":[{{"name":"t","replicas":2,"minAvailable":1,{0},{{"name":"u","replicas":1,{0},
                          {{"name":"b","replicas":1,"dependsOn":{1},{0}]}})",
      pods, depends_on);
}

INSTANTIATE_TEST_SUITE_P(OfDependency, FieldTest,
                         ::testing::Values(FieldRow{"dependsOn_name", Dependent(R"({"name":["t","u"]})"),
                                                    [](JobFields& f) {
                                                      f.Pod(0, kPodRunning);
                                                      EXPECT_FALSE(f.Has("j-b-0"));
                                                      f.kube().SetPodPhase("default/j-u-0", kPodRunning);
                                                      f.rig().Run(absl::Seconds(10));
                                                      EXPECT_TRUE(f.Has("j-b-0"));
                                                      f.Again(Dependent(R"({"name":["t","u"]})"));
                                                      f.kube().SetPodPhase("default/j-u-0", kPodRunning);
                                                      f.rig().Run(absl::Seconds(10));
                                                      EXPECT_FALSE(f.Has("j-b-0"));
                                                    }},
                                           FieldRow{"dependsOn_iteration",
                                                    Dependent(R"({"name":["t","u"],"iteration":"any"})"),
                                                    [](JobFields& f) {
                                                      EXPECT_FALSE(f.Has("j-b-0"));
                                                      f.Pod(1, kPodRunning);
                                                      EXPECT_TRUE(f.Has("j-b-0"));
                                                    }}),
                         kRowName);

std::string Partitioned(std::string_view policy) {
  return fmt::format(R"({{"minAvailable":null,"task":{{"replicas":6,"partitionPolicy":{}}}}})", policy);
}

INSTANTIATE_TEST_SUITE_P(
    OfPartitions, FieldTest,
    ::testing::Values(
        FieldRow{"partitionPolicy_totalPartitions", Partitioned(R"({"totalPartitions":2,"partitionSize":2})"),
                 [](JobFields& f) { EXPECT_TRUE(f.Refused("makes 4 pods of 6")) << f.Status().message(); }},
        FieldRow{"partitionPolicy_partitionSize", Partitioned(R"({"totalPartitions":2,"partitionSize":3})"),
                 [](JobFields& f) {
                   EXPECT_EQ(f.SubGroup().sub_group_size(), 3);
                   EXPECT_EQ(f.Label("j-t-5", "volcano.sh/partition-id"), "1");
                 }},
        FieldRow{"partitionPolicy_minPartitions",
                 Partitioned(R"({"totalPartitions":3,"partitionSize":2,"minPartitions":2})"),
                 [](JobFields& f) {
                   EXPECT_EQ(f.SubGroup().min_sub_groups(), 2);
                   EXPECT_EQ(f.Group().spec().min_task_member(0).min_member(), 4);
                 }},
        FieldRow{"partitionPolicy_networkTopology",
                 Partitioned(R"({"totalPartitions":3,"partitionSize":2,"networkTopology":{"highestTierName":"rack"}})"),
                 [](JobFields& f) {
                   EXPECT_EQ(f.SubGroup().network_topology().highest_tier_name(), "rack");
                   EXPECT_FALSE(f.Group().spec().has_network_topology());
                 }}),
    kRowName);

INSTANTIATE_TEST_SUITE_P(
    OfTopology, FieldTest,
    ::testing::Values(FieldRow{"networkTopology_mode", R"({"networkTopology":{"highestTierAllowed":1}})",
                               [](JobFields& f) { EXPECT_EQ(f.Group().spec().network_topology().mode(), "hard"); }},
                      FieldRow{"networkTopology_highestTierAllowed", R"({"networkTopology":{"highestTierAllowed":0}})",
                               [](JobFields& f) {
                                 EXPECT_TRUE(f.Group().spec().network_topology().has_highest_tier_allowed());
                                 EXPECT_EQ(f.Group().spec().network_topology().highest_tier_allowed(), 0);
                               }},
                      FieldRow{"networkTopology_highestTierName", R"({"networkTopology":{"highestTierName":"rack"}})",
                               [](JobFields& f) {
                                 EXPECT_EQ(f.Group().spec().network_topology().highest_tier_name(), "rack");
                                 EXPECT_FALSE(f.Group().spec().network_topology().has_highest_tier_allowed());
                               }}),
    kRowName);

INSTANTIATE_TEST_SUITE_P(
    OfVolume, FieldTest,
    ::testing::Values(
        FieldRow{"volume_mountPath",
                 R"({"volumes":[{"mountPath":"/data/in","volumeClaim":{"accessModes":["ReadWriteOnce"],)"
                 R"("resources":{"requests":{"storage":"1Gi"}}}}]})",
                 [](JobFields& f) {
                   EXPECT_EQ(f.Body("j-t-0")
                                 .at("spec")
                                 .at("containers")
                                 .as_array()[0]
                                 .at("volumeMounts")
                                 .as_array()[0]
                                 .at("mountPath"),
                             "/data/in");
                 }},
        FieldRow{
            "volume_volumeClaimName", R"({"volumes":[{"mountPath":"/d","volumeClaimName":"mine"}]})",
            [](JobFields& f) {
              EXPECT_TRUE(f.kube().pods().empty()) << "it is waited for";
              f.PutClaim("mine");
              EXPECT_EQ(
                  f.Body("j-t-0").at("spec").at("volumes").as_array()[0].at("persistentVolumeClaim").at("claimName"),
                  "mine");
            }},
        FieldRow{"volume_volumeClaim",
                 R"({"volumes":[{"mountPath":"/d","volumeClaim":{"accessModes":["ReadWriteOnce"],)"
                 R"("resources":{"requests":{"storage":"1Gi"}}}}]})",
                 [](JobFields& f) {
                   const json::value volume = f.Body("j-t-0").at("spec").at("volumes").as_array()[0];
                   const std::string claim(FindString(volume.at("persistentVolumeClaim"), "claimName"));
                   ASSERT_TRUE(claim.starts_with("j-pvc-")) << claim;
                   ASSERT_TRUE(f.kube().others().contains("persistentvolumeclaims/default/" + claim));
                   EXPECT_EQ(f.kube().others().at("persistentvolumeclaims/default/" + claim).at("spec"),
                             json::parse(R"({"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem",)"
                                         R"("resources":{"requests":{"storage":"1Gi"}}})"))
                       << "with the default of the API server";
                 }}),
    kRowName);

}  // namespace
}  // namespace basalt::jobsvc::testing
