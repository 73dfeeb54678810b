// Tests manifests of users, from upstream's examples: each does what its fields and comments promise. A file without a
// test here is a failure.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/testing/status_matchers.h"
#include "tests/examples/files.h"
#include "tests/examples/one_job.h"
#include "tests/examples/plays.h"
#include "tests/examples/scene.h"

namespace basalt::examples {

std::string KnownManifest(std::string_view file) { return ReadFile(fmt::format("{}/{}", BASALT_EXAMPLES, file)); }

namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;

// Returns job.yaml with its block of volumes, with the comment signs removed, as the file suggests to users.
std::string JobWithItsVolumes() {
  std::string text = KnownManifest("job.yaml");
  const size_t block = text.find("  #volumes:\n");
  if (block == text.npos) return "no volumes";
  for (size_t line = block; text.compare(line, 3, "  #") == 0; line = text.find('\n', line) + 1)
    text.erase(line + 2, 1);
  return text;
}

// Returns job.yaml with the block of volumes from docs/jobs.md.
std::string JobWithVolumesOfTheDocument() {
  const std::string document = ReadFile(BASALT_SOURCE_DIR "/docs/jobs.md");
  const std::string fence = "```yaml\n";
  const size_t from = document.find(fence + "volumes:\n") + fence.size();
  std::string volumes;
  for (const absl::string_view line :
       absl::StrSplit(document.substr(from, document.find("```", from) - from), '\n', absl::SkipEmpty())) {
    absl::StrAppend(&volumes, "  ", line, "\n");
  }
  return Edited(KnownManifest("job.yaml"), "  tasks:\n", volumes + "  tasks:\n");
}

// In the file's block the first volume names no claim and the second names two.
TEST(KnownVolumesTest, TheBlockOfVolumesIsRefusedAsItStandsAndRunsAsTheDocumentSays) {
  if (FilesBelow(BASALT_EXAMPLES).empty()) GTEST_SKIP() << "no example manifests at " << BASALT_EXAMPLES;
  std::string text = JobWithItsVolumes();
  EXPECT_THAT(ReadOneJob(text).status().ToString(),
              HasSubstr("spec.volumes[0] has no claim; give volumeClaim or volumeClaimName"));
  text = Edited(std::move(text), "\"/myinput\"\n", "\"/myinput\"\n      volumeClaimName: testvolumeclaimname\n");
  EXPECT_THAT(ReadOneJob(text).status().ToString(),
              HasSubstr("spec.volumes[1] has both volumeClaim and volumeClaimName; keep one"));
  Scene scene;
  const std::string task = "default-nginx";
  scene.Run(task, Scene::kForEver);
  ASSERT_THAT(scene.Submit(JobWithVolumesOfTheDocument()), IsOk());
  scene.Advance(absl::Seconds(30));
  EXPECT_EQ(scene.Pods(task, 6), 0) << "the claim that is named has to be there";
  EXPECT_EQ(scene.Phase(), "Pending");
  const json::object spec{
      {"accessModes", {"ReadWriteOnce"}},
      {"resources", json::object{{"requests", json::object{{"storage", "1Gi"}}}}},
  };
  ASSERT_THAT(scene.Create(json::object{{"apiVersion", "v1"},
                                        {"kind", "PersistentVolumeClaim"},
                                        {"metadata", json::object{{"name", "testvolumeclaimname"}}},
                                        {"spec", spec}}),
              IsOk());
  ASSERT_TRUE(scene.Becomes("Running"));
  const std::string pod = scene.PodName(task, 0);
  std::map<std::string, std::string> claims;  // By the path at which they are mounted.
  const json::value volumes = scene.InPod(pod, "/spec/volumes");
  for (const json::value& volume : volumes.as_array()) {
    const json::value* claim = FindPath(volume, {"persistentVolumeClaim"});
    if (claim == nullptr) continue;
    const json::value mounts = scene.InPod(pod, "/spec/containers/0/volumeMounts");
    for (const json::value& mount : mounts.as_array()) {
      if (FindString(mount, "name") != FindString(volume, "name")) continue;
      claims[std::string(FindString(mount, "mountPath"))] = FindString(*claim, "claimName");
    }
  }
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims["/myinput"], "testvolumeclaimname");
  const std::string& made = claims["/myoutput"];
  EXPECT_THAT(made, ::testing::StartsWith("test-job-pvc-"));
  EXPECT_EQ(scene.At("persistentvolumeclaims", made, "/spec/storageClassName"), "my-storage-class");
  EXPECT_EQ(scene.At("persistentvolumeclaims", made, "/spec/resources/requests/storage"), "1Gi");
}

const std::map<std::string, std::function<void()>, std::less<>>& Plays() {
  static const auto& plays = *new std::map<std::string, std::function<void()>, std::less<>>{
      {"deployment.yaml", PlayDeployment},
      {"hierarchical-queues.yaml", PlayHierarchicalQueues},
      {"job-plugin.yaml", PlayJobPlugin},
      {"job.yaml", PlayJob},
      {"mpi.yaml", PlayMpi},
      {"queue.yaml", PlayQueue},
      {"task-dependency-mpi.yaml", PlayTaskDependencyMpi},
      {"task-dependency.yaml", PlayTaskDependency},
      {"tensorflow.yaml", PlayTensorflow},
  };
  return plays;
}

class KnownManifestTest : public ::testing::TestWithParam<std::string> {};

TEST_P(KnownManifestTest, DoesWhatItPromises) {
  const auto play = Plays().find(GetParam());
  ASSERT_NE(play, Plays().end()) << "nobody says what it promises: give it a play";
  play->second();
}

INSTANTIATE_TEST_SUITE_P(Known, KnownManifestTest, ::testing::ValuesIn(FilesBelow(BASALT_EXAMPLES)), NameOfFile);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KnownManifestTest);

TEST(KnownManifestsTest, EveryPlayHasItsFile) {
  const std::vector<std::string> files = FilesBelow(BASALT_EXAMPLES);
  if (files.empty()) GTEST_SKIP() << "no example manifests at " << BASALT_EXAMPLES;
  for (const auto& [file, play] : Plays()) EXPECT_THAT(files, ::testing::Contains(file));
}

}  // namespace
}  // namespace basalt::examples
