// Two gateways run as processes. When the leader dies, the other one leads, and the jobs are not affected.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::IsEmpty;

constexpr absl::Duration kLease = absl::Seconds(4);
// The slack covers a busy machine and the interval of polling.
constexpr absl::Duration kSlack = absl::Seconds(2);

class LeadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WorldOptions options;
    options.gateways = 2;
    options.gateway_flags = {"--lease_duration=4s"};
    world_ = std::make_unique<World>(options);
    ASSERT_TRUE(world_->ok());
    leader_ = Leader();
    ASSERT_THAT(leader_, ::testing::AnyOf("gateway-0", "gateway-1"));
    other_ = leader_ == "gateway-0" ? "gateway-1" : "gateway-0";
  }
  // Returns the replica that holds the Lease. Empty if no replica holds the Lease.
  std::string Leader() {
    const json::value lease = world_->KubeGet("/apis/coordination.k8s.io/v1/namespaces/default/leases/basalt-gateway");
    const json::value* holder = FindPath(lease, {"spec", "holderIdentity"});
    if (holder == nullptr || !holder->is_string()) return "";
    const std::string_view identity(holder->get_string().data(), holder->get_string().size());
    const size_t first = identity.find('/'), last = identity.rfind('/');
    return first == last ? "" : std::string(identity.substr(first + 1, last - first - 1));
  }
  void Submit(const std::string& name) {
    const std::string file = world_->dir() / (name + ".yaml");
    WriteFile(file, fmt::format("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}}}\n"
                                "spec:\n  minAvailable: 1\n  tasks:\n  - name: t\n    replicas: 10\n    template:\n"
                                "      metadata: {{annotations: {{kubesim.basalt.dev/duration: 1s}}}}\n"
                                "      spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}\n",
                                name));
    // A command that arrives while no gateway leads fails with an error.
    Ran submitted;
    EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
      submitted = world_->Ctl({"job", "submit", "-f", file});
      return submitted.exit_code == 0;
    })) << submitted.err;
  }
  void ExpectCompleted(const std::string& name) {
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return world_->JobPhase(name) == "Completed"; })) << name;
    EXPECT_THAT(JudgeJob(*world_, name), IsEmpty());
  }
  // Returns the time from now until the other gateway leads.
  absl::Duration AwaitTakeOver() {
    const absl::Time begin = absl::Now();
    EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return Leader() == other_; }));
    return absl::Now() - begin;
  }

  std::unique_ptr<World> world_;
  std::string leader_, other_;
};

TEST_F(LeadTest, AnotherOneLeadsAfterTheLeaderWasKilled) {
  Submit("before");
  ASSERT_THAT(world_->suite().Kill(leader_), testing::IsOk());
  EXPECT_LT(AwaitTakeOver(), kLease * 1.25 + kSlack);
  Submit("after");
  ExpectCompleted("before");
  ExpectCompleted("after");
  ASSERT_THAT(world_->suite().Restart(leader_), testing::IsOk());
  EXPECT_EQ(Leader(), other_) << "who comes back follows";
}

}  // namespace
}  // namespace basalt::e2e
