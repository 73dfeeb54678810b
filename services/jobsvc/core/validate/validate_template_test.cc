#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {
namespace {

struct Row {
  std::string name;
  std::string pod_template;
  std::string wanted;  // "KIND field" of each violation below the template; C8 unless the text names another rule.
  std::string topology_policy;
};

class TemplateRulesTest : public testing::TestWithParam<Row> {};

TEST_P(TemplateRulesTest, NamesKindAndField) {
  kube::v1::Job job = TestJob("j", {{"t", 1, GetParam().pod_template}});
  job.mutable_spec()->mutable_tasks(0)->set_topology_policy(GetParam().topology_policy);
  kube::v1::VolumeSpec* volume = job.mutable_spec()->add_volumes();
  volume->set_mount_path("/data");
  volume->set_volume_claim_name("claim");
  job.mutable_spec()->add_plugins()->set_name("svc");
  std::string got;
  for (const Violation& violation : ValidateJob(EffectiveSpec(job), "j", "ns").violations) {
    constexpr std::string_view kPrefix = "spec.tasks[0].template";
    EXPECT_TRUE(violation.field.starts_with(kPrefix)) << violation.message;
    if (!got.empty()) got += ' ';
    got += std::string(ViolationKindName(violation.kind)) + " " + violation.field.substr(kPrefix.size());
  }
  EXPECT_EQ(got, GetParam().wanted);
}

std::string Container(const std::string& members) {
  return R"({"spec":{"containers":[{"name":"c","image":"i",)" + members + "}]}}";
}

const std::string k64(64, 'a');

INSTANTIATE_TEST_SUITE_P(
    C8, TemplateRulesTest,
    testing::Values(
        Row{"Good", R"({"metadata":{"name":"web","creationTimestamp":null,"labels":{"a":"b"}},"spec":{
             "restartPolicy":"Never","volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"i","image":"i",
             "restartPolicy":"Always","volumeMounts":[{"name":"v","mountPath":"/data"}]}],
             "containers":[{"name":"c","image":"i","env":[{"name":"A.b-1"}],"ports":[{"containerPort":80}],
             "volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"j-svc","mountPath":"/w"}],
             "resources":{"requests":{"cpu":1,"memory":"1Gi"},"limits":{"cpu":"1"}}}]}})",
            ""},
        Row{"NotJson", "{", "INVALID "}, Row{"Empty", "", "REQUIRED "}, Row{"AList", "[]", "INVALID "},
        Row{"NoSpec", "{}", "INVALID "}, Row{"ContainersNoList", R"({"spec":{"containers":{}}})", "INVALID "},
        Row{"NoContainers", R"({"spec":{}})", "REQUIRED .spec.containers"},
        Row{"TooDeep",
            R"({"spec":{"containers":[{"name":"c","image":"i"}],"x":)" + std::string(200, '[') + std::string(200, ']') +
                "}}",
            "INVALID "},
        Row{"NoName", R"({"spec":{"containers":[{"image":"i"}]}})", "INVALID .spec.containers[0].name"},
        Row{"BadName", R"({"spec":{"containers":[{"name":"A","image":"i"}]}})", "INVALID .spec.containers[0].name"},
        Row{"LongName", R"({"spec":{"containers":[{"name":")" + k64 + R"(","image":"i"}]}})",
            "INVALID .spec.containers[0].name"},
        Row{"SameName",
            R"({"spec":{"containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"c","image":"i"}]}})",
            "DUPLICATE .spec.containers[0].name"},
        Row{"NoImage", R"({"spec":{"containers":[{"name":"c"}]}})", "REQUIRED .spec.containers[0].image"},
        Row{"RestartPolicy", R"({"spec":{"restartPolicy":"Maybe","containers":[{"name":"c","image":"i"}]}})",
            "INVALID .spec.restartPolicy"},
        Row{"InitRestartPolicy",
            R"({"spec":{"containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"i","image":"i","restartPolicy":"Maybe"}]}})",
            "INVALID .spec.initContainers[0].restartPolicy"},
        Row{"BadQuantity", Container(R"("resources":{"requests":{"cpu":"one"}})"),
            "INVALID .spec.containers[0].resources"},
        Row{"NegativeQuantity", Container(R"("resources":{"limits":{"cpu":"-1"}})"),
            "INVALID .spec.containers[0].resources.limits.cpu"},
        Row{"RequestAboveLimit", Container(R"("resources":{"requests":{"cpu":"1500m"},"limits":{"cpu":"1"}})"),
            "INVALID .spec.containers[0].resources.requests.cpu"},
        Row{"EnvName", Container(R"("env":[{"name":"OK"},{"name":"a=b"}])"), "INVALID .spec.containers[0].env[1].name"},
        Row{"Port", Container(R"("ports":[{"containerPort":0}])"),
            "INVALID .spec.containers[0].ports[0].containerPort"},
        Row{"UnknownVolume", Container(R"("volumeMounts":[{"name":"v","mountPath":"/v"}])"),
            "NOT_FOUND .spec.containers[0].volumeMounts[0].name"},
        Row{"NoMountPath", Container(R"("volumeMounts":[{"name":"j-svc"}])"),
            "REQUIRED .spec.containers[0].volumeMounts[0].mountPath"},
        Row{"MountsOverTheJobsVolume", Container(R"("volumeMounts":[{"name":"j-svc","mountPath":"/data"}])"),
            "DUPLICATE .spec.containers[0].volumeMounts[0].mountPath"},
        Row{"MountsOverAPlugin", Container(R"("volumeMounts":[{"name":"j-svc","mountPath":"/etc/volcano"}])"),
            "DUPLICATE .spec.containers[0].volumeMounts[0].mountPath"},
        Row{"MountsOverAPluginInAnInitContainer",
            R"({"spec":{"containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"i","image":"i",
                "volumeMounts":[{"name":"j-svc","mountPath":"/etc/volcano"}]}]}})",
            "DUPLICATE .spec.initContainers[0].volumeMounts[0].mountPath"},
        Row{"VolumeOfAPlugin", R"({"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"j-svc"}]}})",
            "DUPLICATE .spec.volumes[0].name"},
        Row{"WhatNoPluginOfTheJobMounts",
            R"({"spec":{"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"j-ssh","mountPath":"/root/.ssh"}]}],
                "volumes":[{"name":"j-ssh"}]}})",
            ""},
        Row{"VolumeNames",
            R"({"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v"},{"name":"v"},{"name":"V"}]}})",
            "DUPLICATE .spec.volumes[1].name INVALID .spec.volumes[2].name"},
        Row{"LabelWithNewline",
            R"({"metadata":{"labels":{"a":"b\nc"}},"spec":{"containers":[{"name":"c","image":"i"}]}})",
            "INVALID .metadata.labels[a]"},
        Row{"LabelKey", R"({"metadata":{"labels":{"a b":"c"}},"spec":{"containers":[{"name":"c","image":"i"}]}})",
            "INVALID .metadata.labels"},
        Row{"HugeAnnotation",
            R"({"metadata":{"annotations":{"a":")" + std::string(300 * 1024, 'x') +
                R"("}},"spec":{"containers":[{"name":"c","image":"i"}]}})",
            "INVALID .metadata.annotations"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    C9, TemplateRulesTest,
    testing::Values(Row{"Whole", Container(R"("resources":{"requests":{"cpu":"2"}})"), "", "restricted"},
                    Row{"WholeInMillis", Container(R"("resources":{"requests":{"cpu":"2000m"}})"), "", "best-effort"},
                    Row{"Fraction", Container(R"("resources":{"requests":{"cpu":"1500m"}})"),
                        "INVALID .spec.containers[0].resources.requests.cpu", "restricted"},
                    Row{"Zero", Container(R"("resources":{"requests":{"cpu":"0"}})"),
                        "INVALID .spec.containers[0].resources.requests.cpu", "restricted"},
                    Row{"LimitsStandIn", Container(R"("resources":{"limits":{"cpu":"2"}})"), "", "single-numa-node"},
                    Row{"LimitsDoNotStandInBesideRequests",
                        Container(R"("resources":{"requests":{"memory":"1Gi"},"limits":{"cpu":"2"}})"),
                        "INVALID .spec.containers[0].resources.requests.cpu", "single-numa-node"},
                    Row{"InitContainersToo",
                        R"({"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":1}}}],
                "initContainers":[{"name":"i","image":"i"}]}})",
                        "INVALID .spec.initContainers[0].resources.requests.cpu", "restricted"}),
    [](const auto& row) { return row.param.name; });

TEST(TemplateSshTest, TheFolderOfTheKeysIsTaken) {
  const std::string pod_template = Container(
      R"("volumeMounts":[{"name":"j-ssh","mountPath":"/root/.ssh"},{"name":"j-ssh","mountPath":"/home/me/.ssh"}])");
  for (const int taken : {0, 1}) {
    kube::v1::Job job = TestJob("j", {{"t", 1, pod_template}});
    kube::v1::JobPlugin* const ssh = job.mutable_spec()->add_plugins();
    ssh->set_name("ssh");
    if (taken == 1) ssh->add_arguments("--ssh-key-file-path=/home/me/.ssh");
    const Validation validation = ValidateJob(EffectiveSpec(job), "j", "ns");
    ASSERT_EQ(validation.violations.size(), 1u) << taken;
    EXPECT_EQ(validation.violations[0].rule, "C8");
    EXPECT_EQ(validation.violations[0].field,
              "spec.tasks[0].template.spec.containers[0].volumeMounts[" + std::to_string(taken) + "].mountPath");
  }
}

// Users of upstream did not expect this: the pods are in the group of the job.
TEST(TemplateWarningTest, U19TheGroupThatATemplateNamesIsIgnored) {
  for (const char* key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
    const std::string pod_template = std::string(R"({"metadata":{"annotations":{")") + key +
                                     R"(":"fixed-pg"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
    const kube::v1::Job job = TestJob("j", {{"t", 1, pod_template}});
    const Validation validation = ValidateJob(EffectiveSpec(job), "j", "ns");
    EXPECT_TRUE(validation.ok());
    ASSERT_EQ(validation.warnings.size(), 1u) << key;
    EXPECT_EQ(validation.warnings[0].message, std::string("spec.tasks[0].template.metadata.annotations[") + key +
                                                  "] is ignored: pods of a job belong to the pod group of the job");
  }
}

}  // namespace
}  // namespace basalt::jobsvc
