#include <fmt/format.h>
#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kHead = R"({"spec":{"containers":[{"name":"head"}]}})";
constexpr std::string_view kWorker = R"({"spec":{"containers":[{"name":"worker"}]}})";

const std::string& HeadPod() {
  static const auto& kPod = *new std::string(R"({"spec":{"containers":[{"name":"head","ports":[
      {"name":"gcs","containerPort":6379},{"name":"dashboard","containerPort":8265},
      {"name":"client-server","containerPort":10001}],
    "command":["sh","-c","ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265 --ray-client-server-port=10001"]}]}})");
  return kPod;
}

std::string WorkerPod(const std::string& address) {
  return R"({"spec":{"containers":[{"name":"worker","command":["sh","-c","ray start --block --address=)" + address +
         R"("]}]}})";
}

JobView Cluster(int32_t workers) {
  return JobWith({{"head", 1, std::string(kHead)}, {"worker", workers, std::string(kWorker)}});
}

TEST(RayPluginTest, TheHeadStartsAndTheWorkersJoinIt) {
  const auto plugin = MakePlugin("ray");
  const JobView job = Cluster(2);
  ExpectJson(EditedPod(*plugin, job, 0, 0), HeadPod());
  ExpectJson(EditedPod(*plugin, job, 1, 0), WorkerPod("j-head-0.j:6379"));
  ExpectJson(EditedPod(*plugin, job, 1, 7), WorkerPod("j-head-0.j:6379"));
}

TEST(RayPluginTest, ScalingTheWorkersChangesNoPodAndNoService) {
  const auto plugin = MakePlugin("ray");
  for (const int32_t workers : {0, 1, 50}) {
    ExpectJson(EditedPod(*plugin, Cluster(workers), 0, 0), HeadPod());
    ExpectJson(EditedPod(*plugin, Cluster(workers), 1, 0), WorkerPod("j-head-0.j:6379"));
    EXPECT_EQ(plugin->Objects(Cluster(workers)).front().hash, plugin->Objects(Cluster(2)).front().hash);
  }
}

TEST(RayPluginTest, OtherTasksAreLeftAsTheyAre) {
  const std::string other = R"({"spec":{"containers":[{"name":"head"},{"name":"worker"}]}})";
  const JobView job = JobWith({{"other", 1, other}, {"head", 1, std::string(kHead)}});
  ExpectJson(EditedPod(*MakePlugin("ray"), job, 0), other);
}

TEST(RayPluginTest, OnlyTheContainersOfThatNameAreEdited) {
  const auto plugin = MakePlugin("ray");
  const JobView job =
      JobWith({{"head", 1, R"({"spec":{"containers":[{"name":"side","command":["a"]},{"name":"head"},{"name":"worker"}],
                                    "initContainers":[{"name":"head","command":["b"]}]}})"},
               {"worker", 1, R"({"spec":{"containers":[{"name":"head"},{"name":"worker"}],
                                      "initContainers":[{"name":"worker"}]}})"},
               {"none", 1}});
  const json::value head = json::parse(EditedPod(*plugin, job, 0, 0));
  ExpectJson(ToText(head.at("spec").at("containers").as_array().at(1)),
             ToText(json::parse(HeadPod()).at("spec").at("containers").as_array().at(0)));
  ExpectJson(ToText(head.at("spec").at("containers").as_array().at(0)), R"({"name":"side","command":["a"]})");
  ExpectJson(ToText(head.at("spec").at("containers").as_array().at(2)), R"({"name":"worker"})");
  ExpectJson(ToText(head.at("spec").at("initContainers")), R"([{"name":"head","command":["b"]}])");
  ExpectJson(EditedPod(*plugin, job, 1, 0), R"({"spec":{"containers":[{"name":"head"},
      {"name":"worker","command":["sh","-c","ray start --block --address=j-head-0.j:6379"]}],
    "initContainers":[{"name":"worker"}]}})");
  ExpectJson(EditedPod(*plugin, job, 2, 0), kTestTemplate);
}

TEST(RayPluginTest, ACommandIsReplacedAndItsArgumentsStay) {
  const JobView job =
      JobWith({{"worker", 1, R"({"spec":{"containers":[{"name":"worker","command":["sleep"],"args":["1"]}]}})"},
               {"head", 1, std::string(kHead)}});
  ExpectJson(EditedPod(*MakePlugin("ray"), job, 0), R"({"spec":{"containers":[{"name":"worker","args":["1"],
      "command":["sh","-c","ray start --block --address=j-head-0.j:6379"]}]}})");
}

TEST(RayPluginTest, DoubtsACommandThatItReplaces) {
  struct Row {
    const char* members;
    const char* doubt;
  };
  for (
      const Row& row :
      {Row{R"("command":["python","a.py"])",
           R"(replaces the command of the container '{0}' of the task '{0}' by ray start: ["python","a.py"] never runs)"},
       Row{R"("command":["python"],"args":["a.py"])", R"(replaces the command of the container '{0}')"},
       Row{R"("args":["a.py"])",
           R"(replaces the args of the container '{0}' of the task '{0}' by ray start: ["a.py"])"},
       Row{R"("command":[],"args":null)", nullptr}, Row{R"("command":"x")", nullptr}}) {
    const auto pod = [&row](const char* container) {
      return fmt::format(R"({{"spec":{{"containers":[{{"name":"{}",{}}},{{"name":"side","command":["x"]}}]}}}})",
                         container, row.members);
    };
    std::vector<std::string> doubts;
    for (const char* const task : {"head", "worker"}) {
      if (row.doubt != nullptr) doubts.push_back(fmt::format(fmt::runtime(row.doubt), task));
    }
    const JobView job = JobWith({{"head", 1, pod("head")}, {"worker", 1, pod("worker")}});
    ExpectDoubts(*MakePlugin("ray"), job, doubts);
  }
}

TEST(RayPluginTest, MakesTheServiceOfTheHead) {
  const std::vector<WantedObject> objects = MakePlugin("ray")->Objects(Cluster(2));
  ASSERT_EQ(objects.size(), 1u);
  const WantedObject& service = objects[0];
  EXPECT_EQ(service.plugin, "ray");
  EXPECT_EQ(service.group, "");
  EXPECT_EQ(service.version, "v1");
  EXPECT_EQ(service.kind, "Service");
  EXPECT_EQ(service.Key(), "services/j-head-svc");
  EXPECT_EQ(service.object_namespace, "ns");
  EXPECT_EQ(service.on_change, WantedObject::OnChange::kLeave);
  EXPECT_EQ(service.patch, "");
  EXPECT_EQ(service.hash.size(), 16u);
  EXPECT_FALSE(service.needs_ssh_keys);
  ExpectJson(service.json, R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"j-head-svc","namespace":"ns",
      "ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"uid-1",
                          "controller":true,"blockOwnerDeletion":true}]},
    "spec":{"type":"ClusterIP",
      "selector":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns","volcano.sh/task-spec":"head"},
      "ports":[{"name":"gcs","protocol":"TCP","port":6379,"targetPort":"gcs"},
               {"name":"dashboard","protocol":"TCP","port":8265,"targetPort":"dashboard"},
               {"name":"client-server","protocol":"TCP","port":10001,"targetPort":"client-server"}]}})");
}

TEST(RayPluginTest, ArgumentsNameTasksContainersAndPorts) {
  const auto plugin =
      MakePlugin("ray", Words({"--head=boss", "--headContainer=main", "--worker=node", "--workerContainer=run",
                               "--port=1", "--dashboardPort=2", "--clientPort=3"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = JobWith({{"boss", 1, R"({"spec":{"containers":[{"name":"main"}]}})"},
                               {"node", 1, R"({"spec":{"containers":[{"name":"run"}]}})"},
                               {"head", 1, std::string(kHead)},
                               {"worker", 1, std::string(kWorker)}});
  ExpectJson(EditedPod(*plugin, job, 0, 0), R"({"spec":{"containers":[{"name":"main","ports":[
      {"name":"gcs","containerPort":1},{"name":"dashboard","containerPort":2},{"name":"client-server","containerPort":3}],
    "command":["sh","-c","ray start --head --block --dashboard-host=0.0.0.0 --port=1 --dashboard-port=2 --ray-client-server-port=3"]}]}})");
  ExpectJson(EditedPod(*plugin, job, 1, 0), R"({"spec":{"containers":[{"name":"run",
      "command":["sh","-c","ray start --block --address=j-boss-0.j:1"]}]}})");
  ExpectJson(EditedPod(*plugin, job, 2, 0), kHead);
  ExpectJson(EditedPod(*plugin, job, 3, 0), kWorker);
  const json::value service = json::parse(plugin->Objects(job).front().json);
  ExpectJson(ToText(service.at("spec")), R"({"type":"ClusterIP",
      "selector":{"volcano.sh/job-name":"j","volcano.sh/job-namespace":"ns","volcano.sh/task-spec":"boss"},
      "ports":[{"name":"gcs","protocol":"TCP","port":1,"targetPort":"gcs"},
               {"name":"dashboard","protocol":"TCP","port":2,"targetPort":"dashboard"},
               {"name":"client-server","protocol":"TCP","port":3,"targetPort":"client-server"}]})");
  EXPECT_NE(plugin->Objects(job).front().hash, MakePlugin("ray")->Objects(job).front().hash);
}

TEST(RayPluginTest, TheClientPortHasTwoNames) {
  struct Row {
    PluginArguments arguments;
    std::string port;
  };
  for (const Row& row : {Row{Words({"--clientPort=7"}), "7"}, Row{Words({"--clientServerPort=7"}), "7"},
                         Row{Words({"--clientServerPort=7", "--clientPort=8"}), "8"},
                         Row{Words({"--clientPort=8", "--clientServerPort=7"}), "7"}}) {
    const auto plugin = MakePlugin("ray", row.arguments);
    EXPECT_EQ(plugin->ArgumentComplaint(), "");
    EXPECT_EQ(FlagValue(*plugin, "clientPort"), row.port);
    EXPECT_EQ(FlagValue(*plugin, "clientServerPort"), row.port);
    EXPECT_NE(EditedPod(*plugin, Cluster(1), 0).find("--ray-client-server-port=" + row.port + "\""), std::string::npos);
  }
}

TEST(RayPluginTest, WithoutAHeadTaskNoPodCanBeMade) {
  const JobView job = JobWith({{"worker", 1, std::string(kWorker)}, {"other", 1}});
  for (const TaskView& task : job.tasks) {
    json::object pod = task.pod_template;
    PodEdit edit(job, task, pod, "MARK");
    ExpectInvalid(MakePlugin("ray")->OnPod(edit), "ray works on the task 'head', which does not exist");
    ExpectInvalid(MakePlugin("ray", Words({"--head=boss"}))->OnPod(edit), "the task 'boss', which does not exist");
  }
}

TEST(RayPluginTest, DoubtsAClusterThatNobodyJoins) {
  const std::string head(kHead);
  const std::string worker(kWorker);
  const std::string init =
      R"({"spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"head"},{"name":"worker"}]}})";
  const std::string no_head = "in the container 'head', which the task 'head' does not have: no head is started";
  const std::string no_worker = "in the container 'worker', which the task 'worker' does not have: nobody joins";
  ExpectDoubts(
      "ray",
      {DoubtRow{{}, Cluster(2), {}}, DoubtRow{{}, JobWith({{"head", 1, head}}), {}},
       DoubtRow{{}, JobWith({{"worker", 1, worker}}), {}},
       DoubtRow{{}, JobWith({{"head", 1}, {"worker", 1, worker}}), {no_head}},
       DoubtRow{{}, JobWith({{"head", 1, head}, {"worker", 1}}), {no_worker}},
       DoubtRow{{}, JobWith({{"head", 1, init}, {"worker", 1, init}}), {no_head, no_worker}},
       DoubtRow{Words({"--headContainer=main"}),
                Cluster(1),
                {"in the container 'main', which the task 'head' does not have"}},
       DoubtRow{
           Words({"--workerContainer=run"}), Cluster(1), {"in the container 'run', which the task 'worker' does not"}},
       DoubtRow{{}, JobWith({{"head", 2, head}, {"worker", 1, worker}}), {"has 2 heads, the pods of the task"}},
       DoubtRow{{},
                JobWith({{"head", 1, head}, {"other", 1}}),
                {"for its workers in the task 'worker', which does not exist"}},
       DoubtRow{Words({"--worker=node"}), Cluster(1), {"for its workers in the task 'node', which does not exist"}},
       DoubtRow{Words({"--worker=node"}),
                JobWith({{"head", 3}, {"worker", 1, worker}}),
                {no_head, "has 3 heads", "in the task 'node', which does not exist"}}});
}

TEST(RayPluginTest, RefusesOneNumberForTwoPorts) {
  for (const char* const argument : {"--port=8265", "--port=10001", "--dashboardPort=10001", "--clientPort=6379"}) {
    ExpectInvalid(MakePlugin("ray", Words({argument}))->Check(Cluster(1)), "has one port twice among --port=");
  }
  EXPECT_TRUE(MakePlugin("ray", Words({"--port=1", "--dashboardPort=2", "--clientPort=3"}))->Check(Cluster(1)).ok());
}

// The Service finds ports by their names.
TEST(RayPluginTest, DoubtsPortsThatTheServiceDoesNotLeadTo) {
  struct Row {
    const char* ports;
    std::vector<std::string> doubts;
  };
  for (const Row& row :
       {Row{R"([{"name":"dashboard","containerPort":8265},{"name":"web","containerPort":80},{"containerPort":81}])",
            {}},
        Row{R"([{"name":"web","containerPort":8265}])",
            {"finds the port 8265 in the container 'head' under another name than 'dashboard'"}},
        Row{R"([{"containerPort":6379},{"name":"clients","containerPort":10001}])",
            {"finds the port 6379 in the container 'head' under another name than 'gcs'",
             "finds the port 10001 in the container 'head' under another name than 'client-server'"}},
        Row{R"([{"name":"dashboard","containerPort":9000}])",
            {"finds the name 'dashboard' in the container 'head' at the port 9000, not at 8265"}}}) {
    const std::string head = std::string(R"({"spec":{"containers":[{"name":"head","ports":)") + row.ports + "}]}}";
    ExpectDoubts(*MakePlugin("ray"), JobWith({{"head", 1, head}}), row.doubts);
  }
}

TEST(RayPluginTest, RefusesNoJobForItsSize) { EXPECT_TRUE(MakePlugin("ray")->Check(Cluster(100'000)).ok()); }

}  // namespace
}  // namespace basalt::jobsvc
