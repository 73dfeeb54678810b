#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/ascii.h"
#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Returns the group of a pod of job `j` of that kind.
std::string Grouped(std::string_view api_version, std::string_view kind, std::string_view spec,
                    std::string_view pod = "", std::string_view others = "") {
  return Objects(PodOf("p", api_version, kind, "j", pod) +
                 ObjectOf(api_version, kind, "j", fmt::format("spec: {}\n", spec)) + std::string(others))
      .Text();
}

TEST(KubeflowTest, TheMinimumIsMinAvailableOrAllReplicas) {
  struct Case {
    const char* what;
    const char* kind;
    const char* spec;
    const char* expected;  // The minimum, or the beginning of the error.
  };
  const Case cases[] = {
      {"one role", "TFJob", "{tfReplicaSpecs: {Worker: {replicas: 2}}}", "2"},
      {"all roles", "TFJob", "{tfReplicaSpecs: {Chief: {replicas: 1}, PS: {replicas: 2}, Worker: {replicas: 4}}}", "7"},
      {"missing replicas are one (G13)", "TFJob", "{tfReplicaSpecs: {Chief: {}, Worker: {replicas: 4}}}", "5"},
      {"minAvailable", "TFJob",
       "{runPolicy: {schedulingPolicy: {minAvailable: 3}}, tfReplicaSpecs: {Worker: {replicas: 4}}}", "3"},
      {"minAvailable of 0", "TFJob", "{runPolicy: {schedulingPolicy: {minAvailable: 0}}}", "0"},
      {"negative minAvailable (G37)", "TFJob",
       "{runPolicy: {schedulingPolicy: {minAvailable: -1}}, tfReplicaSpecs: {Worker: {replicas: 4}}}",
       "error: TFJob default/j: spec.runPolicy.schedulingPolicy.minAvailable"},
      {"minAvailable that is a text", "TFJob",
       "{runPolicy: {schedulingPolicy: {minAvailable: \"1\"}}, tfReplicaSpecs: {Worker: {replicas: 4}}}",
       "error: TFJob default/j: spec.runPolicy.schedulingPolicy.minAvailable"},
      {"zero replicas", "TFJob", "{tfReplicaSpecs: {PS: {replicas: 0}, Worker: {replicas: 4}}}",
       "error: TFJob default/j: spec.tfReplicaSpecs.PS.replicas"},
      {"replicas that are a text", "TFJob", "{tfReplicaSpecs: {Worker: {replicas: \"4\"}}}",
       "error: TFJob default/j: spec.tfReplicaSpecs.Worker.replicas"},
      {"no roles", "TFJob", "{tfReplicaSpecs: {}}", "error: TFJob default/j: spec.tfReplicaSpecs"},
      {"no map of roles", "TFJob", "{}", "error: TFJob default/j: spec.tfReplicaSpecs"},
      {"more than can be counted", "TFJob", "{tfReplicaSpecs: {PS: {replicas: 2147483647}, Worker: {replicas: 1}}}",
       "error: TFJob default/j: spec.tfReplicaSpecs"},
      {"XGBoost", "XGBoostJob", "{xgbReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}}", "3"},
      {"XGBoost without a master", "XGBoostJob", "{xgbReplicaSpecs: {Worker: {replicas: 2}}}",
       "error: XGBoostJob default/j: spec.xgbReplicaSpecs.Master"},
      {"XGBoost without workers", "XGBoostJob", "{xgbReplicaSpecs: {Master: {replicas: 2}}}",
       "error: XGBoostJob default/j: spec.xgbReplicaSpecs.Worker"},
      {"XGBoost without a master, with minAvailable", "XGBoostJob",
       "{runPolicy: {schedulingPolicy: {minAvailable: 2}}, xgbReplicaSpecs: {Worker: {replicas: 2}}}", "2"},
      {"JAX", "JAXJob", "{jaxReplicaSpecs: {Worker: {replicas: 2}}}", "2"},
      {"JAX without workers", "JAXJob", "{jaxReplicaSpecs: {Other: {replicas: 2}}}",
       "error: JAXJob default/j: spec.jaxReplicaSpecs.Worker"},
      {"MPI", "MPIJob", "{mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 2}}}", "3"},
      {"MPI with minAvailable", "MPIJob",
       "{runPolicy: {schedulingPolicy: {minAvailable: 2}}, "
       "mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 2}}}",
       "2"},
      {"MPI without a launcher", "MPIJob", "{mpiReplicaSpecs: {Worker: {replicas: 2}}}",
       "error: MPIJob default/j: spec.mpiReplicaSpecs.Launcher"},
  };
  for (const Case& test : cases) {
    const std::string_view expected = test.expected;
    EXPECT_THAT(Grouped("kubeflow.org/v1", test.kind, test.spec),
                StartsWith(expected.starts_with("error")
                               ? std::string(expected)
                               : fmt::format("pg-j-{}-j {}", absl::AsciiStrToLower(test.kind), expected)))
        << test.what;
  }
}

// G37: applies to every kind, with a warning.
TEST(KubeflowTest, AMinimumAboveAllReplicasIsLowered) {
  struct Case {
    const char* kind;
    const char* spec;
    const char* expected;
    const char* warning;  // Null if there is none.
  };
  const char* const available = "spec.runPolicy.schedulingPolicy.minAvailable: a minimum of 5 can never be met";
  const Case cases[] = {
      {"TFJob", "{runPolicy: {schedulingPolicy: {minAvailable: 5}}, tfReplicaSpecs: {PS: {}, Worker: {replicas: 3}}}",
       "4", available},
      {"TFJob", "{runPolicy: {schedulingPolicy: {minAvailable: 4}}, tfReplicaSpecs: {PS: {}, Worker: {replicas: 3}}}",
       "4", nullptr},
      {"TFJob", "{runPolicy: {schedulingPolicy: {minAvailable: 5}}}", "5", nullptr},
      {"TFJob", "{runPolicy: {schedulingPolicy: {minAvailable: 5}}, tfReplicaSpecs: {Worker: {replicas: x}}}", "5",
       nullptr},
      {"XGBoostJob", "{runPolicy: {schedulingPolicy: {minAvailable: 5}}, xgbReplicaSpecs: {Worker: {replicas: 2}}}",
       "2", available},
      {"MPIJob",
       "{launcherCreationPolicy: WaitForWorkersReady, runPolicy: {schedulingPolicy: {minAvailable: 5}}, "
       "mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 3}}}",
       "3", available},
      {"PyTorchJob",
       "{runPolicy: {schedulingPolicy: {minAvailable: 5}}, pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 3}}}",
       "4: master{1} worker{3} default{0}", available},
      {"PyTorchJob", "{elasticPolicy: {minReplicas: 7}, pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 3}}}",
       "4: master{1} worker{3} default{0}", "spec.elasticPolicy.minReplicas: a minimum of 7 can never be met"},
      // Nobody has requested the minimum that is lowered here: the other role's pod is no worker.
      {"PyTorchJob", "{pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 3}, Evaluator: {}}}",
       "5: master{1} worker{3} default{0}", nullptr},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.spec);
    const Objects objects(PodOf("p", "kubeflow.org/v1", test.kind, "j") +
                          ObjectOf("kubeflow.org/v1", test.kind, "j", fmt::format("spec: {}\n", test.spec)));
    EXPECT_EQ(objects.Text(), fmt::format("pg-j-{}-j {}", absl::AsciiStrToLower(test.kind), test.expected));
    if (test.warning == nullptr) {
      EXPECT_THAT(objects.Of().warnings, IsEmpty());
    } else {
      EXPECT_THAT(objects.Of().warnings, ElementsAre(HasSubstr(test.warning)));
    }
  }
}

TEST(MpiJobTest, ALauncherThatComesLaterCountsOnceItIsThere) {
  const std::string roles = "mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 2}}}";
  const std::string delayed = "{launcherCreationPolicy: WaitForWorkersReady, " + roles;
  const auto launcher = [](std::string_view job, std::string_view role, std::string_view more = "") {
    return ObjectOf(
        "v1", "Pod", "l",
        fmt::format("{}  labels: {{training.kubeflow.org/job-name: {}, training.kubeflow.org/job-role: {}}}\n", more,
                    job, role));
  };
  struct Case {
    const char* what;
    std::string spec;
    std::string others;
    const char* expected;
  };
  const std::string min = "runPolicy: {schedulingPolicy: {minAvailable: ";
  const Case cases[] = {
      {"made at startup", "{launcherCreationPolicy: AtStartup, " + roles, "", "pg-j-mpijob-j 3"},
      {"absent", delayed, "", "pg-j-mpijob-j 2"},
      {"present", delayed, launcher("j", "launcher"), "pg-j-mpijob-j 3"},
      {"terminating", delayed, launcher("j", "launcher", "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n"),
       "pg-j-mpijob-j 2"},
      {"of another job", delayed, launcher("k", "launcher"), "pg-j-mpijob-j 2"},
      {"in another namespace", delayed, launcher("j", "launcher", "  namespace: other\n"), "pg-j-mpijob-j 2"},
      {"a worker", delayed, launcher("j", "worker"), "pg-j-mpijob-j 2"},
      {"minAvailable, too", "{" + min + "1}}, launcherCreationPolicy: WaitForWorkersReady, " + roles, "",
       "pg-j-mpijob-j 0"},
      {"no less than 0 (G51)", "{" + min + "0}}, launcherCreationPolicy: WaitForWorkersReady, " + roles, "",
       "pg-j-mpijob-j 0"},
  };
  for (const Case& test : cases) {
    for (const char* const version : {"kubeflow.org/v1", "kubeflow.org/v2beta1"}) {
      EXPECT_EQ(Grouped(version, "MPIJob", test.spec, "", test.others), test.expected) << test.what << version;
    }
  }
  const std::string no_launcher =
      "{launcherCreationPolicy: WaitForWorkersReady, " + min + "2}}, mpiReplicaSpecs: {Worker: {replicas: 2}}}";
  EXPECT_THAT(Grouped("kubeflow.org/v1", "MPIJob", no_launcher), HasSubstr("spec.mpiReplicaSpecs.Launcher"));
}

std::string Torch(std::string_view spec, std::string_view pod = "") {
  return Grouped("kubeflow.org/v1", "PyTorchJob", spec, pod);
}
// Returns labels of a pod, without an index if `index` is empty.
std::string Role(std::string_view type, std::string_view index = "", std::string_view more = "") {
  return fmt::format("  labels: {{training.kubeflow.org/replica-type: {}{}}}\n{}", type,
                     index.empty() ? "" : fmt::format(", training.kubeflow.org/replica-index: \"{}\"", index), more);
}
// `size` is that of segments, in the template of Worker.
std::string Spec(std::string_view master, std::string_view workers, std::string_view size, std::string_view more = "") {
  return fmt::format(
      "{{{}pytorchReplicaSpecs: {{{}Worker: {{replicas: {}, template: {{metadata: {{annotations: "
      "{{kai.scheduler/segment-size: \"{}\"}}}}}}}}}}}}",
      more, master.empty() ? "" : fmt::format("Master: {{replicas: {}}}, ", master), workers, size);
}
std::string Elastic(int least) { return fmt::format("elasticPolicy: {{minReplicas: {}}}, ", least); }

TEST(PyTorchJobTest, TheMinimumIsMinAvailableOverMinReplicasOverAllReplicas) {
  const std::string master = Role("master");
  const std::string available = "runPolicy: {schedulingPolicy: {minAvailable: 2}}, ";
  EXPECT_EQ(Torch(Spec("1", "4", ""), master), "pg-j-pytorchjob-j 5: master{1} worker{4}; in master");
  EXPECT_EQ(Torch(Spec("1", "4", "", Elastic(3)), master), "pg-j-pytorchjob-j 3: master{1} worker{2}; in master");
  EXPECT_EQ(Torch(Spec("1", "4", "", Elastic(3) + available), master),
            "pg-j-pytorchjob-j 2: master{1} worker{1}; in master");
  EXPECT_EQ(Torch(Spec("2", "4", "", Elastic(1)), master), "pg-j-pytorchjob-j 1: master{2} worker{0}; in master");
  EXPECT_EQ(Torch(Spec("1", "4", "", "elasticPolicy: {minReplicas: x}, "), master),
            "pg-j-pytorchjob-j 5: master{1} worker{4}; in master");
  EXPECT_EQ(Torch(Spec("", "4", ""), Role("worker")), "pg-j-pytorchjob-j 4: worker{4}; in worker");
  EXPECT_EQ(Torch("{pytorchReplicaSpecs: {Master: {}}}", master), "pg-j-pytorchjob-j 1: master{1}; in master");
  EXPECT_EQ(Torch("{elasticPolicy: {minReplicas: 2}, pytorchReplicaSpecs: {Master: {}, Worker: {}}}", master),
            "pg-j-pytorchjob-j 2: master{1} worker{1}; in master");
}

TEST(PyTorchJobTest, AJobWithoutRolesIsAnError) {
  EXPECT_THAT(Torch("{}"), HasSubstr("error: PyTorchJob default/j: spec.pytorchReplicaSpecs"));
  EXPECT_THAT(Torch("{runPolicy: {schedulingPolicy: {minAvailable: 2}}}"),
              HasSubstr("error: PyTorchJob default/j: spec.pytorchReplicaSpecs"));
  EXPECT_THAT(Torch(Spec("0", "4", "", Elastic(3))), HasSubstr("error: PyTorchJob default/j"));
  EXPECT_THAT(Torch(Spec("1", "4", "", Elastic(-3))),
              HasSubstr("error: PyTorchJob default/j: spec.elasticPolicy.minReplicas"));
}

TEST(PyTorchJobTest, WorkersStandInSegments) {
  struct Case {
    const char* what;
    std::string spec;
    std::string pod;
    const char* expected;
  };
  const std::string available = "runPolicy: {schedulingPolicy: {minAvailable: 1}}, ";
  const Case cases[] = {
      {"a worker", Spec("1", "4", "2"), Role("worker", "3"),
       "5: master{1} worker{sub 2} worker-0{worker, 2} worker-1{worker, 2}; in worker-1"},
      {"the master", Spec("1", "4", "2"), Role("master", "0"),
       "5: master{1} worker{sub 2} worker-0{worker, 2} worker-1{worker, 2}; in master"},
      {"a remainder", Spec("", "5", "2"), Role("worker", "4"),
       "5: worker{sub 3} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 1}; in worker-2"},
      {"elastic ones", Spec("1", "8", "2", Elastic(5)), Role("worker", "7"),
       "5: master{1} worker{sub 4} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 0} worker-3{worker, 0}; "
       "in worker-3"},
      {"the minimum is rounded up to whole segments (G47)", Spec("1", "8", "2", Elastic(4)), Role("worker", "0"),
       "4: master{1} worker{sub 4} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 0} worker-3{worker, 0}; "
       "in worker-0"},
      {"a mandatory remainder", Spec("1", "5", "2", Elastic(6)), Role("worker", "2"),
       "6: master{1} worker{sub 3} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 1}; in worker-1"},
      {"an elastic remainder", Spec("1", "5", "2", Elastic(5)), Role("worker", "2"),
       "5: master{1} worker{sub 3} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 0}; in worker-1"},
      {"one segment", Spec("1", "3", "2", Elastic(3)), Role("worker", "2"),
       "3: master{1} worker{sub 2} worker-0{worker, 2} worker-1{worker, 0}; in worker-1"},
      {"one segment", Spec("1", "2", "9"), Role("worker", "1"),
       "3: master{1} worker{sub 1} worker-0{worker, 2}; in worker-0"},
      {"no workers", Spec("1", "0", "2", available), Role("master"), "1: master{1} worker{0}; in master"},
      {"the size of the pod beats the template's", Spec("1", "4", "2"),
       Role("worker", "3", "  annotations: {kai.scheduler/segment-size: \"4\"}\n"),
       "5: master{1} worker{sub 1} worker-0{worker, 4}; in worker-0"},
      {"an empty size is none", Spec("1", "4", ""),
       Role("worker", "", "  annotations: {kai.scheduler/segment-size: \"\"}\n"), "5: master{1} worker{4}; in worker"},
      {"another role fits no leaf (G43)", Spec("1", "4", "2"), Role("evaluator", "0"),
       "5: master{1} worker{sub 2} worker-0{worker, 2} worker-1{worker, 2} default{0}"},
      {"an index beyond the segments (G43)", Spec("1", "4", "2"), Role("worker", "4"),
       "5: master{1} worker{sub 2} worker-0{worker, 2} worker-1{worker, 2} default{0}"},
      {"an index beyond the replicas of a segment that is there", Spec("", "5", "2"), Role("worker", "5"),
       "5: worker{sub 3} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 1}; in worker-2"},
      {"an index beyond that segment (G43)", Spec("", "5", "2"), Role("worker", "6"),
       "5: worker{sub 3} worker-0{worker, 2} worker-1{worker, 2} worker-2{worker, 1} default{0}"},
      {"a pod without labels", Spec("1", "4", ""), "", "5: master{1} worker{4} default{0}"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Torch(test.spec, test.pod), std::string("pg-j-pytorchjob-j ") + test.expected) << test.what;
  }
}

TEST(PyTorchJobTest, SizesAndIndicesThatAreNoneAreErrors) {
  const auto sized = [](std::string_view size) {
    return Role("worker", "0", fmt::format("  annotations: {{kai.scheduler/segment-size: \"{}\"}}\n", size));
  };
  const std::string spec = Spec("1", "4", "2");
  for (const std::string index : {"-1", "x", "1.5", "9999999999"}) {
    EXPECT_THAT(Torch(spec, Role("worker", index)),
                AllOf(HasSubstr("error: Pod default/p"), HasSubstr("training.kubeflow.org/replica-index")));
  }
  EXPECT_THAT(Torch(spec, Role("worker")), HasSubstr("error: Pod default/p"));
  for (const std::string size : {"0", "-1", "x"}) {
    EXPECT_THAT(Torch(spec, sized(size)), AllOf(HasSubstr("error: Pod default/p"), HasSubstr("segment-size")));  // G10
    EXPECT_THAT(Torch(Spec("1", "4", size), Role("worker", "0")),
                AllOf(HasSubstr("error: PyTorchJob default/j"), HasSubstr("segment-size")));
  }
}

TEST(PyTorchJobTest, ThereAreTenThousandSegmentsAtMost) {
  const Objects most(
      PodOf("p", "kubeflow.org/v1", "PyTorchJob", "j", Role("worker", "9999")) +
      ObjectOf("kubeflow.org/v1", "PyTorchJob", "j", fmt::format("spec: {}\n", Spec("1", "10000", "1"))));
  EXPECT_EQ(most.Of().sub_groups.size(), 10'002U);
  EXPECT_EQ(most.Of().pod_sub_group, "worker-9999");
  EXPECT_THAT(Torch(Spec("1", "10001", "1"), Role("worker", "0")), HasSubstr("error: PyTorchJob default/j"));
}

TEST(PyTorchJobTest, SegmentsHaveATopologyWhereItAndALevelAreNamed) {
  // `pod`, `pod_template` and `job` are annotations of these.
  struct Case {
    const char* what;
    const char* pod;
    const char* pod_template;
    const char* job;
    const char* expected;
  };
  const Case cases[] = {
      {"none", "", "", "", ""},
      {"the template's", "", ", kai.scheduler/topology: t, kai.scheduler/segment-topology-required-placement: rack", "",
       " @t/rack/"},
      {"the job's topology", "", ", kai.scheduler/segment-topology-preferred-placement: rack",
       "kai.scheduler/topology: t", " @t//rack"},
      {"the pod's first", "kai.scheduler/topology: p, kai.scheduler/segment-topology-required-placement: zone",
       ", kai.scheduler/topology: t, kai.scheduler/segment-topology-required-placement: rack", "", " @p/zone/"},
      {"a level without a topology", "", ", kai.scheduler/segment-topology-required-placement: rack", "", ""},
      {"a topology without a level", "", ", kai.scheduler/topology: t", "", ""},
      {"levels of the group are not those of segments", "", ", kai.scheduler/topology-required-placement: rack",
       "kai.scheduler/topology: t", ""},
      {"a level of the job does not count", "", "",
       "kai.scheduler/topology: t, kai.scheduler/segment-topology-required-placement: rack", ""},
  };
  for (const Case& test : cases) {
    const Objects objects(
        PodOf("p", "kubeflow.org/v1", "PyTorchJob", "j",
              Role("worker", "0", fmt::format("  annotations: {{{}}}\n", test.pod))) +
        ObjectOf("kubeflow.org/v1", "PyTorchJob", "j",
                 fmt::format("  annotations: {{{}}}\nspec: {{pytorchReplicaSpecs: {{Worker: {{replicas: 3, template: "
                             "{{metadata: {{annotations: {{kai.scheduler/segment-size: \"2\"{}}}}}}}}}}}}}\n",
                             test.job, test.pod_template)));
    EXPECT_THAT(objects.Text(), HasSubstr(fmt::format(": worker{{sub 2}} worker-0{{worker, 2{0}}} worker-1{{worker, "
                                                      "1{0}}}; in worker-0",
                                                      test.expected)))
        << test.what;
  }
}

}  // namespace
}  // namespace basalt::pgsvc::testing
