// Two gateways run on a real cluster. The leader is stopped for longer than its Lease and then continued. The other
// gateway leads in time, jobs go on, and the continued gateway writes nothing more.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/chaos_judge.h"
#include "tests/realkube/running.h"

namespace basalt::realkube {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLease = absl::Seconds(15);  // The default of --lease_duration.
constexpr absl::Duration kLimit = absl::Minutes(1);
constexpr int kJobs = 12;
constexpr int kPods = 10;

class PausedLeaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(e2e::RealCluster(), nullptr);
    e2e::WorldOptions options;
    options.gateways = 2;
    options.replicas = 2;
    options.gateway_flags = {"--grace=1s"};
    world_ = std::make_unique<e2e::World>(options);
    ASSERT_TRUE(world_->ok());
    first_ = Leader();
    ASSERT_THAT(first_, ::testing::AnyOf("gateway-0", "gateway-1"));
    second_ = first_ == "gateway-0" ? "gateway-1" : "gateway-0";
  }

  // Returns the replica that holds the Lease. Empty if no replica holds the Lease.
  std::string Leader() {
    const json::value lease =
        world_->KubeGet("/apis/coordination.k8s.io/v1/namespaces/basalt-system/leases/basalt-gateway");
    const json::value* holder = lease.is_object() ? FindPath(lease, {"spec", "holderIdentity"}) : nullptr;
    if (holder == nullptr || !holder->is_string()) return "";
    const std::string_view identity(holder->get_string().data(), holder->get_string().size());
    const size_t first = identity.find('/'), last = identity.rfind('/');
    return first == last ? "" : std::string(identity.substr(first + 1, last - first - 1));
  }
  TargetView LeaseTargetOf(const std::string& gateway) { return TargetOf(world_->suite().pages(gateway), "lease"); }
  void Create(const std::vector<std::string>& jobs) {
    std::string text;
    for (const std::string& job : jobs) text += e2e::JobManifest(job, kPods, "2s", "minAvailable: 1");
    e2e::WriteFile(dir_ / "jobs.yaml", text);
    EXPECT_THAT(e2e::RealCluster()->Kubectl({"create", "-f", dir_ / "jobs.yaml"}), IsOk());
  }
  void ExpectCompleted(const std::string& job) {
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return world_->JobPhase(job) == "Completed"; }))
        << job << " is " << world_->JobPhase(job);
  }
  // Returns the writes of owners of slots that were carried out, ordered by the time at which the server received them.
  std::vector<e2e::Write> OwnersWrites() {
    std::vector<e2e::Write> log = world_->Log();
    std::erase_if(log, [](const e2e::Write& write) { return !write.IsOurs() || !write.Succeeded(); });
    std::stable_sort(log.begin(), log.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    return log;
  }
  // Returns the newest epoch in which jobsvc wrote a slot.
  int64_t NewestEpoch() {
    int64_t newest = 0;
    for (const e2e::Write& write : OwnersWrites()) {
      const std::optional<e2e::Writer> writer = e2e::WriterOf(write.user_agent);
      if (writer.has_value() && writer->service == "jobsvc") newest = std::max(newest, writer->epoch);
    }
    return newest;
  }

  testing::TempDir dir_;
  std::unique_ptr<e2e::World> world_;
  std::string first_, second_;  // The first leader, and the other gateway.
};

TEST_F(PausedLeaderTest, AnotherOneLeadsInTimeAndWhoContinuesWritesNothing) {
  EXPECT_EQ(LeaseTargetOf(first_).state, "leading");
  EXPECT_EQ(LeaseTargetOf(second_).state, "following");
  EXPECT_THAT(LeaseTargetOf(second_).why, HasSubstr(first_ + " at "));
  std::vector<std::string> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(absl::StrCat("job-", i));
  Create(jobs);
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return OwnersWrites().size() > kPods; }));
  const int64_t epoch = NewestEpoch();

  // The leader stops in the middle of its work. Requests to the stopped gateway wait there. One replica that sent such
  // requests dies: its slots have another owner by the time at which the gateway continues.
  const absl::Time stopped = absl::Now();
  ASSERT_THAT(world_->suite().Stop(first_), IsOk());
  ASSERT_THAT(world_->suite().Kill("jobsvc-1"), IsOk());
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return Leader() == second_; }));
  const absl::Time taken = absl::Now();
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return NewestEpoch() > epoch; })) << "the dead one's slots move";
  const std::vector<e2e::Write> writes = OwnersWrites();
  // By then, the server has answered every request of the stopped gateway.
  const absl::Time later = stopped + kLease / 4;
  const auto next = std::find_if(writes.begin(), writes.end(), [&](const auto& write) { return write.time > later; });
  ASSERT_NE(next, writes.end());
  EXPECT_LT(next->time - stopped, kLease * 1.5);
  EXPECT_EQ(LeaseTargetOf(second_).state, "leading") << TextOf(LeaseTargetOf(second_));
  EXPECT_THAT(world_->Ctl({"topology"}).out, HasSubstr(fmt::format("gateway {} (", second_)));

  const absl::Time continued = absl::Now();
  ASSERT_THAT(world_->suite().Continue(first_), IsOk());
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return LeaseTargetOf(first_).state == "following"; }))
      << TextOf(LeaseTargetOf(first_));
  EXPECT_THAT(LeaseTargetOf(first_).why, HasSubstr(second_ + " at "));
  EXPECT_TRUE(LeaseTargetOf(first_).ready);
  EXPECT_THAT(world_->suite().Restart("jobsvc-1"), IsOk());
  Create({"after"});
  jobs.emplace_back("after");
  for (const std::string& job : jobs) ExpectCompleted(job);
  EXPECT_EQ(Leader(), second_);
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());

  std::vector<std::string> violations;
  size_t attributed = 0;
  const std::vector<e2e::Write> log = world_->Log();
  e2e::JudgeOwners(log, attributed, violations);
  e2e::JudgeEpochs(log, violations);
  EXPECT_GT(attributed, static_cast<size_t>(kJobs * kPods));
  std::map<std::string, int> made;
  for (const e2e::Write& write : log) {
    if (write.resource == "pods" && write.verb == "create" && write.IsOurs() && write.Succeeded() &&
        ++made[write.name] > 1) {
      violations.push_back(fmt::format("pod {} was made twice", write.name));
    }
    const bool of_lead = write.user_agent.find(fmt::format("({}/", first_)) != std::string::npos;
    if (of_lead && write.Succeeded() && write.time > stopped + kLease / 4) {
      violations.push_back(fmt::format("{} did {} {} {} {} after it was stopped", first_, write.verb, write.resource,
                                       write.name, absl::FormatDuration(write.time - stopped)));
    }
  }
  EXPECT_THAT(violations, IsEmpty());
  fmt::print("{} after the stop the Lease taken, {} the next write, {} continued; {} writes\n",
             absl::FormatDuration(taken - stopped), absl::FormatDuration(next->time - stopped),
             absl::FormatDuration(continued - stopped), attributed);
}

}  // namespace
}  // namespace basalt::realkube
