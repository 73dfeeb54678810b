#include <gtest/gtest.h>

#include "common/testing/status_matchers.h"
#include "tests/examples/plays.h"
#include "tests/examples/scene.h"

namespace basalt::examples {
namespace {

using ::basalt::testing::IsOk;

constexpr absl::Duration kForEver = Scene::kForEver;

// The tests of the plugins svc, ssh and env check the objects and what pods have of them.
void ExpectObjectsOfPlugins(const Scene& scene, const std::string& job) {
  EXPECT_TRUE(scene.Exists("services", job));
  EXPECT_TRUE(scene.Exists("configmaps", job + "-svc"));
  EXPECT_TRUE(scene.Exists("secrets", job + "-ssh"));
  EXPECT_TRUE(scene.Exists("networkpolicies.networking.k8s.io", job));
}

// Checks that an eviction restarts all pods.
void ExpectRestart(Scene& scene, std::string_view task, int replicas) {
  scene.Evict(scene.PodName(task, 1));
  ASSERT_TRUE(scene.Becomes("Restarting")) << scene.Phase();
  ASSERT_TRUE(scene.Becomes("Running")) << scene.Phase();
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods(task, replicas) == replicas; }));
  EXPECT_EQ(scene.Count("retryCount"), 1);
}

// Checks that the job completes when the master succeeds, and that the workers, which never end, are stopped.
void ExpectMasterCompletes(Scene& scene, int workers) {
  scene.RunPod(scene.PodName("mpimaster", 0), absl::Seconds(40));
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods("mpimaster", 1) == 1; }));
  ASSERT_TRUE(scene.Becomes("Running")) << scene.Phase();
  ExpectObjectsOfPlugins(scene, "lm-mpi-job");
  scene.Advance(absl::Seconds(20));
  EXPECT_EQ(scene.Phase(), "Running") << "not before the master has ended";
  ASSERT_TRUE(scene.Until([&] { return scene.InPod(scene.PodName("mpimaster", 0), "/status/phase") == "Succeeded"; }));
  EXPECT_EQ(scene.ReadyPods("mpiworker", workers), workers);
  ASSERT_TRUE(scene.Becomes("Completed")) << scene.Phase();
  EXPECT_EQ(scene.Pods("mpiworker", workers), 0);
  EXPECT_EQ(scene.Pods("mpimaster", 1), 1) << "whose log is the result";
  EXPECT_EQ(scene.Count("succeeded"), 1);
}

}  // namespace

// job.yaml: three of six pods are the gang, evictions restart the job, and env, ssh and svc have their defaults.
void PlayJob() {
  const std::string task = "default-nginx";
  Scene scene;
  scene.Run(task, kForEver);
  ASSERT_THAT(scene.Submit(KnownManifest("job.yaml")), IsOk());
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods(task, 6) == 6; }));
  EXPECT_TRUE(scene.Becomes("Running"));
  EXPECT_EQ(scene.InGroup("/spec/minMember"), 3);
  EXPECT_EQ(scene.InGroup("/spec/queue"), "default");
  EXPECT_EQ(scene.InPod(scene.PodName(task, 5), "/spec/schedulerName"), "volcano");
  EXPECT_EQ(scene.InPod(scene.PodName(task, 5), "/spec/restartPolicy"), "OnFailure");
  ExpectObjectsOfPlugins(scene, "test-job");
  ExpectRestart(scene, task, 6);
}

// job-plugin.yaml: plugins with parameters.
void PlayJobPlugin() {
  const std::string task = "default-nginx";
  Scene scene;
  scene.Run(task, kForEver);
  ASSERT_THAT(scene.Submit(KnownManifest("job-plugin.yaml")), IsOk());
  ASSERT_TRUE(scene.Becomes("Running"));
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods(task, 3) == 3; }));
  ExpectObjectsOfPlugins(scene, "test-job-plugin");
  EXPECT_NE(scene.At("services", "test-job-plugin", "/spec/publishNotReadyAddresses"), true);
  EXPECT_EQ(scene.TextAt("configmaps", "test-job-plugin-svc", "/data/VC_DEFAULT_NGINX_NUM"), "3");
  ExpectRestart(scene, task, 3);
}

void PlayMpi() {
  Scene scene;
  scene.Run("mpimaster", kForEver);
  scene.Run("mpiworker", kForEver);
  ASSERT_THAT(scene.Submit(KnownManifest("mpi.yaml")), IsOk());
  ASSERT_TRUE(scene.Until([&] { return scene.Pods("mpimaster", 1) == 1; }));
  ExpectMasterCompletes(scene, 2);
}

// task-dependency-mpi.yaml: the master, which calls the workers at once, is made when all ten are ready.
void PlayTaskDependencyMpi() {
  Scene scene;
  scene.Run("mpimaster", kForEver);
  scene.Run("mpiworker", kForEver, /*ready_after=*/absl::Seconds(30));
  ASSERT_THAT(scene.Submit(KnownManifest("task-dependency-mpi.yaml")), IsOk());
  ASSERT_TRUE(scene.Until([&] { return scene.Pods("mpiworker", 10) == 10; }));
  scene.Advance(absl::Seconds(25));
  EXPECT_EQ(scene.Pods("mpimaster", 1), 0) << "the workers run and are not ready";
  ASSERT_TRUE(scene.Until([&] { return scene.Pods("mpimaster", 1) == 1; }));
  EXPECT_EQ(scene.ReadyPods("mpiworker", 10), 10);
  ExpectMasterCompletes(scene, 10);
}

// task-dependency.yaml: nginx2 is made when nginx1 is ready, and nginx3 when all five pods of nginx2 are ready.
void PlayTaskDependency() {
  Scene scene;
  for (const char* task : {"job-nginx1", "job-nginx2", "job-nginx3"}) {
    scene.Run(task, absl::Minutes(3), /*ready_after=*/absl::Seconds(20));
  }
  ASSERT_THAT(scene.Submit(KnownManifest("task-dependency.yaml")), IsOk());
  ASSERT_TRUE(scene.Until([&] { return scene.Pods("job-nginx2", 5) > 0; }));
  EXPECT_EQ(scene.ReadyPods("job-nginx1", 1), 1);
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods("job-nginx2", 5) == 4; }));
  EXPECT_EQ(scene.Pods("job-nginx3", 5), 0);
  ASSERT_TRUE(scene.Until([&] { return scene.Pods("job-nginx3", 5) > 0; }));
  EXPECT_EQ(scene.ReadyPods("job-nginx2", 5), 5);
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods("job-nginx3", 5) == 5; }));
  for (const char* task : {"job-nginx1", "job-nginx2", "job-nginx3"}) {
    const std::string pod = scene.PodName(task, 0);
    EXPECT_EQ(scene.InPod(pod, "/spec/nodeSelector/kubernetes.io~1os"), "linux");
  }
  ASSERT_TRUE(scene.Becomes("Completed")) << scene.Phase();
  EXPECT_EQ(scene.Count("succeeded"), 11);
}

// tensorflow.yaml: the job completes with both workers while ps still runs, and the eviction of any pod restarts all.
void PlayTensorflow() {
  Scene scene;
  scene.Run("ps", kForEver);
  scene.Run("worker", absl::Minutes(1));
  ASSERT_THAT(scene.Submit(KnownManifest("tensorflow.yaml")), IsOk());
  ASSERT_TRUE(scene.Becomes("Running"));
  scene.Evict(scene.PodName("ps", 0));
  ASSERT_TRUE(scene.Becomes("Restarting")) << scene.Phase();
  ASSERT_TRUE(scene.Until([&] { return scene.Phase() == "Pending" && scene.Pods("worker", 2) == 2; }));
  scene.RunPod(scene.PodName("worker", 1), absl::Minutes(2));
  ASSERT_TRUE(scene.Becomes("Running"));
  EXPECT_EQ(scene.Count("version"), 1);
  const auto succeeded = [&](int worker) {
    return scene.InPod(scene.PodName("worker", worker), "/status/phase") == "Succeeded";
  };
  ASSERT_TRUE(scene.Until([&] { return succeeded(0); }));
  scene.Advance(absl::Seconds(30));
  EXPECT_FALSE(succeeded(1));
  EXPECT_EQ(scene.Phase(), "Running") << "one of two workers";
  ASSERT_TRUE(scene.Until([&] { return succeeded(1); }));
  EXPECT_EQ(scene.ReadyPods("ps", 1), 1);
  ASSERT_TRUE(scene.Becomes("Completed")) << scene.Phase();
  EXPECT_EQ(scene.Pods("ps", 1), 0);
  EXPECT_EQ(scene.Count("succeeded"), 2);
}

}  // namespace basalt::examples
