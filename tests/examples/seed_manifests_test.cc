// Tests manifests from documents of users: each does what the text around it promises. A block without a test here is a
// failure. The test adds the parts that a document leaves out (a template, an image, a selector).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/yaml.h"
#include "common/testing/status_matchers.h"
#include "tests/examples/files.h"
#include "tests/examples/scene.h"

namespace basalt::examples {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;

constexpr std::string_view kGroups = "podgroups.scheduling.volcano.sh";
constexpr std::string_view kJobs = "jobs.batch.volcano.sh";
constexpr std::string_view kTemplate =
    "      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n";

// Blocks of YAML by "<document>#<n>", for the n-th block of a document.
using Blocks = std::map<std::string, std::string>;

Blocks BlocksOf(const std::string& folder) {
  Blocks blocks;
  for (const std::string& file : FilesBelow(folder)) {
    const std::string text = ReadFile(fmt::format("{}/{}", folder, file));
    const std::string fence = "\n```yaml\n";
    int number = 0;
    for (size_t at = text.find(fence); at != text.npos; at = text.find(fence, at)) {
      at += fence.size();
      const size_t end = std::min(text.find("\n```", at), text.size());
      blocks[fmt::format("{}#{}", file.substr(0, file.find('.')), ++number)] = text.substr(at, end - at) + "\n";
    }
  }
  return blocks;
}

const Blocks& Printed() {
  static const auto& blocks = *new Blocks(BlocksOf(BASALT_SEEDS));
  return blocks;
}

std::string Job(std::string_view name, std::string_view block) {
  return fmt::format("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}}}\n{}", name, block);
}

// Returns the objects of a block, with the namespace and the fields that a workload requires.
std::vector<json::value> ObjectsOf(std::string_view block) {
  const absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(block);
  EXPECT_THAT(documents, IsOk());
  std::vector<json::value> objects = documents.ok() ? *documents : std::vector<json::value>();
  for (json::value& object : objects) {
    ObjectIn(object.as_object(), "metadata")["namespace"] = "default";
    json::object& spec = ObjectIn(object.as_object(), "spec");
    if (!spec.contains("template")) continue;
    json::object& pod = ObjectIn(spec, "template");
    if (!spec.contains("selector")) {
      ObjectIn(ObjectIn(spec, "selector"), "matchLabels")["app"] = "a";
      ObjectIn(ObjectIn(pod, "metadata"), "labels")["app"] = "a";
    }
    json::object& pod_spec = ObjectIn(pod, "spec");
    if (!pod_spec.contains("containers")) pod_spec["containers"] = json::array{json::object{{"name", "c"}}};
    for (json::value& container : pod_spec["containers"].as_array()) {
      if (!container.as_object().contains("image")) container.as_object()["image"] = "i";
    }
  }
  return objects;
}

void Make(Scene& scene, const std::vector<json::value>& objects) {
  for (const json::value& object : objects) ASSERT_THAT(scene.Create(object), IsOk()) << ToText(object);
}

void MakeQueue(Scene& scene, std::string_view name) {
  ASSERT_THAT(scene.Create(json::object{{"apiVersion", "scheduling.volcano.sh/v1beta1"},
                                        {"kind", "Queue"},
                                        {"metadata", json::object{{"name", name}}},
                                        {"spec", json::object{}}}),
              IsOk());
}

// Waits until `pods` pods and one group exist, with all the pods in that group, and returns the group's name.
std::string OneGroupOf(Scene& scene, size_t pods) {
  const auto is_of_all = [&] {
    const std::vector<std::string> groups = scene.Made("podgroups");
    const std::vector<std::string> made = scene.Made("pods");
    return groups.size() == 1 && made.size() == pods && std::all_of(made.begin(), made.end(), [&](const auto& pod) {
             return scene.TextAt("pods", pod, "/metadata/annotations/scheduling.k8s.io~1group-name") == groups[0];
           });
  };
  EXPECT_TRUE(scene.Until(is_of_all)) << ::testing::PrintToString(scene.Made("podgroups"));
  const std::vector<std::string> groups = scene.Made("podgroups");
  return groups.empty() ? std::string() : groups[0];
}

void PlayPolicies(const std::string& block) {
  Scene scene;
  scene.Run("worker", absl::Seconds(20));
  ASSERT_THAT(
      scene.Submit(Job("policies", Edited(block, "    - name: worker\n",
                                          fmt::format("    - name: worker\n      replicas: 2\n{}", kTemplate)))),
      IsOk());
  EXPECT_TRUE(scene.Becomes("Completed")) << "TaskCompleted: " << scene.Phase();
}

void PlayDependency(const std::string& block) {
  std::string text = Edited(block, "      replicas: 1\n", fmt::format("      replicas: 1\n{}", kTemplate));
  text = Edited(std::move(text), "      replicas: 4\n", fmt::format("      replicas: 4\n{}", kTemplate));
  Scene all;
  all.Run("data-loader", absl::Minutes(2), /*ready_after=*/absl::Seconds(30));
  all.Run("worker", absl::Minutes(1));
  ASSERT_THAT(all.Submit(Job("all", text)), IsOk());
  all.Advance(absl::Seconds(20));
  EXPECT_EQ(all.Pods("worker", 4), 0);
  ASSERT_TRUE(all.Until([&] { return all.Pods("worker", 4) == 4; }));
  EXPECT_EQ(all.ReadyPods("data-loader", 1), 1);
  EXPECT_TRUE(all.Becomes("Completed")) << all.Phase();
  // The document's "或 IterationAny" ("or IterationAny"), with two tasks of which one is never ready.
  text = Edited(std::move(text), "iteration: IterationAll", "iteration: IterationAny");
  text = Edited(std::move(text), "[\"data-loader\"]", "[\"data-loader\", \"late\"]");
  text += fmt::format("    - name: late\n      replicas: 1\n{}", kTemplate);
  Scene any;
  any.Run("data-loader", absl::Minutes(2), /*ready_after=*/absl::Seconds(30));
  any.Run("late", Scene::kForEver, /*ready_after=*/Scene::kForEver);
  any.Run("worker", absl::Minutes(1));
  ASSERT_THAT(any.Submit(Job("any", text)), IsOk());
  EXPECT_TRUE(any.Until([&] { return any.Pods("worker", 4) == 4; }));
}

void PlayPartitions(const std::string& block) {
  const std::string text = Edited(block, "      replicas: 8\n", fmt::format("      replicas: 8\n{}", kTemplate));
  Scene scene;
  scene.Run("worker", Scene::kForEver);
  ASSERT_THAT(scene.Submit(Job("parts", text)), IsOk());
  ASSERT_TRUE(scene.Becomes("Running")) << scene.Phase();
  ASSERT_TRUE(scene.Until([&] { return scene.Pods("worker", 8) == 8; }));
  EXPECT_EQ(scene.InPod(scene.PodName("worker", 3), "/metadata/labels/volcano.sh~1partition-id"), "0");
  EXPECT_EQ(scene.InPod(scene.PodName("worker", 4), "/metadata/labels/volcano.sh~1partition-id"), "1");
  EXPECT_EQ(scene.InGroup("/spec/minMember"), 4) << "minPartitions of partitionSize";
  EXPECT_EQ(scene.At(kJobs, "parts", "/spec/tasks/0/partitionPolicy/totalPartitions"), 2);
  // The job is created past the API, as our definition accepts it, with the document's other fields.
  const auto documents = ParseYamlDocuments(Job("raw", text));
  ASSERT_THAT(documents, IsOk());
  json::value job = documents->front();
  ObjectIn(job.as_object(), "metadata")["namespace"] = "default";
  job.at("spec").as_object()["policies"] = {{{"events", {"Any"}}, {"action", "RestartJob"}}};
  job.at("spec").as_object()["schedulerName"] = "volcano";
  ASSERT_THAT(scene.Create(job), IsOk());
  EXPECT_TRUE(scene.Until([&] { return scene.Exists("pods", "raw-worker-7"); }));
  EXPECT_EQ(scene.InPod("raw-worker-7", "/metadata/labels/volcano.sh~1partition-id"), "1");
}

// The document promises "MinMember=4、MinResources=4*GPU、Queue=gpu-queue", and each pod names the group.
void PlayTrainingDeployment(const std::string& block) {
  Scene scene(4, /*workloads=*/true);
  Make(scene, ObjectsOf(block));
  const std::string group = OneGroupOf(scene, 4);
  EXPECT_EQ(scene.At(kGroups, group, "/spec/minMember"), 4);
  EXPECT_EQ(scene.At(kGroups, group, "/spec/queue"), "gpu-queue");
  EXPECT_THAT(scene.TextAt(kGroups, group, "/spec/minResources"), HasSubstr(R"(nvidia.com/gpu":"4")"));
}

void PlayStatefulSet(const std::string& block) {
  Scene scene(4, /*workloads=*/true);
  Make(scene, ObjectsOf(block));
  ASSERT_TRUE(scene.Until([&] { return !scene.Made("podgroups").empty(); }));
  const std::string group = scene.Made("podgroups").front();
  EXPECT_EQ(scene.At(kGroups, group, "/spec/networkTopology/mode"), "hard");
  EXPECT_EQ(scene.At(kGroups, group, "/spec/networkTopology/highestTierAllowed"), 2);
  EXPECT_TRUE(scene.Until([&] { return scene.InPod("gpu-workers-7", "/status/phase") == "Running"; }));
}

// A group that a person makes keeps its spec.
void PlayGroup(const std::string& block) {
  Scene scene;
  std::vector<json::value> objects = ObjectsOf(
      block.starts_with("spec:")
          ? fmt::format("apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {{name: g}}\n{}", block)
          : block);
  ASSERT_EQ(objects.size(), 1u);
  Make(scene, objects);
  scene.Advance(absl::Minutes(2));
  const std::string name(FindString(objects[0].at("metadata"), "name"));
  for (const auto& [field, value] : objects[0].at("spec").as_object()) {
    EXPECT_EQ(scene.At(kGroups, name, std::string("/spec/") + std::string(field)), value);
  }
}

void PlayMyJob(const std::string& block) {
  Scene scene;
  scene.Run("worker", Scene::kForEver);
  ASSERT_THAT(scene.Submit(Edited(block, "      template: ...\n", kTemplate)), IsOk());
  ASSERT_TRUE(scene.Becomes("Running")) << scene.Phase();
  EXPECT_EQ(scene.InGroup("/spec/minMember"), 3);
  EXPECT_EQ(scene.InGroup("/spec/queue"), "default");
}

// Pods that name a group get no other group.
void PlayDeploymentOfAGroup(const std::string& block) {
  Scene scene(4, /*workloads=*/true);
  Make(scene, ObjectsOf(block));
  const auto running = [&] {
    const std::vector<std::string> pods = scene.Made("pods");
    return pods.size() == 3 && std::all_of(pods.begin(), pods.end(), [&](const std::string& pod) {
             return scene.InPod(pod, "/status/phase") == "Running";
           });
  };
  EXPECT_TRUE(scene.Until(running));
  EXPECT_EQ(scene.Made("podgroups"), std::vector<std::string>());
  EXPECT_EQ(scene.At(kGroups, "my-deployment-pg", "/spec/minMember"), 3);
}

void PlayDeploymentWithAMinimum(const std::string& block) {
  Scene scene(4, /*workloads=*/true);
  MakeQueue(scene, "ml-queue");
  Make(scene, ObjectsOf(block));
  const std::string group = OneGroupOf(scene, 5);
  EXPECT_EQ(scene.At(kGroups, group, "/spec/minMember"), 3);
  EXPECT_EQ(scene.At(kGroups, group, "/spec/queue"), "ml-queue");
}

// The driver, one of a gang of three, waits. With two executors the driver runs, and pgsvc makes no group.
void PlaySpark(const std::string& block) {
  Scene scene;
  MakeQueue(scene, "data-processing");
  const std::vector<json::value> objects = ObjectsOf(block);
  ASSERT_EQ(objects.size(), 2u);
  Make(scene, objects);
  scene.Advance(absl::Seconds(30));
  EXPECT_NE(scene.TextAt("pods", "spark-driver", "/status/phase"), "Running");
  for (const char* name : {"executor-1", "executor-2"}) {
    json::value executor = objects[1];
    ObjectIn(executor.as_object(), "metadata")["name"] = name;
    ASSERT_THAT(scene.Create(executor), IsOk());
  }
  EXPECT_TRUE(scene.Until([&] { return scene.InPod("spark-driver", "/status/phase") == "Running"; }));
  EXPECT_EQ(scene.Made("podgroups"), std::vector<std::string>());
}

using Plays = std::map<std::string, std::function<void(const std::string&)>, std::less<>>;

const Plays& AllPlays() {
  static const auto& plays = *new Plays{
      {"job-controller-deep-dive#1", PlayPolicies},
      {"job-controller-deep-dive#2", PlayDependency},
      {"job-controller-deep-dive#3", PlayPartitions},
      {"podgroup-controller-deep-dive#1", PlayTrainingDeployment},
      {"podgroup-controller-deep-dive#2", PlayStatefulSet},
      {"understanding-podgroup#1", PlayGroup},
      {"understanding-podgroup#2", PlayMyJob},
      {"understanding-podgroup#3", PlayDeploymentOfAGroup},
      {"understanding-podgroup#4", PlayDeploymentWithAMinimum},
      {"understanding-podgroup#5", PlayGroup},
      {"understanding-podgroup#6", PlayGroup},
      {"understanding-podgroup#7", PlayGroup},
      {"understanding-podgroup#8", PlaySpark},
      {"understanding-podgroup#9", PlayGroup},
  };
  return plays;
}

class SeedManifestTest : public ::testing::TestWithParam<std::pair<const std::string, std::string>> {};

TEST_P(SeedManifestTest, DoesWhatItsDocumentPromises) {
  const auto play = AllPlays().find(GetParam().first);
  ASSERT_NE(play, AllPlays().end()) << "nobody says what it promises: give it a play";
  play->second(GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Printed, SeedManifestTest, ::testing::ValuesIn(Printed()), [](const auto& block) {
  std::string name = block.param.first;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '#'; }, '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SeedManifestTest);

TEST(SeedManifestsTest, EveryPlayHasItsBlock) {
  if (Printed().empty())
    GTEST_SKIP() << "no documents of users at " << BASALT_SEEDS << ": none of their manifests was played";
  for (const auto& [block, play] : AllPlays()) EXPECT_TRUE(Printed().contains(block)) << block;
}

}  // namespace
}  // namespace basalt::examples
