#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/base/yaml.h"
#include "common/testing/status_matchers.h"
#include "tests/examples/plays.h"
#include "tests/examples/scene.h"

namespace basalt::examples {
namespace {

using ::basalt::testing::IsOk;

constexpr std::string_view kQueues = "queues.scheduling.volcano.sh";

std::vector<json::value> Documents(std::string_view file) {
  absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(KnownManifest(file));
  EXPECT_THAT(documents, IsOk()) << file;
  return documents.ok() ? *std::move(documents) : std::vector<json::value>();
}

// Makes the queues of a file and checks that they open and keep their spec.
void MakeQueues(Scene& scene, std::string_view file) {
  for (const json::value& queue : Documents(file)) {
    const std::string name(FindString(queue.at("metadata"), "name"));
    ASSERT_THAT(scene.Create(queue), IsOk());
    ASSERT_TRUE(scene.Until([&] { return scene.At(kQueues, name, "/status/state") == "Open"; })) << name;
    for (const auto& [field, value] : queue.at("spec").as_object()) {
      EXPECT_EQ(scene.At(kQueues, name, std::string("/spec/") + std::string(field)), value) << name;
    }
    const json::value* annotations = FindPath(queue, {"metadata", "annotations"});
    if (annotations == nullptr) continue;
    EXPECT_EQ(scene.At(kQueues, name, "/metadata/annotations"), *annotations) << "the scheduler's plugin reads them";
  }
}

// Returns the object that a controller of Kubernetes makes from `owner` and its template.
json::value MadeOf(const json::value& owner, std::string_view api_version, std::string_view kind, json::value metadata,
                   const json::value& spec) {
  metadata.as_object()["name"] = fmt::format("{}-5d", FindString(owner.at("metadata"), "name"));
  metadata.as_object()["ownerReferences"] = json::array{json::object{{"apiVersion", owner.at("apiVersion")},
                                                                     {"kind", owner.at("kind")},
                                                                     {"name", owner.at("metadata").at("name")},
                                                                     {"uid", owner.at("metadata").at("uid")},
                                                                     {"controller", true}}};
  return json::object{{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}, {"spec", spec}};
}

}  // namespace

// hierarchical-queues.yaml: four queues, each of which accepts jobs.
void PlayHierarchicalQueues() {
  for (const char* queue : {"root-eng-prod", "root-eng-dev", "root-sci-prod", "root-sci-dev"}) {
    Scene scene;
    MakeQueues(scene, "hierarchical-queues.yaml");
    ASSERT_THAT(scene.Submit(Edited(KnownManifest("job.yaml"), "queue: default", std::string("queue: ") + queue)),
                IsOk());
    ASSERT_TRUE(scene.Becomes("Running"));
    EXPECT_EQ(scene.InGroup("/spec/queue"), queue);
    EXPECT_TRUE(scene.Becomes("Completed")) << scene.Phase();
  }
}

void PlayQueue() {
  Scene scene;
  MakeQueues(scene, "queue.yaml");
}

// deployment.yaml, after queue.yaml: a pod of the Deployment, which Kubernetes makes, belongs to that queue and is
// scheduled.
void PlayDeployment() {
  Scene scene;
  MakeQueues(scene, "queue.yaml");
  const std::vector<json::value> documents = Documents("deployment.yaml");
  ASSERT_EQ(documents.size(), 1u);
  const absl::StatusOr<json::value> deployment = scene.Create(documents[0]);
  ASSERT_THAT(deployment, IsOk());
  const json::value& spec = deployment->at("spec");
  const absl::StatusOr<json::value> replica_set = scene.Create(
      MadeOf(*deployment, "apps/v1", "ReplicaSet", json::object{},
             json::object{{"replicas", 1}, {"selector", spec.at("selector")}, {"template", spec.at("template")}}));
  ASSERT_THAT(replica_set, IsOk());
  const json::value& pod_template = spec.at("template");
  const absl::StatusOr<json::value> pod =
      scene.Create(MadeOf(*replica_set, "v1", "Pod", pod_template.at("metadata"), pod_template.at("spec")));
  ASSERT_THAT(pod, IsOk());
  const std::string name(FindString(pod->at("metadata"), "name"));
  const std::string group = "podgroup-" + std::string(FindString(replica_set->at("metadata"), "uid"));
  ASSERT_TRUE(scene.Until([&] { return scene.InPod(name, "/status/phase") == "Running"; }));
  EXPECT_EQ(scene.TextAt("pods", name, "/metadata/annotations/scheduling.k8s.io~1group-name"), group);
  EXPECT_EQ(scene.At("podgroups.scheduling.volcano.sh", group, "/spec/queue"), "test");
  EXPECT_EQ(scene.At("podgroups.scheduling.volcano.sh", group, "/spec/minMember"), 1);
  EXPECT_TRUE(scene.Until([&] { return scene.At(kQueues, "test", "/status/running") == 1; }))
      << ToText(scene.At(kQueues, "test", "/status"));
}

}  // namespace basalt::examples
