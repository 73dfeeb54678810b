// The PodGroup of a running job is edited by hand: the values that the job wants are restored, others are left alone,
// and neither costs more than that.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::PodGroup;

class GroupEditsTest : public JobTest {
 protected:
  // Returns a job of two tasks of two pods each, with 1 and with 4 cpus.
  static kube::v1::Job MakeSizedJob() {
    kube::v1::Job job = MakeJob("j", 2, 2);
    job.mutable_spec()->mutable_tasks(0)->set_template_json(
        R"({"spec":{"priorityClassName":"low","restartPolicy":"Never",)"
        R"("containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}})");
    job.mutable_spec()->mutable_tasks(1)->set_template_json(
        R"({"spec":{"priorityClassName":"high","restartPolicy":"Never",)"
        R"("containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"4"}}}]}})");
    return job;
  }
  void BeginRunning(kube::v1::Job job) {
    rig().StartRunning(std::move(job));
    ASSERT_EQ(Phase(), kRunning);
    Reset();
  }
  void Reset() {
    wanted_ = Group().spec().SerializeAsString();
    kube().ClearLog();
    asks_ = kube().group_asks();
  }
  void EditGroup(const std::function<void(PodGroup&)>& edit) { kube().EditGroup(kube().groups().begin()->first, edit); }
  void SetPriority(const char* name, int32_t value) {
    rig().ShowPriorityClass(name, value);
    rig().Run(absl::Seconds(20));
  }
  std::string Cpus() {
    for (const kube::v1::KeyValue& resource : Group().spec().min_resources()) {
      if (resource.key() == "cpu") return resource.value();
    }
    return "none";
  }
  void ExpectWrites(int asked, int written) {
    EXPECT_EQ(kube().group_asks() - asks_, asked);
    EXPECT_EQ(kube().Count("patch", "podgroups"), written);
    EXPECT_EQ(kube().WritesButEvents(), written);
  }
  void ExpectPutRight(int writes = 1) {
    EXPECT_EQ(Group().spec().SerializeAsString(), wanted_) << Group().DebugString();
    ExpectWrites(writes, writes);
    EXPECT_EQ(kube().pods().size(), 4u);
    EXPECT_EQ(Phase(), kRunning);
  }

  std::string wanted_;
  int asks_ = 0;
};

TEST_F(GroupEditsTest, ValuesThatTheJobWantsArePutRightWithOneWrite) {
  using Spec = kube::v1::PodGroupSpec;
  const std::pair<const char*, std::function<void(Spec&)>> edits[] = {
      {"minMember is lowered", [](Spec& spec) { spec.set_min_member(1); }},
      {"minMember is raised", [](Spec& spec) { spec.set_min_member(9); }},
      {"minMember is taken away", [](Spec& spec) { spec.clear_min_member(); }},
      {"minResources say less", [](Spec& spec) { spec.mutable_min_resources(0)->set_value("1"); }},
      {"minResources say more of something else",
       [](Spec& spec) {
         spec.add_min_resources()->set_key("nvidia.com/gpu");
         spec.mutable_min_resources()->rbegin()->set_value("8");
       }},
      {"minResources are empty", [](Spec& spec) { spec.clear_min_resources(); }},
      {"minResources are taken away",
       [](Spec& spec) {
         spec.clear_min_resources();
         spec.set_has_min_resources(false);
       }},
      {"minTaskMember of a task", [](Spec& spec) { spec.mutable_min_task_member(1)->set_min_member(1); }},
      {"minTaskMember without a task", [](Spec& spec) { spec.mutable_min_task_member()->RemoveLast(); }},
      {"minTaskMember of a task that does not exist", [](Spec& spec) { spec.add_min_task_member()->set_task("t9"); }},
      {"minTaskMember is taken away", [](Spec& spec) { spec.clear_min_task_member(); }},
      {"a priority class", [](Spec& spec) { spec.set_priority_class_name("high"); }},
      {"a topology", [](Spec& spec) { spec.mutable_network_topology()->set_mode("hard"); }},
      {"several at once",
       [](Spec& spec) {
         spec.set_min_member(1);
         spec.clear_min_task_member();
         spec.clear_min_resources();
       }},
  };
  BeginRunning(MakeSizedJob());
  for (const auto& [what, edit] : edits) {
    SCOPED_TRACE(what);
    EditGroup([&edit = edit](PodGroup& group) { edit(*group.mutable_spec()); });
    rig().Run(absl::Minutes(1));
    ExpectPutRight();
    Reset();
  }
}

TEST_F(GroupEditsTest, ValuesThatTheJobDoesNotWantAreLeftAlone) {
  const std::pair<const char*, std::function<void(PodGroup&)>> edits[] = {
      {"nothing", [](PodGroup&) {}},
      {"minResources say the same in other words",
       [](PodGroup& group) {
         for (auto& resource : *group.mutable_spec()->mutable_min_resources()) {
           if (resource.key() == "cpu") resource.set_value("10000m");
         }
       }},
      {"the queue, which a namespace may choose", [](PodGroup& group) { group.mutable_spec()->set_queue("team"); }},
      {"a label", [](PodGroup& group) { group.mutable_meta()->add_labels()->set_key("team"); }},
      {"an annotation", [](PodGroup& group) { group.mutable_meta()->add_annotations()->set_key("note"); }},
      {"the phase", [](PodGroup& group) { group.set_phase("Running"); }},
      {"the scheduler's words",
       [](PodGroup& group) {
         group.add_conditions()->set_type("Scheduled");
         group.mutable_conditions(0)->set_status("True");
       }},
  };
  BeginRunning(MakeSizedJob());
  ASSERT_EQ(Cpus(), "10");
  for (const auto& [what, edit] : edits) {
    SCOPED_TRACE(what);
    EditGroup(edit);
    const std::string edited = Group().SerializeAsString();
    rig().Run(absl::Minutes(1));
    ExpectWrites(0, 0);
    EXPECT_EQ(Group().SerializeAsString(), edited);
  }
}

// An edit may come while the one before is being undone, or before the watch has shown that.
TEST_F(GroupEditsTest, EditsThatFollowAtOnceAreNotMissed) {
  BeginRunning(MakeSizedJob());
  for (const absl::Duration pause : {absl::Milliseconds(1), absl::Milliseconds(2), absl::Milliseconds(3),
                                     absl::Milliseconds(10), absl::Seconds(1), absl::Seconds(10)}) {
    SCOPED_TRACE(absl::FormatDuration(pause));
    Reset();
    EditGroup([](PodGroup& group) { group.mutable_spec()->set_min_member(1); });
    rig().Run(pause);
    EditGroup([](PodGroup& group) { group.mutable_spec()->clear_min_task_member(); });
    rig().Run(absl::Minutes(1));
    EXPECT_EQ(Group().spec().SerializeAsString(), wanted_) << Group().DebugString();
    EXPECT_LE(kube().Count("patch", "podgroups"), 2);
    EXPECT_LE(kube().group_asks() - asks_, 2);
  }
}

TEST_F(GroupEditsTest, AnEditThatNobodySawIsPutRightAtTheStart) {
  BeginRunning(MakeSizedJob());
  for (const bool lose_disk : {false, true}) {
    SCOPED_TRACE(lose_disk ? "on an empty disk" : "on its disk");
    Reset();
    rig().Kill();
    if (lose_disk) rig().LoseDisk();
    EditGroup([](PodGroup& group) { group.mutable_spec()->set_min_member(1); });
    rig().Start();
    rig().Run(absl::Minutes(1));
    ExpectPutRight();
    rig().Kill();
    Reset();
    rig().Start();
    rig().Run(absl::Minutes(1));
    ExpectPutRight(/*writes=*/0);
  }
}

TEST_F(GroupEditsTest, APriorityClassThatChangesWhatTheGangNeedsIsOneWrite) {
  kube::v1::Job job = MakeSizedJob();
  job.mutable_spec()->set_min_available(2);
  BeginRunning(job);
  ASSERT_EQ(Cpus(), "2") << "the first task comes first";
  SetPriority("high", 100);
  EXPECT_EQ(Cpus(), "8");
  ExpectWrites(1, 1);
  Reset();
  SetPriority("high", 200);
  SetPriority("nobodys", 1000);
  ExpectWrites(0, 0);
  SetPriority("low", 300);
  EXPECT_EQ(Cpus(), "2");
  ExpectWrites(1, 1);
}

TEST_F(GroupEditsTest, AnEditOfTheJobAndOneOfItsGroupAreOneWrite) {
  BeginRunning(MakeSizedJob());
  EditGroup([](PodGroup& group) { group.mutable_spec()->set_min_member(1); });
  EditSpec([](kube::v1::JobSpec& spec) { spec.set_min_available(3); });
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Group().spec().min_member(), 3);
  EXPECT_EQ(kube().group_asks() - asks_, 1);
  EXPECT_EQ(kube().Count("patch", "podgroups"), 1);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
