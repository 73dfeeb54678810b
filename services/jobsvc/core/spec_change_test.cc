#include "services/jobsvc/core/spec_change.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;

JobSpec Spec(int tasks) {
  JobSpec spec;
  spec.set_min_available(2);
  spec.set_queue("default");
  for (int i = 0; i < tasks; ++i) {
    kube::v1::TaskSpec& task = *spec.add_tasks();
    task.set_name(fmt::format("t{}", i));
    task.set_replicas(3);
    task.set_template_json(R"({"spec":{}})");
  }
  return spec;
}

std::string ChangeBy(const JobSpec& before, const std::function<void(JobSpec&)>& edit) {
  JobSpec after = before;
  edit(after);
  return SpecChange(SpecFacts(before), SpecFacts(after));
}

TEST(SpecChangeTest, SizesAreToldWithTheirNumbersAllElseByItsName) {
  struct Row {
    const char* says;
    std::function<void(JobSpec&)> edit;
  };
  const Row rows[] = {
      {"", [](JobSpec&) {}},
      {"minAvailable 2 -> 3", [](JobSpec& spec) { spec.set_min_available(3); }},
      {"minAvailable 2 -> unset", [](JobSpec& spec) { spec.clear_min_available(); }},
      {"priorityClassName none -> high", [](JobSpec& spec) { spec.set_priority_class_name("high"); }},
      {"task t1: replicas 3 -> 5", [](JobSpec& spec) { spec.mutable_tasks(1)->set_replicas(5); }},
      {"task t0: minAvailable unset -> 0", [](JobSpec& spec) { spec.mutable_tasks(0)->set_min_available(0); }},
      {"minAvailable 2 -> 6; task t0: replicas 3 -> 5, minAvailable unset -> 4; task t1: replicas 3 -> 0",
       [](JobSpec& spec) {
         spec.set_min_available(6);
         spec.mutable_tasks(0)->set_replicas(5);
         spec.mutable_tasks(0)->set_min_available(4);
         spec.mutable_tasks(1)->set_replicas(0);
       }},
      {"spec edited: tasks[0].template", [](JobSpec& spec) { spec.mutable_tasks(0)->set_template_json("{}"); }},
      {"task t0: replicas 3 -> 4; spec edited: tasks[0].policies, tasks[1].name, queue",
       [](JobSpec& spec) {
         spec.mutable_tasks(0)->set_replicas(4);
         spec.mutable_tasks(0)->add_policies()->set_action("AbortJob");
         spec.mutable_tasks(1)->set_name("other");
         spec.set_queue("batch");
       }},
      {"spec edited: policies, maxRetry, ttlSecondsAfterFinished",
       [](JobSpec& spec) {
         spec.add_policies()->set_action("AbortJob");
         spec.set_max_retry(5);
         spec.set_ttl_seconds_after_finished(0);
       }},
      {"tasks 2 -> 1", [](JobSpec& spec) { spec.mutable_tasks()->RemoveLast(); }},
      // An absent number and 0 are one on the wire.
      {"",
       [](JobSpec& spec) {
         spec.set_max_retry(0);
         spec.mutable_tasks(0)->set_max_retry(0);
       }},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ChangeBy(Spec(2), row.edit), row.says);
  }
}

// As it is in the names of its pods (job spec 2.1).
TEST(SpecChangeTest, ATaskWithoutANameHasThatOfItsPlace) {
  JobSpec before = Spec(2);
  before.mutable_tasks(1)->clear_name();
  EXPECT_EQ(ChangeBy(before, [](JobSpec& spec) { spec.mutable_tasks(1)->set_replicas(1); }),
            "task default1: replicas 3 -> 1");
}

TEST(SpecChangeTest, HoweverMuchChangesItIsSaidInShort) {
  JobSpec before = Spec(3000);
  for (kube::v1::TaskSpec& task : *before.mutable_tasks()) task.set_name(std::string(5000, 'n'));
  const std::string change = ChangeBy(before, [](JobSpec& spec) {
    spec.set_priority_class_name(std::string(5000, 'p') + "\n");
    for (kube::v1::TaskSpec& task : *spec.mutable_tasks()) {
      task.set_replicas(7);
      task.set_template_json("{}");
    }
  });
  EXPECT_LT(change.size(), 1500u);
  EXPECT_TRUE(change.starts_with("priorityClassName none -> ppp")) << change;
  EXPECT_NE(change.find("; and 2993 more; spec edited: tasks[0].template, "), std::string::npos) << change;
  EXPECT_TRUE(change.ends_with("tasks[7].template and 2992 more")) << change;
}

// It is kept for each job: by what is told apart, whatever the templates weigh.
TEST(SpecChangeTest, WhatIsKeptIsSmall) {
  JobSpec spec = Spec(4);
  for (kube::v1::TaskSpec& task : *spec.mutable_tasks()) task.set_template_json(std::string(50'000, ' '));
  EXPECT_LT(SpecFacts(spec).ByteSizeLong(), 200u);
}

}  // namespace
}  // namespace basalt::jobsvc
