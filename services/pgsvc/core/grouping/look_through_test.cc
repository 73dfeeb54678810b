// The choice of the owner whose rule groups a pod: kinds that are looked through, and objects that opt out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/rule_table.h"
#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kArgo = "argoproj.io/v1alpha1";

std::string OwnedByWorkflow() { return OwnedBy(kArgo, "Workflow", "w"); }
std::string Workflow(std::string_view more = "") { return ObjectOf(kArgo, "Workflow", "w", more); }
std::string PodOfJob(std::string_view more = "") { return PodOf("p", "batch/v1", "Job", "j", more); }
// Job j of Workflow w.
std::string JobOfWorkflow(std::string_view more = "") {
  return ObjectOf("batch/v1", "Job", "j", OwnedByWorkflow() + std::string(more));
}
std::string OptOut(std::string_view value) {
  return fmt::format("  annotations: {{kai.scheduler/skip-podgrouper: \"{}\"}}\n", value);
}

TEST(RuleTableTest, ARuleIsFoundByGroupAndKindAndElseItIsTheDefaultOne) {
  struct Case {
    const char* group;
    const char* version;
    const char* kind;
    bool has_own;
  };
  const Case cases[] = {
      {"batch", "v1", "Job", true},
      {"", "v1", "Pod", true},
      {"batch", "v1beta1", "CronJob", true},
      {"example.com", "v1", "Job", false},
      {"kubeflow.org", "v2beta1", "MPIJob", true},
      {"kubeflow.org", "v2beta1", "TFJob", true},
      {"ray.io", "v1alpha1", "RayService", true},
      {"ray.io", "v1beta1", "RayService", true},
      {"kubevirt.io", "v1", "VirtualMachine", false},
      {"sparkoperator.k8s.io", "v1beta2", "SparkApplication", false},
      {"apps", "v1", "DaemonSet", false},
  };
  const RuleChoice otherwise = RuleFor("example.com", "v1", "Foo");
  EXPECT_EQ(otherwise.rule->kind, "*");
  EXPECT_TRUE(otherwise.is_of_version);
  for (const Case& test : cases) {
    EXPECT_EQ(RuleFor(test.group, test.version, test.kind).rule != otherwise.rule, test.has_own)
        << test.group << "/" << test.version << " " << test.kind;
  }
}

TEST(RuleTableTest, TheRowOfTheNearestVersionCounts) {
  struct Case {
    const char* group;
    const char* kind;
    const char* version;
    const char* expected;  // The version of the row.
  };
  const Case cases[] = {
      {"kubeflow.org", "MPIJob", "v1", "v1"},
      {"kubeflow.org", "MPIJob", "v2beta1", "v2beta1"},
      {"kubeflow.org", "MPIJob", "v2beta2", "v2beta1"},
      {"kubeflow.org", "MPIJob", "v2", "v2beta1"},
      {"kubeflow.org", "MPIJob", "v9alpha1", "v2beta1"},
      {"kubeflow.org", "MPIJob", "v10", "v2beta1"},
      {"kubeflow.org", "MPIJob", "v2alpha1", "v1"},
      {"kubeflow.org", "MPIJob", "v1beta1", "v1"},
      {"kubeflow.org", "MPIJob", "next", "v1"},
      {"ray.io", "RayJob", "v1beta1", "v1alpha1"},
      {"ray.io", "RayJob", "v2", "v1"},
      {"jobset.x-k8s.io", "JobSet", "v1", "v1alpha2"},
  };
  for (const Case& test : cases) {
    const RuleChoice found = RuleFor(test.group, test.version, test.kind);
    EXPECT_EQ(found.rule->version, test.expected) << test.kind << " " << test.version;
    EXPECT_EQ(found.is_of_version, found.rule->version == test.version) << test.kind << " " << test.version;
  }
}

TEST(RuleTableTest, KindsAreLookedThroughInEveryVersion) {
  struct Case {
    const char* group;
    const char* version;
    const char* kind;
    bool expected;
  };
  const Case cases[] = {
      {"argoproj.io", "v1alpha1", "Workflow", true},
      {"argoproj.io", "v1", "Workflow", true},
      {"argoproj.io", "v1alpha1", "CronWorkflow", false},
      {"run.ai", "v100", "TrainingWorkload", true},
      {"run.ai", "v1", "InteractiveWorkload", true},
      {"run.ai", "v2alpha1", "DistributedWorkload", true},
      {"run.ai", "v2", "InferenceWorkload", true},
      {"run.ai", "v2", "DistributedInferenceWorkload", true},
      {"run.ai", "v1", "WorkloadRunner", true},
      {"run.ai", "v2alpha1", "WorkloadRunner", true},
      {"run.ai", "v1", "RunaiJob", false},
      {"trainer.kubeflow.org", "v1alpha1", "TrainJob", true},
      {"trainer.kubeflow.org", "v2", "TrainJob", true},
      {"nvidia.com", "v1alpha1", "DynamoGraphDeployment", true},
      {"nvidia.com", "v1beta1", "DynamoGraphDeployment", true},
      {"example.com", "v1", "TrainingWorkload", false},
  };
  for (const Case& test : cases) {
    const Objects objects(PodOf("p", fmt::format("{}/{}", test.group, test.version), test.kind, "o") +
                          ObjectOf(fmt::format("{}/{}", test.group, test.version), test.kind, "o"));
    EXPECT_EQ(objects.Of().owner.kind == "Pod", test.expected) << test.group << "/" << test.version << " " << test.kind;
  }
}

TEST(RuleTableTest, NoKindStandsThereTwice) {
  for (const Rule& rule : AllRules()) EXPECT_EQ(RuleFor(rule.group, rule.version, rule.kind).rule, &rule) << rule.kind;
}

// Kinds in a version that no row was written for.
TEST(OtherVersionTest, TheRowOfTheKindGroupsItWithAWarning) {
  const auto torch = [](std::string_view api, std::string_view more = "") {
    return Objects(
        PodOf("p", api, "PyTorchJob", "t", "  labels: {training.kubeflow.org/replica-type: worker}\n") +
        ObjectOf(api, "PyTorchJob", "t", "spec: {pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 3}}}\n") +
        std::string(more));
  };
  EXPECT_EQ(torch("kubeflow.org/v9").Text(), torch("kubeflow.org/v1").Text());
  EXPECT_THAT(
      torch("kubeflow.org/v9").Of().warnings,
      ElementsAre("PyTorchJob default/t: there is no rule for kubeflow.org/v9: the one for version v1 is used"));
  EXPECT_THAT(torch("kubeflow.org/v1").Of().warnings, IsEmpty());
  const Objects notebook(PodOf("p", "kubeflow.org/v1", "Notebook", "nb") +
                         ObjectOf("kubeflow.org/v1", "Notebook", "nb"));
  EXPECT_EQ(notebook.Of().priority_class, "build");
  EXPECT_THAT(notebook.Of().warnings, ElementsAre(HasSubstr("the one for version v1beta1 is used")));
  const Objects plain(PodOf("p", "tekton.dev/v1beta1", "TaskRun", "r") +
                      ObjectOf("tekton.dev/v1beta1", "TaskRun", "r"));
  EXPECT_THAT(plain.Of().warnings, IsEmpty()) << "the rule of the row is the default one";
  // A Karta is for one version, and comes before a row for another one.
  const Objects by_karta = torch(
      "kubeflow.org/v9",
      ObjectOf("run.ai/v1alpha1", "Karta", "k",
               "  labels: {run.ai/karta-group: kubeflow.org, run.ai/karta-version: v9, run.ai/karta-kind: PyTorchJob}\n"
               "spec:\n"
               "  structureDefinition:\n"
               "    rootComponent: {name: r, kind: {group: kubeflow.org, version: v9, kind: PyTorchJob}, "
               "statusDefinition: {}, scaleDefinition: {replicasPath: '7'}}\n"
               "  optimizationInstructions: {gangScheduling: {podGroup: {name: g}}}\n"));
  EXPECT_EQ(by_karta.Text(), "pg-pytorchjob-t-g 7");
  EXPECT_THAT(by_karta.Of().warnings, IsEmpty());
}

TEST(OtherVersionTest, AKindThatIsLookedThroughIsSoInEachVersionWithAWarning) {
  const auto job_of = [](std::string_view version) {
    return Objects(PodOfJob() + ObjectOf("batch/v1", "Job", "j", OwnedBy(version, "Workflow", "w")) +
                   ObjectOf(version, "Workflow", "w"));
  };
  EXPECT_EQ(job_of("argoproj.io/v2").Text(), "pg-j-job-j 1");
  EXPECT_THAT(
      job_of("argoproj.io/v2").Of().warnings,
      ElementsAre("Workflow default/w: there is no rule for argoproj.io/v2: the one for version v1alpha1 is used"));
  EXPECT_THAT(job_of("argoproj.io/v1alpha1").Of().warnings, IsEmpty());
}

TEST(LookThroughTest, TheRuleIsThatOfTheKindBelow) {
  struct Case {
    const char* what;
    std::string manifests;
    const char* expected;
    const char* owner;
  };
  const std::string deployment = PodOf("p", "apps/v1", "ReplicaSet", "r") +
                                 ObjectOf("apps/v1", "ReplicaSet", "r", OwnedBy("apps/v1", "Deployment", "d"));
  const std::string job_of_run = ObjectOf("batch/v1", "Job", "j", OwnedBy("run.ai/v100", "TrainingWorkload", "t"));
  const Case cases[] = {
      {"a pod of a Workflow", PodOf("p", kArgo, "Workflow", "w") + Workflow(), "pg-p-p-uid 1", "Pod p"},
      {"a Job of a Workflow", PodOfJob() + JobOfWorkflow() + Workflow(), "pg-j-job-j 1", "Job j"},
      {"a PyTorchJob of a Workflow",
       PodOf("p", "kubeflow.org/v1", "PyTorchJob", "t", "  labels: {training.kubeflow.org/replica-type: worker}\n") +
           ObjectOf("kubeflow.org/v1", "PyTorchJob", "t",
                    OwnedByWorkflow() + "spec: {pytorchReplicaSpecs: {Worker: {replicas: 3}}}\n") +
           Workflow(),
       "pg-t-pytorchjob-t 3: worker{3}; in worker", "PyTorchJob t"},
      {"a Deployment of a workload",
       deployment + ObjectOf("apps/v1", "Deployment", "d", OwnedBy("run.ai/v1", "InferenceWorkload", "i")) +
           ObjectOf("run.ai/v1", "InferenceWorkload", "i"),
       "pg-p-p-uid 1", "Pod p"},
      {"a workload of any version", PodOfJob() + job_of_run + ObjectOf("run.ai/v100", "TrainingWorkload", "t"),
       "pg-j-job-j 1", "Job j"},
      {"two that are looked through",
       PodOfJob() + JobOfWorkflow() + Workflow(OwnedBy("run.ai/v2", "TrainingWorkload", "t")) +
           ObjectOf("run.ai/v2", "TrainingWorkload", "t"),
       "pg-j-job-j 1", "Job j"},
      {"a kind without a rule below a Workflow",
       PodOf("p", "example.com/v1", "Foo", "f") + ObjectOf("example.com/v1", "Foo", "f", OwnedByWorkflow()) +
           Workflow(),
       "pg-f-foo-f 1", "Foo f"},
      {"a Workflow of another version",
       PodOf("p", "argoproj.io/v2", "Workflow", "w") + ObjectOf("argoproj.io/v2", "Workflow", "w"), "pg-p-p-uid 1",
       "Pod p"},
      {"a Workflow that somebody else owns is not on top",
       PodOf("p", kArgo, "Workflow", "w") + Workflow(OwnedBy("example.com/v1", "Foo", "f")) +
           ObjectOf("example.com/v1", "Foo", "f"),
       "pg-f-foo-f 1", "Foo f"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Objects objects(test.manifests);
    EXPECT_EQ(objects.Text(), test.expected);
    const GroupOwner owner = objects.Of().owner;
    EXPECT_EQ(owner.kind + " " + owner.name, test.owner);
  }
}

TEST(LookThroughTest, TheGroupsOfADynamoDeploymentAreGrovesAlsoBelowAWorkflow) {
  for (const std::string version : {"nvidia.com/v1alpha1", "nvidia.com/v1beta1"}) {
    for (const bool has_workflow : {false, true}) {
      const std::string above = has_workflow ? OwnedByWorkflow() : "";
      const Objects objects(
          PodOf("p", "grove.io/v1alpha1", "PodClique", "c", "  labels: {grove.io/podgang: g}\n") +
          ObjectOf("grove.io/v1alpha1", "PodClique", "c", OwnedBy("grove.io/v1alpha1", "PodCliqueSet", "s")) +
          ObjectOf("grove.io/v1alpha1", "PodCliqueSet", "s", OwnedBy(version, "DynamoGraphDeployment", "d")) +
          ObjectOf(version, "DynamoGraphDeployment", "d", above) + (has_workflow ? Workflow() : "") +
          ObjectOf("scheduler.grove.io/v1alpha1", "PodGang", "g",
                   "spec: {podgroups: [{name: a, minReplicas: 3, podReferences: [{namespace: default, name: p}]}]}\n"));
      EXPECT_EQ(objects.Text(), "pg-g-podgang-g 3: a{3}; in a") << version << has_workflow;
    }
  }
}

// A workload below a WorkloadRunner is grouped as it is alone.
TEST(LookThroughTest, AWorkloadRunnerAboveAWorkloadChangesNoGroup) {
  const std::string runner = ObjectOf("run.ai/v2", "WorkloadRunner", "r");
  const auto torch = [](std::string_view above) {
    return PodOf("p", "kubeflow.org/v1", "PyTorchJob", "t",
                 "  labels: {training.kubeflow.org/replica-type: worker}\n") +
           ObjectOf("kubeflow.org/v1", "PyTorchJob", "t",
                    std::string(above) + "spec: {pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 3}}}\n");
  };
  const auto dynamo = [](std::string_view above) {
    return PodOf("p", "grove.io/v1alpha1", "PodCliqueSet", "s", "  labels: {grove.io/podgang: g}\n") +
           ObjectOf("grove.io/v1alpha1", "PodCliqueSet", "s",
                    OwnedBy("nvidia.com/v1beta1", "DynamoGraphDeployment", "d")) +
           ObjectOf("nvidia.com/v1beta1", "DynamoGraphDeployment", "d", above) +
           ObjectOf("scheduler.grove.io/v1alpha1", "PodGang", "g",
                    "spec: {podgroups: [{name: a, minReplicas: 3, podReferences: [{namespace: default, name: p}]}]}\n");
  };
  const std::string below = OwnedBy("run.ai/v2", "WorkloadRunner", "r");
  EXPECT_EQ(Objects(torch(below) + runner).Text(), "pg-t-pytorchjob-t 4: master{1} worker{3}; in worker");
  EXPECT_EQ(Objects(torch(below) + runner).Of().owner, Objects(torch("")).Of().owner);
  EXPECT_EQ(Objects(dynamo(below) + runner).Text(), "pg-g-podgang-g 3: a{3}; in a");
  EXPECT_EQ(Objects(dynamo(below) + runner).Of().annotations, Objects(dynamo("")).Of().annotations);
  EXPECT_EQ(Objects(PodOf("p", "run.ai/v2", "WorkloadRunner", "r") + runner).Text(), "pg-p-p-uid 1");
}

TEST(LookThroughTest, FieldsThatTheOwnerLacksAreTheSkippedOnes) {
  struct Case {
    const char* what;
    std::string pod;
    std::string foo;  // An object of example.com/v1 below the Workflow.
    std::string workflow;
    const char* queue;
    const char* delay;
    const char* priority;
    const char* preemptibility;
    const char* team;  // The label of the group.
  };
  const std::string all =
      "  labels: {kai.scheduler/queue: q, priorityClassName: build, kai.scheduler/preemptibility: preemptible, team: "
      "w}\n"
      "  annotations: {kai.scheduler/preemption-delay: 5m}\n";
  const std::string others =
      "  labels: {kai.scheduler/queue: Q, priorityClassName: inference,\n"
      "    kai.scheduler/preemptibility: non-preemptible, team: f}\n"
      "  annotations: {kai.scheduler/preemption-delay: 1h}\n";
  const Case cases[] = {
      {"nobody has any", "", "", "", "default-queue", "", "train", "", ""},
      {"the skipped one (G22)", "", "", all, "q", "5m0s", "build", "preemptible", "w"},
      {"the one below wins", "", others, all, "Q", "1h0m0s", "inference", "non-preemptible", "f"},
      {"the skipped one beats the pod", others, "", all, "q", "5m0s", "build", "preemptible", "w"},
      {"an empty value counts as one that is there", "", "  labels: {team: \"\"}\n", all, "q", "5m0s", "build",
       "preemptible", ""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Grouping grouping =
        Objects(PodOf("p", "example.com/v1", "Foo", "f", test.pod) +
                ObjectOf("example.com/v1", "Foo", "f", OwnedByWorkflow() + test.foo) + Workflow(test.workflow))
            .Of();
    EXPECT_EQ(grouping.queue, test.queue);
    EXPECT_EQ(grouping.preemption_delay, test.delay);
    EXPECT_EQ(grouping.priority_class, test.priority);
    EXPECT_EQ(grouping.preemptibility, test.preemptibility);
    const auto team = grouping.labels.find("team");
    EXPECT_EQ(team == grouping.labels.end() ? "" : team->second, test.team);
  }
}

TEST(LookThroughTest, APodOfAWorkflowHasTheWorkflowsQueue) {
  const Objects objects(PodOf("p", kArgo, "Workflow", "w") + Workflow("  labels: {kai.scheduler/queue: q}\n"));
  EXPECT_EQ(objects.Of().queue, "q");
  const Objects own(PodOf("p", kArgo, "Workflow", "w", "  labels: {kai.scheduler/queue: own}\n") +
                    Workflow("  labels: {kai.scheduler/queue: q}\n"));
  EXPECT_EQ(own.Of().queue, "own");
}

TEST(LookThroughTest, DefaultsOfTheSkippedKindComeAfterWhatAnybodySays) {
  struct Case {
    const char* what;
    std::string pod;
    std::string job;
    std::string workflow;
    KindDefaults defaults;  // Defaults of Workflow.argoproj.io.
    const char* priority;
    const char* preemptibility;
  };
  const KindDefaults both{"build", "non-preemptible"};
  const std::string label = "  labels: {priorityClassName: inference}\n";
  const Case cases[] = {
      {"no defaults", "", "", "", {}, "train", ""},
      {"defaults alone", "", "", "", both, "build", "non-preemptible"},
      {"a class that does not exist", "", "", "", {"missing", "non-preemptible"}, "train", "non-preemptible"},
      {"a label of the Workflow (G30)", "", "", label, both, "inference", "non-preemptible"},
      {"a label of the pod (G30)", label, "", "", both, "inference", "non-preemptible"},
      {"the pod's spec (G30)", "spec: {priorityClassName: inference}\n", "", "", both, "inference", "non-preemptible"},
      {"a label of the Job", "", label, "", both, "inference", "non-preemptible"},
      {"capitals (G31)", "", "", "", {"build", "Non-Preemptible"}, "build", "non-preemptible"},
      {"no preemptibility", "", "", "", {"build", "never"}, "build", ""},
      {"a label against the default's preemptibility", "", "  labels: {kai.scheduler/preemptibility: preemptible}\n",
       "", both, "build", "preemptible"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Objects objects(PodOfJob(test.pod) + JobOfWorkflow(test.job) + Workflow(test.workflow));
    objects.options.kind_defaults["Workflow.argoproj.io"] = test.defaults;
    const Grouping grouping = objects.Of();
    EXPECT_EQ(grouping.priority_class, test.priority);
    EXPECT_EQ(grouping.preemptibility, test.preemptibility);
    EXPECT_EQ(grouping.labels.contains("kai.scheduler/preemptibility"),
              test.job.find("preemptibility") != std::string::npos);
  }
}

TEST(LookThroughTest, DefaultsOfTheSkippedKindComeBeforeThoseOfTheKindBelow) {
  Objects objects(PodOfJob() + JobOfWorkflow() + Workflow());
  objects.options.kind_defaults = {{"Job", {"inference", "preemptible"}}, {"Workflow", {"build", ""}}};
  EXPECT_EQ(objects.Of().priority_class, "build");
  EXPECT_EQ(objects.Of().preemptibility, "preemptible");
}

TEST(OptOutTest, OnlyTheTextTrueOnPodOrOwnerOptsOut) {
  struct Case {
    const char* what;
    std::string manifests;
    const char* expected;
  };
  const auto owned = [](std::string_view pod, std::string_view lower, std::string_view upper) {
    return PodOf("p", "apps/v1", "ReplicaSet", "r", pod) +
           ObjectOf("apps/v1", "ReplicaSet", "r", OwnedBy("apps/v1", "Deployment", "d") + std::string(lower)) +
           ObjectOf("apps/v1", "Deployment", "d", upper);
  };
  const std::string preset = "  annotations: {pod-group-name: ext}\n";
  const std::string torch = "spec: {pytorchReplicaSpecs: {Master: {replicas: 1}}}\n";
  const Case cases[] = {
      {"the pod", owned(OptOut("true"), "", ""), "opted out by Pod default/p"},
      {"the pod, with another case", owned(OptOut("True"), "", ""), "pg-p-p-uid 1"},
      {"the pod says false", owned(OptOut("false"), "", ""), "pg-p-p-uid 1"},
      {"the pod says 1", owned(OptOut("1"), "", ""), "pg-p-p-uid 1"},
      {"the pod says nothing", owned(OptOut(""), "", ""), "pg-p-p-uid 1"},
      {"a label is no annotation", owned("  labels: {kai.scheduler/skip-podgrouper: \"true\"}\n", "", ""),
       "pg-p-p-uid 1"},
      {"the direct owner of a pod that is assigned", owned(preset, OptOut("true"), ""),
       "opted out by ReplicaSet default/r"},
      {"the top owner", owned("", "", OptOut("true")), "opted out by Deployment default/d"},
      {"an owner that is looked through",
       PodOf("p", "kubeflow.org/v1", "PyTorchJob", "t", preset) +
           ObjectOf("kubeflow.org/v1", "PyTorchJob", "t", OwnedByWorkflow() + torch) + Workflow(OptOut("true")),
       "opted out by Workflow default/w"},
      {"nobody: the group of an owned pod is overwritten",
       PodOf("p", "kubeflow.org/v1", "PyTorchJob", "t",
             preset + "  labels: {training.kubeflow.org/replica-type: master}\n") +
           ObjectOf("kubeflow.org/v1", "PyTorchJob", "t", torch),
       "pg-t-pytorchjob-t 1: master{1}; in master"},
  };
  for (const Case& test : cases) EXPECT_EQ(Objects(test.manifests).Text(), test.expected) << test.what;
}

TEST(OptOutTest, ABarePodThatIsAssignedIsLeftAlone) {
  const auto bare = [](std::string_view annotations) {
    return fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: p, uid: u, annotations: {{{}}}}}\n", annotations);
  };
  EXPECT_EQ(Objects(bare("pod-group-name: ext")).Text(), "assigned");
  EXPECT_EQ(Objects(bare("pod-group-name: \"\"")).Text(), "assigned");
  EXPECT_EQ(Objects(bare("")).Text(), "pg-p-u 1");
  EXPECT_EQ(Objects(bare("pod-group-name: ext, kai.scheduler/skip-podgrouper: \"true\"")).Text(),
            "opted out by Pod default/p");
}

TEST(OptOutTest, TheResultNamesTheRuleAndWhoseItIs) {
  const absl::StatusOr<PodGrouping> grouped = Objects(PodOfJob() + JobOfWorkflow() + Workflow()).Group();
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  EXPECT_EQ(grouped->decided_by, "Job default/j");
  EXPECT_THAT(grouped->rule, HasSubstr("batch-min-member"));
}

}  // namespace
}  // namespace basalt::pgsvc::testing
