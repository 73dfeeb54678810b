#include "cli/manifest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kJob = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {}\n";

struct BadCase {
  std::string_view name;
  std::string text;
  std::string_view words;  // The message must contain this text.
};

TEST(ManifestTest, EveryBrokenManifestIsRefusedWithItsPlaceAndRule) {
  const BadCase cases[] = {
      {"not YAML", "a: [1, 2\nb: }", "line"},
      {"no object", "- 1\n- 2\n", "not an object"},
      {"no kind", "apiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: a}\n", "kind: is required"},
      {"unknown kind", "apiVersion: v1\nkind: Teapot\nmetadata: {name: a}\n", "Teapot of v1 is not a job"},
      {"no metadata", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {}\n", "metadata: is required"},
      {"no name", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {}\nspec: {}\n",
       "metadata.name: is required"},
      {"name of a wrong type", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: [1]}\nspec: {}\n",
       "metadata.name: must be"},
      {"no spec", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n", "spec: is required"},
      {"empty", "", "holds no document"},
      {"second document bad", std::string(kJob) + "---\nkind: Job\n", "document 2: apiVersion: is required"},
      {"too large", std::string(kMaxManifestBytes + 1, '#'), "more than"},
  };
  for (const BadCase& c : cases) {
    const auto result = ParseJobManifests("job.yaml", c.text);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_NE(result.status().ToString().find(c.words), std::string::npos) << c.name << ": " << result.status();
    EXPECT_NE(result.status().ToString().find("job.yaml"), std::string::npos) << c.name;
  }
}

TEST(ManifestTest, SeveralJobsAndEmptyDocumentsAreTaken) {
  const auto result = ParseJobManifests("job.yaml", std::string(kJob) + "---\n---\n" + std::string(kJob));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->size(), 2U);
  EXPECT_NE((*result)[0].json.find("\"kind\":\"Job\""), std::string::npos);
}

TEST(ManifestTest, OneJobThatStandsTwiceIsRefusedBeforeItsFirstIsSent) {
  const auto job = [](const char* meta) {
    return std::string("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {}\nmetadata: ") + meta + "\n---\n";
  };
  const auto check = [&](const std::string& text) {
    const auto manifests = ParseJobManifests("job.yaml", text);
    EXPECT_TRUE(manifests.ok()) << manifests.status();
    return manifests.ok() ? CheckDistinct(*manifests, "team").ToString() : "";
  };
  EXPECT_EQ(check(job("{name: a}") + job("{name: b}") + job("{name: a, namespace: other}")), "OK");
  EXPECT_EQ(check(job("{name: a}") + job("{name: b}") + job("{name: a, namespace: team}")),
            "INVALID_ARGUMENT: job.yaml, document 3, job a: metadata.name: job team/a stands in job.yaml, document 1, "
            "job a already");
}

// kubectl 1.36 reads the same texts in the same way.
TEST(ManifestTest, TextsAreReadAsKubectlReadsThem) {
  const std::string head = R"("apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","spec":{},)";
  const auto jobs = [](const std::string& text) {
    const auto manifests = ParseJobManifests("f", text);
    EXPECT_TRUE(manifests.ok()) << manifests.status() << "\n" << text;
    std::vector<std::string> names;
    if (!manifests.ok()) return names;
    for (const JobManifest& manifest : *manifests) names.push_back(manifest.source);
    return names;
  };
  using Names = std::vector<std::string>;
  const std::string a = "{" + head + R"("metadata":{"name":"a"}})";
  const std::string b = "{" + head + R"("metadata":{"name":"b"}})";
  EXPECT_EQ(jobs(R"({"apiVersion":"v1","kind":"List","items":[)" + a + "," + b + "]}"),
            (Names{"f, item 1, job a", "f, item 2, job b"}));
  EXPECT_EQ(
      jobs(R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[)" + a + "]}]}"),
      Names{"f, item 1, item 1, job a"});
  EXPECT_EQ(
      jobs(
          R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"JobList","items":[{"metadata":{"name":"c"},"spec":{}}]})"),
      Names{"f, item 1, job c"});
  EXPECT_EQ(jobs(a + b), (Names{"f, document 1, job a", "f, document 2, job b"}));
  EXPECT_EQ(jobs(a + "\n---\n" + b), (Names{"f, document 1, job a", "f, document 2, job b"}));
  EXPECT_EQ(jobs("{" + head + R"("metadata":{"name":"a",},})"), Names{"f, job a"}) << "a comma too many";
  EXPECT_EQ(jobs("{" + head + R"("metadata":{"name":"x"},"metadata":{"name":"a"}})"), Names{"f, job a"});
  EXPECT_EQ(jobs("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {}\nmetadata: {name: x, name: a}\n"),
            Names{"f, job a"});
  EXPECT_EQ(jobs("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {}\nmetadata: {name: !!binary YQ==}\n"),
            Names{"f, job a"});
}

TEST(ManifestTest, AListSaysWhichOfItsItemsIsBad) {
  const auto refused = [](const char* text) {
    return std::string(ToStd(ParseJobManifests("f", text).status().message()));
  };
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"List","items":[{"kind":"Job","metadata":{"name":"a"}}]})"),
            "f, item 1, job a: kind: Job of v1 is not a job; only batch.volcano.sh/v1alpha1 Job can be submitted, use "
            "kubectl for the rest");
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"List","items":[7]})"),
            "f, item 1: is not an object; a Job begins with apiVersion and kind");
  EXPECT_EQ(refused(R"({"apiVersion":"v1","kind":"List","items":[]})"), "f: holds no document");
}

TEST(ManifestTest, AControlCharacterIsNamed) {
  const auto refused = [](std::string_view text) { return ParseJobManifests("f", text).status().ToString(); };
  EXPECT_EQ(refused(std::string_view("a: 1\nb: \0\n", 11)),
            "INVALID_ARGUMENT: f: line 2: the control character 0x00 is not allowed");
  EXPECT_EQ(refused(std::string_view("\0", 1)),
            "INVALID_ARGUMENT: f: line 1: the control character 0x00 is not allowed");
  EXPECT_EQ(refused("a: \x1b[2J"), "INVALID_ARGUMENT: f: line 1: the control character 0x1b is not allowed");
}

TEST(ManifestTest, APipeIsReadOnceSomebodyWritesAndNotAwaitedForGood) {
  const testing::TempDir folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadJobManifests(pipe, absl::ZeroDuration()).status().message(),
            pipe + ": is a pipe that nobody has opened to write; nothing can be read of it");
  std::thread writer([&] {
    const int descriptor = open(pipe.c_str(), O_WRONLY);  // Returns once the pipe has a reader.
    EXPECT_EQ(write(descriptor, kJob.data(), kJob.size()), static_cast<ssize_t>(kJob.size()));
    close(descriptor);
  });
  const auto read = ReadJobManifests(pipe, absl::Minutes(5));
  writer.join();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size(), 1U);
}

TEST(ManifestTest, AFileThatNeverEndsIsNotReadToItsEnd) {
  EXPECT_NE(ReadJobManifests("/dev/zero").status().ToString().find("more than"), std::string::npos);
}

TEST(ManifestTest, AMissingFileIsNamed) {
  EXPECT_NE(ReadJobManifests("/nonexistent/x.yaml").status().ToString().find("/nonexistent/x.yaml"), std::string::npos);
  EXPECT_NE(ReadJobManifests("/tmp").status().ToString().find("/tmp: cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace basalt::cli
