#pragma once

// Jobs and pods for tests of plugins.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/job_view.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

inline constexpr std::string_view kTestTemplate =
    R"({"spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"i"}]}})";

struct TestTask {
  std::string name;
  int32_t replicas = 1;
  std::string pod_template{kTestTemplate};
};

inline kube::v1::Job TestJob(std::string_view name, std::initializer_list<TestTask> tasks) {
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_("ns");
  job.mutable_meta()->set_name(std::string(name));
  job.mutable_meta()->set_uid("uid-1");
  for (const TestTask& task : tasks) {
    kube::v1::TaskSpec* out = job.mutable_spec()->add_tasks();
    out->set_name(task.name);
    out->set_replicas(task.replicas);
    out->set_template_json(task.pod_template);
  }
  return job;
}

inline JobView TestView(const kube::v1::Job& job) {
  absl::StatusOr<JobView> view = MakeJobView(job, job.spec());
  EXPECT_TRUE(view.ok()) << view.status();
  return view.ok() ? *std::move(view) : JobView{};
}

inline PluginArguments StatusMessage(std::initializer_list<std::string> words) { return {words.begin(), words.end()}; }

// The same JSON whatever the order of members.
inline void ExpectJson(std::string_view got, std::string_view wanted) {
  const absl::StatusOr<json::value> left = ParseJson(got);
  const absl::StatusOr<json::value> right = ParseJson(wanted);
  ASSERT_TRUE(left.ok()) << left.status() << "\n" << got;
  ASSERT_TRUE(right.ok()) << right.status() << "\n" << wanted;
  EXPECT_TRUE(*left == *right) << "got    " << ToText(*left) << "\nwanted " << ToText(*right);
}

// The pod that the plugin makes of the first task's template, with marks filled in for `index`.
inline std::string EditedPod(const Plugin& plugin, const JobView& job, int32_t index) {
  json::object pod = job.tasks.front().pod_template;
  PodEdit edit(job, job.tasks.front(), pod, "MARK");
  EXPECT_TRUE(plugin.OnPod(edit).ok());
  std::string text = ToText(pod);
  for (size_t at; (at = text.find("MARK")) != text.npos;) {
    const int number = std::stoi(text.substr(at + 4, 4));
    text.replace(at, 8, edit.functions().at(number)(index));
  }
  return text;
}

}  // namespace basalt::jobsvc
