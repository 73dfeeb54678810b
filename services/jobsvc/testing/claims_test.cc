// Claims that a job names and somebody else has to make: the wait for them, and the end of the wait.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using Names = std::set<std::string>;

const Names kData = {"persistentvolumeclaims default/data"};
// The time of a few round trips to the server, and much less than any pause.
constexpr absl::Duration kAtOnce = absl::Milliseconds(20);

kube::v1::Job JobWithData(const std::string& name = "j") {
  kube::v1::Job job = MakeJob(name, 1, 2);
  job.mutable_spec()->add_volumes()->set_mount_path("/data");
  job.mutable_spec()->mutable_volumes(0)->set_volume_claim_name("data");
  return job;
}

class ClaimsTest : public JobTest {
 protected:
  void Begin(const kube::v1::Job& job) {
    rig().Start();
    kube().PutJob(job);
    rig().Run(absl::Minutes(1));
  }
  void MakeClaim(const std::string& name = "data") {
    const auto made = Write("persistentvolumeclaims", name, [](gateway::v1::WriteRequest& request) {
      request.mutable_create()->set_body(R"({"metadata":{}})");
    });
    ASSERT_EQ(made.error().code(), 0);
  }
};

TEST_F(ClaimsTest, AClaimThatComesBetweenTheLookAndTheInterestIsSeen) {
  rig().Start();
  kube().PutJob(JobWithData());
  ASSERT_TRUE(rig().RunUntil([this] { return !rig().Interests().empty(); }));
  MakeClaim();
  rig().Run(kAtOnce);
  EXPECT_EQ(kube().pods().size(), 2u);
}

TEST_F(ClaimsTest, AJobThatIsDeletedAsksForNothing) {
  Begin(JobWithData());
  kube::v1::Object going;
  *going.mutable_job() = kube().job("default/j");
  going.mutable_job()->mutable_meta()->set_deletion_ms(1);
  going.mutable_job()->mutable_meta()->set_resource_version(going.job().meta().resource_version() + 1);
  rig().Show(going);
  rig().Run(kAtOnce);
  EXPECT_EQ(rig().Interests(), Names()) << "it is to go";
  kube().PutJob(JobWithData("k"));
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(rig().Interests(), kData);
  kube().DeleteJob("default/k");
  rig().Run(kAtOnce);
  EXPECT_EQ(rig().Interests(), Names()) << "it is gone";
}

TEST_F(ClaimsTest, AnEditedJobAsksForWhatItNamesThen) {
  Begin(JobWithData());
  EditSpec([](kube::v1::JobSpec& spec) { spec.mutable_volumes(0)->set_volume_claim_name("other"); });
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(rig().Interests(), Names{"persistentvolumeclaims default/other"});
  EditSpec([](kube::v1::JobSpec& spec) { spec.set_min_available(9); });
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(rig().Interests(), Names()) << "a spec that is refused names nothing";
  kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->set_min_available(1);
    job.mutable_spec()->clear_volumes();
  });
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(rig().Interests(), Names());
  EXPECT_EQ(kube().pods().size(), 2u);
}

TEST_F(ClaimsTest, TheInterestGoesWithTheSlot) {
  Begin(JobWithData());
  rig().controller().CloseSlot(SlotOf("default/j"));
  EXPECT_EQ(rig().Interests(), Names());
}

TEST_F(ClaimsTest, WhereverTheProcessIsKilledTheClaimEndsTheWait) {
  const auto life = [this](basalt::testing::KillPoint& kill) {
    Fresh();
    rig().Start();
    kill.Arm(rig());
    kube().PutJob(JobWithData());
    rig().Run(absl::Minutes(1));
    kill.Restart(rig());
    rig().KillAt(0);
    rig().Run(absl::Minutes(1));
    EXPECT_EQ(rig().Interests(), kData);
    MakeClaim();
    rig().Run(kAtOnce);
    EXPECT_EQ(kube().pods().size(), 2u);
  };
  basalt::testing::KillAtEachPoint(4, life, {false});
}

TEST_F(ClaimsTest, ANameOfItsOwnThatSomebodyElseHasIsTriedAgain) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  auto* volume = job.mutable_spec()->add_volumes();
  volume->set_mount_path("/own");
  volume->set_volume_claim_json(kClaimSpec);
  std::string name;
  kube().SetRefuse([&name](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!name.empty() || request.resource().plural() != "persistentvolumeclaims") return false;
    name = request.name();
    error.set_code(500);
    return true;
  });
  rig().Start();
  kube().PutJob(job);
  ASSERT_TRUE(rig().RunUntil([&name] { return !name.empty(); }));
  MakeClaim(name);
  rig().Run(absl::Minutes(3));
  EXPECT_EQ(Status().message(), "claim " + name + " exists and belongs to somebody else; it is left alone");
  EXPECT_EQ(rig().Interests(), Names());
  const auto deleted = Write("persistentvolumeclaims", name, [&](gateway::v1::WriteRequest& request) {
    request.mutable_delete_()->set_uid(kube().UidOf("persistentvolumeclaims/default/" + name));
  });
  ASSERT_EQ(deleted.error().code(), 0);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
