// Follows the plugins of jobs from the manifest to the objects and pods in the cluster. The objects are as basaltctl
// renders them, through restarts and scaling, until the job ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

struct PluginCase {
  std::string name;
  std::string arguments;  // A list in YAML.
};

const std::vector<PluginCase>& Cases() {
  static const auto& cases = *new std::vector<PluginCase>{
      {"env", "[]"},
      {"svc", "[\"--publish-not-ready-addresses\"]"},
      {"ssh", "[\"--ssh-port=2222\"]"},
      {"tensorflow", "[\"--chief=master\"]"},
      {"mpi", "[]"},
      {"pytorch", "[\"--port=1234\"]"},
      {"ray", "[\"--head=master\", \"--headContainer=main\", \"--workerContainer=main\"]"},
      {"hcclrank", "[]"},
  };
  return cases;
}

std::string JobOf(const PluginCase& plugin) { return "with-" + plugin.name; }

std::string Manifest(const PluginCase& plugin) {
  std::string text = fmt::format(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}}}\n"
      "spec:\n  schedulerName: volcano\n  queue: default\n  minAvailable: 1\n  plugins: {{{}: {}}}\n  tasks:\n",
      JobOf(plugin), plugin.name, plugin.arguments);
  for (const auto& [task, replicas] : {std::pair("master", 1), std::pair("worker", 2)}) {
    text += fmt::format(
        "  - name: {}\n    replicas: {}\n    minAvailable: {}\n    template:\n"
        "      metadata: {{annotations: {{kubesim.basalt.dev/duration: 600s}}}}\n"
        "      spec:\n        restartPolicy: Never\n        containers:\n        - name: main\n"
        "          image: busybox\n          command: [sh, -c, \"sleep 600\"]\n",
        task, replicas, replicas % 2);
  }
  return text;
}

// Returns true if `path` is a key of a Secret, which is random.
bool IsKey(std::string_view path) {
  return path.find("/data/id_rsa") != path.npos || path.ends_with("/authorized_keys");
}

// Returns the first place at which `got` lacks a value of `wanted`. Empty if `got` has all values. A server adds
// fields, and elements at the end of a list.
std::string Misses(const json::value& got, const json::value& wanted, const std::string& path) {
  if (wanted.is_object() && got.is_object()) {
    for (const auto& [key, value] : wanted.get_object()) {
      const std::string member = fmt::format("{}/{}", path, std::string_view(key.data(), key.size()));
      if (IsKey(member)) continue;
      const json::value* const found = got.get_object().if_contains(key);
      if (found == nullptr) return member;
      const std::string missed = Misses(*found, value, member);
      if (!missed.empty()) return missed;
    }
    return "";
  }
  if (wanted.is_array() && got.is_array()) {
    const json::array& elements = wanted.get_array();
    for (size_t i = 0; i < elements.size(); ++i) {
      const std::string element = fmt::format("{}/{}", path, i);
      if (i >= got.get_array().size()) return element;
      const std::string missed = Misses(got.get_array()[i], elements[i], element);
      if (!missed.empty()) return missed;
    }
    return "";
  }
  return got == wanted ? "" : fmt::format("{}: {} instead of {}", path, ToText(got), ToText(wanted));
}

std::string PathOf(const json::value& object) {
  const std::map<std::string, std::string, std::less<>> folders = {
      {"Pod", "/api/v1/namespaces/default/pods"},
      {"Service", "/api/v1/namespaces/default/services"},
      {"ConfigMap", "/api/v1/namespaces/default/configmaps"},
      {"Secret", "/api/v1/namespaces/default/secrets"},
      {"NetworkPolicy", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"},
      {"PodGroup", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"},
  };
  const auto folder = folders.find(FindString(object, "kind"));
  if (folder == folders.end()) return "";
  return fmt::format("{}/{}", folder->second, FindString(object.at("metadata"), "name"));
}

class PluginsTest : public WorldTest {
 protected:
  void Ask(const std::vector<std::string>& words) {
    const Ran ran = world_.Ctl(words);
    EXPECT_EQ(ran.exit_code, 0) << fmt::format("{}", fmt::join(words, " ")) << "\n" << ran.out << ran.err;
  }
  void ForEach(const std::function<void(const PluginCase&)>& step) {
    for (const PluginCase& plugin : Cases()) {
      SCOPED_TRACE(plugin.name);
      step(plugin);
    }
  }
  void Becomes(const PluginCase& plugin, const std::string& phase) {
    Ask({"job", "wait", JobOf(plugin), "--for", phase, "--timeout", "90s"});
  }
  std::string UidAt(const std::string& path) {
    const json::value object = world_.KubeGet(path);
    const json::value* const uid = object.is_null() ? nullptr : FindPath(object, {"metadata", "uid"});
    return uid == nullptr ? "" : std::string(uid->as_string());
  }
  std::string PodPath(const PluginCase& plugin, std::string_view task, int index) {
    return fmt::format("/api/v1/namespaces/default/pods/{}-{}-{}", JobOf(plugin), task, index);
  }
  // Returns the objects that basaltctl renders for the job, with the UID that the server gave the job.
  json::value Rendered(const PluginCase& plugin) {
    const std::string file = world_.dir() / (JobOf(plugin) + ".yaml");
    const Ran ran = world_.Ctl({"job", "render", "-f", file, "-o", "json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::string text = ran.out;
    const std::string uid = UidAt("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/" + JobOf(plugin));
    constexpr std::string_view kNone = "00000000-0000-0000-0000-000000000000";
    for (size_t at; (at = text.find(kNone)) != text.npos;) text.replace(at, kNone.size(), uid);
    const absl::StatusOr<json::value> list = ParseJson(text);
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? list->at("items") : json::value(json::array());
  }
  // Returns the UIDs of the job's objects by their paths, without pods and the PodGroup.
  std::map<std::string, std::string> ObjectUids(const PluginCase& plugin) {
    std::map<std::string, std::string> uids;
    const json::value rendered = Rendered(plugin);
    for (const json::value& object : rendered.as_array()) {
      const std::string kind(FindString(object, "kind"));
      if (kind != "Pod" && kind != "PodGroup") uids[PathOf(object)] = UidAt(PathOf(object));
    }
    return uids;
  }
  std::string Workers(const PluginCase& plugin) {
    const json::value hosts =
        world_.KubeGet(fmt::format("/api/v1/namespaces/default/configmaps/{}-svc", JobOf(plugin)));
    return hosts.is_null() ? "none" : std::string(FindString(hosts.at("data"), "VC_WORKER_NUM"));
  }
  void Scale(const PluginCase& plugin, int workers) {
    Ask({"job", "scale", JobOf(plugin), fmt::format("worker={}", workers)});
  }
  void HasWorkers(const PluginCase& plugin, int workers) {
    const auto so = [&] {
      if (workers > 0 && UidAt(PodPath(plugin, "worker", workers - 1)).empty()) return false;
      if (!UidAt(PodPath(plugin, "worker", workers)).empty()) return false;
      const std::string count = Workers(plugin);
      return count == "none" || count == std::to_string(workers);
    };
    EXPECT_TRUE(Eventually(absl::Seconds(60), so)) << workers << " workers; hosts: " << Workers(plugin);
  }
};

TEST_F(PluginsTest, TheClusterHasTheRenderedObjectsToTheEnd) {
  ForEach([&](const PluginCase& plugin) { world_.Submit(JobOf(plugin), Manifest(plugin)); });
  std::map<std::string, std::map<std::string, std::string>> uids;
  ForEach([&](const PluginCase& plugin) {
    Becomes(plugin, "Running");
    const json::value rendered = Rendered(plugin);
    EXPECT_GE(rendered.as_array().size(), 4u) << "a PodGroup and three pods, at least";
    // A job is Running with one pod: the other pods may still be missing.
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
      return std::all_of(rendered.as_array().begin(), rendered.as_array().end(),
                         [&](const json::value& wanted) { return !UidAt(PathOf(wanted)).empty(); });
    }));
    for (const json::value& wanted : rendered.as_array()) {
      const json::value got = world_.KubeGet(PathOf(wanted));
      EXPECT_EQ(Misses(got, wanted, ""), "") << PathOf(wanted);
    }
    uids[plugin.name] = ObjectUids(plugin);
    for (const auto& [path, uid] : uids[plugin.name]) EXPECT_NE(uid, "") << path;
  });
  ForEach([&](const PluginCase& plugin) {
    const std::string before = UidAt(PodPath(plugin, "worker", 0));
    const std::string master = UidAt(PodPath(plugin, "master", 0));
    Ask({"job", "restart", JobOf(plugin), "--task", "worker", "--wait", "--timeout", "60s"});
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
      const std::string now = UidAt(PodPath(plugin, "worker", 0));
      return !now.empty() && now != before;
    }));
    EXPECT_EQ(UidAt(PodPath(plugin, "master", 0)), master);
    EXPECT_EQ(ObjectUids(plugin), uids[plugin.name]) << "objects outlive the restart of a task";
    Becomes(plugin, "Running");
  });
  for (const int workers : {3, 0, 2}) {
    ForEach([&](const PluginCase& plugin) { Scale(plugin, workers); });
    ForEach([&](const PluginCase& plugin) { HasWorkers(plugin, workers); });
  }
  ForEach([&](const PluginCase& plugin) {
    Becomes(plugin, "Running");
    EXPECT_EQ(ObjectUids(plugin), uids[plugin.name]) << "objects outlive scaling";
    Ask({"job", "delete", JobOf(plugin)});
  });
  ForEach([&](const PluginCase& plugin) {
    EXPECT_TRUE(Eventually(absl::Seconds(90), [&] {
      for (const auto& [path, uid] : uids[plugin.name]) {
        if (UidAt(path) == uid) return false;
      }
      return UidAt(PodPath(plugin, "master", 0)).empty();
    })) << "everything goes with the job";
  });
}

}  // namespace
}  // namespace basalt::e2e
