// Tests the Lease and the assignment together: the calls to a gateway's listener, and the times at which it may write.
#include "gateway/lead/lead.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/leadership/world.h"

namespace basalt::leadership {
namespace {

using storage::v1::AssignmentRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Site : public gateway::LeadListener {
 public:
  Site(World& world, std::string replica, std::string incarnation = "a") : loop_(world.time(), absl::Hours(1)) {
    client_ = std::make_unique<http::DirectClient>(loop_, world.server_loop(), world.api());
    gateway::LeadOptions options;
    options.replica = replica;
    options.incarnation = std::move(incarnation);
    options.version = "1.2";
    lead_ = std::make_unique<gateway::Lead>(
        loop_, *client_, random_, *metrics_, options,
        gateway::LeadHooks{.allow_writes =
                               [this](absl::Time from, absl::Time until) {
                                 from_ = from;
                                 until_ = until;
                               },
                           .set_condition = [this](const obs::Health::Condition& said) { condition = said; },
                           .on_answer = [this](const gateway::KubeAnswer& said) { answer = said; },
                           .on_fatal = [this](const absl::Status& why) { fatal = why; }});
    lead_->Start(*this, replica + ":50");
  }
  ~Site() override { Kill(); }
  void Kill() {
    loop_.Kill();
    lead_.reset();
  }

  void OnLead(const AssignmentRecord& saved) override { heard.push_back(fmt::format("leads from {}", saved.epoch())); }
  void OnFollow(std::string leader, std::string address) override {
    heard.push_back(leader.empty() ? "follows nobody" : fmt::format("follows {} at {}", leader, address));
  }

  std::string Save(World& world, int64_t epoch) {
    AssignmentRecord record;
    record.set_epoch(epoch);
    absl::Status saved = absl::InternalError("no answer came");
    lead_->assignments().Save(record, [&](absl::Status status) { saved = std::move(status); });
    world.Advance(absl::Milliseconds(10));
    return absl::StatusCodeToString(saved.code());
  }
  bool MayWrite() const { return loop_.Now() >= from_ && loop_.Now() < until_; }
  // Returns the time until the first moment at which the gateway may write. Negative once that moment has passed.
  absl::Duration Wait() const { return from_ - loop_.Now(); }
  std::vector<std::string> Take() { return std::exchange(heard, {}); }
  gateway::Lead& lead() { return *lead_; }
  http::DirectClient& client() { return *client_; }
  PausableLoop& loop() { return loop_; }

  std::vector<std::string> heard;
  obs::Health::Condition condition;
  gateway::KubeAnswer answer;
  std::optional<absl::Status> fatal;

 private:
  PausableLoop loop_;
  SeededRandom random_{7};
  std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  std::unique_ptr<http::DirectClient> client_;
  absl::Time from_ = absl::InfiniteFuture(), until_ = absl::InfinitePast();
  std::unique_ptr<gateway::Lead> lead_;
};

class LeadTest : public ::testing::Test {
 protected:
  void Fault(kubesim::FaultAction action, std::string_view verb, int64_t count, int code) {
    world_.Fault(action, verb, count, code, "configmaps");
  }
  World world_;
};

TEST_F(LeadTest, TheFirstLeaderBeginsWithNothingAndWritesAtOnce) {
  Site site(world_, "gateway-0");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(site.Take(), ElementsAre("follows nobody", "leads from 0"));
  EXPECT_TRUE(site.MayWrite());
  EXPECT_TRUE(site.lead().leads());
  EXPECT_EQ(site.Save(world_, 1), "OK");
}

TEST_F(LeadTest, TheNextLeaderBeginsWithWhatWasSavedAndWritesAfterAQuarter) {
  Site first(world_, "gateway-0"), second(world_, "gateway-1");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(first.Save(world_, 41), "OK");
  world_.Advance(absl::Seconds(5));
  EXPECT_THAT(second.Take(), ElementsAre("follows nobody", "follows gateway-0 at gateway-0:50"));
  EXPECT_FALSE(second.MayWrite());
  first.Kill();
  ASSERT_TRUE(world_.AdvanceUntil([&] { return !second.heard.empty(); }, absl::Minutes(1)));
  EXPECT_THAT(second.Take(), ElementsAre("leads from 41"));
  EXPECT_FALSE(second.MayWrite());
  EXPECT_EQ(second.Wait(), kDuration / 4);
  EXPECT_EQ(second.Save(world_, 42), "OK") << "an assignment may be saved before";
  world_.Advance(kDuration / 4);
  EXPECT_TRUE(second.MayWrite());
}

TEST_F(LeadTest, AfterAReleaseTheNextOneWritesAtOnce) {
  Site first(world_, "gateway-0"), second(world_, "gateway-1");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(first.Save(world_, 41), "OK");
  bool released = false;
  first.lead().Release([&] { released = true; });
  world_.Advance(absl::Milliseconds(10));
  EXPECT_TRUE(released);
  EXPECT_FALSE(first.lead().leads());
  world_.Advance(absl::Seconds(3));
  EXPECT_THAT(second.Take(),
              ElementsAre("follows nobody", "follows gateway-0 at gateway-0:50", "follows nobody", "leads from 41"));
  EXPECT_TRUE(second.MayWrite());
}

TEST_F(LeadTest, ALeaseThatIsGoneThoughSomebodyHasLedIsWaitedFor) {
  Site first(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(first.Save(world_, 5), "OK");
  first.loop().Pause();
  world_.DeleteLease();
  Site second(world_, "gateway-1");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(second.Take(), ElementsAre("follows nobody", "leads from 5"));
  EXPECT_GT(second.Wait(), kDuration - absl::Seconds(1)) << "it has seen no Lease, but an assignment";
}

TEST_F(LeadTest, WhoLosesTheLeadWritesNoMore) {
  Site first(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  first.Take();
  first.client().SetCut(true);
  world_.Advance(absl::Seconds(11));
  EXPECT_THAT(first.Take(), ElementsAre("follows nobody"));
  EXPECT_FALSE(first.MayWrite());
  EXPECT_FALSE(first.lead().leads());
}

TEST_F(LeadTest, APausedLeaderMayNotWriteEvenBeforeItKnows) {
  Site first(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  first.loop().Pause();
  world_.Advance(absl::Seconds(11));
  EXPECT_TRUE(first.lead().leads()) << "nothing of it has run since";
  EXPECT_FALSE(first.MayWrite());
}

TEST_F(LeadTest, AnAssignmentThatCannotBeLoadedYetIsLoadedAgain) {
  Fault(kubesim::FaultAction::kAnswer, "get", 3, 500);
  Site site(world_, "gateway-0");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(site.Take(), ElementsAre("follows nobody"));
  EXPECT_FALSE(site.MayWrite());
  world_.Advance(absl::Seconds(3));
  EXPECT_THAT(site.Take(), ElementsAre("leads from 0"));
  EXPECT_TRUE(site.MayWrite());
}

TEST_F(LeadTest, AnUnreadableAssignmentIsNamedAndLeadsOnceItIsGone) {
  const http::Response made =
      world_.Do("POST", "/api/v1/namespaces/default/configmaps",
                fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"a":"b"}}}})",
                            kConfig));
  ASSERT_EQ(made.status, 201) << made.body;
  Site site(world_, "gateway-0");
  world_.Advance(absl::Seconds(20));
  EXPECT_THAT(site.Take(), ElementsAre("follows nobody"));
  EXPECT_FALSE(site.condition.ready);
  EXPECT_EQ(site.condition.state, "unreadable");
  EXPECT_THAT(site.condition.why, HasSubstr("binaryData.assignment is not there"));
  EXPECT_THAT(site.condition.cure, HasSubstr("kubectl delete configmap -n default basalt-gateway-assignment"));
  world_.Do("DELETE", World::ConfigPath());
  world_.Advance(absl::Seconds(6));
  EXPECT_THAT(site.Take(), ElementsAre("leads from 0"));
  EXPECT_TRUE(site.condition.ready);
}

TEST_F(LeadTest, AMissingRightOnTheAssignmentIsNamed) {
  Fault(kubesim::FaultAction::kAnswer, "get", -1, 403);
  Site site(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(site.condition.state, "forbidden");
  EXPECT_THAT(site.condition.cure, HasSubstr("configmaps in namespace default"));
  world_.api().faults().Clear();
  Fault(kubesim::FaultAction::kAnswer, "create", 1, 403);
  world_.Advance(absl::Seconds(6));
  EXPECT_TRUE(site.condition.ready);
  EXPECT_EQ(site.Save(world_, 1), "UNAVAILABLE");
  EXPECT_EQ(site.condition.state, "forbidden");
  EXPECT_EQ(site.Save(world_, 1), "OK");
  EXPECT_TRUE(site.condition.ready);
}

TEST_F(LeadTest, WhoFindsAnothersAssignmentBeginsAnewFromIt) {
  Site first(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(first.Save(world_, 1), "OK");
  first.Take();
  http::DirectClient client(world_.server_loop(), world_.server_loop(), world_.api());
  gateway::KubeAssignmentStore other(client, {.writer = "other"});
  AssignmentRecord record;
  record.set_epoch(9);
  other.Load([&](const auto&) { other.Save(record, [](const absl::Status&) {}); });
  world_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(first.Save(world_, 2), "ABORTED");
  EXPECT_FALSE(first.MayWrite());
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(first.Take(), ElementsAre("follows nobody", "leads from 9"));
  EXPECT_FALSE(first.MayWrite());
  world_.Advance(kDuration);
  EXPECT_TRUE(first.MayWrite());
  EXPECT_EQ(first.Save(world_, 10), "OK");
}

TEST_F(LeadTest, AReplacedProcessIsToldToEnd) {
  Site first(world_, "gateway-0"), second(world_, "gateway-0", "b");
  world_.Advance(absl::Seconds(4));
  EXPECT_NE(first.fatal.has_value(), second.fatal.has_value());
  EXPECT_NE(first.lead().leads(), second.lead().leads());
}

// A standby sends no other requests, so that only the Lease shows that its credentials are no longer accepted.
TEST_F(LeadTest, WhoIsNotAcceptedAnyMoreHearsItFromTheLease) {
  Site first(world_, "gateway-0"), second(world_, "gateway-1");
  world_.Advance(absl::Seconds(3));
  EXPECT_EQ(second.answer.outcome, gateway::KubeAnswer::Outcome::kDone);
  world_.Fault(kubesim::FaultAction::kAnswer, "get", -1, 401);
  world_.Advance(absl::Seconds(3));
  EXPECT_EQ(second.answer.outcome, gateway::KubeAnswer::Outcome::kRefused);
  EXPECT_EQ(second.answer.error.code(), 401);
  EXPECT_EQ(second.condition.state, "unauthorized");
  world_.api().faults().Clear();
  world_.Advance(absl::Seconds(6));
  EXPECT_EQ(second.answer.outcome, gateway::KubeAnswer::Outcome::kDone);
  EXPECT_EQ(second.condition.state, "following");
}

TEST_F(LeadTest, TheServersLogSaysWhoWrote) {
  Site first(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(first.Save(world_, 1), "OK");
  ASSERT_FALSE(world_.api().log().empty());
  for (const kubesim::LoggedRequest& request : world_.api().log()) {
    EXPECT_EQ(request.user_agent, "basalt-gateway/1.2 (gateway-0/a)") << request.resource;
  }
}

}  // namespace
}  // namespace basalt::leadership
