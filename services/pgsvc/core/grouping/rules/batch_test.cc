#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Minimum(std::string_view value) {
  return fmt::format("  annotations: {{kai.scheduler/batch-min-member: \"{}\"}}\n", value);
}

// Pods j-a and j-b of Job j.
std::string PodsOfJob(std::string_view more = "") {
  return PodOf("j-a", "batch/v1", "Job", "j", more) + PodOf("j-b", "batch/v1", "Job", "j", more);
}
std::string Job(std::string_view metadata, std::string_view spec) {
  return ObjectOf("batch/v1", "Job", "j", fmt::format("{}spec: {}\n", metadata, spec));
}
// Returns a PodGroup of that name, owned by the object of that UID.
std::string GroupOf(std::string_view name, std::string_view uid, std::string_view spec = "{}") {
  return ObjectOf(
      "scheduling.run.ai/v2alpha2", "PodGroup", name,
      fmt::format("  ownerReferences: [{{apiVersion: v1, kind: X, name: x, uid: {}}}]\nspec: {}\n", uid, spec));
}

TEST(JobTest, AllPodsOfAJobShareOneGroup) {
  const Objects objects(PodsOfJob() + Job("", "{parallelism: 2}"));
  EXPECT_EQ(objects.Text("j-a"), "pg-j-job-j 1");
  EXPECT_EQ(objects.Text("j-b"), "pg-j-job-j 1");
  EXPECT_EQ(objects.Of("j-b").owner, (GroupOwner{"batch/v1", "Job", "j", "job-j"}));
  EXPECT_EQ(objects.Of("j-b").priority_class, "train");
}

TEST(JobTest, TheMinimumIsTheAnnotationsUpToWhatCanRunAtOnce) {
  struct Case {
    const char* what;
    std::string pod;
    std::string job;
    const char* spec;
    int32_t expected;
    bool is_warned;
  };
  const Case cases[] = {
      {"none", "", "", "{parallelism: 2}", 1, false},
      {"one that can be met", "", Minimum("2"), "{parallelism: 2}", 2, false},
      {"with a sign", "", Minimum("+2"), "{parallelism: 2}", 2, false},
      {"0", "", Minimum("0"), "{parallelism: 2}", 0, false},
      {"on the pods only", Minimum("2"), "", "{parallelism: 2}", 1, false},
      {"more than run at once (G37)", "", Minimum("5"), "{parallelism: 2}", 2, true},
      {"more than there are in all (G37)", "", Minimum("5"), "{parallelism: 8, completions: 3}", 3, true},
      {"completions above the parallelism", "", Minimum("2"), "{parallelism: 2, completions: 9}", 2, false},
      {"a Job without parallelism runs one pod", "", Minimum("2"), "{}", 1, true},
      {"a suspended Job's parallelism counts", "", Minimum("2"), "{suspend: true, parallelism: 2}", 2, false},
      {"the highest", "", Minimum("2147483647"), "{parallelism: 2147483647}", 2147483647, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Objects objects(PodsOfJob(test.pod) + Job(test.job, test.spec));
    EXPECT_EQ(objects.Of("j-a").minimum, (pgsvc::Minimum{test.expected}));
    EXPECT_THAT(objects.Of("j-a").sub_groups, IsEmpty());
    if (test.is_warned) {
      EXPECT_THAT(objects.Of("j-a").warnings,
                  ElementsAre(AllOf(HasSubstr("Job default/j"), HasSubstr("kai.scheduler/batch-min-member"))));
    } else {
      EXPECT_THAT(objects.Of("j-a").warnings, IsEmpty());
    }
  }
}

// KAI's examples name the shorter annotation (G57).
TEST(JobTest, TheShorterAnnotationCountsBehindTheLongerOne) {
  const auto job = [](std::string_view annotations) {
    return Objects(PodsOfJob() + Job(fmt::format("  annotations: {{{}}}\n", annotations), "{parallelism: 6}"));
  };
  EXPECT_EQ(job("kai.scheduler/min-member: \"2\"").Text("j-a"), "pg-j-job-j 2");
  EXPECT_EQ(job("kai.scheduler/min-member: \"2\"").Of("j-a").sources.at("minMember"),
            "annotation kai.scheduler/min-member of Job default/j");
  EXPECT_EQ(job("kai.scheduler/min-member: \"2\", kai.scheduler/batch-min-member: \"3\"").Text("j-a"), "pg-j-job-j 3");
  EXPECT_EQ(job("kai.scheduler/min-member: \"9\"").Text("j-a"), "pg-j-job-j 6");
  EXPECT_THAT(job("kai.scheduler/min-member: \"9\"").Of("j-a").warnings,
              ElementsAre(HasSubstr("annotation kai.scheduler/min-member: a minimum of 9 can never be met")));
  EXPECT_THAT(job("kai.scheduler/min-member: x").Text("j-a"),
              HasSubstr("error: Job default/j: annotation kai.scheduler/min-member"));
}

TEST(JobTest, AnAnnotationThatIsNoMinimumIsAnErrorThatNamesIt) {
  for (const std::string value : {"abc", "", "-1", "1.5", "2147483648", " 2", "0x2", "+-2"}) {
    const Objects objects(PodsOfJob() + Job(Minimum(value), "{parallelism: 2}"));
    for (const char* const pod : {"j-a", "j-b"}) {
      EXPECT_THAT(objects.Text(pod), AllOf(HasSubstr("error: Job default/j"),
                                           HasSubstr("kai.scheduler/batch-min-member"), HasSubstr(value)));
    }
  }
}

TEST(JobTest, EachPodHasAGroupOfItsOwnWhereThatIsConfigured) {
  Objects objects(PodsOfJob() + Job(Minimum("3"), "{parallelism: 3}"));
  objects.options.groups_job_pods_alone = true;
  EXPECT_EQ(objects.Text("j-a"), "pg-j-a-job-j 1");
  EXPECT_EQ(objects.Text("j-b"), "pg-j-b-job-j 1");
}

TEST(JobTest, APodOfALegacyGroupStaysInItAndTheCommonOneWaitsForNobodyElse) {
  Objects objects(PodsOfJob() + Job(Minimum("3"), "{parallelism: 3}") + GroupOf("pg-j-a-job-j", "job-j"));
  EXPECT_EQ(objects.Text("j-a"), "pg-j-a-job-j 1");
  EXPECT_EQ(objects.Text("j-b"), "pg-j-job-j 1");
  const std::string unreadable = PodsOfJob() + Job(Minimum("many"), "{}") + GroupOf("pg-j-a-job-j", "job-j");
  EXPECT_EQ(Objects(unreadable).Text("j-a"), "pg-j-a-job-j 1") << "whatever the annotation says";
  objects.options.finds_legacy_groups = false;
  EXPECT_EQ(objects.Text("j-a"), "pg-j-job-j 3");
  EXPECT_EQ(objects.Text("j-b"), "pg-j-job-j 3");
}

TEST(JobTest, GroupsThatAreNotLegacyOnesOfTheJobChangeNothing) {
  const std::string job = PodsOfJob() + Job(Minimum("3"), "{parallelism: 3}");
  EXPECT_EQ(Objects(job + GroupOf("pg-j-job-j", "job-j")).Text("j-a"), "pg-j-job-j 3");
  EXPECT_EQ(Objects(job + GroupOf("pg-j-a-job-k", "job-k")).Text("j-a"), "pg-j-job-j 3");
  EXPECT_EQ(Objects(job + GroupOf("by-hand", "job-j")).Text("j-a"), "pg-j-job-j 3");
}

TEST(CronJobTest, TheRuleIsThatOfItsJob) {
  const auto cron = [](std::string_view job, std::string_view spec) {
    return PodOf("p", "batch/v1", "Job", "j") +
           ObjectOf("batch/v1", "Job", "j",
                    OwnedBy("batch/v1", "CronJob", "c") + std::string(job) + fmt::format("spec: {}\n", spec)) +
           ObjectOf("batch/v1", "CronJob", "c", "  labels: {kai.scheduler/queue: of-cron-job, a: b}\n");
  };
  EXPECT_EQ(Objects(cron("", "{}")).Text(), "pg-j-job-j 1");
  EXPECT_EQ(Objects(cron(Minimum("2"), "{parallelism: 2}")).Text(), "pg-j-job-j 2");  // G42
  EXPECT_THAT(Objects(cron(Minimum("x"), "{}")).Text(), HasSubstr("error: Job default/j"));
  const Grouping grouping = Objects(cron("  labels: {kai.scheduler/queue: of-job}\n", "{}")).Of();
  EXPECT_EQ(grouping.queue, "of-job");
  EXPECT_EQ(grouping.owner, (GroupOwner{"batch/v1", "Job", "j", "job-j"}));
  EXPECT_FALSE(grouping.labels.contains("a"));
  EXPECT_EQ(grouping.annotations.at("kai.scheduler/top-owner-metadata"),
            "name: j\nuid: job-j\ngroup: batch\nversion: v1\nkind: Job\n");
  EXPECT_EQ(Objects(cron("", "{}")).Of().queue, "of-cron-job") << "the queue alone is taken from the top owner, too";
  EXPECT_FALSE(Objects(cron("", "{}")).Of().labels.contains("kai.scheduler/queue"));
}

TEST(CronJobTest, APodWithoutAJobOfBatchIsAnError) {
  const std::string cron = ObjectOf("batch/v1", "CronJob", "c");
  EXPECT_THAT(Objects(PodOf("p", "batch/v1", "CronJob", "c") + cron).Text(), HasSubstr("error: Pod default/p"));
  const Objects other(PodOf("p", "example.com/v1", "Job", "j") +
                      ObjectOf("example.com/v1", "Job", "j", OwnedBy("batch/v1", "CronJob", "c")) + cron);
  EXPECT_THAT(other.Text(), HasSubstr("error: Pod default/p"));  // G24
}

TEST(RunaiJobTest, TheNameIsThePodsUpToItsLastDash) {
  const auto text = [](std::string_view pod, std::string_view more = "") {
    return Objects(PodOf(pod, "run.ai/v1", "RunaiJob", "r") + ObjectOf("run.ai/v1", "RunaiJob", "r") +
                   std::string(more))
        .Text();
  };
  EXPECT_EQ(text("r-0-0"), "pg-r-0-runaijob-r 1");
  EXPECT_EQ(text("r"), "pg-r-runaijob-r 1");
  EXPECT_EQ(text("some-name"), "pg-some-runaijob-r 1");
}

TEST(RunaiJobTest, AGroupOfTheLegacyNameIsKept) {
  const auto objects = [](std::string_view spec, std::string_view group) {
    return Objects(PodOf("r-0-0", "run.ai/v1", "RunaiJob", "r") +
                   ObjectOf("run.ai/v1", "RunaiJob", "r", fmt::format("spec: {}\n", spec)) +
                   GroupOf(group, "runaijob-r"));
  };
  EXPECT_EQ(objects("{}", "pg-r-runaijob-r").Text(), "pg-r-runaijob-r 1");
  EXPECT_EQ(objects("{parallelism: 1}", "pg-r-runaijob-r").Text(), "pg-r-runaijob-r 1");
  EXPECT_EQ(objects("{parallelism: 2}", "pg-r-runaijob-r").Text(), "pg-r-0-runaijob-r 1");
  EXPECT_EQ(objects("{parallelism: 2}", "pg-r-0-0-runaijob-r").Text(), "pg-r-0-0-runaijob-r 1");
  EXPECT_EQ(objects("{}", "pg-r-0-0-runaijob-r").Text(), "pg-r-0-runaijob-r 1");
  Objects without = objects("{}", "pg-r-runaijob-r");
  without.options.finds_legacy_groups = false;
  EXPECT_EQ(without.Text(), "pg-r-0-runaijob-r 1");
}

}  // namespace
}  // namespace basalt::pgsvc::testing
