#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "common/testing/status_matchers.h"
#include "tests/examples/files.h"
#include "tests/examples/plays.h"
#include "tests/examples/plugin_looks.h"
#include "tests/examples/scene.h"

namespace basalt::examples {
namespace {

using ::basalt::testing::IsOk;

constexpr std::string_view kNetworkPolicies = "networkpolicies.networking.k8s.io";
constexpr absl::Duration kForEver = Scene::kForEver;

// Checks PodEvicted -> RestartJob with maxRetry 5: four evictions restart all pods, and the fifth ends the job.
void ExpectFourRestarts(Scene& scene, std::string_view task, int replicas) {
  for (int run = 1; run <= 4; ++run) {
    std::set<std::string> uids;
    for (int i = 0; i < replicas; ++i) uids.insert(ToText(scene.InPod(scene.PodName(task, i), "/metadata/uid")));
    scene.Evict(scene.PodName(task, run % replicas));
    ASSERT_TRUE(scene.Becomes("Restarting")) << "eviction " << run << ": " << scene.Phase();
    ASSERT_TRUE(scene.Becomes("Running")) << "eviction " << run << ": " << scene.Phase();
    ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods(task, replicas) == replicas; }));
    EXPECT_EQ(scene.Count("retryCount"), run);
    EXPECT_EQ(scene.Count("version"), run);
    for (int i = 0; i < replicas; ++i) {
      EXPECT_FALSE(uids.contains(ToText(scene.InPod(scene.PodName(task, i), "/metadata/uid")))) << "all are new";
    }
  }
  scene.Evict(scene.PodName(task, 0));
  EXPECT_TRUE(scene.Becomes("Failed")) << scene.Phase();
}

// Checks that the job completes when the master succeeds, and that the workers, which never end, are stopped.
void ExpectMasterCompletes(Scene& scene, int workers) {
  scene.RunPod(scene.PodName("mpimaster", 0), absl::Seconds(40));
  ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods("mpimaster", 1) == 1; }));
  ASSERT_TRUE(scene.Becomes("Running")) << scene.Phase();
  ExpectHosts(scene, "lm-mpi-job", "mpiworker", workers);
  ExpectKeys(scene, "lm-mpi-job", scene.PodName("mpimaster", 0), "/root/.ssh");
  ExpectKeys(scene, "lm-mpi-job", scene.PodName("mpiworker", workers - 1), "/root/.ssh");
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
  const std::string text = KnownManifest("job.yaml");
  const std::string task = "default-nginx";
  {
    Scene scene;
    scene.Run(task, kForEver);
    ASSERT_THAT(scene.Submit(text), IsOk());
    ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods(task, 6) == 6; }));
    EXPECT_TRUE(scene.Becomes("Running"));
    EXPECT_EQ(scene.InGroup("/spec/minMember"), 3);
    EXPECT_EQ(scene.InGroup("/spec/queue"), "default");
    for (int i = 0; i < 6; ++i) {
      const std::string pod = scene.PodName(task, i);
      EXPECT_EQ(scene.InPod(pod, "/spec/schedulerName"), "volcano");
      EXPECT_EQ(scene.InPod(pod, "/spec/restartPolicy"), "OnFailure");
      ExpectKeys(scene, "test-job", pod, "/root/.ssh");
    }
    ExpectIndices(scene, task, 6);
    ExpectHosts(scene, "test-job", task, 6);
    EXPECT_TRUE(scene.Exists(kNetworkPolicies, "test-job"));
    ExpectFourRestarts(scene, task, 6);
  }
  {
    Scene scene;
    ASSERT_THAT(scene.Submit(text), IsOk());
    EXPECT_TRUE(scene.Becomes("Completed")) << scene.Phase();
    EXPECT_EQ(scene.Count("succeeded"), 6);
    EXPECT_EQ(scene.Count("retryCount"), 0);
  }
  // One node of 64 CPUs has capacity for three or two of the six pods.
  for (const auto& [cpu, fit] : {std::pair("21", 3), std::pair("22", 0)}) {
    Scene scene(/*nodes=*/1);
    scene.Run(task, kForEver);
    ASSERT_THAT(scene.Submit(Edited(text, R"(cpu: "1")", fmt::format(R"(cpu: "{}")", cpu))), IsOk());
    scene.Advance(absl::Minutes(2));
    EXPECT_EQ(scene.ReadyPods(task, 6), fit) << "the gang or none";
    EXPECT_EQ(scene.Phase(), fit == 3 ? "Running" : "Pending");
  }
}

// job-plugin.yaml: each plugin and its parameters do what the file's comments state.
void PlayJobPlugin() {
  const std::string text = KnownManifest("job-plugin.yaml");
  const std::string job = "test-job-plugin";
  const std::string task = "default-nginx";
  const std::string hosts = job + "-svc";
  {
    Scene scene;
    scene.Run(task, kForEver);
    ASSERT_THAT(scene.Submit(text), IsOk());
    ASSERT_TRUE(scene.Becomes("Running"));
    ASSERT_TRUE(scene.Until([&] { return scene.ReadyPods(task, 3) == 3; }));
    ExpectIndices(scene, task, 3);
    for (int i = 0; i < 3; ++i) ExpectKeys(scene, job, scene.PodName(task, i), "/home/user/.ssh");
    ExpectHosts(scene, job, task, 3);
    EXPECT_NE(scene.At("services", job, "/spec/publishNotReadyAddresses"), true);
    EXPECT_TRUE(scene.Exists(kNetworkPolicies, job));
    for (const char* name : {"VC_DEFAULT_NGINX_HOSTS", "VC_DEFAULT_NGINX_NUM"}) {
      const json::value env = EnvOf(scene, scene.PodName(task, 1), name);
      ASSERT_TRUE(env.is_object()) << name;
      const json::value* from = FindPath(env, {"valueFrom", "configMapKeyRef"});
      ASSERT_NE(from, nullptr) << ToText(env);
      EXPECT_EQ(FindString(*from, "name"), hosts);
      EXPECT_EQ(FindString(*from, "key"), name);
    }
    EXPECT_EQ(scene.TextAt("configmaps", hosts, "/data/VC_DEFAULT_NGINX_NUM"), "3");
    ExpectFourRestarts(scene, task, 3);
  }
  {
    std::string other = Edited(text, "publish-not-ready-addresses=false", "publish-not-ready-addresses=true");
    other = Edited(std::move(other), "disable-network-policy=false", "disable-network-policy=true");
    other = Edited(std::move(other), "inject-hosts-env=true", "inject-hosts-env=false");
    Scene scene;
    ASSERT_THAT(scene.Submit(other), IsOk());
    ASSERT_TRUE(scene.Becomes("Running"));
    EXPECT_EQ(scene.At("services", job, "/spec/publishNotReadyAddresses"), true);
    EXPECT_FALSE(scene.Exists(kNetworkPolicies, job));
    EXPECT_TRUE(EnvOf(scene, scene.PodName(task, 1), "VC_DEFAULT_NGINX_HOSTS").is_null());
    EXPECT_TRUE(scene.Becomes("Completed")) << scene.Phase();
    EXPECT_EQ(scene.Count("succeeded"), 3);
  }
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
  ExpectIndices(scene, "ps", 1);
  ExpectIndices(scene, "worker", 2);
  ExpectHosts(scene, "tensorflow-dist-mnist", "ps", 1);
  ExpectHosts(scene, "tensorflow-dist-mnist", "worker", 2);
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
