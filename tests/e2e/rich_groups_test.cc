// The rules of all kinds group the pods of Volcano's scheduler (--volcano_profile=rich).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/kube/names.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/groups_world.h"

namespace basalt::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kFirstJob[] = BASALT_SOURCE_DIR "/examples/first-job.yaml";

class RichGroupsTest : public GroupsTest {
 protected:
  // The gateway has the roles for KAI's groups, because pgsvc reads the same owners.
  RichGroupsTest()
      : GroupsTest({.scheduler = "volcano",
                    .groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups",
                    .name_key = kube::kGroupNameKey},
                   {.gateway_flags = {"--slow_retry=1s", "--volcano_profile=rich"}, .kai = true}) {}
};

TEST_F(RichGroupsTest, PodsAreGangsByTheirKindsAndAJobOfVolcanosKeepsItsGroup) {
  const std::string set = CreateWorkload("StatefulSet", "statefulsets", R"("serviceName":"s",)",
                                         R"(,"labels":{"kai.scheduler/queue":"default"})");
  const std::string job = Create(
      kJobs,
      fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"kai-job","annotations":)"
                  R"({{"kai.scheduler/batch-min-member":"2"}}}},"spec":{{"parallelism":2,"completions":2,{}}}}})",
                  With(Template(R"("app":"kai-job")"), "Never")));
  const std::string group = "pg-kai-job-" + job;
  EXPECT_EQ(GroupsOf("kai-statefulsets-", 2), std::set<std::string>{"pg-kai-statefulsets-" + set});
  EXPECT_EQ(GroupsOf("kai-job-", 2), std::set<std::string>{group});
  EXPECT_THAT(Spec(group), AllOf(HasSubstr(R"("minMember":2)"), HasSubstr(R"("cpu":"20m")")));
  const Ran submitted = world_.Ctl({"job", "submit", "-f", kFirstJob, "--watch"});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;

  EXPECT_THAT(world_.Ctl({"podgroup", "get", group}).out,
              AllOf(HasSubstr("Profile     rich"), HasSubstr("Owner       Job kai-job"), HasSubstr("Min member  2")));
  EXPECT_THAT(world_.Ctl({"podgroup", "history", group}).out, HasSubstr("created    Job kai-job"));
  EXPECT_THAT(
      world_.Ctl({"podgroup", "explain", "kai-statefulsets-0"}).out,
      AllOf(HasSubstr("Rule:       minimum: annotation kai.scheduler/min-member"), HasSubstr("In cluster: yes")));

  // The job's group is deleted a moment after the job has completed.
  ASSERT_TRUE(Eventually(absl::Seconds(60), [&] {
    const json::value list = world_.KubeGet("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups");
    return !list.is_null() && list.at("items").as_array().size() == 2;
  }));
  const size_t writes = OurWrites();
  ASSERT_THAT(world_.suite().Kill("pgsvc"), testing::IsOk());
  ASSERT_THAT(world_.suite().Restart("pgsvc"), testing::IsOk());
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    return world_.Ctl({"podgroup", "explain", "kai-statefulsets-1"}).out.find("In cluster: yes") != std::string::npos;
  }));
  EXPECT_EQ(OurWrites(), writes) << "everything is known again";
}

}  // namespace
}  // namespace basalt::e2e
