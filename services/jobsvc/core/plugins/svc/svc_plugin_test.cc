#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kMeta = R"("namespace":"ns","ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1",
  "kind":"Job","name":"j","uid":"uid-1","controller":true,"blockOwnerDeletion":true}])";

std::string Meta(std::string_view name) {
  return std::string(R"("metadata":{"name":")").append(name).append("\",").append(kMeta).append("}");
}

TEST(SvcPluginTest, MakesTheThreeObjects) {
  const JobView job = JobWith({{"my-worker", 2}, {"idle", 0}});
  const std::vector<WantedObject> objects = MakePlugin("svc")->Objects(job);
  ASSERT_EQ(objects.size(), 3u);
  // From job spec, appendix B.
  const std::string data = R"("data":{"my_worker.host":"j-my-worker-0.j\nj-my-worker-1.j",
    "VC_MY_WORKER_HOSTS":"j-my-worker-0.j,j-my-worker-1.j","VC_MY_WORKER_NUM":"2",
    "idle.host":"","VC_IDLE_HOSTS":"","VC_IDLE_NUM":"0"})";
  EXPECT_EQ(objects[0].plural, "configmaps");
  EXPECT_EQ(objects[0].on_change, WantedObject::OnChange::kPatch);
  ExpectJson(objects[0].json, R"({"apiVersion":"v1","kind":"ConfigMap",)" + Meta("j-svc") + "," + data + "}");
  ExpectJson(objects[0].patch, "{" + data + "}");
  EXPECT_EQ(objects[1].plural, "services");
  EXPECT_EQ(objects[1].on_change, WantedObject::OnChange::kLeave);
  ExpectJson(objects[1].json, R"({"apiVersion":"v1","kind":"Service",)" + Meta("j") + R"(,"spec":{"clusterIP":"None",
    "selector":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns"}}})");
  EXPECT_EQ(objects[2].group, "networking.k8s.io");
  EXPECT_EQ(objects[2].plural, "networkpolicies");
  ExpectJson(objects[2].json,
             R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",)" + Meta("j") + R"(,"spec":{
    "podSelector":{"matchLabels":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns"}},
    "ingress":[{"from":[{"podSelector":{"matchLabels":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns"}}}]}],
    "policyTypes":["Ingress"]}})");
  for (const WantedObject& object : objects) {
    EXPECT_EQ(object.object_namespace, "ns");
    EXPECT_EQ(object.hash.size(), 16u);
  }
}

TEST(SvcPluginTest, FlagsChangeObjects) {
  const JobView job = JobWith({{"t", 1}});
  const auto plugin = MakePlugin("svc", Words({"--publish-not-ready-addresses=true", "--disable-network-policy"}));
  const std::vector<WantedObject> objects = plugin->Objects(job);
  ASSERT_EQ(objects.size(), 2u);
  ExpectJson(objects[1].json, R"({"apiVersion":"v1","kind":"Service",)" + Meta("j") + R"(,"spec":{"clusterIP":"None",
    "publishNotReadyAddresses":true,"selector":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns"}}})");
}

TEST(SvcPluginTest, ScalingChangesOnlyTheConfigMapsHash) {
  const auto before = MakePlugin("svc")->Objects(JobWith({{"t", 1}}));
  const auto after = MakePlugin("svc")->Objects(JobWith({{"t", 2}}));
  EXPECT_NE(before[0].hash, after[0].hash);
  EXPECT_EQ(before[1].hash, after[1].hash);
  EXPECT_EQ(before[2].hash, after[2].hash);
}

TEST(SvcPluginTest, TellsEveryContainerAboutEveryTask) {
  const JobView job = JobWith({{"t-1", 2}, {"u", 1}});
  const std::string env = R"("env":[
    {"name":"VC_T_1_HOSTS","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_T_1_HOSTS"}}},
    {"name":"VC_T_1_NUM","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_T_1_NUM"}}},
    {"name":"VC_U_HOSTS","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_U_HOSTS"}}},
    {"name":"VC_U_NUM","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_U_NUM"}}}],
    "volumeMounts":[{"name":"j-svc","mountPath":"/etc/volcano"}])";
  ExpectJson(EditedPod(*MakePlugin("svc"), job, 1), R"({"spec":{"hostname":"j-t-1-1","subdomain":"j",
    "volumes":[{"name":"j-svc","configMap":{"name":"j-svc"}}],
    "containers":[{"name":"c",)" + env + R"(}],"initContainers":[{"name":"i",)" +
                                                        env + "}]}}");
}

TEST(SvcPluginTest, KeepsTheTemplatesHostnameAndInjectsNothingWhenTold) {
  const JobView job = JobWith({{"t", 2, R"({"spec":{"hostname":"h","subdomain":"s","containers":[{"name":"c"}]}})"}});
  ExpectJson(EditedPod(*MakePlugin("svc", Words({"--inject-hosts-env=false"})), job, 1),
             R"({"spec":{"hostname":"h","subdomain":"s","volumes":[{"name":"j-svc","configMap":{"name":"j-svc"}}],
    "containers":[{"name":"c","volumeMounts":[{"name":"j-svc","mountPath":"/etc/volcano"}]}]}})");
}

// 3389 hosts of this form are 131071 bytes with the variable's name, the limit of Linux.
TEST(SvcPluginTest, RefusesHostsThatAreTooLongForAVariable) {
  const auto job = [](int32_t replicas, const std::string& members = "") {
    const std::string pod_spec = R"({"spec":{"subdomain":"s2345678901234567890123456789")" + members + "}}";
    return JobWith({{"a", 1}, {"w", replicas, pod_spec}});
  };
  const auto plugin = MakePlugin("svc");
  EXPECT_TRUE(plugin->Check(job(0)).ok());
  EXPECT_TRUE(plugin->Check(job(3389)).ok()) << plugin->Check(job(3389));
  ExpectInvalid(plugin->Check(job(3390)), "sets the variable VC_W_HOSTS of 131110 bytes");
  ExpectInvalid(plugin->Check(job(3390)), "--inject-hosts-env=false");
  EXPECT_TRUE(plugin->Check(job(100'000, R"(,"hostname":"h")")).ok()) << "one host";
  const auto without = MakePlugin("svc", Words({"--inject-hosts-env=false"}));
  EXPECT_TRUE(without->Check(job(3390)).ok()) << without->Check(job(3390));
}

}  // namespace
}  // namespace basalt::jobsvc
