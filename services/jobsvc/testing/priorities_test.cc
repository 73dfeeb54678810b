// Priority classes that change under jobs: a change costs only passes of the jobs that name the class, and the
// PodGroups that these jobs want follow the change (job spec 9.10).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/slots.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using Keys = std::set<std::string>;

std::string TemplateJson(std::string_view priority_class, int cpus) {
  const std::string named =
      priority_class.empty() ? std::string() : fmt::format(R"("priorityClassName":"{}",)", priority_class);
  return fmt::format(R"({{"spec":{{{}"restartPolicy":"Never",)"
                     R"("containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
                     named, cpus);
}

class PrioritiesTest : public JobTest {
 protected:
  PrioritiesTest() { rig().Start(); }

  // Submits two tasks of two pods each, with 1 and 4 cpus, of which two pods are the gang. The second task names the
  // class: its pods come first if the class has a value.
  void Submit(const std::string& name, std::string_view priority_class) {
    kube::v1::Job job = MakeJob(name, 2, 2);
    job.mutable_spec()->set_min_available(2);
    job.mutable_spec()->mutable_tasks(0)->set_template_json(TemplateJson("", 1));
    job.mutable_spec()->mutable_tasks(1)->set_template_json(TemplateJson(priority_class, 4));
    kube().PutJob(std::move(job));
    rig().Run(absl::Seconds(20));
  }
  // Returns the cpus that the gang needs, or "none" if there is no group.
  std::string Cpus(const std::string& name) {
    for (const auto& [group, object] : kube().groups()) {
      if (!group.starts_with("default/" + name + "-")) continue;
      for (const kube::v1::KeyValue& resource : object.spec().min_resources()) {
        if (resource.key() == "cpu") return resource.value();
      }
    }
    return "none";
  }
  // Returns the jobs that had passes since the last call.
  Keys Woken() {
    rig().Run(absl::Seconds(20));
    Keys woken;
    for (const auto& [key, passes] : rig().passes()) {
      if (passes != passes_[key]) woken.insert(key);
    }
    passes_ = rig().passes();
    return woken;
  }
  void Show(const std::string& name, int32_t value) { rig().ShowPriorityClass(name, value); }
  void Remove(const std::string& name) { rig().ShowPriorityClass(name, 0, /*gone=*/true); }

  std::map<std::string, int> passes_;
};

TEST_F(PrioritiesTest, AChangeWakesTheJobsThatNameTheClassAlone) {
  Submit("high", "high");
  Submit("also-high", "high");
  Submit("low", "low");
  Submit("none", "");
  Woken();
  Show("high", 100);
  EXPECT_EQ(Woken(), (Keys{"default/also-high", "default/high"})) << "it comes";
  Show("high", 200);
  EXPECT_EQ(Woken(), (Keys{"default/also-high", "default/high"})) << "it weighs more";
  Show("high", 200);
  Show("other", 1000);
  EXPECT_EQ(Woken(), Keys()) << "told again, and a class that nobody names";
  Show("low", 1);
  EXPECT_EQ(Woken(), Keys{"default/low"});
  Remove("high");
  EXPECT_EQ(Woken(), (Keys{"default/also-high", "default/high"})) << "it goes";
}

// A group is made with the values that the classes have at its creation.
TEST_F(PrioritiesTest, AClassThatChangesWhileAJobIsAbortedCountsOnceItIsResumed) {
  Submit("job", "high");
  kube().PutCommand("default", "stop", "AbortJob", "job");
  rig().Run(absl::Minutes(1));
  ASSERT_EQ(rig().PhaseOf("default/job"), kAborted);
  Woken();
  Show("high", 100);
  EXPECT_EQ(Woken(), Keys()) << "nothing is made for it";
  kube().PutCommand("default", "go", "ResumeJob", "job");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Cpus("job"), "8");
}

TEST_F(PrioritiesTest, AJobThatIsGoneOrOfAnotherReplicaIsNotWoken) {
  Submit("gone", "high");
  Submit("left", "high");
  kube().DeleteJob("default/gone");
  rig().Run(absl::Minutes(1));
  rig().CloseSlot(SlotOf("default/left"));
  Woken();
  Show("high", 100);
  EXPECT_EQ(Woken(), Keys());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
