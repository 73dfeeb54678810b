// Kinds whose groups differ from those of the default rule in a field or two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/ascii.h"
#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string BarePod(std::string_view labels) {
  return fmt::format("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: driver, labels: {{{}}}}}\n", labels);
}

TEST(SparkTest, DriverAndExecutorsShareTheGroupOfTheirSelector) {
  const std::string labels = "spark-app-name: a, spark-app-selector: spark-123";
  const Objects objects(BarePod(labels) +
                        PodOf("exec-1", "v1", "Pod", "driver", fmt::format("  labels: {{{}}}\n", labels)));
  EXPECT_EQ(objects.Text("driver"), "spark-123 1");
  EXPECT_EQ(objects.Text("exec-1"), "spark-123 1");
  EXPECT_EQ(objects.Of("exec-1").owner, (GroupOwner{"v1", "Pod", "driver", "pod-driver"}));
  EXPECT_EQ(objects.Of("driver").owner, (GroupOwner{"v1", "Pod", "driver", "pod-driver"}));
  EXPECT_EQ(objects.Of("exec-1").priority_class, "train");
}

TEST(SparkTest, APodWithOneOfTheLabelsIsABarePod) {
  EXPECT_EQ(Objects(BarePod("spark-app-selector: spark-123")).Text(), "pg-driver-pod-driver 1");
  EXPECT_EQ(Objects(BarePod("spark-app-name: a")).Text(), "pg-driver-pod-driver 1");
  const Objects executor(BarePod("spark-app-name: a, spark-app-selector: spark-123") +
                         PodOf("exec-1", "v1", "Pod", "driver", "  labels: {spark-app-name: a}\n"));
  EXPECT_EQ(executor.Text("exec-1"), "pg-driver-pod-driver 1");
}

TEST(SparkTest, ASelectorThatIsNoNameIsMadeOne) {
  const Objects objects(BarePod("spark-app-name: a, spark-app-selector: Spark_1"));
  EXPECT_THAT(objects.Of().name, ::testing::MatchesRegex("spark-1-[0-9a-f]{8}"));
}

TEST(DeploymentTest, EachPodIsAGroupThatHasTheDeploymentsMetadata) {
  const std::string set = ObjectOf(
      "apps/v1", "ReplicaSet", "r",
      OwnedBy("apps/v1", "Deployment", "d") + "  labels: {kai.scheduler/queue: lower, priorityClassName: build}\n");
  const std::string more =
      "  labels: {kai.scheduler/queue: q, a: b}\n"
      "  annotations: {kai.scheduler/topology: t, kai.scheduler/topology-required-placement: zone, c: d}\n";
  const Objects objects(PodOf("p", "apps/v1", "ReplicaSet", "r") + PodOf("q", "apps/v1", "ReplicaSet", "r") + set +
                        ObjectOf("apps/v1", "Deployment", "d", more));
  EXPECT_EQ(objects.Text("p"), "pg-p-p-uid 1 @t/zone/");
  EXPECT_EQ(objects.Text("q"), "pg-q-q-uid 1 @t/zone/");
  const Grouping grouping = objects.Of("p");
  EXPECT_EQ(grouping.owner, (GroupOwner{"v1", "Pod", "p", "p-uid"}));
  EXPECT_EQ(grouping.queue, "q");
  EXPECT_EQ(grouping.priority_class, "inference");
  EXPECT_EQ(grouping.labels.at("a"), "b");
  EXPECT_EQ(grouping.annotations.at("c"), "d");
  EXPECT_EQ(grouping.annotations.at("kai.scheduler/top-owner-metadata"),
            "name: d\nuid: deployment-d\ngroup: apps\nversion: v1\nkind: Deployment\n");
}

TEST(DeploymentTest, ItsOwnPriorityBeatsTheDefaultAndAReplicaSetAloneIsOneGroup) {
  const std::string pod = PodOf("p", "apps/v1", "ReplicaSet", "r");
  const Objects labelled(pod + ObjectOf("apps/v1", "ReplicaSet", "r", OwnedBy("apps/v1", "Deployment", "d")) +
                         ObjectOf("apps/v1", "Deployment", "d", "  labels: {priorityClassName: train}\n"));
  EXPECT_EQ(labelled.Of().priority_class, "train");
  EXPECT_EQ(labelled.Text(), "pg-p-p-uid 1");
  const Objects alone(pod + ObjectOf("apps/v1", "ReplicaSet", "r"));
  EXPECT_EQ(alone.Text(), "pg-r-replicaset-r 1");
  EXPECT_EQ(alone.Of().priority_class, "train");
}

TEST(DeploymentTest, ThatAnAnnotationOfAMinimumDoesNothingIsWarnedOf) {
  for (const std::string key : {"kai.scheduler/min-member", "kai.scheduler/batch-min-member"}) {
    const Objects objects(PodOf("p", "apps/v1", "Deployment", "d") +
                          ObjectOf("apps/v1", "Deployment", "d", fmt::format("  annotations: {{{}: \"3\"}}\n", key)));
    EXPECT_EQ(objects.Text(), "pg-p-p-uid 1");
    EXPECT_THAT(objects.Of().warnings,
                ElementsAre(HasSubstr(fmt::format("Deployment default/d: annotation {}: does nothing", key))));
  }
}

// G57: the pods are made at once.
TEST(StatefulSetTest, TheMinimumIsTheAnnotationsWhereItsPodsAreMadeAtOnce) {
  struct Case {
    const char* what;
    const char* annotation;
    const char* spec;
    const char* expected;
    const char* warning;  // Null if there is none.
  };
  const Case cases[] = {
      {"none", "a: b", "{podManagementPolicy: Parallel, replicas: 4}", "1", nullptr},
      {"pods at once", "kai.scheduler/min-member: \"4\"", "{podManagementPolicy: Parallel, replicas: 4}", "4", nullptr},
      {"more than there are", "kai.scheduler/min-member: \"5\"", "{podManagementPolicy: Parallel, replicas: 4}", "4",
       "annotation kai.scheduler/min-member: a minimum of 5 can never be met: there are 4 at most"},
      {"missing replicas are one", "kai.scheduler/min-member: \"2\"", "{podManagementPolicy: Parallel}", "1",
       "there are 1 at most"},
      {"pods in order", "kai.scheduler/min-member: \"4\"", "{podManagementPolicy: OrderedReady, replicas: 4}", "1",
       "needs spec.podManagementPolicy Parallel"},
      {"pods in order by default", "kai.scheduler/min-member: \"4\"", "{replicas: 4}", "1",
       "needs spec.podManagementPolicy Parallel"},
      {"the annotation of Jobs", "kai.scheduler/batch-min-member: \"4\"",
       "{podManagementPolicy: Parallel, replicas: 4}", "1", nullptr},
  };
  const auto set = [](const char* annotation, const char* spec) {
    return Objects(
        PodOf("p", "apps/v1", "StatefulSet", "s") +
        ObjectOf("apps/v1", "StatefulSet", "s", fmt::format("  annotations: {{{}}}\nspec: {}\n", annotation, spec)));
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Objects objects = set(test.annotation, test.spec);
    EXPECT_EQ(objects.Text(), fmt::format("pg-s-statefulset-s {}", test.expected));
    if (test.warning == nullptr) {
      EXPECT_THAT(objects.Of().warnings, IsEmpty());
    } else {
      EXPECT_THAT(objects.Of().warnings, ElementsAre(HasSubstr(test.warning)));
    }
  }
  EXPECT_THAT(set("kai.scheduler/min-member: \"0\"", "{podManagementPolicy: Parallel}").Text(),
              HasSubstr("error: StatefulSet default/s: annotation kai.scheduler/min-member"));
}

TEST(AmlJobTest, TheMinimumIsTheNumberOfNodes) {
  struct Case {
    const char* spec;
    const char* expected;  // The group, or a part of the error.
    bool is_error;
  };
  const Case cases[] = {
      {"{job: {options: {envs: {AZUREML_NODE_COUNT: 4}}}}", "pg-o-amljob-o 4", false},
      {"{job: {options: {envs: {AZUREML_NODE_COUNT: 0}}}}", "pg-o-amljob-o 0", false},
      {"{job: {options: {envs: {AZUREML_NODE_COUNT: -1}}}}", "AZUREML_NODE_COUNT", true},
      {"{job: {options: {envs: {AZUREML_NODE_COUNT: \"4\"}}}}", "AZUREML_NODE_COUNT", true},
      {"{job: {options: {envs: {}}}}", "AZUREML_NODE_COUNT", true},
      {"{}", "AmlJob default/o", true},
  };
  for (const Case& test : cases) {
    const Objects objects(PodOf("p", "amlarc.azureml.com/v1alpha1", "AmlJob", "o") +
                          ObjectOf("amlarc.azureml.com/v1alpha1", "AmlJob", "o", fmt::format("spec: {}\n", test.spec)));
    EXPECT_EQ(objects.Text().starts_with("error: "), test.is_error) << test.spec;
    EXPECT_THAT(objects.Text(), HasSubstr(test.expected)) << test.spec;
  }
}

TEST(PlainKindsTest, EachIsOneGroupOfMinimumOneWithThePriorityOfItsKind) {
  struct Case {
    const char* api_version;
    const char* kind;
    const char* priority;
  };
  const Case cases[] = {
      {"apps/v1", "StatefulSet", "train"},
      {"apps/v1", "ReplicaSet", "train"},
      {"kubeflow.org/v1beta1", "Notebook", "build"},
      {"kubeflow.org/v1", "Notebook", "build"},
      {"kubeflow.org/v1alpha1", "ScheduledWorkflow", "train"},
      {"egx.nvidia.io/v1", "SPOTRequest", "inference"},
      {"egx.nvidia.io/v2", "SPOTRequest", "inference"},
      {"machinelearning.seldon.io/v1", "SeldonDeployment", "train"},
      {"machinelearning.seldon.io/v1alpha2", "SeldonDeployment", "train"},
      {"kubevirt.io/v1", "VirtualMachineInstance", "train"},
      {"workspace.devfile.io/v1alpha2", "DevWorkspace", "train"},
      {"tekton.dev/v1", "PipelineRun", "train"},
      {"tekton.dev/v1", "TaskRun", "train"},
      {"apps/v1", "DaemonSet", "train"},
      {"sparkoperator.k8s.io/v1beta2", "SparkApplication", "train"},
      {"kubevirt.io/v1", "VirtualMachine", "train"},
      {"example.com/v1", "Foo", "train"},
      {"v1", "ReplicationController", "train"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.kind);
    const std::string pod = PodOf("p", test.api_version, test.kind, "o");
    const std::string uid = absl::AsciiStrToLower(test.kind) + "-o";
    const Objects minimal(pod + ObjectOf(test.api_version, test.kind, "o"));
    EXPECT_EQ(minimal.Text(), fmt::format("pg-o-{} 1", uid));
    EXPECT_EQ(minimal.Of().priority_class, test.priority);
    EXPECT_EQ(minimal.Of().owner, (GroupOwner{test.api_version, test.kind, "o", uid}));
    const Objects full(
        pod + ObjectOf(test.api_version, test.kind, "o",
                       "  labels: {priorityClassName: build-preemptible, kai.scheduler/queue: q}\n"
                       "  annotations: {kai.scheduler/topology: t, kai.scheduler/topology-preferred-placement: rack,\n"
                       "    kai.scheduler/batch-min-member: \"7\"}\nspec: {replicas: 9}\n"));
    EXPECT_EQ(full.Text(), fmt::format("pg-o-{} 1 @t//rack", uid));
    EXPECT_EQ(full.Of().priority_class, "build-preemptible");
    EXPECT_EQ(full.Of().queue, "q");
  }
}

TEST(PlainKindsTest, OddShapesAreNoErrors) {
  for (const std::string more : {"spec: null\n", "spec: [1, 2]\n", "  labels: null\n", "  labels: [a]\n",
                                 "  annotations: {a: 1}\n", "status: text\n"}) {
    const Objects objects(PodOf("p", "example.com/v1", "Foo", "f") + ObjectOf("example.com/v1", "Foo", "f", more));
    EXPECT_EQ(objects.Text(), "pg-f-foo-f 1") << more;
  }
}

}  // namespace
}  // namespace basalt::pgsvc::testing
