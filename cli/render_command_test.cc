// The commands of basaltctl that need no cluster, as people type them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "common/base/json.h"
#include "common/base/yaml.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kManifest = R"(apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j, namespace: team}
spec:
  plugins: {mpi: []}
  volumes: [{mountPath: /data, volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
  tasks:
  - {name: master, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}
  - {name: worker, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}
)";

class RenderCommandTest : public ::testing::Test {
 protected:
  struct Output {
    int code = 0;
    std::string out;
    std::string err;
  };

  std::string Manifest(std::string_view text) {
    const std::string file = dir_ / "job.yaml";
    std::ofstream(file) << text;
    return file;
  }

  // Nobody listens at that address: the commands must not call a gateway.
  static Output Type(std::vector<std::string> words) {
    std::vector<const char*> argv = {"basaltctl", "--gateway=127.0.0.1:1"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Output output;
    output.code = Main(static_cast<int>(argv.size()), argv.data());
    output.out = ::testing::internal::GetCapturedStdout();
    output.err = ::testing::internal::GetCapturedStderr();
    return output;
  }

  static std::vector<std::string> Names(const std::string& yaml) {
    std::vector<std::string> names;
    const absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(yaml);
    EXPECT_TRUE(documents.ok()) << documents.status() << "\n" << yaml;
    if (!documents.ok()) return names;
    for (const json::value& object : *documents) {
      names.push_back(fmt::format("{}/{}/{}", FindString(object, "kind"),
                                  FindString(*FindPath(object, {"metadata"}), "namespace"),
                                  FindString(*FindPath(object, {"metadata"}), "name")));
    }
    return names;
  }

  testing::TempDir dir_;
};

TEST_F(RenderCommandTest, PrintsEveryObjectAndPodOfAJob) {
  const Output output = Type({"job", "render", "-f", Manifest(kManifest)});
  EXPECT_EQ(output.code, kExitDone) << output.err;
  EXPECT_THAT(Names(output.out), ElementsAre("PodGroup/team/j-00000000-0000-0000-0000-000000000000",
                                             "ConfigMap/team/j-svc", "Service/team/j", "NetworkPolicy/team/j",
                                             "Secret/team/j-ssh", StartsWith("PersistentVolumeClaim/team/j-pvc-"),
                                             "Pod/team/j-master-0", "Pod/team/j-worker-0", "Pod/team/j-worker-1"));
  EXPECT_THAT(output.out, HasSubstr("j-worker-0.j,j-worker-1.j"));
}

TEST_F(RenderCommandTest, PrintsTheSameAsAListInJson) {
  const Output output = Type({"job", "render", "-f", Manifest(kManifest), "-o", "json"});
  EXPECT_EQ(output.code, kExitDone) << output.err;
  const absl::StatusOr<json::value> list = ParseJson(output.out);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(FindString(*list, "kind"), "List");
  EXPECT_EQ(list->at("items").as_array().size(), 9u);
}

// The manifest is nested about as deep as a manifest may be.
TEST_F(RenderCommandTest, ATemplateThatIsNestedDeeplyIsPrinted) {
  constexpr size_t kDepth = 90;
  std::string text(kManifest);
  text.replace(text.find("{spec: {containers"), 8,
               "{spec: {deep: " + std::string(kDepth, '[') + "bottom" + std::string(kDepth, ']') + ", ");
  const std::string file = Manifest(text);
  for (const char* const format : {"yaml", "json"}) {
    const Output output = Type({"job", "render", "-f", file, "-o", format});
    EXPECT_EQ(output.code, kExitDone) << output.err;
    EXPECT_THAT(output.out, HasSubstr("bottom"));
  }
}

TEST_F(RenderCommandTest, PrintsThePodsOfOneTaskOrOneOfThem) {
  const std::string file = Manifest(kManifest);
  EXPECT_THAT(Names(Type({"job", "render", "-f", file, "--task", "worker"}).out),
              ElementsAre("Pod/team/j-worker-0", "Pod/team/j-worker-1"));
  EXPECT_THAT(Names(Type({"job", "render", "-f", file, "--task", "worker", "--index", "1"}).out),
              ElementsAre("Pod/team/j-worker-1"));
}

TEST_F(RenderCommandTest, AMistakeIsNamedAndNothingIsPrinted) {
  const std::string file = Manifest(kManifest);
  const struct {
    std::vector<std::string> words;
    std::string says;
  } rows[] = {
      {{"--task", "chief"}, "job.yaml, job j: the job has no task chief"},
      {{"--task", "worker", "--index", "2"}, "task worker has 2 replicas: no pod of the task has the index 2"},
      {{"--index", "0"}, "--index names a pod of one task: name the task with --task"},
      {{"-n", "other"}, "metadata.namespace: is team, but other was asked for"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words = {"job", "render", "-f", file};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Output output = Type(words);
    EXPECT_EQ(output.code, kExitBadInput) << row.says;
    EXPECT_EQ(output.out, "");
    EXPECT_THAT(output.err, HasSubstr(row.says));
  }
}

TEST_F(RenderCommandTest, AJobThatIsRefusedIsRefusedHereInTheSameWords) {
  std::string text(kManifest);
  text.replace(text.find("mpi: []"), 7, "mpi: [\"--master=x\"]");
  const Output output = Type({"job", "render", "-f", Manifest(text)});
  EXPECT_EQ(output.code, kExitBadInput);
  EXPECT_THAT(output.err, HasSubstr("spec.plugins.mpi is for 'x': mpi works on a task that does not exist"));
}

TEST_F(RenderCommandTest, EachLineOfARefusalNamesTheFile) {
  std::string text(kManifest);
  text.replace(text.find("mpi: []"), 7, "nvlink: [], horovod: []");
  const Output output = Type({"job", "render", "-f", Manifest(text)});
  EXPECT_EQ(output.code, kExitBadInput);
  EXPECT_THAT(output.err, HasSubstr("job.yaml, job j: spec.plugins.nvlink"));
  EXPECT_THAT(output.err, HasSubstr("job.yaml, job j: spec.plugins.horovod"));
}

TEST_F(RenderCommandTest, AnObjectThatIsTooLargeIsNamed) {
  std::string text(kManifest);
  text.replace(text.find("mpi: []"), 7, "svc: [\"--inject-hosts-env=false\"]");
  text.replace(text.find("replicas: 2"), 11, "replicas: 90000");
  const Output output = Type({"job", "render", "-f", Manifest(text)});
  EXPECT_EQ(output.code, kExitBadInput);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr("plugin svc: ConfigMap j-svc would have "));
}

TEST_F(RenderCommandTest, WarningsGoToStandardError) {
  std::string text(kManifest);
  text.replace(text.find("mpi: []"), 7, "svc: [\"--nonsense\"]");
  const Output output = Type({"job", "render", "-f", Manifest(text)});
  EXPECT_EQ(output.code, kExitDone);
  EXPECT_THAT(output.err,
              HasSubstr("job.yaml, job j: spec.plugins.svc has arguments that cannot be used: flag 'nonsense' is "
                        "unknown; the others count"));
}

TEST_F(RenderCommandTest, PluginsAreListedAndExplained) {
  const Output all = Type({"job", "plugins"});
  EXPECT_EQ(all.code, kExitDone);
  for (const char* name : {"env ", "svc ", "ssh ", "tensorflow ", "mpi ", "pytorch ", "ray ", "hcclrank "}) {
    EXPECT_THAT(all.out, HasSubstr(name));
  }
  const Output one = Type({"job", "plugins", "mpi"});
  EXPECT_EQ(one.out,
            "mpi: Tells the master the hosts of all workers, in MPI_HOST.\n\n"
            "  plugins: {mpi: [\"--master=master\"]}\n\n"
            "ARGUMENT    DEFAULT   WHAT IT SAYS\n"
            "--master=   master    The task whose pods start the others by mpirun\n"
            "--worker=   worker    The task on whose pods the ranks run\n"
            "--port=     22        The port of ssh that every container exposes\n");
  EXPECT_THAT(Type({"job", "plugins", "env"}).out, HasSubstr("no arguments"));
  const Output none = Type({"job", "plugins", "nvlink"});
  EXPECT_EQ(none.code, kExitBadInput);
  EXPECT_THAT(none.err, HasSubstr("'nvlink' is no plugin; there are env, svc, ssh,"));
}

}  // namespace
}  // namespace basalt::cli
