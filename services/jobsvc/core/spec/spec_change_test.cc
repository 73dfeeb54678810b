#include "services/jobsvc/core/spec/spec_change.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "services/jobsvc/core/validate/validate.h"

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
      // An absent number and 0 are the same on the wire.
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

// The name is the one in the names of its pods (job spec 2.1).
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

std::string ForbiddenBy(const std::function<void(JobSpec&)>& edit) {
  JobSpec before = Spec(2);
  for (const char* claim : {"", R"({"resources":{"requests":{"storage":"1Gi"}}})"}) {
    kube::v1::VolumeSpec& volume = *before.add_volumes();
    volume.set_mount_path("/data");
    volume.set_volume_claim_json(claim);
    if (*claim == '\0') volume.set_volume_claim_name("data");
  }
  JobSpec after = before;
  edit(after);
  return ForbiddenChange(SpecFacts(before), SpecFacts(after));
}

std::string CannotChange(const char* field) { return fmt::format("{} {}", field, kCannotChange); }

TEST(SpecChangeTest, ADefaultOfADefinitionIsNoEdit) {
  JobSpec before = Spec(1);
  before.clear_queue();
  before.clear_max_retry();
  before.mutable_network_topology()->set_highest_tier_allowed(1);
  before.mutable_tasks(0)->mutable_partition_policy()->mutable_network_topology()->set_highest_tier_name("rack");
  JobSpec after = before;
  after.set_queue("default");
  after.set_max_retry(3);
  after.mutable_network_topology()->set_mode("hard");
  after.mutable_tasks(0)->set_max_retry(3);
  after.mutable_tasks(0)->mutable_partition_policy()->mutable_network_topology()->set_mode("hard");
  EXPECT_EQ(SpecChange(SpecFacts(before), SpecFacts(after)), "");
  EXPECT_EQ(ForbiddenChange(SpecFacts(before), SpecFacts(after)), "");
  after.set_queue("batch");
  EXPECT_EQ(SpecChange(SpecFacts(before), SpecFacts(after)), "spec edited: queue");
}

// Job spec 2.6, U4 and U5.
TEST(SpecChangeTest, AForbiddenChangeIsNamed) {
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) {
              spec.set_min_available(1);
              spec.set_priority_class_name("high");
              spec.mutable_tasks(0)->set_replicas(9);
              spec.mutable_tasks(1)->set_min_available(0);
              spec.set_max_retry(0);
            }),
            "");
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) { spec.add_tasks()->set_name("more"); }),
            "spec.tasks are 3, not 2, but cannot be added or removed; a job keeps its number of tasks");
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) { spec.set_queue("batch"); }), CannotChange("spec.queue"));
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) { spec.mutable_tasks(1)->set_name("other"); }),
            CannotChange("spec.tasks[1].name"));
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) { spec.mutable_tasks(1)->set_template_json(R"({"spec":{"a":1}})"); }),
            CannotChange("spec.tasks[1].template"));
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) { spec.mutable_volumes(0)->set_volume_claim_name("other"); }),
            CannotChange("spec.volumes"));
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) {
              spec.set_queue("batch");
              spec.set_min_success(1);
              spec.mutable_tasks()->RemoveLast();
            }),
            "spec.tasks are 1, not 2, but cannot be added or removed; a job keeps its number of tasks (and 2 more)");
}

TEST(SpecChangeTest, TheSameMeaningMayBeWrittenInOtherWords) {
  EXPECT_EQ(ForbiddenBy([](JobSpec& spec) {
              spec.mutable_tasks(0)->set_template_json(R"({"metadata":{"labels":{}},"spec":{}})");
              spec.mutable_volumes(1)->set_volume_claim_json(R"({"resources":{"requests":{"storage":"1024Mi"}}})");
              spec.mutable_volumes(1)->set_volume_claim_name("j-pvc-0123456789ab");
            }),
            "");
  // Nobody can know for a record that was kept without meanings.
  storage::v1::SpecRecord before = SpecFacts(Spec(1));
  for (auto& field : *before.mutable_tasks(0)->mutable_fields()) field.clear_meaning();
  JobSpec other = Spec(1);
  other.mutable_tasks(0)->set_template_json("{}");
  EXPECT_EQ(ForbiddenChange(before, SpecFacts(other)), "");
  other.set_queue("batch");
  EXPECT_EQ(ForbiddenChange(before, SpecFacts(other)), CannotChange("spec.queue"));
}

TEST(SpecChangeTest, EachEditIsComparedWithWhatTheJobHasBegunWith) {
  storage::v1::SpecRecord kept = SpecFacts(Spec(2));
  JobSpec spec = Spec(2);
  const auto edit = [&](int64_t now_ms, bool is_refused = false) {
    storage::v1::SpecRecord after = SpecFacts(spec);
    const std::string departure = FollowEdit(kept, is_refused, now_ms, after);
    kept = after;
    return departure;
  };
  spec.set_queue("batch");
  EXPECT_EQ(edit(1000), CannotChange("spec.queue"));
  spec.mutable_tasks(0)->set_replicas(8);
  EXPECT_EQ(edit(2000), "") << "this one changed a size alone";
  EXPECT_EQ(Departure(kept), CannotChange("spec.queue")) << "and it is still so";
  spec.set_min_success(1);
  EXPECT_EQ(edit(3000), CannotChange("spec.queue") + " (and 1 more)");
  EXPECT_EQ(kept.departed_ms(), 1000);
  EXPECT_FALSE(kept.begun_with().has_begun_with());
  spec.clear_min_success();
  spec.set_queue("default");
  EXPECT_EQ(edit(4000), "") << "it leads back";
  EXPECT_EQ(Departure(kept), "");
  EXPECT_FALSE(kept.has_begun_with());
}

TEST(SpecChangeTest, ASpecThatWasNeverAcceptedMayBeCorrected) {
  storage::v1::SpecRecord kept = SpecFacts(Spec(2));
  kept.set_never_accepted(true);
  JobSpec spec = Spec(1);
  storage::v1::SpecRecord after = SpecFacts(spec);
  EXPECT_EQ(FollowEdit(kept, /*is_refused=*/true, 1000, after), "");
  EXPECT_TRUE(after.never_accepted());
  kept = after;
  spec.set_queue("batch");
  after = SpecFacts(spec);
  EXPECT_EQ(FollowEdit(kept, /*is_refused=*/false, 2000, after), "");
  EXPECT_FALSE(after.never_accepted());
  kept = after;
  spec.set_queue("other");
  after = SpecFacts(spec);
  EXPECT_EQ(FollowEdit(kept, /*is_refused=*/true, 3000, after), CannotChange("spec.queue"));
}

// The record is kept for each job: its size follows from the fields that are distinguished, not from the templates.
TEST(SpecChangeTest, TheRecordOfASpecIsSmall) {
  JobSpec spec = Spec(4);
  for (kube::v1::TaskSpec& task : *spec.mutable_tasks()) task.set_template_json(std::string(50'000, ' '));
  EXPECT_LT(SpecFacts(spec).ByteSizeLong(), 200u);
}

}  // namespace
}  // namespace basalt::jobsvc
