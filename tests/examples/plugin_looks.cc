#include "tests/examples/plugin_looks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"

namespace basalt::examples {
namespace {

using ::testing::HasSubstr;

// Returns the member of a list of objects with that name, or null if there is none.
json::value Named(const json::value& list, std::string_view name) {
  if (!list.is_array()) return nullptr;
  for (const json::value& item : list.get_array()) {
    if (FindString(item, "name") == name) return item;
  }
  return nullptr;
}

}  // namespace

json::value EnvOf(const Scene& scene, const std::string& pod, std::string_view name) {
  return Named(scene.InPod(pod, "/spec/containers/0/env"), name);
}

std::string MountOf(const Scene& scene, const std::string& pod, std::string_view volume) {
  const json::value mount = Named(scene.InPod(pod, "/spec/containers/0/volumeMounts"), volume);
  return mount.is_object() ? std::string(FindString(mount, "mountPath")) : "";
}

void ExpectIndices(const Scene& scene, std::string_view task, int replicas) {
  for (int i = 0; i < replicas; ++i) {
    for (const char* name : {"VK_TASK_INDEX", "VC_TASK_INDEX"}) {
      const json::value env = EnvOf(scene, scene.PodName(task, i), name);
      ASSERT_TRUE(env.is_object()) << name;
      EXPECT_EQ(FindString(env, "value"), std::to_string(i)) << scene.PodName(task, i);
    }
  }
}

void ExpectKeys(const Scene& scene, const std::string& job, const std::string& pod, std::string_view path) {
  EXPECT_EQ(MountOf(scene, pod, job + "-ssh"), path);
  const auto data = [&](const char* key) {
    std::string text;
    EXPECT_TRUE(absl::Base64Unescape(scene.TextAt("secrets", job + "-ssh", std::string("/data/") + key), &text)) << key;
    return text;
  };
  EXPECT_THAT(data("id_rsa"), HasSubstr("PRIVATE KEY"));
  EXPECT_EQ(data("authorized_keys"), data("id_rsa.pub"));
  EXPECT_THAT(data("config"), HasSubstr("StrictHostKeyChecking no"));
  EXPECT_THAT(data("config"), HasSubstr("HostName " + pod + "." + job));
}

void ExpectHosts(const Scene& scene, const std::string& job, std::string_view task, int replicas) {
  std::string file(task);
  std::replace(file.begin(), file.end(), '-', '_');
  std::vector<std::string> hosts;
  for (int i = 0; i < replicas; ++i) {
    const std::string pod = scene.PodName(task, i);
    hosts.push_back(fmt::format("{}.{}", pod, job));
    EXPECT_EQ(scene.TextAt("pods", pod, "/spec/hostname"), pod);
    EXPECT_EQ(scene.TextAt("pods", pod, "/spec/subdomain"), job);
    EXPECT_EQ(MountOf(scene, pod, job + "-svc"), "/etc/volcano");
  }
  EXPECT_EQ(scene.TextAt("configmaps", job + "-svc", fmt::format("/data/{}.host", file)),
            fmt::format("{}", fmt::join(hosts, "\n")));
  EXPECT_EQ(scene.TextAt("services", job, "/spec/clusterIP"), "None");
}

}  // namespace basalt::examples
