// The main job runs over five processes. The test checks the API server's own log of requests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

constexpr char kVolcanoJob[] = BASALT_SOURCE_DIR "/../shared/data/examples/volcano/job.yaml";

// Returns the body with placeholders for the UID, the index and the keys of a Secret, which differ from run to run.
json::value Normalised(const Write& write, const std::string& uid, const std::string& index) {
  std::string text = absl::StrReplaceAll(ToText(write.body), {{uid, "<UID>"}});
  if (!index.empty()) {
    text = absl::StrReplaceAll(
        text, {{fmt::format("nginx-{}\"", index), "nginx-<INDEX>\""},
               {fmt::format("\"volcano.sh/task-index\":\"{}\"", index), "\"volcano.sh/task-index\":\"<INDEX>\""},
               {fmt::format("\"value\":\"{}\"", index), "\"value\":\"<INDEX>\""}});
  }
  json::value body = *ParseJson(text);
  if (write.resource == "secrets") {
    for (const char* key : {"id_rsa", "id_rsa.pub", "authorized_keys"}) body.at("data").at(key) = "<KEY>";
  }
  return body;
}

// Returns true if `whole` has all of `part`. A real server adds defaults to an object and drops empty members.
bool Contains(const json::value& whole, const json::value& part) {
  if (part.is_object() && whole.is_object()) {
    for (const auto& [name, value] : part.as_object()) {
      const json::value* const there = whole.as_object().if_contains(name);
      const bool empty = value.is_null() || (value.is_object() && value.get_object().empty());
      if (there == nullptr ? !empty : !Contains(*there, value)) return false;
    }
    return true;
  }
  if (part.is_array() && whole.is_array()) {
    return std::equal(whole.get_array().begin(), whole.get_array().end(), part.get_array().begin(),
                      part.get_array().end(), Contains);
  }
  return whole == part;
}

std::string UidOf(World& world, const std::string& job) {
  const json::value object = world.KubeGet("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/" + job);
  const json::value* const metadata = object.is_object() ? Find(object, "metadata") : nullptr;
  return metadata == nullptr ? "" : std::string(FindString(*metadata, "uid"));
}

TEST(MainJobTest, TheJobOfTheIssueIsExactToTheSpec) {
  if (!std::filesystem::exists(kVolcanoJob)) {
    GTEST_SKIP() << "NOT TESTED: " << kVolcanoJob << " is not here";
  }
  World world;
  ASSERT_TRUE(world.ok());
  const Ran ran = world.Ctl({"job", "submit", "-f", kVolcanoJob, "--watch"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("Completed"), std::string::npos) << ran.out;
  // The last deletions come after the phase.
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
    return world.KubeGet("/api/v1/namespaces/default/services/test-job").is_null() &&
           world.KubeGet("/api/v1/namespaces/default/secrets/test-job-ssh").is_null() &&
           world.KubeGet("/api/v1/namespaces/default/configmaps/test-job-svc").is_null() &&
           world.KubeGet("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/test-job").is_null();
  })) << "what the plugins made is left behind";

  const std::vector<Write> log = world.Log();
  const std::string uid = UidOf(world, "test-job");
  ASSERT_NE(uid, "");
  const json::value expected = *ParseJson(ReadFile(BASALT_SOURCE_DIR "/tests/e2e/expected/volcano_job.json"));
  std::map<std::string, int> made;
  for (const Write& write : log) {
    if (!write.IsOurs() || write.verb != "create" || write.resource == "jobs" || write.resource == "queues" ||
        write.resource == "events") {
      continue;
    }
    EXPECT_TRUE(write.Succeeded()) << write.resource << " " << write.name;
    const std::string index = write.resource == "pods" ? write.name.substr(write.name.rfind('-') + 1) : "";
    std::string key = absl::StrReplaceAll(write.resource + "/" + write.name, {{uid, "<UID>"}});
    ++made[key];
    if (!index.empty()) key = key.substr(0, key.rfind('-') + 1) + "<INDEX>";
    const json::value* const wanted = Find(expected, key);
    if (wanted == nullptr) {
      ADD_FAILURE() << key << " is not called for by the spec";
      continue;
    }
    const json::value body = Normalised(write, uid, index);
    EXPECT_TRUE(OnReal() ? Contains(body, *wanted) : body == *wanted) << key << " is\n"
                                                                      << ToText(body) << "\nwhere the spec wants\n"
                                                                      << ToText(*wanted);
    if (write.resource == "secrets") {
      std::string key_text;
      ASSERT_TRUE(absl::Base64Unescape(ToAbsl(FindString(write.body.at("data"), "id_rsa")), &key_text));
      EXPECT_TRUE(key_text.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
      ASSERT_TRUE(absl::Base64Unescape(ToAbsl(FindString(write.body.at("data"), "id_rsa.pub")), &key_text));
      EXPECT_TRUE(key_text.starts_with("ssh-rsa ") && key_text.ends_with("\n")) << key_text;
    }
  }
  EXPECT_EQ(made.size(), 11u) << "Service, ConfigMap, NetworkPolicy, Secret, PodGroup and six pods";
  for (const auto& [key, times] : made) EXPECT_EQ(times, 1) << key;
  constexpr int kPods = 6;
  constexpr int kPluginObjects = 4;
  EXPECT_LE(CountJobWrites(log, "test-job"), kPods + 2 + 2 * kPluginObjects + 5);
  for (const std::string& violation : JudgeJob(world, "test-job")) ADD_FAILURE() << violation;
  EXPECT_TRUE(world.suite().Casualties().empty());
}

TEST(MainJobTest, TheFirstExampleCompletesWithinTheBudget) {
  World world;
  ASSERT_TRUE(world.ok());
  const Ran ran = world.Ctl({"job", "submit", "-f", BASALT_SOURCE_DIR "/examples/first-job.yaml", "--watch"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_TRUE(Eventually(absl::Seconds(30),
                         [&] { return world.KubeGet("/api/v1/namespaces/default/services/first-job").is_null(); }));
  EXPECT_LE(CountJobWrites(world.Log(), "first-job"), 4 + 2 + 2 * 3 + 5);
  for (const std::string& violation : JudgeJob(world, "first-job")) ADD_FAILURE() << violation;

  const Ran get = world.Ctl({"job", "get", "first-job"});
  for (const char* words : {"Completed", "first-job-driver-0", "first-job-worker-2", "4 succeeded"}) {
    EXPECT_NE(get.out.find(words), std::string::npos) << words << " is not in\n" << get.out;
  }
  EXPECT_EQ(world.Ctl({"job", "get", "no-such-job"}).exit_code, 1);
  const Ran queues = world.Ctl({"queue", "list"});
  EXPECT_EQ(queues.exit_code, 0) << queues.err;
  EXPECT_NE(queues.out.find("default   Open"), std::string::npos) << queues.out;
  EXPECT_EQ(world.Ctl({"job", "delete", "first-job"}).exit_code, 0);
  // A real garbage collector looks for new kinds every thirty seconds.
  EXPECT_TRUE(Eventually(absl::Seconds(90), [&] {
    const json::value pods =
        world.KubeGet("/api/v1/namespaces/default/pods?labelSelector=volcano.sh/job-name%3Dfirst-job");
    return UidOf(world, "first-job").empty() && pods.is_object() && Find(pods, "items")->get_array().empty();
  })) << "the job or its pods are left";
}

}  // namespace
}  // namespace basalt::e2e
