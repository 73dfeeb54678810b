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

TEST(MpiPluginTest, TellsMastersTheHostsAndExposesThePortEverywhere) {
  const auto plugin = MakePlugin("mpi");
  const JobView job = JobWith({{"master", 2}, {"worker", 2}, {"other", 1}});
  const std::string master = Pod(Port() + "," + Hosts("j-worker-0.j,j-worker-1.j"));
  ExpectJson(EditedPod(*plugin, job, 0, 0), master);
  ExpectJson(EditedPod(*plugin, job, 0, 1), master);
  ExpectJson(EditedPod(*plugin, job, 1, 0), Pod(Port()));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Pod(Port()));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Pod(Port()));
}

TEST(MpiPluginTest, AMasterWithoutAWorkerTaskIsLeftAsItIs) {
  const auto plugin = MakePlugin("mpi");
  ExpectJson(EditedPod(*plugin, JobWith({{"master", 1}}), 0), kTestTemplate);
  const JobView job = JobWith({{"master", 1}, {"other", 1}});
  ExpectJson(EditedPod(*plugin, job, 0, 0), kTestTemplate);
  ExpectJson(EditedPod(*plugin, job, 1, 0), Pod(Port()));
}

TEST(MpiPluginTest, WithoutWorkersThereIsNoVariable) {
  const JobView job = JobWith({{"master", 1}, {"worker", 0}});
  ExpectJson(EditedPod(*MakePlugin("mpi"), job, 0), Pod(Port()));
}

TEST(MpiPluginTest, ArgumentsNameTheTasksAndThePort) {
  const auto plugin = MakePlugin("mpi", Words({"--master=driver", "--worker=node", "--port=2222"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = JobWith({{"driver", 1}, {"node", 2}, {"master", 1}, {"worker", 1}});
  ExpectJson(EditedPod(*plugin, job, 0, 0), Pod(Port("2222") + "," + Hosts("j-node-0.j,j-node-1.j")));
  for (const size_t task : {1, 2, 3}) ExpectJson(EditedPod(*plugin, job, task, 0), Pod(Port("2222")));
}

TEST(MpiPluginTest, DoubtsAWorkerTaskThatThereIsNot) {
  const JobView usual = JobWith({{"master", 1}, {"worker", 2}});
  ExpectDoubts("mpi", {DoubtRow{{}, usual, {}}, DoubtRow{{}, JobWith({{"master", 1}, {"worker", 0}}), {}},
                       DoubtRow{Words({"--worker=node"}), usual, {"in the task 'node', which does not exist"}},
                       DoubtRow{{}, JobWith({{"master", 1}}), {"in the task 'worker', which does not exist"}},
                       DoubtRow{Words({"--worker="}), usual, {"in the task '', which does not exist"}}});
}

// 8260 hosts are 131058 bytes with the variable's name, 8261 are 131074; Linux takes 131071.
TEST(MpiPluginTest, RefusesHostsThatAreTooLongForAVariable) {
  const auto plugin = MakePlugin("mpi");
  const auto job = [](int32_t workers) { return JobWith({{"master", 1}, {"worker", workers}}); };
  EXPECT_TRUE(plugin->Check(job(0)).ok());
  EXPECT_TRUE(plugin->Check(job(8260)).ok()) << plugin->Check(job(8260));
  ExpectInvalid(plugin->Check(job(8261)), "sets the variable MPI_HOST of 131074 bytes");
  EXPECT_TRUE(MakePlugin("mpi", Words({"--worker=other"}))->Check(job(8261)).ok()) << "nobody is told these hosts";
}

}  // namespace
}  // namespace basalt::jobsvc
