#include "services/jobsvc/core/plugins/svc/svc_plugin.h"

#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kMeta = R"("namespace":"ns","ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1",
  "kind":"Job","name":"j","uid":"uid-1","controller":true,"blockOwnerDeletion":true}])";

std::string Meta(std::string_view name) {
  return std::string(R"("metadata":{"name":")").append(name).append("\",").append(kMeta).append("}");
}

TEST(SvcPluginTest, MakesTheThreeObjects) {
  const JobView job = TestView(TestJob("j", {{"my-worker", 2}, {"idle", 0}}));
  const std::vector<WantedObject> objects = SvcPlugin({}).Objects(job);
  ASSERT_EQ(objects.size(), 3u);
  // Job spec, appendix B.
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
    EXPECT_FALSE(object.keep_on_restart);
    EXPECT_EQ(object.hash.size(), 16u);
  }
}

TEST(SvcPluginTest, FlagsChangeObjects) {
  const JobView job = TestView(TestJob("j", {{"t", 1}}));
  const SvcPlugin plugin(StatusMessage({"--publish-not-ready-addresses=true", "--disable-network-policy"}));
  const std::vector<WantedObject> objects = plugin.Objects(job);
  ASSERT_EQ(objects.size(), 2u);
  ExpectJson(objects[1].json, R"({"apiVersion":"v1","kind":"Service",)" + Meta("j") + R"(,"spec":{"clusterIP":"None",
    "publishNotReadyAddresses":true,"selector":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns"}}})");
}

TEST(SvcPluginTest, ScalingChangesOnlyTheConfigMapsHash) {
  const auto before = SvcPlugin({}).Objects(TestView(TestJob("j", {{"t", 1}})));
  const auto after = SvcPlugin({}).Objects(TestView(TestJob("j", {{"t", 2}})));
  EXPECT_NE(before[0].hash, after[0].hash);
  EXPECT_EQ(before[1].hash, after[1].hash);
  EXPECT_EQ(before[2].hash, after[2].hash);
}

TEST(SvcPluginTest, TellsEveryContainerAboutEveryTask) {
  const JobView job = TestView(TestJob("j", {{"t-1", 2}, {"u", 1}}));
  const std::string env = R"("env":[
    {"name":"VC_T_1_HOSTS","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_T_1_HOSTS"}}},
    {"name":"VC_T_1_NUM","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_T_1_NUM"}}},
    {"name":"VC_U_HOSTS","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_U_HOSTS"}}},
    {"name":"VC_U_NUM","valueFrom":{"configMapKeyRef":{"name":"j-svc","key":"VC_U_NUM"}}}],
    "volumeMounts":[{"name":"j-svc","mountPath":"/etc/volcano"}])";
  ExpectJson(EditedPod(SvcPlugin({}), job, 1), R"({"spec":{"hostname":"j-t-1-1","subdomain":"j",
    "volumes":[{"name":"j-svc","configMap":{"name":"j-svc"}}],
    "containers":[{"name":"c",)" + env + R"(}],"initContainers":[{"name":"i",)" +
                                                   env + "}]}}");
}

TEST(SvcPluginTest, KeepsTheTemplatesHostnameAndInjectsNothingWhenTold) {
  const JobView job =
      TestView(TestJob("j", {{"t", 2, R"({"spec":{"hostname":"h","subdomain":"s","containers":[{"name":"c"}]}})"}}));
  ExpectJson(EditedPod(SvcPlugin(StatusMessage({"--inject-hosts-env=false"})), job, 1),
             R"({"spec":{"hostname":"h","subdomain":"s","volumes":[{"name":"j-svc","configMap":{"name":"j-svc"}}],
    "containers":[{"name":"c","volumeMounts":[{"name":"j-svc","mountPath":"/etc/volcano"}]}]}})");
}

}  // namespace
}  // namespace basalt::jobsvc
