#include "services/jobsvc/core/render/effective_spec.h"

#include <gtest/gtest.h>

#include <functional>

namespace basalt::jobsvc {
namespace {

using kube::v1::Job;
using kube::v1::JobSpec;

// One row per default: D1-D4 and D6-D10 of job spec 2.1. D5 belongs to the pod (pod_test.cc).
struct Row {
  std::string name;
  std::function<void(Job&)> given;
  std::function<void(const JobSpec&)> expect;
};

class EffectiveSpecTest : public testing::TestWithParam<Row> {};

TEST_P(EffectiveSpecTest, FillsIn) {
  Job job;
  GetParam().given(job);
  GetParam().expect(EffectiveSpec(job));
}

void AddTask(Job& job, std::string_view name, int32_t replicas) {
  kube::v1::TaskSpec* task = job.mutable_spec()->add_tasks();
  task->set_name(std::string(name));
  task->set_replicas(replicas);
}

std::vector<std::string> PluginNames(const JobSpec& spec) {
  std::vector<std::string> names;
  for (const auto& plugin : spec.plugins()) names.push_back(plugin.name());
  return names;
}

void GivePlugins(Job& job, std::initializer_list<const char*> names) {
  for (const char* name : names) job.mutable_spec()->add_plugins()->set_name(name);
}

using Names = std::vector<std::string>;

// Returns the first task on which each task depends.
Names Dependencies(const JobSpec& spec) {
  Names names;
  for (const auto& task : spec.tasks()) {
    names.push_back(task.depends_on().names_size() == 0 ? "" : task.depends_on().names(0));
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, EffectiveSpecTest,
    testing::Values(Row{"Queue", [](Job&) {}, [](const JobSpec& s) { EXPECT_EQ(s.queue(), "default"); }},
                    Row{"D1QueueGiven", [](Job& j) { j.mutable_spec()->set_queue("q"); },
                        [](const JobSpec& s) { EXPECT_EQ(s.queue(), "q"); }},
                    Row{"D2Scheduler", [](Job&) {}, [](const JobSpec& s) { EXPECT_EQ(s.scheduler_name(), "volcano"); }},
                    Row{"MaxRetry", [](Job& j) { j.mutable_spec()->set_max_retry(0); },
                        [](const JobSpec& s) { EXPECT_EQ(s.max_retry(), 3); }},
                    Row{"D3MaxRetryGiven", [](Job& j) { j.mutable_spec()->set_max_retry(5); },
                        [](const JobSpec& s) { EXPECT_EQ(s.max_retry(), 5); }},
                    Row{"Names",
                        [](Job& j) {
                          AddTask(j, "", 1);
                          AddTask(j, "b", 1);
                          AddTask(j, "", 1);
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(s.tasks(0).name(), "default0");
                          EXPECT_EQ(s.tasks(1).name(), "b");
                          EXPECT_EQ(s.tasks(2).name(), "default2");
                        }},
                    Row{"D6MinAvailableFromReplicas", [](Job& j) { AddTask(j, "a", 4); },
                        [](const JobSpec& s) { EXPECT_EQ(s.tasks(0).min_available(), 4); }},
                    Row{"MinAvailableFromPartitions",
                        [](Job& j) {
                          AddTask(j, "a", 6);
                          auto* policy = j.mutable_spec()->mutable_tasks(0)->mutable_partition_policy();
                          policy->set_partition_size(2);
                          policy->set_min_partitions(2);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.tasks(0).min_available(), 4); }},
                    Row{"S7TotalPartitions",
                        [](Job& j) {
                          for (const int replicas : {8, 6, 0}) {
                            AddTask(j, "", replicas);
                            auto* task = j.mutable_spec()->mutable_tasks(j.spec().tasks_size() - 1);
                            task->mutable_partition_policy()->set_partition_size(4);
                          }
                          AddTask(j, "given", 8);
                          auto* policy = j.mutable_spec()->mutable_tasks(3)->mutable_partition_policy();
                          policy->set_partition_size(4);
                          policy->set_total_partitions(3);
                          AddTask(j, "none", 8);
                          AddTask(j, "sizeless", 8);
                          j.mutable_spec()->mutable_tasks(5)->mutable_partition_policy();
                        },
                        [](const JobSpec& s) {
                          std::vector<int> totals;
                          for (const auto& task : s.tasks())
                            totals.push_back(task.partition_policy().total_partitions());
                          EXPECT_EQ(totals, (std::vector<int>{2, 0, 0, 3, 0, 0}));
                          EXPECT_FALSE(s.tasks(4).has_partition_policy());
                        }},
                    Row{"D6NoMinPartitions",
                        [](Job& j) {
                          AddTask(j, "a", 6);
                          j.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_partition_size(2);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.tasks(0).min_available(), 6); }},
                    Row{"D6GivenZeroStays",
                        [](Job& j) {
                          AddTask(j, "a", 6);
                          j.mutable_spec()->mutable_tasks(0)->set_min_available(0);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.tasks(0).min_available(), 0); }},
                    Row{"TaskMaxRetry", [](Job& j) { AddTask(j, "a", 1); },
                        [](const JobSpec& s) { EXPECT_EQ(s.tasks(0).max_retry(), 3); }},
                    Row{"D7UnlimitedStays",
                        [](Job& j) {
                          AddTask(j, "a", 1);
                          j.mutable_spec()->mutable_tasks(0)->set_max_retry(-1);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.tasks(0).max_retry(), -1); }},
                    Row{"SumAfterD6",
                        [](Job& j) {
                          AddTask(j, "a", 4);
                          AddTask(j, "b", 3);
                          j.mutable_spec()->mutable_tasks(1)->set_min_available(1);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.min_available(), 5); }},
                    Row{"D8OnlyBeforeTheFirstPhase",
                        [](Job& j) {
                          AddTask(j, "a", 4);
                          j.mutable_meta()->set_generation(2);
                          j.mutable_status()->set_phase(kube::v1::JOB_PHASE_PENDING);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.min_available(), 0); }},
                    Row{"D8OrWhileNobodyChangedTheSpec",
                        [](Job& j) {
                          AddTask(j, "a", 4);
                          j.mutable_meta()->set_generation(1);
                          j.mutable_status()->set_phase(kube::v1::JOB_PHASE_RUNNING);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(s.min_available(), 4); }},
                    Row{"D9Svc",
                        [](Job& j) {
                          GivePlugins(j, {"env", "tensorflow"});
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(PluginNames(s), (std::vector<std::string>{"env", "svc", "tensorflow"}));
                        }},
                    Row{"Ray", [](Job& j) { GivePlugins(j, {"ray"}); },
                        [](const JobSpec& s) {
                          EXPECT_EQ(PluginNames(s), (std::vector<std::string>{"ray", "svc"}));
                        }},
                    Row{"D9RayAndPytorch",
                        [](Job& j) {
                          GivePlugins(j, {"pytorch", "ray"});
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(PluginNames(s), (std::vector<std::string>{"pytorch", "ray", "svc"}));
                        }},
                    Row{"D9SvcGiven",
                        [](Job& j) {
                          GivePlugins(j, {"mpi", "ssh", "svc"});
                          j.mutable_spec()->mutable_plugins(2)->add_arguments("x");
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(PluginNames(s), (std::vector<std::string>{"mpi", "ssh", "svc"}));
                          EXPECT_EQ(s.plugins(2).arguments(0), "x");
                        }},
                    Row{"Ssh", [](Job& j) { GivePlugins(j, {"mpi"}); },
                        [](const JobSpec& s) {
                          EXPECT_EQ(PluginNames(s), (std::vector<std::string>{"mpi", "ssh", "svc"}));
                        }},
                    Row{"MpiOrder",
                        [](Job& j) {
                          GivePlugins(j, {"mpi"});
                          AddTask(j, "master", 1);
                          AddTask(j, "worker", 2);
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(Dependencies(s), (Names{"worker", ""}));
                        }},
                    Row{"MpiOrderOfOtherTasks",
                        [](Job& j) {
                          GivePlugins(j, {"mpi"});
                          for (const char* word : {"--master=boss", "--worker", "node"}) {
                            j.mutable_spec()->mutable_plugins(0)->add_arguments(word);
                          }
                          for (const char* task : {"node", "worker", "master", "boss"}) AddTask(j, task, 1);
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(Dependencies(s), (Names{"", "", "", "node"}));
                        }},
                    Row{"MpiOrderGiven",
                        [](Job& j) {
                          GivePlugins(j, {"mpi"});
                          for (const char* task : {"master", "worker", "data"}) AddTask(j, task, 1);
                          j.mutable_spec()->mutable_tasks(0)->mutable_depends_on()->add_names("data");
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(Dependencies(s), (Names{"data", "", ""}));
                        }},
                    Row{"MpiOrderRefusedByAnEmptyOne",
                        [](Job& j) {
                          GivePlugins(j, {"mpi"});
                          for (const char* task : {"master", "worker"}) AddTask(j, task, 1);
                          j.mutable_spec()->mutable_tasks(0)->mutable_depends_on();
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(Dependencies(s), (Names{"", ""}));
                        }},
                    Row{"MpiOrderWouldBeACircle",
                        [](Job& j) {
                          GivePlugins(j, {"mpi"});
                          for (const char* task : {"master", "worker", "data"}) AddTask(j, task, 1);
                          j.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("data");
                          j.mutable_spec()->mutable_tasks(2)->mutable_depends_on()->add_names("master");
                        },
                        [](const JobSpec& s) {
                          EXPECT_EQ(Dependencies(s), (Names{"", "data", "master"}));
                        }},
                    Row{"MpiOrderWithoutWorkers",
                        [](Job& j) {
                          GivePlugins(j, {"mpi"});
                          AddTask(j, "master", 1);
                        },
                        [](const JobSpec& s) { EXPECT_EQ(Dependencies(s), Names{""}); }},
                    Row{"NoPluginsStaysNone", [](Job&) {}, [](const JobSpec& s) { EXPECT_TRUE(s.plugins().empty()); }}),
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
