// The pods of workloads, made by the controllers and run beside nodes and scheduler, over kubesim in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubesim/actors/testing.h"

namespace basalt::actors {
namespace {

class WorkloadsClusterTest : public ClusterFixture {
 protected:
  WorkloadsClusterTest() {
    ClusterOptions options;
    options.scheduler.create_queues = false;
    options.scheduler.plain_scheduler_names = {"default-scheduler"};
    options.nodes.default_duration = absl::Hours(10);
    StartCluster(std::move(options));
  }

  static std::string Json(std::string_view yaml) { return ToText(ParseYamlDocuments(yaml)->front()); }
  static std::string Apps(const std::string& plural, const std::string& name = "") {
    return fmt::format("/apis/apps/v1/namespaces/default/{}{}{}", plural, name.empty() ? "" : "/", name);
  }
  void Make(const std::string& kind, const std::string& plural, const std::string& spec) {
    Do("POST", Apps(plural),
       Json(fmt::format(R"(
apiVersion: apps/v1
kind: {}
metadata: {{name: w, namespace: default}}
spec:
  {}
  selector: {{matchLabels: {{app: w}}}}
  template: {{metadata: {{labels: {{app: w}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}
)",
                        kind, spec)));
  }
  void Patch(const std::string& plural, std::string_view patch) {
    Do("PATCH", Apps(plural, "w"), Json(patch), kMergePatchType);
  }
  // Returns the image of each pod that is not being deleted, or "…" for a pod that does not run.
  std::vector<std::string> Images() {
    std::vector<std::string> images;
    const json::value list = Do("GET", "/api/v1/namespaces/default/pods");
    for (const json::value& pod : list.at("items").as_array()) {
      if (FindPath(pod, {"metadata", "deletionTimestamp"}) != nullptr) continue;
      const Child child = PodChild(pod);
      const std::string image(FindString(pod.at("spec").at("containers").at(0), "image"));
      images.push_back(child.IsHealthy() || child.IsOver() ? image : "…");
    }
    return images;
  }
  bool Run(size_t pods, const std::string& image = "i") {
    return Until([&] { return Images() == std::vector<std::string>(pods, image); });
  }
  int64_t Counted(const std::string& plural, std::string_view member) {
    return FindInt(Do("GET", Apps(plural, "w")).at("status"), member);
  }
};

TEST_F(WorkloadsClusterTest, ADeploymentRollsToItsLastTemplate) {
  Make("Deployment", "deployments", "replicas: 4");
  ASSERT_TRUE(Run(4));
  for (const char* image : {"j", "k"}) {
    Patch("deployments",
          fmt::format(R"(spec: {{template: {{spec: {{containers: [{{name: c, image: {}}}]}}}}}})", image));
  }
  EXPECT_TRUE(Run(4, "k"));
}

TEST_F(WorkloadsClusterTest, AStatefulSetRollsUnderTheSameNames) {
  Make("StatefulSet", "statefulsets", "replicas: 3\n  serviceName: w");
  ASSERT_TRUE(Run(3));
  Patch("statefulsets", "spec: {template: {spec: {containers: [{name: c, image: j}]}}}");
  ASSERT_TRUE(Run(3, "j"));
  const json::value pods = Do("GET", "/api/v1/namespaces/default/pods");
  EXPECT_EQ(MetaText(pods.at("items").at(2), "name"), "w-2");
  EXPECT_TRUE(Until([&] { return Counted("statefulsets", "updatedReplicas") == 3; }));
}

TEST_F(WorkloadsClusterTest, AnIdleClusterIsLeftAlone) {
  Make("Deployment", "deployments", "replicas: 2");
  Make("StatefulSet", "statefulsets", "replicas: 1");
  ASSERT_TRUE(Run(3));
  ASSERT_TRUE(Until([&] { return Counted("deployments", "availableReplicas") == 2; }));
  time_.Advance(absl::Seconds(10));
  const int64_t before = VersionOf(Do("GET", "/api/v1/namespaces/default/pods"));
  time_.Advance(absl::Minutes(10));
  EXPECT_EQ(VersionOf(Do("GET", "/api/v1/namespaces/default/pods")), before);
}

}  // namespace
}  // namespace basalt::actors
