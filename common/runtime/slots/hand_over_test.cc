// Who may have the records of this process, and who is refused. What passes between two processes: tests/slots.
#include "common/runtime/slots/hand_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/testing/status_matchers.h"

namespace basalt::runtime {
namespace {

using replica::v1::HandOverRequest;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct NoPeers final : rpc::PeerDirectory {
  std::shared_ptr<rpc::PodGroupPeer> PodGroups(const gateway::v1::Member&) override { return nullptr; }
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override { return nullptr; }
};

gateway::v1::Member Self() {
  gateway::v1::Member self;
  self.set_service(gateway::v1::SERVICE_KIND_JOB);
  self.set_replica("jobsvc-0");
  self.set_incarnation("now");
  return self;
}

class HandoverTest : public ::testing::Test {
 protected:
  static HandOverRequest Ask() {
    HandOverRequest request;
    request.set_cluster("blue");
    *request.mutable_source() = Self();
    request.set_part(HandOverRequest::PART_CONTROL);
    return request;
  }

  SimTime time_;
  SimLoop loop_{time_, "replica"};
  SeededRandom random_{1};
  std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  NoPeers peers_;
  HandOverOptions options_{.cluster = "blue", .self = Self()};
  Takeover takeover_{options_, loop_, random_, *store_, peers_, {}};
  Handover handover_{options_, *store_, takeover_};
};

TEST_F(HandoverTest, AnswersWhoMeansThisProcess) { EXPECT_THAT(handover_.Serve(Ask()), testing::IsOk()); }

TEST_F(HandoverTest, NamesBothProcessesAndClustersToWhoMeansAnother) {
  HandOverRequest cluster = Ask(), service = Ask(), replica = Ask(), incarnation = Ask();
  cluster.set_cluster("green");
  service.mutable_source()->set_service(gateway::v1::SERVICE_KIND_QUEUE);
  replica.mutable_source()->set_replica("jobsvc-1");
  incarnation.mutable_source()->set_incarnation("before");
  EXPECT_THAT(handover_.Serve(cluster), testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                                          AllOf(HasSubstr("cluster 'green'"), HasSubstr("'blue'"))));
  EXPECT_THAT(handover_.Serve(service),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("SERVICE_KIND_QUEUE"), HasSubstr("SERVICE_KIND_JOB"))));
  EXPECT_THAT(handover_.Serve(replica),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("'jobsvc-1' (now)"), HasSubstr("'jobsvc-0' (now)"))));
  EXPECT_THAT(handover_.Serve(incarnation),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("'jobsvc-0' (before)"), HasSubstr("'jobsvc-0' (now)"))));
}

TEST_F(HandoverTest, RefusesWhatDoesNotSayWhichPart) {
  HandOverRequest request = Ask();
  request.clear_part();
  EXPECT_THAT(handover_.Serve(request),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HandOverRequest.part")));
}

}  // namespace
}  // namespace basalt::runtime
