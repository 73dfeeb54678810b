// How a job takes in changes of its PodGroup.
#include "services/jobsvc/control/group/group_changes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class GroupChangesTest : public PartTest {
 protected:
  // Returns the group j-job-uid as it is observed from here on.
  kube::v1::PodGroup& Observe(const std::string& uid, const std::string& phase) {
    kube::v1::PodGroup& group = job.groups["j-job-uid"];
    group.Clear();
    group.mutable_meta()->set_name("j-job-uid");
    group.mutable_meta()->set_uid(uid);
    group.mutable_meta()->add_owner_references()->set_uid("job-uid");
    group.set_phase(phase);
    job.groups_dirty = true;
    job.group_sync.Forget();
    return group;
  }
  void Say(const std::string& type, const std::string& message) {
    kube::v1::PodGroupCondition& words = *Observe("g", "Pending").add_conditions();
    words.set_type(type);
    words.set_status("True");
    words.set_message(message);
  }
  std::vector<JobEvent> Apply() {
    std::vector<JobEvent> events;
    job.group_changes.Apply(job, host, events);
    return events;
  }
};

TEST_F(GroupChangesTest, BecomingUnknownIsAnEventOnceForEachGroup) {
  struct Case {
    const char* what;
    const char* uid;
    const char* phase;
    bool is_event;
  };
  const Case steps[] = {
      {"first seen while it runs", "g", "Running", false},
      {"it becomes Unknown", "g", "Unknown", true},
      {"and stays so", "g", "Unknown", false},
      {"it runs", "g", "Running", false},
      {"and is Unknown again", "g", "Unknown", true},
      {"another group is Unknown", "h", "Unknown", true},
  };
  for (const Case& step : steps) {
    Observe(step.uid, step.phase);
    const std::vector<JobEvent> events = Apply();
    ASSERT_EQ(events.size(), step.is_event ? 1U : 0U) << step.what;
    if (step.is_event) {
      EXPECT_EQ(events[0].kind, kEventUnknown) << step.what;
    }
    ASSERT_EQ(job.record.pod_groups_size(), 1);
    EXPECT_EQ(job.record.pod_groups(0).uid(), step.uid);
    EXPECT_EQ(job.record.pod_groups(0).phase(), step.phase);
  }
}

TEST_F(GroupChangesTest, NothingIsDoneWhereNothingHasChanged) {
  Observe("g", "Running");
  Apply();
  job.record_dirty = false;
  EXPECT_TRUE(Apply().empty());
  EXPECT_FALSE(job.record_dirty);
}

TEST_F(GroupChangesTest, TheSchedulerIsQuotedWhenItSaysSomethingNew) {
  struct Case {
    const char* what;
    const char* type;
    const char* message;
    absl::Duration later;
    const char* event;  // Empty if there is none.
  };
  const absl::Duration none = absl::ZeroDuration();
  const Case steps[] = {
      {"for the first time", "Unschedulable", "0/3 nodes", none, "unschedulable: 0/3 nodes"},
      {"the same", "Unschedulable", "0/3 nodes", none, ""},
      {"other numbers soon after", "Unschedulable", "0/4 nodes", absl::Minutes(1), ""},
      {"other numbers later", "Unschedulable", "0/4 nodes", absl::Minutes(5), "unschedulable: 0/4 nodes"},
      {"something else", "NotReady", "", none, "notready"},
  };
  for (const Case& step : steps) {
    context.Advance(step.later);
    job.pending_events.clear();
    Say(step.type, step.message);
    Apply();
    ASSERT_EQ(job.pending_events.size(), *step.event == 0 ? 0U : 1U) << step.what;
    if (*step.event != 0) {
      EXPECT_EQ(job.pending_events[0].message, step.event) << step.what;
    }
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
