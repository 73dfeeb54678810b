// Pods of KAI's scheduler under owners of several kinds get their groups and links, and a restart writes nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/kube/names.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/groups_world.h"

namespace basalt::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class KaiGroupsTest : public GroupsTest {
 protected:
  KaiGroupsTest()
      : GroupsTest({.scheduler = "kai-scheduler",
                    .groups = "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups",
                    .name_key = kube::kKaiGroupNameKey},
                   {.gateway_flags = {"--slow_retry=1s"}, .kai = true}) {}
};

TEST_F(KaiGroupsTest, PodsOfEachOwnerAreGroupedAndRunAndARestartWritesNothing) {
  const std::string set = CreateWorkload("StatefulSet", "statefulsets", R"("serviceName":"s",)",
                                         R"(,"labels":{"kai.scheduler/queue":"team"})");
  CreateWorkload("Deployment", "deployments", "");
  const std::string job = Create(
      kJobs,
      fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"kai-job","annotations":)"
                  R"({{"kai.scheduler/batch-min-member":"2"}}}},"spec":{{"parallelism":2,"completions":2,{}}}}})",
                  With(Template(R"("app":"kai-job")"), "Never")));
  EXPECT_EQ(GroupsOf("kai-statefulsets-", 2), std::set<std::string>{"pg-kai-statefulsets-" + set});
  EXPECT_THAT(Spec("pg-kai-statefulsets-" + set), HasSubstr(R"("queue":"team")"));
  EXPECT_EQ(GroupsOf("kai-job-", 2), std::set<std::string>{"pg-kai-job-" + job});
  EXPECT_THAT(Spec("pg-kai-job-" + job), HasSubstr(R"("minMember":2)"));
  const std::set<std::string> of_deployment = GroupsOf("kai-deployments-", 2);
  EXPECT_EQ(of_deployment.size(), 2u) << "one for each pod";
  for (const std::string& group : of_deployment) {
    EXPECT_THAT(Spec(group), HasSubstr(R"("priorityClassName":"inference")"));
  }

  const size_t writes = OurWrites();
  ASSERT_THAT(world_.suite().Kill("pgsvc"), testing::IsOk());
  ASSERT_THAT(world_.suite().Restart("pgsvc"), testing::IsOk());
  for (const json::value& pod : Items(kPods)) {
    const std::string name = TextAt(pod, {"metadata"}, "name");
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
      return world_.Ctl({"podgroup", "explain", name}).out.find("In cluster: yes") != std::string::npos;
    })) << world_.Ctl({"podgroup", "explain", name}).out;
  }
  EXPECT_EQ(OurWrites(), writes) << "everything is known again";
  const std::string explained = world_.Ctl({"podgroup", "explain", "kai-statefulsets-0"}).out;
  EXPECT_THAT(explained, HasSubstr("Pods:       Running; 2 running; 1 needed at least"));
  // A pod of Volcano's scheduler beside them has the compat profile.
  Create(kPods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"plain"},"spec":{"schedulerName":"volcano",
    "priorityClassName":"","terminationGracePeriodSeconds":0,"containers":[{"name":"c","image":"busybox","command":
    ["sleep","600"],"resources":{"requests":{"cpu":"10m"}}}]}})");
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
    return world_.Ctl({"podgroup", "explain", "plain"}).out.find("In cluster: yes") != std::string::npos;
  }));
  EXPECT_THAT(world_.Ctl({"podgroup", "explain", "plain"}).out,
              AllOf(HasSubstr("Grouped by: Pod default/plain"), HasSubstr("minMember: default")));
  const std::string listed = world_.Ctl({"podgroup", "list"}).out;
  EXPECT_THAT(listed, HasSubstr("pg-kai-job-" + job));
  const std::string shown = world_.Ctl({"podgroup", "get", "pg-kai-statefulsets-" + set}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("Profile     kai"), HasSubstr("Owner       StatefulSet kai-statefulsets"),
                           HasSubstr("Pods        Running; 2 running")));
  EXPECT_THAT(world_.Ctl({"podgroup", "history", "pg-kai-statefulsets-" + set}).out,
              HasSubstr("created    StatefulSet kai-statefulsets"));
  const Ran none = world_.Ctl({"podgroup", "explain", "none"});
  EXPECT_EQ(none.exit_code, 1) << none.err;
  EXPECT_THAT(none.err, HasSubstr("there is no pod default/none that is grouped here"));
}

// The services list KAI's queues with the groups that name them, and write nothing to these queues.
TEST_F(KaiGroupsTest, QueuesOfKaisAreToldWithTheirGroups) {
  Create("/apis/scheduling.run.ai/v2/queues",
         R"({"apiVersion":"scheduling.run.ai/v2","kind":"Queue","metadata":{"name":"department"},
    "spec":{"resources":{"cpu":{"quota":2000,"limit":-1},"gpu":{"quota":1,"limit":2.5}}}})");
  Create("/apis/scheduling.run.ai/v2/queues",
         R"({"apiVersion":"scheduling.run.ai/v2","kind":"Queue","metadata":{"name":"labs"},
    "spec":{"parentQueue":"department","resources":{"cpu":{"quota":3000,"limit":4000}}}})");
  Create(kPods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"queued","labels":{"kai.scheduler/queue":"labs"}},
    "spec":{"schedulerName":"kai-scheduler","containers":[{"name":"c","image":"busybox"}]}})");
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    return world_.Ctl({"queue", "get", "kai/labs"}).out.find("Pod groups  1") != std::string::npos;
  })) << world_.Ctl({"queue", "get", "kai/labs"}).out;
  EXPECT_THAT(world_.Ctl({"queue", "get", "kai/labs"}).out,
              AllOf(HasSubstr("Parent      department"), HasSubstr("Limit       cpu 4")));
  const std::string tree = world_.Ctl({"queue", "tree"}).out;
  EXPECT_THAT(tree, HasSubstr("1 pod groups"));
  EXPECT_THAT(tree, HasSubstr("0 pod groups, 1 with those below; quotas below: cpu 3 of 2"));
  EXPECT_THAT(world_.Ctl({"queue", "list"}).out, AllOf(HasSubstr("KAI QUEUE"), HasSubstr("kai/department")));
  for (const char* command : {"close", "explain", "watch"}) {
    const Ran refused = world_.Ctl({"queue", command, "kai/labs"});
    EXPECT_EQ(refused.exit_code, 1) << command;
    EXPECT_THAT(refused.err, HasSubstr("it is read here, and nothing else")) << command;
  }
}

}  // namespace
}  // namespace basalt::e2e
