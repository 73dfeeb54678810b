#include "services/jobsvc/core/render/effective_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace basalt::jobsvc {
namespace {

using kube::v1::Job;
using kube::v1::JobSpec;

using Change = std::function<void(Job&)>;
using Facts = std::function<std::string(const JobSpec&)>;

// One row per default: D1-D4 and D6-D10 of job spec 2.1. D5 belongs to the pod (pod_test.cc).
struct Row {
  std::string name;
  std::vector<Change> given;
  Facts facts;
  std::string wanted;
};

class EffectiveSpecTest : public testing::TestWithParam<Row> {};

TEST_P(EffectiveSpecTest, FillsIn) {
  Job job;
  for (const Change& change : GetParam().given) change(job);
  EXPECT_EQ(GetParam().facts(EffectiveSpec(job)), GetParam().wanted);
}

void AddTask(Job& job, std::string_view name, int32_t replicas) {
  kube::v1::TaskSpec* task = job.mutable_spec()->add_tasks();
  task->set_name(std::string(name));
  task->set_replicas(replicas);
}

Change Task(std::string name, int32_t replicas, const std::function<void(kube::v1::TaskSpec&)>& edit = {}) {
  return [=](Job& job) {
    AddTask(job, name, replicas);
    if (edit) edit(*job.mutable_spec()->mutable_tasks()->rbegin());
  };
}
Change Partitioned(std::string name, int32_t replicas, int32_t size, int32_t least = 0, int32_t total = 0) {
  return Task(std::move(name), replicas, [=](kube::v1::TaskSpec& task) {
    kube::v1::PartitionPolicy& policy = *task.mutable_partition_policy();
    if (size != 0) policy.set_partition_size(size);
    if (least != 0) policy.set_min_partitions(least);
    if (total != 0) policy.set_total_partitions(total);
  });
}
// The tasks have one replica each.
Change Tasks(std::vector<std::string> names) {
  return [=](Job& job) {
    for (const std::string& name : names) AddTask(job, name, 1);
  };
}
Change DependsOn(int task, std::string name) {
  return [=](Job& job) { job.mutable_spec()->mutable_tasks(task)->mutable_depends_on()->add_names(name); };
}
Change Plugins(std::vector<std::string> names, std::vector<std::string> words_of_last = {}) {
  return [=](Job& job) {
    for (const std::string& name : names) job.mutable_spec()->add_plugins()->set_name(name);
    for (const std::string& word : words_of_last) job.mutable_spec()->mutable_plugins()->rbegin()->add_arguments(word);
  };
}
Change Phase(int64_t generation, kube::v1::JobPhase phase) {
  return [=](Job& job) {
    job.mutable_meta()->set_generation(generation);
    job.mutable_status()->set_phase(phase);
  };
}

// Returns one text of each task, separated by blanks.
Facts OfTasks(const std::function<std::string(const kube::v1::TaskSpec&)>& fact) {
  return [fact](const JobSpec& spec) {
    std::string all;
    for (const auto& task : spec.tasks()) all += (&task == &spec.tasks(0) ? "" : " ") + fact(task);
    return all;
  };
}
const Facts kTaskNames = OfTasks([](const auto& task) { return task.name(); });
const Facts kMinimums = OfTasks([](const auto& task) { return std::to_string(task.min_available()); });
const Facts kRetries = OfTasks([](const auto& task) { return std::to_string(task.max_retry()); });
const Facts kPartitions = OfTasks([](const auto& task) {
  return task.has_partition_policy() ? std::to_string(task.partition_policy().total_partitions()) : "none";
});
// The first task on which each task depends.
const Facts kDependencies =
    OfTasks([](const auto& task) { return task.depends_on().names_size() == 0 ? "-" : task.depends_on().names(0); });
std::string MaxRetry(const JobSpec& spec) { return std::to_string(spec.max_retry()); }
std::string Minimum(const JobSpec& spec) { return std::to_string(spec.min_available()); }
// Returns the plugins with their arguments.
std::string PluginsOf(const JobSpec& spec) {
  std::string all;
  for (const auto& plugin : spec.plugins()) {
    all += (all.empty() ? "" : " ") + plugin.name();
    for (const std::string& word : plugin.arguments()) all += ":" + word;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, EffectiveSpecTest,
    testing::Values(
        Row{"Queue", {}, [](const JobSpec& s) { return s.queue(); }, "default"},
        Row{"D1QueueGiven",
            {[](Job& j) { j.mutable_spec()->set_queue("q"); }},
            [](const JobSpec& s) { return s.queue(); },
            "q"},
        Row{"D2Scheduler", {}, [](const JobSpec& s) { return s.scheduler_name(); }, "volcano"},
        Row{"MaxRetry", {[](Job& j) { j.mutable_spec()->set_max_retry(0); }}, MaxRetry, "3"},
        Row{"D3MaxRetryGiven", {[](Job& j) { j.mutable_spec()->set_max_retry(5); }}, MaxRetry, "5"},
        Row{"Names", {Tasks({"", "b", ""})}, kTaskNames, "default0 b default2"},
        Row{"D6MinAvailableFromReplicas", {Task("a", 4)}, kMinimums, "4"},
        Row{"MinAvailableFromPartitions", {Partitioned("a", 6, 2, 2)}, kMinimums, "4"},
        Row{"S7TotalPartitions",
            {Partitioned("", 8, 4), Partitioned("", 6, 4), Partitioned("", 0, 4), Partitioned("given", 8, 4, 0, 3),
             Task("none", 8), Partitioned("sizeless", 8, 0)},
            kPartitions,
            "2 0 0 3 none 0"},
        Row{"D6NoMinPartitions", {Partitioned("a", 6, 2)}, kMinimums, "6"},
        Row{"D6GivenZeroStays", {Task("a", 6, [](auto& task) { task.set_min_available(0); })}, kMinimums, "0"},
        Row{"TaskMaxRetry", {Task("a", 1)}, kRetries, "3"},
        Row{"D7UnlimitedStays", {Task("a", 1, [](auto& task) { task.set_max_retry(-1); })}, kRetries, "-1"},
        Row{"SumAfterD6", {Task("a", 4), Task("b", 3, [](auto& task) { task.set_min_available(1); })}, Minimum, "5"},
        Row{"D8OnlyBeforeTheFirstPhase", {Task("a", 4), Phase(2, kube::v1::JOB_PHASE_PENDING)}, Minimum, "0"},
        Row{"D8OrWhileNobodyChangedTheSpec", {Task("a", 4), Phase(1, kube::v1::JOB_PHASE_RUNNING)}, Minimum, "4"},
        Row{"D9Svc", {Plugins({"env", "tensorflow"})}, PluginsOf, "env svc tensorflow"},
        Row{"Ray", {Plugins({"ray"})}, PluginsOf, "ray svc"},
        Row{"D9RayAndPytorch", {Plugins({"pytorch", "ray"})}, PluginsOf, "pytorch ray svc"},
        Row{"D9SvcGiven", {Plugins({"mpi", "ssh", "svc"}, {"x"})}, PluginsOf, "mpi ssh svc:x"},
        Row{"Ssh", {Plugins({"mpi"})}, PluginsOf, "mpi ssh svc"},
        Row{"MpiOrder", {Plugins({"mpi"}), Task("master", 1), Task("worker", 2)}, kDependencies, "worker -"},
        Row{"MpiOrderOfOtherTasks",
            {Plugins({"mpi"}, {"--master=boss", "--worker", "node"}), Tasks({"node", "worker", "master", "boss"})},
            kDependencies,
            "- - - node"},
        Row{"MpiOrderGiven",
            {Plugins({"mpi"}), Tasks({"master", "worker", "data"}), DependsOn(0, "data")},
            kDependencies,
            "data - -"},
        Row{"MpiOrderRefusedByAnEmptyOne",
            {Plugins({"mpi"}), Tasks({"master", "worker"}),
             [](Job& j) { j.mutable_spec()->mutable_tasks(0)->mutable_depends_on(); }},
            kDependencies,
            "- -"},
        Row{"MpiOrderWouldBeACircle",
            {Plugins({"mpi"}), Tasks({"master", "worker", "data"}), DependsOn(1, "data"), DependsOn(2, "master")},
            kDependencies,
            "- data master"},
        Row{"MpiOrderWithoutWorkers", {Plugins({"mpi"}), Tasks({"master"})}, kDependencies, "-"},
        Row{"NoPluginsStaysNone", {}, PluginsOf, ""}),
    [](const auto& row) { return row.param.name; });

TEST(EffectiveSpecTest, HostileNumbersDoNotOverflow) {
  Job job;
  for (int i = 0; i < 3; ++i) AddTask(job, "", 2'000'000'000);
  JobSpec spec = EffectiveSpec(job);
  EXPECT_EQ(spec.min_available(), 2147483647);
  EXPECT_EQ(SumOfReplicas(spec), 6'000'000'000);
  spec.add_tasks()->set_replicas(-2'000'000'000);
  EXPECT_EQ(SumOfReplicas(spec), 4'000'000'000);
  EXPECT_EQ(NumberOfPods(spec), 6'000'000'000);
}

TEST(EffectiveSpecTest, SchedulerNameIsTheConfiguredOne) {
  EXPECT_EQ(EffectiveSpec(Job(), {.scheduler_name = "mine"}).scheduler_name(), "mine");
}

}  // namespace
}  // namespace basalt::jobsvc
