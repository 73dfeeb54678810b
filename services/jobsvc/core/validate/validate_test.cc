#include "services/jobsvc/core/validate/validate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/effective_spec.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;
using kube::v1::LifecyclePolicy;

constexpr std::string_view kGoodTemplate = R"({"spec":{"containers":[{"name":"c","image":"i"}]}})";

JobSpec GoodSpec() {
  kube::v1::Job job = TestJob("j", {{"a", 2, std::string(kGoodTemplate)}, {"b", 4, std::string(kGoodTemplate)}});
  return EffectiveSpec(job);
}

LifecyclePolicy Policy(std::string action, std::vector<std::string> events, std::optional<int32_t> exit_code = {}) {
  LifecyclePolicy policy;
  policy.set_action(std::move(action));
  for (std::string& event : events) policy.add_events(std::move(event));
  if (exit_code) policy.set_exit_code(*exit_code);
  return policy;
}

std::string RulesOf(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    if (!text.empty()) text += ' ';
    text += violation.rule + " " + std::string(ViolationKindName(violation.kind)) + " " + violation.field;
  }
  return text;
}

using Change = std::function<void(JobSpec&)>;

struct Row {
  std::string name;
  Change change;
  std::string wanted;  // Rule, kind and field of each violation.
  std::string job_name = "j";
};

class ValidateJobTest : public testing::TestWithParam<Row> {};

TEST_P(ValidateJobTest, NamesRuleKindAndField) {
  JobSpec spec = GoodSpec();
  GetParam().change(spec);
  const Validation validation = ValidateJob(spec, GetParam().job_name, "ns");
  EXPECT_EQ(RulesOf(validation.violations), GetParam().wanted);
  for (const Violation& violation : validation.violations) {
    EXPECT_TRUE(violation.message.starts_with(violation.field + " ")) << violation.message;
  }
}

// Returns the change that is all of these.
Change All(std::vector<Change> changes) {
  return [changes = std::move(changes)](JobSpec& s) {
    for (const Change& change : changes) change(s);
  };
}

Change Volume(std::string path, std::string claim_name, std::string claim = "") {
  return [=](JobSpec& s) {
    kube::v1::VolumeSpec* volume = s.add_volumes();
    volume->set_mount_path(path);
    volume->set_volume_claim_name(claim_name);
    volume->set_volume_claim_json(claim);
  };
}

void AddPlugin(JobSpec& spec, const char* name) { spec.add_plugins()->set_name(name); }

Change Plugin(const char* name, std::initializer_list<const char*> arguments = {}) {
  return [name, words = std::vector<const char*>(arguments)](JobSpec& s) {
    AddPlugin(s, name);
    for (const char* word : words) s.mutable_plugins()->rbegin()->add_arguments(word);
  };
}

Change Depends(int task, const char* name) {
  return [task, name](JobSpec& s) { s.mutable_tasks(task)->mutable_depends_on()->add_names(name); };
}

Change TaskPolicy(int task, LifecyclePolicy policy) {
  return [task, policy](JobSpec& s) { *s.mutable_tasks(task)->add_policies() = policy; };
}

Change EveryTask(LifecyclePolicy policy) { return All({TaskPolicy(0, policy), TaskPolicy(1, policy)}); }

// The second task has a policy of partitions.
Change Partition(int32_t total, int32_t size, int32_t least) {
  return [=](JobSpec& s) {
    kube::v1::PartitionPolicy* policy = s.mutable_tasks(1)->mutable_partition_policy();
    policy->set_total_partitions(total);
    policy->set_partition_size(size);
    policy->set_min_partitions(least);
  };
}

void BothTiers(kube::v1::NetworkTopology* topology) {
  topology->set_highest_tier_allowed(0);
  topology->set_highest_tier_name("rack");
}

Change JobPolicies(std::vector<LifecyclePolicy> policies) {
  return [policies](JobSpec& s) {
    for (const LifecyclePolicy& policy : policies) *s.add_policies() = policy;
  };
}

std::string RowName(const testing::TestParamInfo<Row>& row) { return row.param.name; }

TEST(ValidateWordsTest, SayWhatIsSoAndWhatHelps) {
  const struct {
    Change change;
    const char* message;
  } rows[] = {
      {Plugin("mpi", {"--master="}),
       "spec.plugins.mpi has an empty --master: mpi works on a task that does not exist; name one with --master="},
      {Plugin("mpi", {"--master=x"}),
       "spec.plugins.mpi is for 'x': mpi works on a task that does not exist; name one with --master="},
      {Plugin("ray", {"--head="}), "spec.plugins.ray has an empty --head; name the task of the head with --head="},
      {[](JobSpec& s) { s.mutable_tasks(0)->clear_template_json(); },
       "spec.tasks[0].template is missing; say which pods the task makes"},
  };
  for (const auto& row : rows) {
    JobSpec spec = GoodSpec();
    row.change(spec);
    const Validation validation = ValidateJob(spec, "j", "ns");
    ASSERT_FALSE(validation.violations.empty()) << row.message;
    EXPECT_EQ(validation.violations[0].message, row.message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Create, ValidateJobTest,
    testing::Values(
        Row{"AGoodJob", [](JobSpec&) {}, ""},
        Row{"C1NoTasksStops",
            [](JobSpec& s) {
              s.clear_tasks();
              s.set_min_available(99);
            },
            "C1 REQUIRED spec.tasks"},
        Row{"C2MpiWithoutMasterStops", All({Plugin("mpi"), [](JobSpec& s) { s.set_min_available(99); }}),
            "C2 NOT_FOUND spec.plugins.mpi"},
        Row{"C2MpiWithAnEmptyMaster", Plugin("mpi", {"--master="}), "C2 NOT_FOUND spec.plugins.mpi"},
        Row{"C8TemplateMissing", [](JobSpec& s) { s.mutable_tasks(1)->clear_template_json(); },
            "C8 REQUIRED spec.tasks[1].template"},
        Row{"C2MpiNamesItsMaster", Plugin("mpi", {"--worker=b", "--master=a"}), ""},
        Row{"C2MpiNamesItsMasterInTwoWords", Plugin("mpi", {"--master", "a"}), ""},
        Row{"C3", [](JobSpec& s) { BothTiers(s.mutable_network_topology()); }, "C3 CONFLICT spec.networkTopology"},
        Row{"C4", [](JobSpec& s) { s.mutable_tasks(0)->set_min_available(3); },
            "C4 INVALID spec.tasks[0].minAvailable"},
        Row{"C5EndsTheLoop",
            [](JobSpec& s) {
              s.mutable_tasks(1)->set_name("a");
              s.mutable_tasks(1)->set_template_json("{");
            },
            "C5 DUPLICATE spec.tasks[1].name"},
        Row{"C6", TaskPolicy(1, Policy("RestartTask", {})), "P2 REQUIRED spec.tasks[1].policies[0]"},
        Row{"C7UsesTheTasksPosition",
            [](JobSpec& s) {
              s.mutable_tasks(0)->set_replicas(0);
              s.mutable_tasks(0)->set_min_available(0);
              s.set_min_available(0);
            },
            "C7 INVALID spec.tasks[0].name C7 INVALID spec.tasks[1].name C11 INVALID metadata.name", "-j"},
        Row{"C8", [](JobSpec& s) { s.mutable_tasks(1)->set_template_json(R"({"spec":{"containers":[]}})"); },
            "C8 REQUIRED spec.tasks[1].template.spec.containers"},
        Row{"C9", [](JobSpec& s) { s.mutable_tasks(0)->set_topology_policy("restricted"); },
            "C9 INVALID spec.tasks[0].template.spec.containers[0].resources.requests.cpu"},
        Row{"C9NotForNone", [](JobSpec& s) { s.mutable_tasks(0)->set_topology_policy("none"); }, ""},
        Row{"C10Good", Partition(2, 2, 2), ""},
        Row{"S7C10NoTotal", Partition(0, 3, 0), "C10 INVALID spec.tasks[1].partitionPolicy"},
        Row{"S7NoTotalThatFits", Partition(0, 2, 0), ""},
        Row{"S7NegativeTotal", Partition(-1, 2, 0), "C10 INVALID spec.tasks[1].partitionPolicy"},
        Row{"C10NoSize", Partition(2, 0, 0), "C10 INVALID spec.tasks[1].partitionPolicy"},
        Row{"C10WrongProduct", Partition(3, 2, 0), "C10 INVALID spec.tasks[1].partitionPolicy"},
        Row{"C10WrongMinimum", Partition(2, 2, 1), "C10 INVALID spec.tasks[1].partitionPolicy"},
        Row{"C10HugeProduct", Partition(65536, 65536, 0), "C10 INVALID spec.tasks[1].partitionPolicy"},
        Row{"C10Tiers",
            All({Partition(2, 2, 0),
                 [](JobSpec& s) {
                   BothTiers(s.mutable_tasks(1)->mutable_partition_policy()->mutable_network_topology());
                 }}),
            "C10 CONFLICT spec.tasks[1].partitionPolicy.networkTopology"},
        Row{"C11", [](JobSpec&) {},
            "C7 INVALID spec.tasks[0].name X1 INVALID spec.tasks[0].name C7 INVALID spec.tasks[1].name X1 INVALID "
            "spec.tasks[1].name C11 INVALID metadata.name",
            std::string(64, 'j')},
        Row{"C12", [](JobSpec& s) { s.set_min_available(7); }, "C12 INVALID spec.minAvailable"},
        Row{"C12IsZeroAllowed", [](JobSpec& s) { s.set_min_available(0); }, ""},
        Row{"C15", Volume("", "c"), "V1 REQUIRED spec.volumes[0].mountPath"},
        Row{"C13", JobPolicies({Policy("AbortJob", {})}), "P2 REQUIRED spec.policies[0]"},
        Row{"C14", Plugin("nvlink"), "C14 NOT_FOUND spec.plugins.nvlink"},
        Row{"C16c", [](JobSpec& s) { s.set_queue("root"); }, "C16c PRECONDITION spec.queue"},
        Row{"C17Circle", All({Depends(0, "b"), Depends(1, "a")}), "C17 INVALID spec.tasks[].dependsOn"},
        Row{"C17Self", Depends(0, "a"), "C17 INVALID spec.tasks[].dependsOn"},
        Row{"C17Unknown", Depends(0, "z"), "C17 INVALID spec.tasks[0].dependsOn.name"},
        Row{"C17ChainIsFine", Depends(0, "b"), ""},
        Row{"C17NamedTwiceIsFine", All({Depends(0, "b"), Depends(0, "b")}), ""}),
    RowName);

INSTANTIATE_TEST_SUITE_P(
    Policies, ValidateJobTest,
    testing::Values(
        Row{"P1", JobPolicies({Policy("AbortJob", {"PodFailed"}, 3)}), "P1 CONFLICT spec.policies[0]"},
        Row{"P2", JobPolicies({Policy("AbortJob", {})}), "P2 REQUIRED spec.policies[0]"},
        Row{"P3", JobPolicies({Policy("AbortJob", {"PodRunning"})}), "P3 INVALID spec.policies[0].event"},
        Row{"P3OutOfSync", JobPolicies({Policy("AbortJob", {"OutOfSync"})}), "P3 INVALID spec.policies[0].event"},
        Row{"P3EveryEvent",
            JobPolicies({Policy("AbortJob", {"PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted",
                                             "TaskFailed", "JobUpdated"})}),
            ""},
        Row{"P4", JobPolicies({Policy("SyncJob", {"PodFailed"})}), "P4 INVALID spec.policies[0].action"},
        Row{"P4Empty", JobPolicies({Policy("", {"PodFailed"})}), "P4 INVALID spec.policies[0].action"},
        Row{"P4EveryAction",
            JobPolicies({Policy("AbortJob", {"PodFailed"}), Policy("RestartJob", {"PodEvicted"}),
                         Policy("RestartTask", {"PodPending"}), Policy("RestartPod", {"Unknown"}),
                         Policy("TerminateJob", {"TaskCompleted"}), Policy("CompleteJob", {"TaskFailed"}),
                         Policy("ResumeJob", {"JobUpdated"})}),
            ""},
        Row{"P5", JobPolicies({Policy("AbortJob", {"PodFailed"}), Policy("RestartJob", {"PodFailed"})}),
            "P5 DUPLICATE spec.policies[1].event"},
        Row{"P5CollapsesInOnePolicy", JobPolicies({Policy("AbortJob", {"PodFailed", "PodFailed"})}), ""},
        Row{"P6", JobPolicies({Policy("AbortJob", {}, 0)}), "P6 INVALID spec.policies[0].exitCode"},
        Row{"P7", JobPolicies({Policy("AbortJob", {}, 3), Policy("AbortJob", {}, 3)}),
            "P7 DUPLICATE spec.policies[1].exitCode"},
        Row{"P8", JobPolicies({Policy("AbortJob", {"*"}), Policy("RestartJob", {"PodFailed"})}),
            "P8 CONFLICT spec.policies"},
        Row{"P8ExitCodesMayCoexist", JobPolicies({Policy("AbortJob", {"*"}), Policy("RestartJob", {}, 3)}), ""},
        Row{"TheFirstViolationOfAListWins", JobPolicies({Policy("AbortJob", {}), Policy("Nonsense", {"PodFailed"})}),
            "P2 REQUIRED spec.policies[0]"},
        Row{"P8IsStillEvaluated",
            JobPolicies({Policy("AbortJob", {"*"}), Policy("AbortJob", {"PodFailed"}), Policy("AbortJob", {})}),
            "P2 REQUIRED spec.policies[2] P8 CONFLICT spec.policies"},
        Row{"X4", JobPolicies({Policy("Nonsense", {}, 3)}), "X4 INVALID spec.policies[0].action"},
        Row{"X6Job", JobPolicies({Policy("RestartPartition", {"PodFailed"})}), "X6 INVALID spec.policies[0].action"},
        Row{"X6OtherTask",
            All({Partition(2, 2, 0), TaskPolicy(0, Policy("RestartPartition", {"PodFailed"})),
                 TaskPolicy(1, Policy("RestartPartition", {"PodFailed"}))}),
            "X6 INVALID spec.tasks[0].policies[0].action"}),
    RowName);

INSTANTIATE_TEST_SUITE_P(
    Volumes, ValidateJobTest,
    testing::Values(
        Row{"V1", Volume("", "c"), "V1 REQUIRED spec.volumes[0].mountPath"},
        Row{"V2", All({Volume("/a", "c"), Volume("/a", "d")}), "V2 DUPLICATE spec.volumes[1].mountPath"},
        Row{"V2OfSvc", All({Plugin("svc"), Volume("/a", "c"), Volume("/etc/volcano", "d")}),
            "V2 DUPLICATE spec.volumes[1].mountPath"},
        Row{"V2OfSsh", All({Plugin("svc"), Plugin("ssh", {"--ssh-key-file-path=/keys"}), Volume("/keys", "c")}),
            "V2 DUPLICATE spec.volumes[0].mountPath"},
        Row{"V3", Volume("/a", ""), "V3 REQUIRED spec.volumes[0]"},
        Row{"V4", Volume("/a", "c", "{}"), "V4 CONFLICT spec.volumes[0]"},
        Row{"V5", Volume("/a", "C!"), "V5 INVALID spec.volumes[0].volumeClaimName"},
        Row{"TheFirstViolationWins", All({Volume("/a", ""), Volume("", "")}), "V3 REQUIRED spec.volumes[0]"},
        Row{"X2TooLong", Volume("/a", "c"), "X2 INVALID metadata.name", std::string(51, 'j')},
        Row{"X2Fits", Volume("/a", "c"), "", std::string(50, 'j')},
        Row{"X2NoDots", Volume("/a", "c"), "X2 INVALID metadata.name", "j.k"},
        Row{"X7", All({Volume("/a", "c"), Volume("/b", "c")}), "X7 DUPLICATE spec.volumes[1].volumeClaimName"}),
    RowName);

INSTANTIATE_TEST_SUITE_P(
    Ours, ValidateJobTest,
    testing::Values(
        Row{"X1CountsTheLastIndex",
            [](JobSpec& s) {
              s.mutable_tasks(0)->set_name(std::string(58, 'a'));
              s.mutable_tasks(0)->set_replicas(1001);
            },
            "X1 INVALID spec.tasks[0].name"},
        Row{"X1Fits",
            [](JobSpec& s) {
              s.mutable_tasks(0)->set_name(std::string(58, 'a'));
              s.mutable_tasks(0)->set_replicas(100);
            },
            ""},
        Row{"X3DigitIsTheApiServersAffair", Plugin("svc"), "", "0j"},
        Row{"X3Dot", Plugin("svc"), "X3 INVALID metadata.name", "j.k"},
        Row{"X3Fits", Plugin("svc"), "", std::string(59, 'j')},
        Row{"X3TooLong", Plugin("svc"),
            "C7 INVALID spec.tasks[0].name X1 INVALID spec.tasks[0].name C7 INVALID spec.tasks[1].name X1 INVALID "
            "spec.tasks[1].name X3 INVALID metadata.name",
            std::string(60, 'j')},
        Row{"X3RayFits", Plugin("ray", {"--head=b"}), "", std::string(54, 'j')},
        Row{"X3RayTooLong", Plugin("ray", {"--head=b"}), "X3 INVALID metadata.name", std::string(55, 'j')},
        Row{"X3SshDot", Plugin("ssh"), "X3 INVALID metadata.name", "j.k"},
        Row{"X3SshFits", Plugin("ssh"), "", std::string(59, 'j')},
        Row{"X3SshTooLong", Plugin("ssh"),
            "C7 INVALID spec.tasks[0].name X1 INVALID spec.tasks[0].name C7 INVALID spec.tasks[1].name X1 INVALID "
            "spec.tasks[1].name X3 INVALID metadata.name",
            std::string(60, 'j')},
        Row{"X3SvcAndSshAreOneSentence", All({Plugin("ssh"), Plugin("svc")}), "X3 INVALID metadata.name", "j.k"},
        Row{"N4OneNumberForTwoPorts", Plugin("ray", {"--head=b", "--port=8265"}), "N4 INVALID spec.plugins.ray"},
        Row{"N4VariableFits",
            All({Plugin("tensorflow", {"--worker=b"}), [](JobSpec& s) { s.mutable_tasks(1)->set_replicas(5000); }}),
            ""},
        Row{"N4VariableTooLong",
            All({Plugin("tensorflow", {"--worker=b"}), [](JobSpec& s) { s.mutable_tasks(1)->set_replicas(50'000); }}),
            "N4 INVALID spec.plugins.tensorflow"},
        Row{"X5", Plugin("ray"), "X5 NOT_FOUND spec.plugins.ray"},
        Row{"X5NamesItsHead", Plugin("ray", {"--head=b"}), ""},
        Row{"S1", [](JobSpec& s) { s.set_scheduler_name(std::string(64, 's')); }, "S1 INVALID spec.schedulerName"},
        Row{"S2",
            [](JobSpec& s) {
              s.set_min_available(-1);
              s.set_max_retry(-1);
              s.set_ttl_seconds_after_finished(-1);
              s.set_min_success(0);
              s.mutable_tasks(0)->set_replicas(-1);
              s.mutable_tasks(0)->set_min_available(-2);
              s.mutable_tasks(0)->set_max_retry(-2);
            },
            "S2 INVALID spec.minAvailable S2 INVALID spec.maxRetry S2 INVALID spec.ttlSecondsAfterFinished S2 INVALID "
            "spec.minSuccess S2 INVALID spec.tasks[0].replicas S2 INVALID spec.tasks[0].minAvailable S2 INVALID "
            "spec.tasks[0].maxRetry"},
        Row{"S3Queue", [](JobSpec& s) { s.set_queue("Q!"); }, "S3 INVALID spec.queue"},
        Row{"S3Priority", [](JobSpec& s) { s.set_priority_class_name("a/b"); }, "S3 INVALID spec.priorityClassName"},
        Row{"S4", [](JobSpec& s) { s.mutable_tasks(0)->set_name("a.b"); }, "S4 INVALID spec.tasks[0].name"},
        Row{"S5Topology", [](JobSpec& s) { s.mutable_tasks(0)->set_topology_policy("numa"); },
            "S5 INVALID spec.tasks[0].topologyPolicy C9 INVALID "
            "spec.tasks[0].template.spec.containers[0].resources.requests.cpu"},
        Row{"S5Mode",
            [](JobSpec& s) {
              s.mutable_network_topology()->set_mode("strict");
              s.mutable_network_topology()->set_highest_tier_allowed(-1);
            },
            "S5 INVALID spec.networkTopology.mode S5 INVALID spec.networkTopology.highestTierAllowed"},
        Row{"S6", Volume("/a:b", "c"), "S6 INVALID spec.volumes[0].mountPath"}),
    RowName);

struct QueueRow {
  std::string name;
  std::optional<QueueFacts> facts;
  std::string wanted;
  std::string queue = "q";
};

class ValidateQueueTest : public testing::TestWithParam<QueueRow> {};

TEST_P(ValidateQueueTest, NamesRuleKindAndField) {
  EXPECT_EQ(RulesOf(ValidateQueue(GetParam().queue, GetParam().facts)), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(Queues, ValidateQueueTest,
                         testing::Values(QueueRow{"Open", QueueFacts{"Open"}, ""},
                                         QueueRow{"C16aAbsent", std::nullopt, "C16a NOT_FOUND spec.queue"},
                                         QueueRow{"C16bClosed", QueueFacts{"Closed"}, "C16b PRECONDITION spec.queue"},
                                         QueueRow{"C16bNotInitialised", QueueFacts{""}, "C16b PRECONDITION spec.queue"},
                                         QueueRow{"RootIsNotForThisRule", QueueFacts{"Open", true}, "", "root"},
                                         QueueRow{"C16dNoLeaf", QueueFacts{"Open", true},
                                                  "C16d PRECONDITION spec.queue"}),
                         [](const auto& row) { return row.param.name; });

TEST(ValidateJobTest, TheSmallestNumbersAreRefusedToo) {
  JobSpec spec = GoodSpec();
  spec.mutable_tasks(0)->set_replicas(std::numeric_limits<int32_t>::min());
  spec.mutable_tasks(0)->clear_min_available();
  spec.set_min_available(0);
  EXPECT_FALSE(ValidateJob(spec, "j", "ns").ok());
}

TEST(ValidateJobTest, AJobHasSoManyPodsAtMost) {
  JobSpec spec = GoodSpec();
  spec.mutable_tasks(0)->set_replicas(static_cast<int32_t>(kMaxPodsPerJob) - spec.tasks(1).replicas());
  ASSERT_EQ(SumOfReplicas(spec), kMaxPodsPerJob);
  EXPECT_EQ(RulesOf(ValidateJob(spec, "j", "ns").violations), "");
  spec.mutable_tasks(0)->set_replicas(spec.tasks(0).replicas() + 1);
  EXPECT_EQ(RulesOf(ValidateJob(spec, "j", "ns").violations), "N3 INVALID spec.tasks");
}

// The checks of a plugin cost as much as the job has pods. A job with too many pods is not given to plugins.
TEST(ValidateJobTest, NoPluginIsAskedAboutTooManyPods) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  struct Case {
    const char* what;
    std::vector<int32_t> replicas;
    std::string wanted;
  };
  std::vector<Case> cases = {
      {"one task", {kMost}, "N3 INVALID spec.tasks"},
      {"two tasks", {kMost, kMost}, "N3 INVALID spec.tasks"},
      {"many tasks, each of which is small enough", std::vector<int32_t>(100, 200'000), "N3 INVALID spec.tasks"},
      {"one that takes away what the other has",
       {kMost, -kMost},
       "S2 INVALID spec.tasks[1].replicas N3 INVALID spec.tasks C4 INVALID spec.tasks[1].minAvailable"},
  };
  for (const std::string_view plugin : KnownPlugins()) {
    for (const Case& test : cases) {
      JobSpec spec = GoodSpec();
      spec.clear_tasks();
      for (size_t i = 0; i < test.replicas.size(); ++i) {
        kube::v1::TaskSpec* const task = spec.add_tasks();
        // Plugins look for these names.
        constexpr std::string_view kRoles[] = {"worker", "master"};
        task->set_name(i < 2 ? std::string(kRoles[i]) : fmt::format("t{}", i));
        task->set_replicas(test.replicas[i]);
        task->set_min_available(0);
        task->set_template_json(std::string(kGoodTemplate));
      }
      spec.set_min_available(0);
      AddPlugin(spec, std::string(plugin).c_str());
      for (kube::v1::JobPlugin& wanted : *spec.mutable_plugins()) {
        if (plugin == "ray") wanted.add_arguments("--head=worker");
        if (plugin == "mpi") wanted.add_arguments("--master=worker");
        if (plugin == "mpi" && test.replicas.size() > 1) wanted.add_arguments("--worker=master");
      }
      kube::v1::Job job;
      *job.mutable_spec() = spec;
      const Validation validation = ValidateJob(EffectiveSpec(job), "j", "ns");
      EXPECT_EQ(RulesOf(validation.violations), test.wanted) << plugin << ", " << test.what;
    }
  }
}

TEST(ValidateJobTest, TheNamespaceIsALabel) {
  EXPECT_EQ(RulesOf(ValidateJob(GoodSpec(), "j", "a.b").violations), "S7 INVALID metadata.namespace");
}

class ValidateWarningTest : public testing::TestWithParam<Row> {};

TEST_P(ValidateWarningTest, WarnsAndRefusesNothing) {
  JobSpec spec = GoodSpec();
  GetParam().change(spec);
  const Validation validation = ValidateJob(spec, "j", "ns");
  EXPECT_TRUE(validation.ok()) << RulesOf(validation.violations);
  EXPECT_EQ(RulesOf(validation.warnings), GetParam().wanted);
}

LifecyclePolicy ForCode(int32_t code) { return Policy("AbortJob", {}, code); }

INSTANTIATE_TEST_SUITE_P(
    Shadowed, ValidateWarningTest,
    testing::Values(
        Row{"ACodeBehindEveryFailure", JobPolicies({Policy("RestartJob", {"PodEvicted", "PodFailed"}), ForCode(3)}),
            "W26 INVALID spec.policies[1].exitCode"},
        Row{"ACodeBehindEveryEvent", JobPolicies({Policy("RestartJob", {"*"}), ForCode(3)}),
            "W26 INVALID spec.policies[1].exitCode"},
        Row{"ACodeBeforeThem", JobPolicies({ForCode(3), Policy("RestartJob", {"*"})}), ""},
        Row{"ACodeBehindOtherEvents", JobPolicies({Policy("RestartJob", {"PodEvicted"}), ForCode(3)}), ""},
        Row{"WhatEveryTaskAnswersTo",
            All({JobPolicies({Policy("RestartJob", {"PodFailed", "PodEvicted"})}), JobPolicies({ForCode(3)}),
                 EveryTask(Policy("AbortJob", {"*"}))}),
            "W26 INVALID spec.policies[1].exitCode W26 INVALID spec.policies[0] W26 INVALID spec.policies[1]"},
        Row{"WhatOneTaskLeavesToIt",
            All({JobPolicies({Policy("RestartJob", {"PodFailed", "PodEvicted"})}),
                 TaskPolicy(0, Policy("AbortJob", {"*"})), TaskPolicy(1, Policy("AbortJob", {"PodFailed"}))}),
            ""},
        Row{"ACodeThatEveryTaskAnswersTo",
            All({JobPolicies({ForCode(3)}), TaskPolicy(0, ForCode(3)),
                 TaskPolicy(1, Policy("AbortJob", {"PodFailed"}))}),
            "W26 INVALID spec.policies[0]"},
        Row{"ACodeThatOneTaskAnswersTo",
            All({JobPolicies({ForCode(3)}), TaskPolicy(0, Policy("AbortJob", {"PodFailed"})),
                 TaskPolicy(1, ForCode(4))}),
            ""},
        Row{"APendingPodThatNoTaskAnswersToWithoutATimeout",
            All({JobPolicies({Policy("RestartJob", {"PodPending"})}),
                 [](JobSpec& s) { s.mutable_policies(0)->set_timeout_ms(1000); },
                 EveryTask(Policy("AbortJob", {"*"}))}),
            ""},
        Row{"EveryEventOfTheWholeJob",
            All({JobPolicies({Policy("RestartJob", {"*"})}), EveryTask(Policy("AbortJob", {"*"}))}), ""}),
    RowName);

INSTANTIATE_TEST_SUITE_P(
    Warnings, ValidateWarningTest,
    testing::Values(Row{"X8PendingWithoutATimeout", JobPolicies({Policy("AbortJob", {"PodPending"})}),
                        "X8 INVALID spec.policies[0].timeout"},
                    Row{"ATimeoutSilencesIt",
                        All({JobPolicies({Policy("AbortJob", {"PodPending"})}),
                             [](JobSpec& s) { s.mutable_policies(0)->set_timeout_ms(0); }}),
                        ""},
                    Row{"AGangWhoseTasksWaitForEachOther", Depends(1, "a"), ""},
                    Row{"W26ANegativeTimeout",
                        All({JobPolicies({Policy("AbortJob", {"PodFailed"})}),
                             [](JobSpec& s) { s.mutable_policies(0)->set_timeout_ms(-1000); }}),
                        "W26 INVALID spec.policies[0].timeout"},
                    Row{"W26AnEventThatNeverHappens", JobPolicies({Policy("AbortJob", {"JobUpdated"})}),
                        "W26 INVALID spec.policies[0].event"},
                    Row{"AnEventWithoutATarget", JobPolicies({Policy("RestartTask", {"Unknown"})}),
                        "W32 INVALID spec.policies[0].action"},
                    Row{"APluginThatFindsNoTaskOfItsOwn", Plugin("tensorflow"), "N2 INVALID spec.plugins.tensorflow"},
                    Row{"AVariableOfAPluginThatTheTemplateSets",
                        [](JobSpec& s) {
                          AddPlugin(s, "env");
                          json::object pod = json::parse(s.tasks(0).template_json()).as_object();
                          pod["spec"].as_object()["containers"].as_array()[0].as_object()["env"] = {
                              {{"name", "X"}, {"value", "1"}}, {{"name", "VC_TASK_INDEX"}, {"value", "1"}}};
                          s.mutable_tasks(0)->set_template_json(ToText(pod));
                        },
                        "N2 INVALID spec.plugins.env"},
                    Row{"AnArgumentThatNobodyReads", Plugin("svc", {"--nonsense"}), "N2 INVALID spec.plugins.svc"}),
    RowName);

TEST(ValidateJobTest, ATaskThatWaitsForItselfIsNotSaidToWaitForAnother) {
  JobSpec spec = GoodSpec();
  spec.mutable_tasks(0)->mutable_depends_on()->add_names("a");
  const Validation validation = ValidateJob(spec, "j", "ns");
  ASSERT_EQ(validation.violations.size(), 1u);
  EXPECT_EQ(validation.violations[0].message,
            "spec.tasks[].dependsOn goes round in a circle: a waits for itself; remove the dependency");
}

TEST(ValidateJobTest, ForeignWordsInMessagesAreCutBetweenWholeCharacters) {
  std::string words = "\x1b[2J\n";
  for (int i = 0; i < 100'000; ++i) words += "é";
  JobSpec spec = GoodSpec();
  spec.mutable_tasks(0)->set_name(words);
  spec.set_queue(words);
  AddPlugin(spec, words.c_str());
  *spec.add_policies() = Policy(words.c_str(), {"PodFailed"});
  const Validation validation = ValidateJob(spec, words, "ns");
  EXPECT_GE(validation.violations.size(), 4u) << RulesOf(validation.violations);
  for (const Violation& violation : validation.violations) {
    EXPECT_LE(violation.message.size(), 1000u) << violation.rule;
    for (const char c : violation.message) EXPECT_FALSE(c >= '\0' && c < ' ') << violation.message;
    // A message with half a character would be refused on its way.
    kube::v1::KeyValue sent;
    sent.set_value(violation.message);
    kube::v1::KeyValue received;
    EXPECT_TRUE(received.ParseFromString(sent.SerializeAsString())) << violation.message;
  }
}

}  // namespace
}  // namespace basalt::jobsvc
