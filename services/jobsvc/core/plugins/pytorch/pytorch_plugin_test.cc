#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

struct Settings {
  std::string address = "j-master-0.j";
  std::string port = "23456";
  std::string world = "3";
  std::string rank;  // Empty if the pod gets none.
};

// Returns the variables, without the brackets of their list.
std::string Variables(const Settings& settings) {
  std::string text = R"({"name":"MASTER_ADDR","value":")" + settings.address + R"("},{"name":"MASTER_PORT","value":")" +
                     settings.port + R"("},{"name":"WORLD_SIZE","value":")" + settings.world + R"("})";
  if (!settings.rank.empty()) text += R"(,{"name":"RANK","value":")" + settings.rank + R"("})";
  return text;
}

std::string Container(const Settings& settings) {
  return R"({"name":"c","ports":[{"name":"pytorchjob-port","containerPort":)" + settings.port + R"(}],"env":[)" +
         Variables(settings) + "]}";
}

// Returns the pod that pytorch makes from kTestTemplate.
std::string Pod(const Settings& settings, const std::string& init_containers = R"({"name":"i"})") {
  return R"({"spec":{"containers":[)" + Container(settings) + R"(],"initContainers":[)" + init_containers + "]}}";
}

std::string Wait(const std::string& image, std::string_view script) {
  return R"({"name":"wait-for-master","image":")" + image + R"(","command":["sh","-c",)" +
         ToText(json::value(ToJson(script))) + "]}";
}

constexpr std::string_view kScript = R"(begin=$(date +%s)
reached() {
  nc -z -w 2 'j-master-0.j' 23456 || nc -w 2 'j-master-0.j' 23456 -e true || timeout 2 bash -c '</dev/tcp/j-master-0.j/23456'
}
until reached >/dev/null 2>&1; do
  waited=$(($(date +%s) - begin))
  if [ "$waited" -ge 300 ]; then
    echo "j-master-0.j:23456 does not listen after $waited s"
    exit 1
  fi
  echo "waiting for j-master-0.j:23456 since $waited s"
  sleep 2
done
echo "j-master-0.j:23456 listens"
)";

TEST(PytorchPluginTest, TellsEveryPodTheMasterAndItsOwnRank) {
  const auto plugin = MakePlugin("pytorch");
  const JobView job = JobWith({{"master", 1}, {"worker", 2}, {"other", 2}});
  ExpectJson(EditedPod(*plugin, job, 0, 0), Pod({.rank = "0"}));
  ExpectJson(EditedPod(*plugin, job, 1, 0), Pod({.rank = "1"}));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Pod({.rank = "2"}));
  ExpectJson(EditedPod(*plugin, job, 1, 41), Pod({.rank = "42"}));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Pod({}));
  ExpectJson(EditedPod(*plugin, job, 2, 1), Pod({}));
}

TEST(PytorchPluginTest, TheSizeOfTheWorldCountsMastersAndWorkers) {
  struct Row {
    int32_t masters;
    int32_t workers;  // Negative if there is no task of workers.
    std::string world;
  };
  for (const Row& row :
       {Row{1, -1, "1"}, Row{1, 0, "1"}, Row{1, 1, "2"}, Row{1, 5, "6"}, Row{2, 5, "7"}, Row{0, 4, "4"}}) {
    kube::v1::Job job = TestJob("j", {{"master", row.masters}, {"other", 9}, {"worker", row.workers}});
    if (row.workers < 0) job.mutable_spec()->mutable_tasks()->RemoveLast();
    for (const int32_t index : {0, 1}) {
      ExpectJson(EditedPod(*MakePlugin("pytorch"), TestView(job), index), Pod({.world = row.world, .rank = "0"}));
    }
  }
}

TEST(PytorchPluginTest, AWorkersOwnHostnameChangesNothing) {
  const JobView job =
      JobWith({{"master", 1}, {"worker", 2, R"({"spec":{"hostname":"h","containers":[{"name":"c"}]}})"}});
  ExpectJson(EditedPod(*MakePlugin("pytorch"), job, 1, 1),
             R"({"spec":{"hostname":"h","containers":[)" + Container({.rank = "2"}) + "]}}");
}

TEST(PytorchPluginTest, ArgumentsNameTheTasksAndThePort) {
  const auto plugin = MakePlugin("pytorch", Words({"--master=chief", "--worker=node", "--port=1234"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = JobWith({{"chief", 1}, {"node", 3}, {"master", 1}, {"worker", 1}});
  const Settings settings = {.address = "j-chief-0.j", .port = "1234", .world = "4"};
  Settings chief = settings;
  chief.rank = "0";
  Settings node = settings;
  node.rank = "3";
  ExpectJson(EditedPod(*plugin, job, 0, 0), Pod(chief));
  ExpectJson(EditedPod(*plugin, job, 1, 2), Pod(node));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Pod(settings));
  ExpectJson(EditedPod(*plugin, job, 3, 0), Pod(settings));
}

TEST(PytorchPluginTest, WithoutAMasterTaskItDoesNothing) {
  const JobView job = JobWith({{"worker", 2}, {"other", 1}});
  const auto plugin = MakePlugin("pytorch", Words({"--wait-master-enabled"}));
  ExpectJson(EditedPod(*plugin, job, 0, 0), kTestTemplate);
  ExpectJson(EditedPod(*plugin, job, 1, 0), kTestTemplate);
}

TEST(PytorchPluginTest, ATaskThatIsMasterAndWorkerIsAMaster) {
  const JobView job = JobWith({{"node", 4}});
  const auto plugin = MakePlugin("pytorch", Words({"--master=node", "--worker=node", "--wait-master-enabled"}));
  ExpectJson(EditedPod(*plugin, job, 2), Pod({.address = "j-node-0.j", .world = "4", .rank = "0"}));
}

TEST(PytorchPluginTest, WorkersWaitForTheMasterWhenTold) {
  const auto plugin = MakePlugin("pytorch", Words({"--wait-master-enabled=true"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = JobWith({{"master", 1}, {"worker", 2}, {"other", 1}});
  ExpectJson(EditedPod(*plugin, job, 0, 0), Pod({.rank = "0"}));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Pod({.rank = "2"}, R"({"name":"i"},)" + Wait("busybox:1.36.1", kScript)));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Pod({}));
}

TEST(PytorchPluginTest, TheWaitIsTheOnlyInitContainerWhereThereIsNoOther) {
  for (const char* const own : {"", R"(,"initContainers":null)", R"(,"initContainers":[])"}) {
    const JobView job =
        JobWith({{"worker", 2, R"({"spec":{"containers":[{"name":"c"}])" + std::string(own) + "}}"}, {"master", 1}});
    ExpectJson(EditedPod(*MakePlugin("pytorch", Words({"--wait-master-enabled"})), job, 0),
               Pod({.rank = "1"}, Wait("busybox:1.36.1", kScript)));
  }
}

TEST(PytorchPluginTest, ArgumentsChangeTheWait) {
  const auto plugin = MakePlugin("pytorch", Words({"--wait-master-enabled", "--wait-master-timeout=45",
                                                   "--wait-master-image=mine:1", "--port=29500", "--master=chief"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job =
      JobWith({{"worker", 2}, {"chief", 1, R"({"spec":{"hostname":"h","subdomain":"s","containers":[]}})"}});
  std::string script(kScript);
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>("j-master-0.j", "h.s"),
                                 std::pair<std::string_view, std::string_view>("23456", "29500"),
                                 std::pair<std::string_view, std::string_view>("-ge 300", "-ge 45")}) {
    for (size_t at; (at = script.find(from)) != script.npos;) script.replace(at, from.size(), to);
  }
  ExpectJson(EditedPod(*plugin, job, 0),
             Pod({.address = "h.s", .port = "29500", .rank = "1"}, R"({"name":"i"},)" + Wait("mine:1", script)));
}

TEST(PytorchPluginTest, AContainerOfTheTemplateThatWaitsAlreadyStays) {
  const JobView job = JobWith({{"worker", 2, R"({"spec":{"containers":[{"name":"c"}],
      "initContainers":[{"name":"wait-for-master","image":"mine"},{"name":"i"}]}})"},
                               {"master", 1}});
  const auto plugin = MakePlugin("pytorch", Words({"--wait-master-enabled"}));
  ExpectJson(EditedPod(*plugin, job, 0),
             Pod({.rank = "1"}, R"({"name":"wait-for-master","image":"mine"},{"name":"i"})"));
}

// An ordinary container of that name does not wait, and Kubernetes refuses a pod with two containers of one name.
TEST(PytorchPluginTest, RefusesAnOrdinaryContainerOfThatNameWhereAWorkerWaits) {
  const std::string taken = R"({"spec":{"containers":[{"name":"c"},{"name":"wait-for-master"}]}})";
  const std::string waits = R"({"spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"wait-for-master"}]}})";
  const auto waiting = MakePlugin("pytorch", Words({"--wait-master-enabled"}));
  const JobView of_worker = JobWith({{"master", 1}, {"worker", 2, taken}});
  ExpectInvalid(waiting->Check(of_worker), "adds the container 'wait-for-master' to the pods of the task 'worker'");
  EXPECT_TRUE(MakePlugin("pytorch")->Check(of_worker).ok()) << "nobody waits";
  for (const JobView& job : {JobWith({{"master", 1, taken}, {"worker", 2}, {"other", 1, taken}}),
                             JobWith({{"master", 1}, {"worker", 2, waits}}), JobWith({{"worker", 2, taken}})}) {
    EXPECT_TRUE(waiting->Check(job).ok());
  }
}

TEST(PytorchPluginTest, DoubtsTasksThatThereAreNotAndRanksThatAreTheSame) {
  const JobView usual = JobWith({{"master", 1}, {"worker", 2}});
  ExpectDoubts(
      "pytorch",
      {DoubtRow{{}, usual, {}}, DoubtRow{{}, JobWith({{"master", 1}}), {}},
       DoubtRow{{}, JobWith({{"master", 1}, {"worker", 0}}), {}},
       DoubtRow{{}, JobWith({{"worker", 2}}), {"its master in the task 'master', which does not exist"}},
       DoubtRow{Words({"--master=chief"}), usual, {"its master in the task 'chief', which does not exist"}},
       DoubtRow{Words({"--worker=node"}), usual, {"its workers in the task 'node', which does not exist"}},
       DoubtRow{Words({"--worker=master"}), usual, {"has the task 'master' both as master and as worker"}},
       DoubtRow{{}, JobWith({{"master", 2}, {"worker", 2}}), {"has 2 masters, the pods of the task 'master'"}},
       DoubtRow{{},
                JobWith({{"master", 3}, {"other", 1}}),
                {"its workers in the task 'worker', which does not exist", "has 3 masters"}},
       DoubtRow{
           Words({"--worker=master"}), JobWith({{"master", 4}}), {"both as master and as worker", "has 4 masters"}}});
}

TEST(PytorchPluginTest, ComplainsOfAWaitThatItCannotUse) {
  struct Row {
    std::string word;
    std::string complaint;
  };
  for (const Row& row :
       {Row{"--wait-master-timeout=0", "flag 'wait-master-timeout': 0 is not between 1 and 2147483647"},
        Row{"--wait-master-timeout=-5", "flag 'wait-master-timeout': -5 is not between 1 and 2147483647"},
        Row{"--wait-master-timeout=2147483648",
            "flag 'wait-master-timeout': 2147483648 is not between 1 and 2147483647"},
        Row{"--wait-master-timeout=5m", "flag 'wait-master-timeout': '5m' is not a number"},
        Row{"--wait-master-enabled=yes", "flag 'wait-master-enabled': 'yes' is neither true nor false"}}) {
    const auto plugin = MakePlugin("pytorch", Words({row.word, "--wait-master-image=mine"}));
    EXPECT_EQ(plugin->ArgumentComplaint(), row.complaint);
    EXPECT_EQ(FlagValue(*plugin, "wait-master-timeout"), "300");
    EXPECT_EQ(FlagValue(*plugin, "wait-master-enabled"), "false");
    EXPECT_EQ(FlagValue(*plugin, "wait-master-image"), "mine") << "the words behind it count";
  }
}

}  // namespace
}  // namespace basalt::jobsvc
