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
  return JobWith({{"master", masters, Template()}, {"worker", workers, Template()}});
}

TEST(HcclrankPluginTest, MastersComeFirstAndWorkersBehindThem) {
  struct Row {
    PluginArguments arguments;
    JobView job;
    size_t task;
    int32_t index;
    std::string rank;  // Empty if the pod has none.
  };
  const std::string& t = Template();
  const JobView usual = JobWith({{"worker", 3, t}, {"master", 2, t}, {"other", 2, t}});
  const JobView renamed = JobWith({{"chief", 1, t}, {"node", 2, t}, {"master", 5, t}, {"worker", 5, t}});
  const JobView workers = JobWith({{"worker", 2, t}});
  const PluginArguments both = Words({"--master=chief", "--worker=node"});
  for (const Row& row : {Row{{}, usual, 1, 0, "0"},
                         Row{{}, usual, 1, 1, "1"},
                         Row{{}, usual, 0, 0, "2"},
                         Row{{}, usual, 0, 1, "3"},
                         Row{{}, usual, 0, 2, "4"},
                         Row{{}, usual, 0, 117, "119"},
                         Row{{}, usual, 2, 0, ""},
                         Row{{}, usual, 2, 1, ""},
                         Row{{}, workers, 0, 0, "0"},
                         Row{{}, workers, 0, 1, "1"},
                         Row{{}, MastersAndWorkers(0, 2), 1, 1, "1"},
                         Row{{}, JobWith({{"master", 1, t}}), 0, 0, "0"},
                         Row{{}, MastersAndWorkers(1, 4), 1, 3, "4"},
                         Row{{}, MastersAndWorkers(1, 8), 1, 3, "4"},
                         Row{{}, MastersAndWorkers(3, 8), 1, 3, "6"},
                         Row{both, renamed, 0, 0, "0"},
                         Row{both, renamed, 1, 0, "1"},
                         Row{both, renamed, 1, 1, "2"},
                         Row{both, renamed, 2, 0, ""},
                         Row{both, renamed, 3, 0, ""},
                         Row{Words({"--master=chief"}), JobWith({{"chief", 1, t}, {"worker", 2, t}}), 1, 1, "2"}}) {
    SCOPED_TRACE(row.job.tasks[row.task].name + " " + std::to_string(row.index));
    const auto plugin = MakePlugin("hcclrank", row.arguments);
    ExpectJson(EditedPod(*plugin, row.job, row.task, row.index), row.rank.empty() ? t : Ranked(row.rank));
  }
}

TEST(HcclrankPluginTest, ATemplateWithoutMetadataGetsSome) {
  const JobView job = JobWith({{"master", 1}, {"worker", 2}});
  ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 1, 1),
             R"({"metadata":{"annotations":{"hccl/rankIndex":"2"}},
                 "spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"i"}]}})");
}

TEST(HcclrankPluginTest, AHostnameOfTheTemplateChangesNoRank) {
  const std::string shared = R"({"spec":{"hostname":"h","subdomain":"s","containers":[{"name":"c"}]}})";
  const JobView job = JobWith({{"master", 2, shared}, {"worker", 2, shared}});
  ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 1, 1), R"({"metadata":{"annotations":{"hccl/rankIndex":"3"}},
      "spec":{"hostname":"h","subdomain":"s","containers":[{"name":"c"}]}})");
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
    const JobView job = JobWith({{"worker", 2, R"({"spec":)" + row.spec + "}"}, {"master", 1}});
    ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 1),
               R"({"metadata":{"annotations":{"hccl/rankIndex":")" + row.rank + R"("}},"spec":)" + row.spec + "}");
  }
}

TEST(HcclrankPluginTest, APodOfAnotherTaskHasTheRankOfItsEnvironment) {
  const JobView job =
      JobWith({{"other", 1, R"({"spec":{"containers":[{"name":"c","env":[{"name":"RANK","value":"7"}]}]}})"}});
  EXPECT_EQ(RankOf(EditedPod(*MakePlugin("hcclrank"), job, 0)), "7");
}

TEST(HcclrankPluginTest, AnAnnotationOfTheTemplateComesBeforeAllElse) {
  const std::string own = R"({"metadata":{"annotations":{"hccl/rankIndex":"5","a":"b"}},
      "spec":{"containers":[{"name":"c","env":[{"name":"RANK","value":"7"}]}]}})";
  const JobView job = JobWith({{"master", 1, own}, {"worker", 1, own}, {"other", 1, own}});
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
    const JobView job = JobWith({{"worker", 1, own}, {"master", 1}});
    ExpectJson(EditedPod(*MakePlugin("hcclrank"), job, 0), R"({"metadata":)" + row.wanted + "," + spec + "}");
  }
}

// There are two masters: alone, the plugin would count workers from 2 and give the masters different ranks.
TEST(HcclrankPluginTest, BehindPytorchTheRankIsPytorchs) {
  const auto pytorch = MakePlugin("pytorch");
  const auto hcclrank = MakePlugin("hcclrank");
  const JobView job = JobWith({{"master", 2, Template()}, {"worker", 3, Template()}, {"other", 1, Template()}});
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
  const JobView job = JobWith(
      {{"worker", 2, R"({"spec":{"containers":[{"name":"c","env":[{"name":"RANK","value":"9"}]}]}})"}, {"master", 1}});
  EXPECT_EQ(RankOf(PodEditedBy({MakePlugin("pytorch").get(), MakePlugin("hcclrank").get()}, job, 0, 1)), "9");
}

TEST(HcclrankPluginTest, WithoutAMasterForPytorchItCountsByItself) {
  const JobView job = JobWith({{"worker", 2, Template()}});
  ExpectJson(PodEditedBy({MakePlugin("pytorch").get(), MakePlugin("hcclrank").get()}, job, 0, 1), Ranked("1"));
}

TEST(HcclrankPluginTest, DoubtsAJobWithoutItsTasks) {
  ExpectDoubts("hcclrank",
               {DoubtRow{{}, MastersAndWorkers(1, 2), {}}, DoubtRow{{}, JobWith({{"master", 1}, {"other", 1}}), {}},
                DoubtRow{{}, JobWith({{"worker", 1}}), {}},
                DoubtRow{{}, JobWith({{"a", 1}}), {"for the tasks 'master' and 'worker', of which none exists"}},
                DoubtRow{Words({"--master=a"}), MastersAndWorkers(1, 2), {}},
                DoubtRow{Words({"--master=a", "--worker=b"}),
                         MastersAndWorkers(1, 2),
                         {"for the tasks 'a' and 'b', of which none exists"}}});
}

}  // namespace
}  // namespace basalt::jobsvc
