// Claims that a job names and somebody else has to make: the wait for them, and the end of the wait.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using Names = std::set<std::string>;

const Names kData = {"persistentvolumeclaims default/data"};
constexpr std::string_view kWaits = "claim data does not exist; the job waits for it";
// The time of a few round trips to the server, and much less than any pause.
constexpr absl::Duration kAtOnce = absl::Milliseconds(20);

void AddVolume(kube::v1::Job& job, const std::string& path, const std::string& claim) {
  auto* volume = job.mutable_spec()->add_volumes();
  volume->set_mount_path(path);
  volume->set_volume_claim_name(claim);
}

kube::v1::Job JobWithData(const std::string& name = "j") {
  kube::v1::Job job = MakeJob(name, 1, 2);
  AddVolume(job, "/data", "data");
  return job;
}

class ClaimsTest : public ::testing::Test {
 protected:
  void Begin(const kube::v1::Job& job) {
    rig_.Start();
    kube().PutJob(job);
    rig_.Run(absl::Minutes(1));
  }
  JobKube& kube() { return rig_.kube(); }
  const kube::v1::JobStatus& Status() { return kube().job("default/j").status(); }
  gateway::v1::WriteRequest Claim(const std::string& name) {
    gateway::v1::WriteRequest request;
    request.mutable_resource()->set_plural("persistentvolumeclaims");
    request.set_namespace_("default");
    request.set_name(name);
    return request;
  }
  void MakeClaim(const std::string& name = "data", const std::string& body = R"({"metadata":{}})") {
    gateway::v1::WriteRequest request = Claim(name);
    request.mutable_create()->set_body(body);
    ASSERT_EQ(kube().Write(request).error().code(), 0);
  }
  void DeleteClaim(const std::string& name = "data") {
    gateway::v1::WriteRequest request = Claim(name);
    request.mutable_delete_()->set_uid(kube().UidOf("persistentvolumeclaims/default/" + name));
    ASSERT_EQ(kube().Write(request).error().code(), 0);
  }

  JobRig rig_;
};

TEST_F(ClaimsTest, AClaimThatComesBetweenTheLookAndTheInterestIsSeen) {
  rig_.Start();
  kube().PutJob(JobWithData());
  ASSERT_TRUE(rig_.RunUntil([this] { return !rig_.Interests().empty(); }));
  MakeClaim();
  rig_.Run(kAtOnce);
  EXPECT_EQ(kube().pods().size(), 2u);
}

TEST_F(ClaimsTest, AJobThatIsDeletedAsksForNothing) {
  Begin(JobWithData());
  kube::v1::Object going;
  *going.mutable_job() = kube().job("default/j");
  going.mutable_job()->mutable_meta()->set_deletion_ms(1);
  going.mutable_job()->mutable_meta()->set_resource_version(going.job().meta().resource_version() + 1);
  rig_.Show(going);
  rig_.Run(kAtOnce);
  EXPECT_EQ(rig_.Interests(), Names()) << "it is to go";
  kube().PutJob(JobWithData("k"));
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.Interests(), kData);
  kube().DeleteJob("default/k");
  rig_.Run(kAtOnce);
  EXPECT_EQ(rig_.Interests(), Names()) << "it is gone";
}

TEST_F(ClaimsTest, AnEditedJobAsksForWhatItNamesThen) {
  Begin(JobWithData());
  kube().EditJob("default/j",
                 [](kube::v1::Job& job) { job.mutable_spec()->mutable_volumes(0)->set_volume_claim_name("other"); });
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.Interests(), Names{"persistentvolumeclaims default/other"});
  kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->set_min_available(9); });
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.Interests(), Names()) << "a spec that is refused names nothing";
  kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->set_min_available(1);
    job.mutable_spec()->clear_volumes();
  });
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.Interests(), Names());
  EXPECT_EQ(kube().pods().size(), 2u);
}

TEST_F(ClaimsTest, TheInterestGoesWithTheSlot) {
  Begin(JobWithData());
  rig_.controller().CloseSlot(SlotOf("default/j"));
  EXPECT_EQ(rig_.Interests(), Names());
}

TEST_F(ClaimsTest, WhereverTheProcessIsKilledTheClaimEndsTheWait) {
  const auto life = [this](basalt::testing::KillPoint& kill) {
    JobRig rig;
    rig.Start();
    kill.Arm(rig);
    rig.kube().PutJob(JobWithData());
    rig.Run(absl::Minutes(1));
    kill.Restart(rig);
    rig.KillAt(0);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.Interests(), kData);
    gateway::v1::WriteRequest request = Claim("data");
    request.mutable_create()->set_body(R"({"metadata":{}})");
    ASSERT_EQ(rig.kube().Write(request).error().code(), 0);
    rig.Run(kAtOnce);
    EXPECT_EQ(rig.kube().pods().size(), 2u);
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
  rig_.Start();
  kube().PutJob(job);
  ASSERT_TRUE(rig_.RunUntil([&name] { return !name.empty(); }));
  MakeClaim(name);
  rig_.Run(absl::Minutes(3));
  EXPECT_EQ(Status().message(), "claim " + name + " exists and belongs to somebody else; it is left alone");
  EXPECT_EQ(rig_.Interests(), Names());
  DeleteClaim(name);
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
