#pragma once

// Jobs and pods for tests of plugins.
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/job_view.h"
#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/plugins/registry.h"

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

// Returns the job j of these tasks.
inline JobView JobWith(std::initializer_list<TestTask> tasks) { return TestView(TestJob("j", tasks)); }

inline PluginArguments Words(std::initializer_list<std::string> words) { return {words.begin(), words.end()}; }

// Expects the same JSON in any order of members.
inline void ExpectJson(std::string_view got, std::string_view wanted) {
  const absl::StatusOr<json::value> left = ParseJson(got);
  const absl::StatusOr<json::value> right = ParseJson(wanted);
  ASSERT_TRUE(left.ok()) << left.status() << "\n" << got;
  ASSERT_TRUE(right.ok()) << right.status() << "\n" << wanted;
  EXPECT_TRUE(*left == *right) << "got    " << ToText(*left) << "\nwanted " << ToText(*right);
}

// Returns the pod that the plugins make, one after the other, from the template of that task, with marks filled in for
// `index`.
inline std::string PodEditedBy(std::initializer_list<const Plugin*> plugins, const JobView& job, size_t task,
                               int32_t index) {
  json::object pod = job.tasks.at(task).pod_template;
  PodEdit edit(job, job.tasks.at(task), pod, "MARK");
  for (const Plugin* const plugin : plugins) EXPECT_TRUE(plugin->OnPod(edit).ok()) << plugin->Name();
  std::string text = ToText(pod);
  for (size_t at; (at = text.find("MARK")) != text.npos;) {
    const int number = std::stoi(text.substr(at + 4, 4));
    text.replace(at, 8, edit.functions().at(number)(index));
  }
  return text;
}

inline std::string EditedPod(const Plugin& plugin, const JobView& job, size_t task, int32_t index) {
  return PodEditedBy({&plugin}, job, task, index);
}

// Returns the pod that the plugin makes from the first task's template.
inline std::string EditedPod(const Plugin& plugin, const JobView& job, int32_t index) {
  return EditedPod(plugin, job, /*task=*/0, index);
}

// Expects as many doubts about the job as texts, each of which contains its text.
inline void ExpectDoubts(const Plugin& plugin, const JobView& job, const std::vector<std::string>& texts) {
  const std::vector<std::string> doubts = plugin.Doubts(job);
  ASSERT_EQ(doubts.size(), texts.size()) << ::testing::PrintToString(doubts);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_NE(doubts[i].find(texts[i]), std::string::npos) << doubts[i] << "\nwanted " << texts[i];
  }
}

struct DoubtRow {
  PluginArguments arguments;
  JobView job;
  std::vector<std::string> texts;
};

// Expects of each row what the function above does.
inline void ExpectDoubts(std::string_view plugin, const std::vector<DoubtRow>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    ExpectDoubts(*MakePlugin(plugin, rows[i].arguments), rows[i].job, rows[i].texts);
  }
}

// Expects INVALID_ARGUMENT with the text in its message.
inline void ExpectInvalid(const absl::Status& status, std::string_view text) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(std::string(status.message()).find(text), std::string::npos) << status << "\nwanted " << text;
}

// Returns the plugin's value of the flag. Empty if there is no flag of that name.
inline std::string FlagValue(Plugin& plugin, std::string_view flag) {
  for (const FlagDescription& known : plugin.Flags()) {
    if (known.name == flag) return known.default_value;
  }
  return {};
}

}  // namespace basalt::jobsvc
