#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kApi = "jobset.x-k8s.io/v1alpha2";

// Returns a replicated job with `annotations` in its template. `more` are further members of the job.
std::string Replicated(std::string_view name, std::string_view replicas, std::string_view job_spec,
                       std::string_view annotations = "", std::string_view more = "") {
  return fmt::format("{{name: {}{}{}, template: {{metadata: {{annotations: {{{}}}}}, spec: {{{}}}}}}}", name,
                     replicas.empty() ? "" : fmt::format(", replicas: {}", replicas), more, annotations, job_spec);
}
std::string Leader() { return Replicated("leader", "1", "parallelism: 1"); }
std::string Worker(std::string_view annotations = "") {
  return Replicated("worker", "2", "parallelism: 4", annotations);
}
std::string Both() { return Leader() + ", " + Worker(); }

std::string Labels(std::string_view job, std::string_view index) {
  return fmt::format(
      "  labels: {{jobset.sigs.k8s.io/replicatedjob-name: \"{}\", jobset.sigs.k8s.io/job-index: \"{}\"}}\n", job,
      index);
}
std::string SetOf(std::string_view jobs, std::string_view order = "", std::string_view metadata = "") {
  return ObjectOf(
      kApi, "JobSet", "js",
      fmt::format("{}spec: {{{}replicatedJobs: [{}]}}\n", metadata,
                  order.empty() ? "" : fmt::format("startupPolicy: {{startupPolicyOrder: {}}}, ", order), jobs));
}
// A pod of a Job of the JobSet.
std::string PodOfSet(std::string_view labels) {
  return PodOf("p", "batch/v1", "Job", "job", labels) +
         ObjectOf("batch/v1", "Job", "job", OwnedBy(kApi, "JobSet", "js"));
}
std::string Minimum(std::string_view value) {
  return fmt::format("  annotations: {{kai.scheduler/batch-min-member: \"{}\"}}\n", value);
}
std::string LegacyGroup(std::string_view name, std::string_view spec = "{}", std::string_view uid = "jobset-js") {
  return ObjectOf(
      "scheduling.run.ai/v2alpha2", "PodGroup", name,
      fmt::format("  ownerReferences: [{{apiVersion: v1, kind: X, name: x, uid: {}}}]\nspec: {}\n", uid, spec));
}

constexpr std::string_view kTwoLevels =
    "leader{sub 1} leader-replica-0{leader, 1} worker{sub 2} worker-replica-0{worker, 4} worker-replica-1{worker, 4}";

TEST(JobSetTest, IsOneGroupWithTwoLevels) {
  const Objects objects(PodOfSet(Labels("worker", "1")) + SetOf(Both()));
  EXPECT_EQ(objects.Text(), fmt::format("pg-js-jobset-js sub 2: {}; in worker-replica-1", kTwoLevels));
  EXPECT_EQ(objects.Of().owner, (GroupOwner{std::string(kApi), "JobSet", "js", "jobset-js"}));
  EXPECT_EQ(objects.Of().priority_class, "train");
  EXPECT_THAT(objects.Of().warnings, IsEmpty());
}

TEST(JobSetTest, AsManyReplicatedJobsAreWaitedForAsAreMadeAtOnce) {
  struct Case {
    const char* what;
    const char* order;
    std::string metadata;
    const char* expected;
  };
  const Case cases[] = {
      {"no policy", "", "", "sub 2"},
      {"any order", "AnyOrder", "", "sub 2"},
      {"in order", "InOrder", "", "sub 1"},
      {"annotation", "", Minimum("1"), "sub 1"},
      {"annotation of more than there are", "", Minimum("9"), "sub 2"},
      {"annotation beats the order", "InOrder", Minimum("2"), "sub 2"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Objects(PodOfSet(Labels("leader", "0")) + SetOf(Both(), test.order, test.metadata)).Text(),
              fmt::format("pg-js-jobset-js {}: {}; in leader-replica-0", test.expected, kTwoLevels))
        << test.what;
  }
  for (const std::string value : {"0", "-1", "x", "", "2147483648"}) {
    EXPECT_THAT(Objects(PodOfSet(Labels("leader", "0")) + SetOf(Both(), "", Minimum(value))).Text(),
                AllOf(HasSubstr("error: JobSet default/js"), HasSubstr("kai.scheduler/batch-min-member")))
        << value;
  }
}

TEST(JobSetTest, JobsThatDependOnOthersStartInSequence) {
  const std::string init = Replicated("init", "1", "parallelism: 1");
  const auto node = [](std::string_view depends) { return Replicated("node", "1", "parallelism: 2", "", depends); };
  const std::string expected =
      ": init{sub 1} init-replica-0{init, 1} node{sub 1} node-replica-0{node, 2}; in node-replica-0";
  const std::string pod = PodOfSet(Labels("node", "0"));
  const std::string depends = ", dependsOn: [{name: init, status: Complete}]";
  EXPECT_EQ(Objects(pod + SetOf(init + ", " + node(depends))).Text(), "pg-js-jobset-js sub 1" + expected);  // G36
  EXPECT_EQ(Objects(pod + SetOf(init + ", " + node(depends), "AnyOrder")).Text(), "pg-js-jobset-js sub 1" + expected);
  EXPECT_EQ(Objects(pod + SetOf(init + ", " + node(", dependsOn: []"))).Text(), "pg-js-jobset-js sub 2" + expected);
  EXPECT_EQ(Objects(pod + SetOf(init + ", " + node(depends), "", Minimum("2"))).Text(),
            "pg-js-jobset-js sub 2" + expected);
}

TEST(JobSetTest, ALeafWaitsForThePodsThatRunAtOnceOrForFewer) {
  struct Case {
    const char* what;
    const char* job_spec;
    const char* annotation;  // The annotation of the template; null if there is none.
    const char* expected;    // The minimum of the leaf; null for an error.
    bool is_warned;
  };
  const Case cases[] = {
      {"parallelism", "parallelism: 4", nullptr, "4", false},
      {"none is one", "", nullptr, "1", false},
      {"completions below the parallelism (G35)", "parallelism: 4, completions: 2", nullptr, "2", false},
      {"completions above the parallelism", "parallelism: 4, completions: 8", nullptr, "4", false},
      {"nothing to complete (G35)", "parallelism: 4, completions: 0", nullptr, "0", false},
      {"annotation", "parallelism: 4", "3", "3", false},
      {"empty annotation", "parallelism: 4", "", "4", false},
      {"annotation of more than run at once (G37)", "parallelism: 4", "10", "4", true},
      {"annotation of more than there are (G37)", "parallelism: 4, completions: 2", "3", "2", true},
      {"annotation of 0", "parallelism: 4", "0", nullptr, false},
      {"annotation that is no number", "parallelism: 4", "x", nullptr, false},
      {"negative annotation", "parallelism: 4", "-1", nullptr, false},
      {"parallelism that is a text", "parallelism: \"4\"", nullptr, nullptr, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const std::string annotation = test.annotation == nullptr
                                       ? std::string()
                                       : fmt::format("kai.scheduler/batch-min-member: \"{}\"", test.annotation);
    const Objects objects(PodOfSet(Labels("w", "1")) + SetOf(Replicated("w", "2", test.job_spec, annotation)));
    if (test.expected == nullptr) {
      EXPECT_THAT(objects.Text(), HasSubstr("error: "));
      continue;
    }
    EXPECT_EQ(objects.Text(), fmt::format("pg-js-jobset-js sub 1: w{{sub 2}} w-replica-0{{w, {0}}} w-replica-1{{w, "
                                          "{0}}}; in w-replica-1",
                                          test.expected));
    EXPECT_EQ(objects.Of().warnings.size(), test.is_warned ? 1U : 0U);
  }
}

TEST(JobSetTest, TheShorterAnnotationCountsOnSetAndTemplate) {
  EXPECT_EQ(
      Objects(PodOfSet(Labels("leader", "0")) + SetOf(Leader() + ", " + Worker("kai.scheduler/min-member: \"3\""), "",
                                                      "  annotations: {kai.scheduler/min-member: \"1\"}\n"))
          .Text(),
      "pg-js-jobset-js sub 1: leader{sub 1} leader-replica-0{leader, 1} worker{sub 2} worker-replica-0{worker, 3} "
      "worker-replica-1{worker, 3}; in leader-replica-0");
}

TEST(JobSetTest, ALeafWithoutAMinimumNamesJobAndTemplate) {
  const std::string set = SetOf(Worker("kai.scheduler/batch-min-member: \"0\""));
  EXPECT_THAT(Objects(PodOfSet(Labels("worker", "0")) + set).Text(),
              AllOf(HasSubstr("JobSet default/js"), HasSubstr("worker"), HasSubstr("kai.scheduler/batch-min-member")));
}

TEST(JobSetTest, GroupAndLeavesHaveTheirOwnTopologies) {
  const std::string group =
      "  annotations: {kai.scheduler/topology: t, kai.scheduler/topology-required-placement: zone}\n";
  const std::string worker = Worker("kai.scheduler/topology: t2, kai.scheduler/topology-preferred-placement: rack");
  EXPECT_EQ(Objects(PodOfSet(Labels("leader", "0")) + SetOf(Leader() + ", " + worker, "", group)).Text(),
            "pg-js-jobset-js sub 2 @t/zone/: leader{sub 1} leader-replica-0{leader, 1} worker{sub 2} "
            "worker-replica-0{worker, 4 @t2//rack} worker-replica-1{worker, 4 @t2//rack}; in leader-replica-0");
  for (const std::string half : {"kai.scheduler/topology-preferred-placement: rack", "kai.scheduler/topology: t2"}) {
    EXPECT_EQ(Objects(PodOfSet(Labels("leader", "0")) + SetOf(Leader() + ", " + Worker(half))).Text(),
              fmt::format("pg-js-jobset-js sub 2: {}; in leader-replica-0", kTwoLevels));
  }
}

TEST(JobSetTest, APodThatIsNoneOfTheSetsIsAnError) {
  struct Case {
    const char* what;
    std::string labels;
    const char* expected;  // A part of the error.
  };
  const Case cases[] = {
      {"no labels", "", "jobset.sigs.k8s.io/replicatedjob-name"},
      {"no index", "  labels: {jobset.sigs.k8s.io/replicatedjob-name: worker}\n", "jobset.sigs.k8s.io/job-index"},
      {"no name", "  labels: {jobset.sigs.k8s.io/job-index: \"0\"}\n", "jobset.sigs.k8s.io/replicatedjob-name"},
      {"an empty name", Labels("", "0"), "jobset.sigs.k8s.io/replicatedjob-name"},
      {"an empty index", Labels("worker", ""), "jobset.sigs.k8s.io/job-index"},
      {"an index beyond the replicas", Labels("worker", "2"), "2"},
      {"a negative index", Labels("worker", "-1"), "-1"},
      {"an index that is none", Labels("worker", "x"), "x"},
      {"another name", Labels("other", "0"), "other"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(Objects(PodOfSet(test.labels) + SetOf(Both())).Text(),
                AllOf(HasSubstr("error: Pod default/p"), HasSubstr(test.expected)))
        << test.what;
  }
}

TEST(JobSetTest, ASetWithoutJobsOrNamesIsAnError) {
  const std::string pod = PodOfSet(Labels("worker", "0"));
  EXPECT_THAT(Objects(pod + SetOf("")).Text(), HasSubstr("error: JobSet default/js: spec.replicatedJobs"));
  EXPECT_THAT(Objects(pod + ObjectOf(kApi, "JobSet", "js")).Text(),
              HasSubstr("error: JobSet default/js: spec.replicatedJobs"));
  EXPECT_THAT(Objects(pod + SetOf("{replicas: 1}")).Text(), HasSubstr("error: JobSet default/js"));
  EXPECT_THAT(Objects(pod + SetOf("{name: \"\", replicas: 1}")).Text(), HasSubstr("error: JobSet default/js"));
  EXPECT_THAT(Objects(pod + SetOf(Worker() + ", " + Worker())).Text(), HasSubstr("error: JobSet js"));
}

TEST(JobSetTest, AJobWithoutReplicasIsLeftOut) {
  const std::string idle = Replicated("idle", "0", "parallelism: 1");
  const std::string worker = Replicated("worker", "", "parallelism: 1");
  EXPECT_EQ(Objects(PodOfSet(Labels("worker", "0")) + SetOf(idle + ", " + worker)).Text(),
            "pg-js-jobset-js sub 1: worker{sub 1} worker-replica-0{worker, 1}; in worker-replica-0");  // G34
  EXPECT_EQ(Objects(PodOfSet(Labels("worker", "0")) + SetOf(idle + ", " + worker, "", Minimum("2"))).Of().minimum,
            (pgsvc::Minimum{1, true}));
  EXPECT_THAT(Objects(PodOfSet(Labels("idle", "0")) + SetOf(idle + ", " + worker)).Text(), HasSubstr("error: Pod"));
  EXPECT_THAT(Objects(PodOfSet(Labels("idle", "0")) + SetOf(idle)).Text(), HasSubstr("error: Pod"));
}

TEST(JobSetTest, ThereAreTenThousandLeavesAtMost) {
  const auto set = [](std::string_view first) {
    return Objects(PodOfSet(Labels("a", "0")) + SetOf(Replicated("a", first, "") + ", " + Replicated("b", "5000", "")));
  };
  EXPECT_EQ(set("5000").Of().sub_groups.size(), 10'002U);
  EXPECT_THAT(set("5001").Text(), AllOf(HasSubstr("error: JobSet default/js"), HasSubstr("10000")));  // G38
  EXPECT_THAT(set("2147483647").Text(), HasSubstr("error: JobSet default/js"));
}

TEST(JobSetTest, LongNamesOfLeavesAreShortened) {
  const std::string name(60, 'n');
  const Grouping grouping = Objects(PodOfSet(Labels(name, "0")) + SetOf(Replicated(name, "1", "parallelism: 2"))).Of();
  ASSERT_EQ(grouping.sub_groups.size(), 2U);
  EXPECT_EQ(grouping.sub_groups[0].name, name);
  EXPECT_EQ(grouping.sub_groups[1].parent, name);
  EXPECT_EQ(grouping.sub_groups[1].name.size(), 63U);
  EXPECT_EQ(grouping.pod_sub_group, grouping.sub_groups[1].name);  // G39
}

TEST(JobSetTest, AFlatGroupThatIsThereGoesOn) {
  struct Case {
    const char* what;
    const char* order;
    std::string metadata;
    std::string groups;
    const char* expected;
  };
  const std::string of_leader = LegacyGroup("pg-js-jobset-js-leader");
  const std::string grouped = fmt::format("pg-js-jobset-js sub 2: {}; in worker-replica-0", kTwoLevels);
  const Case cases[] = {
      {"in order", "InOrder", "", of_leader, "pg-js-jobset-js-worker 1"},
      {"no policy", "", "", of_leader, "pg-js-jobset-js 1"},
      {"any order", "AnyOrder", "", of_leader, "pg-js-jobset-js 1"},
      {"annotation", "", Minimum("5"), of_leader, "pg-js-jobset-js 5"},
      {"the stored minimum stays (G40)", "", "", LegacyGroup("pg-js-jobset-js", "{minMember: 9}"), "pg-js-jobset-js 9"},
      {"the stored minimum of the pod's own group stays (G40)", "InOrder", Minimum("5"),
       LegacyGroup("pg-js-jobset-js-worker", "{minMember: 8}"), "pg-js-jobset-js-worker 8"},
      {"a group with subgroups", "", "", LegacyGroup("pg-js-jobset-js", "{subGroups: [{name: leader}]}"),
       grouped.c_str()},
      {"another name with the same beginning (G40)", "", "", LegacyGroup("pg-js-jobset-js-other"), grouped.c_str()},
      {"a group of somebody else (G40)", "", "", LegacyGroup("pg-js-jobset-js", "{}", "other"), grouped.c_str()},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Objects(PodOfSet(Labels("worker", "0")) + SetOf(Both(), test.order, test.metadata) + test.groups).Text(),
              test.expected)
        << test.what;
  }
  const std::string no_index = "  labels: {jobset.sigs.k8s.io/replicatedjob-name: worker}\n";
  EXPECT_EQ(Objects(PodOfSet(no_index) + SetOf(Both()) + of_leader).Text(), "pg-js-jobset-js 1");
  EXPECT_THAT(Objects(PodOfSet("") + SetOf(Both()) + of_leader).Text(), HasSubstr("error: Pod default/p"));
  EXPECT_THAT(Objects(PodOfSet(no_index) + SetOf(Both(), "", Minimum("-1")) + of_leader).Text(),
              HasSubstr("error: JobSet default/js"));  // G37
}

TEST(JobSetTest, ATrainJobAboveItPassesItsMinimumOn) {
  const std::string train = OwnedBy("trainer.kubeflow.org/v1alpha1", "TrainJob", "t");
  const Objects objects(PodOfSet(Labels("worker", "1")) + SetOf(Both(), "", train) +
                        ObjectOf("trainer.kubeflow.org/v1alpha1", "TrainJob", "t", Minimum("1")));
  EXPECT_EQ(objects.Text(), fmt::format("pg-js-jobset-js sub 1: {}; in worker-replica-1", kTwoLevels));
  EXPECT_EQ(objects.Of().owner.kind, "JobSet");
}

}  // namespace
}  // namespace basalt::pgsvc::testing
