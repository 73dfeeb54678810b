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

// A pod's owner reference names the kind before the cluster has it.
TEST_F(KaiGroupsTest, PodsOfAKindThatIsNewToTheClusterAreOneGang) {
  Create(kPods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"early","ownerReferences":[{"apiVersion":
    "jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"nobodys","uid":"11111111-1111-4111-8111-111111111111"}]},
    "spec":{"schedulerName":"kai-scheduler","containers":[{"name":"c","image":"busybox"}]}})");
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    return world_.Ctl({"podgroup", "explain", "early"}).out.find("JobSet default/nobodys does not exist") !=
           std::string::npos;
  })) << world_.Ctl({"podgroup", "explain", "early"}).out;
  Define("JobSet", "jobset.x-k8s.io", "v1alpha2", "Namespaced");
  const std::string set = Create("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets",
                                 R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"js"},
    "spec":{"replicatedJobs":[{"name":"leader","replicas":1,"template":{"spec":{"parallelism":1}}},
    {"name":"worker","replicas":2,"template":{"spec":{"parallelism":1}}}]}})");
  // The test creates the Jobs that the JobSet controller would create: that controller does not run here.
  for (const auto& [name, index] : {std::pair("leader", 0), std::pair("worker", 0), std::pair("worker", 1)}) {
    Create(kJobs,
           fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"js-{}-{}","ownerReferences":[)"
                       R"({{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"js","uid":"{}",)"
                       R"("controller":true}}]}},"spec":{{"parallelism":1,"completions":1,{}}}}})",
                       name, index, set,
                       With(Template(fmt::format(R"("jobset.sigs.k8s.io/replicatedjob-name":"{}",)"
                                                 R"("jobset.sigs.k8s.io/job-index":"{}")",
                                                 name, index)),
                            "Never")));
  }
  EXPECT_EQ(GroupsOf("js-", 3), std::set<std::string>{"pg-js-" + set});
  const std::string spec = Spec("pg-js-" + set);
  EXPECT_THAT(spec, HasSubstr(R"("minSubGroup":2)"));
  EXPECT_THAT(spec, HasSubstr(R"("name":"worker-replica-1")"));
}

// The cluster has the definition of an older release of KAI.
TEST_F(KaiGroupsTest, AGroupHasNoFieldThatTheDefinitionLacks) {
  const std::string path = absl::StrCat(kDefinitions, "/podgroups.scheduling.run.ai");
  const bool is_changed = Eventually(absl::Seconds(30), [&] {
    json::value definition = world_.KubeGet(path);
    if (definition.is_null()) return false;
    for (json::value& version : definition.at("spec").at("versions").as_array()) {
      json::value& spec = version.at("schema").at("openAPIV3Schema").at("properties").at("spec");
      spec.at("properties").as_object().erase("preemptionDelay");
      spec.at("properties").as_object().erase("minSubGroup");
    }
    const absl::StatusOr<http::Response> answer = world_.Call("PUT", path, ToText(definition));
    return answer.ok() && answer->status == 200;
  });
  ASSERT_TRUE(is_changed);
  const std::string set =
      CreateWorkload("ReplicaSet", "replicasets", "", R"(,"annotations":{"kai.scheduler/preemption-delay":"5m"})");
  EXPECT_EQ(GroupsOf("kai-replicasets-", 2), std::set<std::string>{"pg-kai-replicasets-" + set});
  EXPECT_THAT(Spec("pg-kai-replicasets-" + set), ::testing::Not(HasSubstr("preemptionDelay")));
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    for (const json::value& event : Items("/api/v1/namespaces/default/events")) {
      if (FindString(event, "message").find("preemptionDelay is not known to this cluster's definition") !=
          std::string_view::npos) {
        return true;
      }
    }
    return false;
  }));
}

TEST_F(KaiGroupsTest, PodsOfAKindThatAKartaDescribesAreOneGang) {
  Define("PyFlow", "jobs.example.com", "v1", "Namespaced");
  Define("Karta", "run.ai", "v1alpha1", "Cluster");
  // The gateway's role names only the kinds that have rules of their own.
  if (OnReal()) {
    for (const std::vector<std::string>& grant :
         {std::vector<std::string>{"create", "clusterrole", "pyflows", "--verb=list,watch",
                                   "--resource=pyflows.jobs.example.com"},
          {"create", "clusterrolebinding", "pyflows", "--clusterrole=pyflows",
           "--serviceaccount=basalt-system:basalt-gateway"}}) {
      ASSERT_THAT(RealCluster()->Kubectl(grant), testing::IsOk());
    }
  }
  const auto component = [](std::string_view name) {
    return fmt::format(R"({{"name":"{0}","ownerRef":"flow","specDefinition":{{"podTemplateSpecPath":)"
                       R"(".spec.{0}.template"}},"scaleDefinition":{{"replicasPath":".spec.{0}.replicas // 1"}},)"
                       R"("podSelector":{{"componentTypeSelector":{{"keyPath":".metadata.labels[\"role\"]",)"
                       R"("value":"{0}"}}}}}})",
                       name);
  };
  Create(
      "/apis/run.ai/v1alpha1/kartas",
      fmt::format(R"({{"apiVersion":"run.ai/v1alpha1","kind":"Karta","metadata":{{"name":"pyflow","labels":{{)"
                  R"("run.ai/karta-group":"jobs.example.com","run.ai/karta-version":"v1","run.ai/karta-kind":)"
                  R"("PyFlow"}}}},"spec":{{"structureDefinition":{{"rootComponent":{{"name":"flow","kind":{{)"
                  R"("group":"jobs.example.com","version":"v1","kind":"PyFlow"}},"statusDefinition":{{}}}},)"
                  R"("childComponents":[{},{}]}},"optimizationInstructions":{{"gangScheduling":{{"podGroup":{{)"
                  R"("name":"training","subGroups":[{{"componentName":"master"}},{{"componentName":"worker"}}]}}}}}})"
                  R"(}}}})",
                  component("master"), component("worker")));
  const auto make_flow = [this](const std::string& name) {
    return Create("/apis/jobs.example.com/v1/namespaces/default/pyflows",
                  fmt::format(R"({{"apiVersion":"jobs.example.com/v1","kind":"PyFlow","metadata":{{"name":"{}"}},)"
                              R"("spec":{{"worker":{{"replicas":2}}}}}})",
                              name));
  };
  const auto make_pod = [this](const std::string& flow, const std::string& uid, const std::string& role,
                               const std::string& suffix, const std::string& cpu) {
    Create(kPods, fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}-{2}{3}","labels":)"
                              R"({{"role":"{2}"}},"annotations":{{"kubesim.basalt.dev/duration":"10h"}},)"
                              R"("ownerReferences":[{{"apiVersion":"jobs.example.com/v1","kind":"PyFlow",)"
                              R"("name":"{0}","uid":"{1}","controller":true}}]}},"spec":{{"schedulerName":)"
                              R"("kai-scheduler","terminationGracePeriodSeconds":0,"containers":[{{"name":"c",)"
                              R"("image":"busybox","command":["sleep","600"],)"
                              R"("resources":{{"requests":{{"cpu":"{4}"}}}}}}]}}}})",
                              flow, uid, role, suffix, cpu));
  };
  // pgsvc hears of the Karta some time after the kind is served. The Karta does not regroup a pod that has its node by
  // then.
  const std::string early = make_flow("early");
  make_pod("early", early, "worker", "-0", "10k");
  ASSERT_TRUE(Eventually(absl::Seconds(60), [&] { return Spec(absl::StrCat("pg-", early, "-training")) != "none"; }));
  const std::string flow = make_flow("f");
  make_pod("f", flow, "master", "", "10m");
  make_pod("f", flow, "worker", "-0", "10m");
  make_pod("f", flow, "worker", "-1", "10m");
  const std::string group = absl::StrCat("pg-", flow, "-training");
  EXPECT_EQ(GroupsOf("f-", 3), std::set<std::string>{group});
  const std::string spec = Spec(group);
  for (const char* part : {R"("minSubGroup":2)", R"("name":"worker")", R"("minMember":2)", R"("name":"master")"}) {
    EXPECT_THAT(spec, HasSubstr(part));
  }
}

}  // namespace
}  // namespace basalt::e2e
