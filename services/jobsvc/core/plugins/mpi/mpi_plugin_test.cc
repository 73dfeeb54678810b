#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

std::string Port(const std::string& number = "22") {
  return R"("ports":[{"name":"mpijob-port","containerPort":)" + number + "}]";
}

std::string Hosts(const std::string& hosts) { return R"("env":[{"name":"MPI_HOST","value":")" + hosts + R"("}])"; }

// Returns the pod that mpi makes from kTestTemplate: its containers get these members.
std::string Pod(const std::string& members) {
  return R"({"spec":{"containers":[{"name":"c",)" + members + R"(}],"initContainers":[{"name":"i",)" + members + "}]}}";
}

TEST(MpiPluginTest, TellsEveryMasterTheHostsOfAllWorkersAndExposesThePortEverywhere) {
  const auto plugin = MakePlugin("mpi");
  const JobView job = TestView(TestJob("j", {{"master", 2}, {"worker", 2}, {"other", 1}}));
  const std::string master = Pod(Port() + "," + Hosts("j-worker-0.j,j-worker-1.j"));
  ExpectJson(EditedPod(*plugin, job, 0, 0), master);
  ExpectJson(EditedPod(*plugin, job, 0, 1), master);
  ExpectJson(EditedPod(*plugin, job, 1, 0), Pod(Port()));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Pod(Port()));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Pod(Port()));
}

TEST(MpiPluginTest, NeedsNoInitContainers) {
  const JobView job =
      TestView(TestJob("j", {{"master", 1, R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})"}, {"worker", 1}}));
  const std::string members = Port() + "," + Hosts("j-worker-0.j");
  ExpectJson(EditedPod(*MakePlugin("mpi"), job, 0),
             R"({"spec":{"containers":[{"name":"a",)" + members + R"(},{"name":"b",)" + members + "}]}}");
}

TEST(MpiPluginTest, AMasterWithoutAWorkerTaskIsLeftAsItIs) {
  const auto plugin = MakePlugin("mpi");
  ExpectJson(EditedPod(*plugin, TestView(TestJob("j", {{"master", 1}})), 0), kTestTemplate);
  const JobView job = TestView(TestJob("j", {{"master", 1}, {"other", 1}}));
  ExpectJson(EditedPod(*plugin, job, 0, 0), kTestTemplate);
  ExpectJson(EditedPod(*plugin, job, 1, 0), Pod(Port()));
}

TEST(MpiPluginTest, WithoutWorkersThereIsNoVariable) {
  const JobView job = TestView(TestJob("j", {{"master", 1}, {"worker", 0}}));
  ExpectJson(EditedPod(*MakePlugin("mpi"), job, 0), Pod(Port()));
}

TEST(MpiPluginTest, TheHostsFollowScaling) {
  const auto plugin = MakePlugin("mpi");
  const JobView one = TestView(TestJob("j", {{"master", 1}, {"worker", 1}}));
  ExpectJson(EditedPod(*plugin, one, 0), Pod(Port() + "," + Hosts("j-worker-0.j")));
  const JobView three = TestView(TestJob("j", {{"master", 1}, {"worker", 3}}));
  ExpectJson(EditedPod(*plugin, three, 0), Pod(Port() + "," + Hosts("j-worker-0.j,j-worker-1.j,j-worker-2.j")));
}

TEST(MpiPluginTest, TheHostsFollowTheHostnameAndSubdomainOfTheWorkersTemplate) {
  struct Row {
    std::string spec;
    int32_t replicas;
    std::string hosts;
  };
  for (const Row& row : {Row{R"({"hostname":"h","containers":[]})", 3, "h.j"},
                         Row{R"({"hostname":"h","subdomain":"s","containers":[]})", 3, "h.s"},
                         Row{R"({"subdomain":"s","containers":[]})", 2, "j-worker-0.s,j-worker-1.s"}}) {
    const JobView job =
        TestView(TestJob("j", {{"master", 1}, {"worker", row.replicas, R"({"spec":)" + row.spec + "}"}}));
    ExpectJson(EditedPod(*MakePlugin("mpi"), job, 0), Pod(Port() + "," + Hosts(row.hosts)));
  }
}

TEST(MpiPluginTest, ArgumentsNameTheTasksAndThePort) {
  const auto plugin = MakePlugin("mpi", Words({"--master=driver", "--worker=node", "--port=2222"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = TestView(TestJob("j", {{"driver", 1}, {"node", 2}, {"master", 1}, {"worker", 1}}));
  ExpectJson(EditedPod(*plugin, job, 0, 0), Pod(Port("2222") + "," + Hosts("j-node-0.j,j-node-1.j")));
  for (const size_t task : {1, 2, 3}) ExpectJson(EditedPod(*plugin, job, task, 0), Pod(Port("2222")));
}

TEST(MpiPluginTest, AContainerThatExposesThePortKeepsItsOwn) {
  const JobView job = TestView(TestJob("j", {{"worker", 1, R"({"spec":{
      "containers":[{"name":"a","ports":[{"name":"ssh","containerPort":22,"protocol":"TCP"}]},
                    {"name":"b","ports":[{"containerPort":2222}]},{"name":"c","ports":null}],
      "initContainers":[{"name":"i","ports":[{"containerPort":22}]}]}})"}}));
  ExpectJson(EditedPod(*MakePlugin("mpi"), job, 0), R"({"spec":{
      "containers":[{"name":"a","ports":[{"name":"ssh","containerPort":22,"protocol":"TCP"}]},
                    {"name":"b","ports":[{"containerPort":2222},{"name":"mpijob-port","containerPort":22}]},
                    {"name":"c","ports":[{"name":"mpijob-port","containerPort":22}]}],
      "initContainers":[{"name":"i","ports":[{"containerPort":22}]}]}})");
}

TEST(MpiPluginTest, ItsVariableStandsBeforeThoseOfTheTemplateAndIsNotDoubled) {
  const JobView job = TestView(TestJob("j", {{"master", 1, R"json({"spec":{"containers":[
      {"name":"c","env":[{"name":"X","value":"$(MPI_HOST)"}]},
      {"name":"d","env":[{"name":"MPI_HOST","value":"mine"}]}]}})json"},
                                             {"worker", 1}}));
  ExpectJson(EditedPod(*MakePlugin("mpi"), job, 0), R"json({"spec":{"containers":[
      {"name":"c","ports":[{"name":"mpijob-port","containerPort":22}],
       "env":[{"name":"MPI_HOST","value":"j-worker-0.j"},{"name":"X","value":"$(MPI_HOST)"}]},
      {"name":"d","ports":[{"name":"mpijob-port","containerPort":22}],
       "env":[{"name":"MPI_HOST","value":"mine"}]}]}})json");
}

TEST(MpiPluginTest, DoubtsAWorkerTaskThatThereIsNot) {
  struct Row {
    PluginArguments arguments;
    JobView job;
    std::vector<std::string> doubts;
  };
  const JobView usual = TestView(TestJob("j", {{"master", 1}, {"worker", 2}}));
  for (const Row& row :
       {Row{{}, usual, {}}, Row{{}, TestView(TestJob("j", {{"master", 1}, {"worker", 0}})), {}},
        Row{Words({"--worker=node"}), usual, {"in the task 'node', which does not exist"}},
        Row{{}, TestView(TestJob("j", {{"master", 1}})), {"in the task 'worker', which does not exist"}},
        Row{Words({"--worker="}), usual, {"in the task '', which does not exist"}}}) {
    ExpectDoubts(*MakePlugin("mpi", row.arguments), row.job, row.doubts);
  }
}

// 8260 hosts are 131058 bytes with the variable's name, 8261 are 131074; Linux takes 131071.
TEST(MpiPluginTest, RefusesHostsThatAreTooLongForAVariable) {
  const auto plugin = MakePlugin("mpi");
  const auto job = [](int32_t workers) { return TestView(TestJob("j", {{"master", 1}, {"worker", workers}})); };
  EXPECT_TRUE(plugin->Check(job(0)).ok());
  EXPECT_TRUE(plugin->Check(job(8260)).ok()) << plugin->Check(job(8260));
  ExpectInvalid(plugin->Check(job(8261)), "sets the variable MPI_HOST of 131074 bytes");
  EXPECT_TRUE(MakePlugin("mpi", Words({"--worker=other"}))->Check(job(8261)).ok()) << "nobody is told these hosts";
}

TEST(MpiPluginTest, WorkersThatShareAHostNameAlwaysFitInAVariable) {
  const JobView job = TestView(
      TestJob("j", {{"master", 1}, {"worker", 100'000, R"({"spec":{"hostname":"h","containers":[{"name":"c"}]}})"}}));
  EXPECT_TRUE(MakePlugin("mpi")->Check(job).ok());
}

TEST(MpiPluginTest, TakesNothingButPorts) { ExpectTakesPorts("mpi", "port", "22"); }

TEST(MpiPluginTest, AnArgumentThatItDoesNotKnowLeavesTheOthers) {
  const auto plugin = MakePlugin("mpi", Words({"--slots=2", "--worker=node"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "flag 'slots' is unknown");
  EXPECT_EQ(FlagValue(*plugin, "worker"), "node");
}

TEST(MpiPluginTest, WantsNoObjectsAndHasAMarker) {
  const auto plugin = MakePlugin("mpi");
  EXPECT_TRUE(plugin->Objects(TestView(TestJob("j", {{"master", 1}, {"worker", 2}}))).empty());
  EXPECT_TRUE(plugin->HasMarker());
}

}  // namespace
}  // namespace basalt::jobsvc
