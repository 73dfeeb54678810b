#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"

namespace basalt::jobsvc {
namespace {

const std::string& Template() {
  static const auto& kTemplate =
      *new std::string(R"({"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c"}]}})");
  return kTemplate;
}

// Returns the pod that hcclrank makes from Template().
std::string Ranked(const std::string& rank) {
  return R"({"metadata":{"labels":{"app":"a"},"annotations":{"hccl/rankIndex":")" + rank +
         R"("}},"spec":{"containers":[{"name":"c"}]}})";
}

// Returns the annotation of the pod. Empty if the pod has none.
std::string RankOf(const std::string& pod) {
  const json::value parsed = json::parse(pod);
  const json::value* const annotations = FindPath(parsed, {"metadata", "annotations"});
  return annotations == nullptr ? std::string() : std::string(FindString(*annotations, "hccl/rankIndex"));
}

JobView MastersAndWorkers(int32_t masters, int32_t workers) {
  return TestView(TestJob("j", {{"master", masters, Template()}, {"worker", workers, Template()}}));
}

TEST(HcclrankPluginTest, MastersComeFirstAndWorkersBehindThem) {
  const auto plugin = MakePlugin("hcclrank");
  const JobView job =
      TestView(TestJob("j", {{"worker", 3, Template()}, {"master", 2, Template()}, {"other", 2, Template()}}));
  ExpectJson(EditedPod(*plugin, job, 1, 0), Ranked("0"));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Ranked("1"));
  ExpectJson(EditedPod(*plugin, job, 0, 0), Ranked("2"));
  ExpectJson(EditedPod(*plugin, job, 0, 1), Ranked("3"));
  ExpectJson(EditedPod(*plugin, job, 0, 2), Ranked("4"));
  ExpectJson(EditedPod(*plugin, job, 0, 117), Ranked("119"));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Template());
  ExpectJson(EditedPod(*plugin, job, 2, 1), Template());
}

TEST(HcclrankPluginTest, ATemplateWithoutMetadataGetsSome) {
  const JobView job = TestView(TestJob("j", {{"master", 1}, {"worker", 2}}));
  ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 1, 1),
             R"({"metadata":{"annotations":{"hccl/rankIndex":"2"}},
                 "spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"i"}]}})");
}

TEST(HcclrankPluginTest, WithoutMastersTheWorkersBeginAtZero) {
  const auto plugin = MakePlugin("hcclrank");
  ExpectJson(EditedPod(*plugin, TestView(TestJob("j", {{"worker", 2, Template()}})), 0), Ranked("0"));
  ExpectJson(EditedPod(*plugin, TestView(TestJob("j", {{"worker", 2, Template()}})), 1), Ranked("1"));
  ExpectJson(EditedPod(*plugin, MastersAndWorkers(0, 2), 1, 1), Ranked("1"));
}

TEST(HcclrankPluginTest, AMasterAloneHasRankZero) {
  ExpectJson(EditedPod(*MakePlugin("hcclrank"), TestView(TestJob("j", {{"master", 1, Template()}})), 0), Ranked("0"));
}

TEST(HcclrankPluginTest, ScalingTheMastersMovesTheWorkersMadeAfterwards) {
  const auto plugin = MakePlugin("hcclrank");
  ExpectJson(EditedPod(*plugin, MastersAndWorkers(1, 4), 1, 3), Ranked("4"));
  ExpectJson(EditedPod(*plugin, MastersAndWorkers(1, 8), 1, 3), Ranked("4"));
  ExpectJson(EditedPod(*plugin, MastersAndWorkers(3, 8), 1, 3), Ranked("6"));
}

TEST(HcclrankPluginTest, AHostnameOfTheTemplateChangesNoRank) {
  const std::string shared = R"({"spec":{"hostname":"h","subdomain":"s","containers":[{"name":"c"}]}})";
  const JobView job = TestView(TestJob("j", {{"master", 2, shared}, {"worker", 2, shared}}));
  ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 1, 1), R"({"metadata":{"annotations":{"hccl/rankIndex":"3"}},
      "spec":{"hostname":"h","subdomain":"s","containers":[{"name":"c"}]}})");
}

TEST(HcclrankPluginTest, ArgumentsNameTheTasks) {
  const auto plugin = MakePlugin("hcclrank", Words({"--master=chief", "--worker=node"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "");
  const JobView job = TestView(TestJob(
      "j", {{"chief", 1, Template()}, {"node", 2, Template()}, {"master", 5, Template()}, {"worker", 5, Template()}}));
  ExpectJson(EditedPod(*plugin, job, 0, 0), Ranked("0"));
  ExpectJson(EditedPod(*plugin, job, 1, 0), Ranked("1"));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Ranked("2"));
  ExpectJson(EditedPod(*plugin, job, 2, 0), Template());
  ExpectJson(EditedPod(*plugin, job, 3, 0), Template());
}

TEST(HcclrankPluginTest, OfARenamedMasterTheWorkersStillComeBehind) {
  const JobView job = TestView(TestJob("j", {{"chief", 1, Template()}, {"worker", 2, Template()}}));
  const auto plugin = MakePlugin("hcclrank", Words({"--master=chief"}));
  ExpectJson(EditedPod(*plugin, job, 0, 0), Ranked("0"));
  ExpectJson(EditedPod(*plugin, job, 1, 0), Ranked("1"));
  ExpectJson(EditedPod(*plugin, job, 1, 1), Ranked("2"));
}

TEST(HcclrankPluginTest, ARankInTheEnvironmentOfTheTemplateComesBefore) {
  struct Row {
    std::string spec;
    std::string rank;  // Rank of worker 1, which otherwise has rank 2.
  };
  const std::string from_field = R"({"name":"RANK","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}})";
  for (const Row& row :
       {Row{R"({"containers":[{"name":"c","env":[{"name":"A","value":"5"},{"name":"RANK","value":"7"}]}]})", "7"},
        Row{R"({"containers":[{"name":"c"},{"name":"d","env":[{"name":"RANK","value":"8"}]}]})", "8"},
        Row{R"({"containers":[{"name":"c","env":[{"name":"RANK","value":"7"}]},
                              {"name":"d","env":[{"name":"RANK","value":"8"}]}]})",
            "7"},
        Row{R"({"containers":[{"name":"c","env":[{"name":"RANK","value":"7"},{"name":"RANK","value":"9"}]}]})", "7"},
        Row{R"({"containers":[{"name":"c","env":[)" + from_field + R"(,{"name":"RANK","value":"9"}]}]})", "9"},
        Row{R"({"containers":[{"name":"c","env":[)" + from_field + "]}]}", "2"},
        Row{R"({"containers":[{"name":"c","env":[{"name":"RANK","value":""}]}]})", "2"},
        Row{R"({"containers":[{"name":"c","env":null}]})", "2"},
        Row{R"({"containers":[{"name":"c","env":[{"name":"rank","value":"7"}]}]})", "2"},
        Row{R"({"containers":[{"name":"c"}],"initContainers":[{"name":"i","env":[{"name":"RANK","value":"7"}]}]})",
            "2"}}) {
    const JobView job = TestView(TestJob("j", {{"worker", 2, R"({"spec":)" + row.spec + "}"}, {"master", 1}}));
    ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 1),
               R"({"metadata":{"annotations":{"hccl/rankIndex":")" + row.rank + R"("}},"spec":)" + row.spec + "}");
  }
}

TEST(HcclrankPluginTest, APodOfAnotherTaskHasTheRankOfItsEnvironment) {
  const JobView job = TestView(
      TestJob("j", {{"other", 1, R"({"spec":{"containers":[{"name":"c","env":[{"name":"RANK","value":"7"}]}]}})"}}));
  EXPECT_EQ(RankOf(EditedPod(*MakePlugin("hcclrank"), job, 0)), "7");
}

TEST(HcclrankPluginTest, AnAnnotationOfTheTemplateComesBeforeAllElse) {
  const std::string own = R"({"metadata":{"annotations":{"hccl/rankIndex":"5","a":"b"}},
      "spec":{"containers":[{"name":"c","env":[{"name":"RANK","value":"7"}]}]}})";
  const JobView job = TestView(TestJob("j", {{"master", 1, own}, {"worker", 1, own}, {"other", 1, own}}));
  for (const size_t task : {0, 1, 2}) ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, task, 0), own);
}

TEST(HcclrankPluginTest, AnEmptyAnnotationOfTheTemplateIsFilledIn) {
  const std::string spec = R"("spec":{"containers":[{"name":"c"}]})";
  struct Row {
    std::string metadata;
    std::string wanted;
  };
  for (const Row& row :
       {Row{R"({"annotations":{"hccl/rankIndex":"","a":"b"}})", R"({"annotations":{"hccl/rankIndex":"1","a":"b"}})"},
        Row{R"({"annotations":{}})", R"({"annotations":{"hccl/rankIndex":"1"}})"},
        Row{R"({"annotations":null})", R"({"annotations":{"hccl/rankIndex":"1"}})"},
        Row{"null", R"({"annotations":{"hccl/rankIndex":"1"}})"}}) {
    const std::string own = R"({"metadata":)" + row.metadata + "," + spec + "}";
    const JobView job = TestView(TestJob("j", {{"worker", 1, own}, {"master", 1}}));
    ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 0), R"({"metadata":)" + row.wanted + "," + spec + "}");
  }
}

// There are two masters: alone, the plugin would count workers from 2 and give the masters different ranks.
TEST(HcclrankPluginTest, BehindPytorchTheRankIsPytorchs) {
  const auto pytorch = MakePlugin("pytorch");
  const auto hcclrank = MakePlugin("hcclrank");
  const JobView job =
      TestView(TestJob("j", {{"master", 2, Template()}, {"worker", 3, Template()}, {"other", 1, Template()}}));
  struct Row {
    size_t task;
    int32_t index;
    std::string rank;
  };
  const std::string env = R"("ports":[{"name":"pytorchjob-port","containerPort":23456}],
      "env":[{"name":"MASTER_ADDR","value":"j-master-0.j"},{"name":"MASTER_PORT","value":"23456"},
             {"name":"WORLD_SIZE","value":"5"})";
  for (const Row& row :
       {Row{0, 0, "0"}, Row{0, 1, "0"}, Row{1, 0, "1"}, Row{1, 1, "2"}, Row{1, 2, "3"}, Row{1, 57, "58"}}) {
    ExpectJson(PodEditedBy({pytorch.get(), hcclrank.get()}, job, row.task, row.index),
               R"({"metadata":{"labels":{"app":"a"},"annotations":{"hccl/rankIndex":")" + row.rank +
                   R"("}},"spec":{"containers":[{"name":"c",)" + env + R"(,{"name":"RANK","value":")" + row.rank +
                   R"("}]}]}})");
  }
  ExpectJson(PodEditedBy({pytorch.get(), hcclrank.get()}, job, 2, 0),
             R"({"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c",)" + env + "]}]}}");
}

TEST(HcclrankPluginTest, ARankOfTheTemplateComesBeforePytorchs) {
  const JobView job = TestView(TestJob(
      "j",
      {{"worker", 2, R"({"spec":{"containers":[{"name":"c","env":[{"name":"RANK","value":"9"}]}]}})"}, {"master", 1}}));
  EXPECT_EQ(RankOf(PodEditedBy({MakePlugin("pytorch").get(), MakePlugin("hcclrank").get()}, job, 0, 1)), "9");
}

TEST(HcclrankPluginTest, WithoutAMasterForPytorchItCountsByItself) {
  const JobView job = TestView(TestJob("j", {{"worker", 2, Template()}}));
  ExpectJson(PodEditedBy({MakePlugin("pytorch").get(), MakePlugin("hcclrank").get()}, job, 0, 1), Ranked("1"));
}

TEST(HcclrankPluginTest, DoubtsAJobWithoutItsTasks) {
  struct Row {
    PluginArguments arguments;
    JobView job;
    std::vector<std::string> doubts;
  };
  for (const Row& row :
       {Row{{}, MastersAndWorkers(1, 2), {}}, Row{{}, TestView(TestJob("j", {{"master", 1}, {"other", 1}})), {}},
        Row{{}, TestView(TestJob("j", {{"worker", 1}})), {}},
        Row{{}, TestView(TestJob("j", {{"a", 1}})), {"for the tasks 'master' and 'worker', of which none exists"}},
        Row{Words({"--master=a"}), MastersAndWorkers(1, 2), {}},
        Row{Words({"--master=a", "--worker=b"}),
            MastersAndWorkers(1, 2),
            {"for the tasks 'a' and 'b', of which none exists"}}}) {
    ExpectDoubts(*MakePlugin("hcclrank", row.arguments), row.job, row.doubts);
  }
}

TEST(HcclrankPluginTest, AnArgumentThatItDoesNotKnowLeavesTheOthers) {
  const auto plugin = MakePlugin("hcclrank", Words({"--port=80", "--master=chief"}));
  EXPECT_EQ(plugin->ArgumentComplaint(), "flag 'port' is unknown");
  EXPECT_EQ(FlagValue(*plugin, "master"), "chief");
}

TEST(HcclrankPluginTest, WantsNoObjectsAndHasNoMarker) {
  const auto plugin = MakePlugin("hcclrank");
  EXPECT_TRUE(plugin->Objects(MastersAndWorkers(1, 2)).empty());
  EXPECT_FALSE(plugin->HasMarker());
  EXPECT_TRUE(plugin->Check(MastersAndWorkers(1, 100'000)).ok());
}

}  // namespace
}  // namespace basalt::jobsvc
