#include "services/jobsvc/control/group/group_sync.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class GroupSyncTest : public PartTest {
 protected:
  void Add(const std::string& name, const std::string& owner, bool is_terminating = false) {
    kube::v1::PodGroup& group = job.groups[name];
    group.mutable_meta()->set_name(name);
    group.mutable_meta()->set_uid("uid-of-" + name);
    group.mutable_meta()->add_owner_references()->set_uid(owner);
    if (is_terminating) group.mutable_meta()->set_deletion_ms(1);
    group.set_phase("Running");
  }
};

TEST_F(GroupSyncTest, TheGroupIsTheOneOfTheJobWhateverItsName) {
  struct Case {
    const char* what;
    std::map<std::string, std::string> groups;  // Name -> owner.
    bool present;
    const char* name;
  };
  const Case cases[] = {
      {"none", {}, false, "j-job-uid"},
      {"by the UID of the job", {{"j-job-uid", "job-uid"}}, true, "j-job-uid"},
      {"by its name, as before Volcano 1.5", {{"j", "job-uid"}}, true, "j"},
      {"both", {{"j", "job-uid"}, {"j-job-uid", "job-uid"}}, true, "j-job-uid"},
      {"of another job", {{"j", "another"}, {"j-job-uid", "another"}}, false, "j-job-uid"},
  };
  for (const Case& test : cases) {
    job.ResetParts();
    job.groups.clear();
    for (const auto& [name, owner] : test.groups) Add(name, owner);
    const GroupView& view = job.group_sync.View(job);
    EXPECT_EQ(view.present, test.present) << test.what;
    EXPECT_EQ(view.name, test.name) << test.what;
    EXPECT_EQ(view.uid, test.present ? std::string("uid-of-") + test.name : "") << test.what;
  }
}

TEST_F(GroupSyncTest, ItIsStaleWhileItGoes) {
  Add("j", "job-uid");
  EXPECT_FALSE(job.group_sync.View(job).stale);
  Add("j", "job-uid", /*is_terminating=*/true);
  EXPECT_FALSE(job.group_sync.View(job).stale) << "nobody has said that it changed";
  job.group_sync.Forget();
  EXPECT_TRUE(job.group_sync.View(job).stale);
  EXPECT_TRUE(job.group_sync.View(job).terminating);
}

TEST_F(GroupSyncTest, WhereNobodyOwnsTheGroupItIsAskedForLater) {
  job.group_sync.Apply(job, host);
  EXPECT_TRUE(job.group_sync.retry().Blocks(host.Now()));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
