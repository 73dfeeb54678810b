// The pods of workloads, made by the controllers and run beside nodes and scheduler, over kubesim in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/yaml.h"
#include "common/exec/sim_loop.h"
#include "common/http/direct_client.h"
#include "kubesim/actors/cluster.h"
#include "kubesim/actors/testing.h"
#include "kubesim/server/api_server.h"

namespace basalt::actors {
namespace {

class WorkloadsClusterTest : public ::testing::Test {
 protected:
  WorkloadsClusterTest() {
    kubesim::ApiServerOptions server;
    server.crds = SchedulingCrds();
    server_ = std::make_unique<kubesim::ApiServer>(loop_, random_, std::move(server));
    client_ = std::make_unique<http::DirectClient>(loop_, loop_, *server_);
    ClusterOptions options;
    options.scheduler.create_queues = false;
    options.scheduler.plain_scheduler_names = {"default-scheduler"};
    options.nodes.default_duration = absl::Hours(10);
    cluster_ = std::make_unique<Cluster>(loop_, *client_, random_, std::move(options));
  }
  ~WorkloadsClusterTest() override {
    cluster_.reset();
    client_.reset();
    server_.reset();
  }

  bool Until(const std::function<bool()>& condition) { return time_.AdvanceUntil(condition, absl::Minutes(10)); }

  json::value Do(std::string method, std::string target, std::string_view yaml = "",
                 std::string_view type = kJsonType) {
    http::Request request{method, target, {{"Content-Type", std::string(type)}}, ""};
    if (!yaml.empty()) request.body = ToText(ParseYamlDocuments(yaml)->front());
    json::value body;
    bool done = false;
    auto call = http::Fetch(*client_, std::move(request), [&](absl::StatusOr<http::Response> response) {
      ASSERT_TRUE(response.ok()) << response.status();
      EXPECT_LT(response->status, 300) << method << " " << target << " " << response->body;
      body = *ParseJson(response->body);
      done = true;
    });
    EXPECT_TRUE(Until([&] { return done; }));
    return body;
  }
  static std::string Apps(const std::string& plural, const std::string& name = "") {
    return fmt::format("/apis/apps/v1/namespaces/default/{}{}{}", plural, name.empty() ? "" : "/", name);
  }
  void Make(const std::string& kind, const std::string& plural, const std::string& spec) {
    Do("POST", Apps(plural),
       fmt::format(R"(
apiVersion: apps/v1
kind: {}
metadata: {{name: w, namespace: default}}
spec:
  {}
  selector: {{matchLabels: {{app: w}}}}
  template: {{metadata: {{labels: {{app: w}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}
)",
                   kind, spec));
  }
  void Patch(const std::string& plural, std::string_view patch) {
    Do("PATCH", Apps(plural, "w"), patch, kMergePatchType);
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
  size_t Sets() { return Do("GET", Apps("replicasets")).at("items").as_array().size(); }

  SimTime time_;
  SimLoop loop_{time_, "cluster"};
  SeededRandom random_{3};
  std::unique_ptr<kubesim::ApiServer> server_;
  std::unique_ptr<http::DirectClient> client_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(WorkloadsClusterTest, ADeploymentRunsIsScaledToZeroAndBackAndGoesWithAllItHas) {
  Make("Deployment", "deployments", "replicas: 3");
  ASSERT_TRUE(Run(3));
  EXPECT_TRUE(Until([&] { return Counted("deployments", "availableReplicas") == 3; }));
  for (const int replicas : {5, 1, 0, 2}) {
    Patch("deployments", fmt::format("spec: {{replicas: {}}}", replicas));
    ASSERT_TRUE(Run(static_cast<size_t>(replicas))) << replicas;
  }
  EXPECT_EQ(Sets(), 1u);
  Do("DELETE", Apps("deployments", "w"));
  EXPECT_TRUE(Until([&] { return Images().empty() && Sets() == 0; }));
}

TEST_F(WorkloadsClusterTest, ADeploymentRollsToItsLastTemplate) {
  Make("Deployment", "deployments", "replicas: 4");
  ASSERT_TRUE(Run(4));
  for (const char* image : {"j", "k"}) {
    Patch("deployments",
          fmt::format(R"(spec: {{template: {{spec: {{containers: [{{name: c, image: {}}}]}}}}}})", image));
  }
  EXPECT_TRUE(Run(4, "k"));
}

TEST_F(WorkloadsClusterTest, APodThatIsDeletedByHandIsReplaced) {
  Make("ReplicaSet", "replicasets", "replicas: 2");
  ASSERT_TRUE(Run(2));
  const json::value pods = Do("GET", "/api/v1/namespaces/default/pods");
  const std::string name(MetaText(pods.at("items").at(0), "name"));
  Do("DELETE", "/api/v1/namespaces/default/pods/" + name);
  ASSERT_TRUE(Until([&] {
    const json::value now = Do("GET", "/api/v1/namespaces/default/pods");
    return now.at("items").as_array().size() == 2 && MetaText(now.at("items").at(0), "name") != name &&
           MetaText(now.at("items").at(1), "name") != name;
  }));
  EXPECT_TRUE(Run(2));
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

TEST_F(WorkloadsClusterTest, AJobEndsOnceItsPodsHave) {
  Do("POST", "/apis/batch/v1/namespaces/default/jobs", R"(
apiVersion: batch/v1
kind: Job
metadata: {name: w, namespace: default}
spec:
  parallelism: 2
  completions: 3
  template:
    metadata: {annotations: {kubesim.basalt.dev/duration: 1s}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
)");
  ASSERT_TRUE(Until([&] {
    const json::value job = Do("GET", "/apis/batch/v1/namespaces/default/jobs/w");
    return FindPath(job, {"status", "completionTime"}) != nullptr;
  }));
  EXPECT_EQ(Images().size(), 3u);
}

// Nothing is written in an idle cluster.
TEST_F(WorkloadsClusterTest, WhatIsAsItShouldBeIsLeftAlone) {
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
