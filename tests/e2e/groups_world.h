#pragma once

// A world with pods under owners of several kinds, for tests of the groups that the rules of all kinds make of such
// pods.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/kube/names.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {

inline constexpr char kPods[] = "/api/v1/namespaces/default/pods";
inline constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";

inline std::string With(std::string text, std::string_view restart_policy) {
  return text.replace(text.find('@'), 1, restart_policy);
}

// The scheduler of the pods, and where its groups are.
struct GroupedBy {
  std::string scheduler;
  std::string groups;  // The path of the groups in namespace default.
  std::string_view name_key;
};

class GroupsTest : public WorldTest {
 protected:
  GroupsTest(GroupedBy grouped_by, const WorldOptions& options)
      : WorldTest(options), grouped_by_(std::move(grouped_by)) {}

  std::string Template(std::string_view labels) {
    return fmt::format(
        R"("template":{{"metadata":{{"labels":{{{}}},"annotations":{{"kubesim.basalt.dev/duration":"10h"}}}},"spec":{{)"
        R"("schedulerName":"{}","terminationGracePeriodSeconds":0,"restartPolicy":"@","containers":[{{)"
        R"("name":"c","image":"busybox","command":["sleep","600"],"resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}})",
        labels, grouped_by_.scheduler);
  }
  // Returns the UID of the created object.
  std::string Create(const std::string& path, const std::string& body) {
    const absl::StatusOr<http::Response> answer = world_.Call("POST", path, body);
    EXPECT_TRUE(answer.ok() && answer->status < 300) << path << ": " << (answer.ok() ? answer->body : "");
    if (!answer.ok()) return "";
    const absl::StatusOr<json::value> made = ParseJson(answer->body);
    return made.ok() ? std::string(FindString(*Find(*made, "metadata"), "uid")) : "";
  }
  std::string CreateWorkload(const std::string& kind, const std::string& plural, const std::string& spec,
                             const std::string& metadata = "") {
    const std::string name = absl::StrCat("kai-", plural);
    return Create(
        fmt::format("/apis/apps/v1/namespaces/default/{}", plural),
        fmt::format(R"({{"apiVersion":"apps/v1","kind":"{}","metadata":{{"name":"{}"{}}},"spec":{{"replicas":2,)"
                    R"("selector":{{"matchLabels":{{"app":"{}"}}}},{}{}}}}})",
                    kind, name, metadata, name, spec, With(Template(fmt::format(R"("app":"{}")", name)), "Always")));
  }
  std::vector<json::value> Items(const std::string& path) {
    const json::value list = world_.KubeGet(path);
    const json::value* const items = list.is_null() ? nullptr : Find(list, "items");
    std::vector<json::value> all;
    if (items != nullptr) all.assign(items->as_array().begin(), items->as_array().end());
    return all;
  }
  static std::string TextAt(const json::value& object, std::initializer_list<std::string_view> path,
                            std::string_view member) {
    const json::value* const found = FindPath(object, path);
    return found == nullptr ? "" : std::string(FindString(*found, member));
  }
  // Waits until `count` pods whose names begin with `prefix` run. Returns the groups of these pods.
  std::set<std::string> GroupsOf(const std::string& prefix, size_t count) {
    std::set<std::string> groups;
    const bool run = Eventually(absl::Seconds(60), [&] {
      groups.clear();
      size_t running = 0;
      for (const json::value& pod : Items(kPods)) {
        if (!TextAt(pod, {"metadata"}, "name").starts_with(prefix)) continue;
        running += TextAt(pod, {"status"}, "phase") == "Running" ? 1 : 0;
        groups.insert(TextAt(pod, {"metadata", "annotations"}, grouped_by_.name_key));
      }
      return running == count;
    });
    EXPECT_TRUE(run) << prefix;
    return groups;
  }
  std::string Spec(const std::string& group) {
    const json::value object = world_.KubeGet(fmt::format("{}/{}", grouped_by_.groups, group));
    return object.is_null() ? "none" : ToText(object.at("spec"));
  }
  size_t OurWrites() {
    size_t writes = 0;
    for (const Write& write : world_.Log()) {
      writes += write.IsOurs() && (write.resource == "podgroups" || write.resource == "pods") ? 1 : 0;
    }
    return writes;
  }

 private:
  const GroupedBy grouped_by_;
};

}  // namespace basalt::e2e
