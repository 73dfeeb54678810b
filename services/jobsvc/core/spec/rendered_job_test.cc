#include "services/jobsvc/core/spec/rendered_job.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/effective_spec.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kTemplate = R"({"spec":{"containers":[{"name":"c","image":"i"}]}})";

kube::v1::Job Accepted(std::initializer_list<TestTask> tasks, std::initializer_list<const char*> plugins) {
  kube::v1::Job job = TestJob("j", tasks);
  for (kube::v1::TaskSpec& task : *job.mutable_spec()->mutable_tasks()) {
    if (task.template_json() == kTestTemplate) task.set_template_json(std::string(kTemplate));
  }
  for (const char* plugin : plugins) job.mutable_spec()->add_plugins()->set_name(plugin);
  *job.mutable_spec() = EffectiveSpec(job);
  return job;
}

std::vector<std::string> PodsOf(const RenderedJob& job, const RenderedJob::Which& which) {
  std::vector<std::string> names;
  const absl::Status all = job.ForEachPod(which, [&](const std::string& pod) {
    names.emplace_back(FindString(*FindPath(json::parse(pod), {"metadata"}), "name"));
  });
  EXPECT_TRUE(all.ok()) << all;
  return names;
}

TEST(RenderedJobTest, KeysAreAskedForWhereAPluginNeedsThemAlone) {
  const absl::StatusOr<RenderedJob> with = RenderedJob::Create(Accepted({{"t"}}, {"ssh"}));
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_TRUE(with->NeedsSshKeys());
  const absl::StatusOr<std::vector<std::string>> objects = with->Objects({"private", "public\n"});
  ASSERT_TRUE(objects.ok());
  ASSERT_EQ(objects->size(), 2u) << "the PodGroup and the Secret";
  EXPECT_NE(objects->back().find("cHVibGljCg=="), std::string::npos);
  const absl::StatusOr<RenderedJob> without = RenderedJob::Create(Accepted({{"t"}}, {"svc"}));
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->NeedsSshKeys());
}

TEST(RenderedJobTest, TheGroupAsksForWhatCanStartAtOnce) {
  kube::v1::Job job = Accepted({{"launcher", 1}, {"worker", 3}}, {});
  job.mutable_spec()->mutable_tasks(0)->mutable_depends_on()->add_names("worker");
  const absl::StatusOr<RenderedJob> rendered = RenderedJob::Create(job);
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  const json::value group = json::parse(rendered->Objects({})->front());
  EXPECT_EQ(group.at("spec").at("minMember"), 3);
  EXPECT_EQ(ToText(group.at("spec").at("minTaskMember")), R"({"worker":3})");
}

TEST(RenderedJobTest, PodsAreTheJobsOfItsFirstRun) {
  const absl::StatusOr<RenderedJob> job = RenderedJob::Create(Accepted({{"a", 2}, {"b", 1}}, {}));
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(PodsOf(*job, {}), (std::vector<std::string>{"j-a-0", "j-a-1", "j-b-0"}));
  EXPECT_EQ(PodsOf(*job, {.task = "b"}), (std::vector<std::string>{"j-b-0"}));
  EXPECT_EQ(PodsOf(*job, {.task = "a", .index = 1}), (std::vector<std::string>{"j-a-1"}));
}

TEST(RenderedJobTest, AJobThatCannotBeRenderedIsRefused) {
  EXPECT_EQ(RenderedJob::Create(Accepted({{"t", 1, "{"}}, {})).status().code(), absl::StatusCode::kInvalidArgument);
  ExpectInvalid(RenderedJob::Create(Accepted({{"worker", 2147483647}}, {"pytorch"})).status(), "at most 200000");
  const absl::StatusOr<RenderedJob> job = RenderedJob::Create(Accepted({{"t"}}, {}));
  ASSERT_TRUE(job.ok());
  const auto ignore = [](const std::string&) {};
  EXPECT_EQ(job->ForEachPod({.task = "u"}, ignore).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(job->ForEachPod({.task = "t", .index = 1}, ignore).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::jobsvc
