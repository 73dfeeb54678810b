// Calls about pod groups in the simulation: sent together, in a stream that can be lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/rpc/group_calls.h"
#include "common/rpc/sim/sim_network.h"

namespace basalt::rpc {
namespace {

using podgroup::v1::DeletePodGroupRequest;
using podgroup::v1::DeletePodGroupResponse;
using podgroup::v1::EnsurePodGroupRequest;
using podgroup::v1::EnsurePodGroupResponse;

struct Groups final : PodGroupHandler {
  explicit Groups(SimTime& on) : time(on) {}
  void EnsurePodGroup(EnsurePodGroupRequest request, Done<EnsurePodGroupResponse> done) override {
    ++asked[time.Now()];
    names.push_back(request.name());
    if (hold) return held.push_back(std::move(done));
    if (request.name() == "busy") return done(absl::FailedPreconditionError("an older version is still going"));
    EnsurePodGroupResponse response;
    response.mutable_pod_group()->mutable_meta()->set_name(request.name());
    done(std::move(response));
  }
  void DeletePodGroup(DeletePodGroupRequest, Done<DeletePodGroupResponse> done) override {
    DeletePodGroupResponse response;
    response.set_gone(true);
    done(std::move(response));
  }

  SimTime& time;
  std::map<absl::Time, int> asked;  // Number of calls by the time at which they came.
  std::vector<std::string> names;
  bool hold = false;
  std::vector<Done<EnsurePodGroupResponse>> held;
};

class SimGroupStreamTest : public ::testing::Test {
 protected:
  SimGroupStreamTest() {
    network_.AddHost("a", loop_a_);
    StartServer();
    directory_ = network_.Directory("a");
    gateway::v1::Member member;
    member.set_service(gateway::v1::SERVICE_KIND_POD_GROUP);
    member.set_address("b");
    peer_ = std::static_pointer_cast<PodGroupPeer>(directory_->Services(member));
  }
  void StartServer() {
    loop_b_.emplace(time_, "b");
    network_.AddHost("b", *loop_b_);
    network_.Serve("b", groups_);
  }
  void KillServer() {
    loop_b_->Kill();
    network_.RemoveHost("b");
  }
  void Ask(const std::string& name, absl::Duration timeout = absl::Seconds(10)) {
    EnsurePodGroupRequest request;
    request.set_name(name);
    peer_->EnsurePodGroup(request, timeout, [this](absl::StatusOr<EnsurePodGroupResponse> answer) {
      ++answered_[time_.Now()];
      codes_.push_back(answer.status().code());
      answers_.push_back(answer.ok() ? answer->pod_group().meta().name() : std::string(answer.status().message()));
    });
  }
  void AskMany(int count) {
    for (int i = 0; i < count; ++i) Ask("group");
  }

  using Codes = std::vector<absl::StatusCode>;

  SimTime time_;
  SeededRandom random_ = SeededRandom(1);
  Groups groups_ = Groups(time_);
  SimNetwork network_ = SimNetwork(time_, random_);
  SimLoop loop_a_ = SimLoop(time_, "a");
  std::optional<SimLoop> loop_b_;
  std::unique_ptr<PeerDirectory> directory_;
  std::shared_ptr<PodGroupPeer> peer_;
  std::map<absl::Time, int> answered_;  // Number of answers by the time at which they came.
  Codes codes_;
  std::vector<std::string> answers_;
};

TEST_F(SimGroupStreamTest, CallsMadeTogetherArriveAndAreAnsweredTogether) {
  AskMany(100);
  Ask("busy");
  EXPECT_TRUE(answers_.empty());
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(groups_.asked.size(), 1u);
  EXPECT_EQ(groups_.asked.begin()->second, 101);
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_EQ(answered_.begin()->second, 101);
  EXPECT_EQ(codes_.front(), absl::StatusCode::kOk);
  EXPECT_EQ(answers_.front(), "group");
  EXPECT_EQ(codes_.back(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(answers_.back(), "an older version is still going");
}

TEST_F(SimGroupStreamTest, DeletionsAreAnsweredWithTheirOwn) {
  std::optional<bool> gone;
  peer_->DeletePodGroup({}, absl::Seconds(10), [&](const auto& answer) { gone = answer.ok() && answer->gone(); });
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gone, true);
}

TEST_F(SimGroupStreamTest, MessagesKeepTheirOrder) {
  for (int i = 0; i < 50; ++i) {
    Ask(std::string(1, static_cast<char>('0' + i)));
    time_.Advance(absl::Microseconds(10));
  }
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(groups_.names.size(), 50u);
  EXPECT_TRUE(std::is_sorted(groups_.names.begin(), groups_.names.end()));
  EXPECT_EQ(answers_, groups_.names);
}

TEST_F(SimGroupStreamTest, AServerHoldsNoMoreThanTheBoundAndTheRestFollowsItsAnswers) {
  groups_.hold = true;
  const size_t most = kGroupCallBounds.sent_calls;
  AskMany(static_cast<int>(most) + 10);
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(groups_.held.size(), most);
  for (int i = 0; i < 4; ++i) groups_.held[i](EnsurePodGroupResponse());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(groups_.held.size(), most + 4);
  time_.Advance(absl::Seconds(10));
  std::map<absl::StatusCode, size_t> counts;
  for (const absl::StatusCode code : codes_) ++counts[code];
  EXPECT_EQ(counts, (std::map<absl::StatusCode, size_t>{{absl::StatusCode::kOk, 4},
                                                        {absl::StatusCode::kUnavailable, 6},
                                                        {absl::StatusCode::kDeadlineExceeded, most}}));
}

TEST_F(SimGroupStreamTest, ABrokenStreamAnswersEachOpenCallAndTheNextCallOpensAnother) {
  groups_.hold = true;
  AskMany(20);
  time_.Advance(absl::Seconds(1));
  network_.BreakStreams("a", "b");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_, Codes(20, absl::StatusCode::kUnknown));
  groups_.hold = false;
  for (auto& done : groups_.held) done(EnsurePodGroupResponse());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.size(), 20u) << "too late";
  Ask("group");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.back(), absl::StatusCode::kOk);
}

TEST_F(SimGroupStreamTest, AServerThatDiesAnswersEachOpenCall) {
  groups_.hold = true;
  AskMany(20);
  time_.Advance(absl::Seconds(1));
  KillServer();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_, Codes(20, absl::StatusCode::kUnknown));
  codes_.clear();
  Ask("group");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_, Codes{absl::StatusCode::kUnavailable}) << "nobody listens there";
  groups_.hold = false;
  StartServer();
  Ask("group");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.back(), absl::StatusCode::kOk);
}

TEST_F(SimGroupStreamTest, AServerThatDrainsAnswersWhatItHasAndRefusesWhatComes) {
  groups_.hold = true;
  AskMany(3);
  time_.Advance(absl::Seconds(1));
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] { drained = true; });
  time_.Advance(absl::Milliseconds(1));
  Ask("late");
  time_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(groups_.held.size(), 3u);
  EXPECT_EQ(codes_, Codes{absl::StatusCode::kUnavailable});
  EXPECT_FALSE(drained);
  for (auto& done : std::exchange(groups_.held, {})) done(EnsurePodGroupResponse());
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(drained);
  EXPECT_EQ(codes_.size(), 4u);
  EXPECT_EQ(codes_.back(), absl::StatusCode::kOk);
  Ask("later");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.back(), absl::StatusCode::kUnavailable) << "nobody listens there";
  EXPECT_TRUE(groups_.held.empty());
}

TEST_F(SimGroupStreamTest, ADrainWaitsForAnswersThatAreOnTheirWay) {
  groups_.hold = true;
  AskMany(3);
  time_.Advance(absl::Seconds(1));
  network_.SetOptions({.min_delay = absl::Milliseconds(300), .max_delay = absl::Milliseconds(300)});
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] { drained = true; });
  for (auto& done : std::exchange(groups_.held, {})) done(EnsurePodGroupResponse());
  time_.Advance(absl::Milliseconds(290));
  EXPECT_FALSE(drained);
  EXPECT_TRUE(codes_.empty());
  time_.Advance(absl::Milliseconds(30));
  EXPECT_TRUE(drained);
  EXPECT_EQ(codes_, Codes(3, absl::StatusCode::kOk));
}

TEST_F(SimGroupStreamTest, ACallThatADrainCutsOffIsUnknown) {
  groups_.hold = true;
  AskMany(3);
  time_.Advance(absl::Seconds(1));
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] { drained = true; });
  time_.Advance(absl::Milliseconds(1990));
  EXPECT_FALSE(drained);
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(drained);
  EXPECT_EQ(codes_, Codes(3, absl::StatusCode::kUnknown));
}

TEST_F(SimGroupStreamTest, AStreamThatIsOfNoUseIsNotOpenedAgainAtOnce) {
  KillServer();
  Ask("group");
  time_.Advance(absl::Milliseconds(50));
  StartServer();
  Ask("group");
  time_.Advance(absl::Milliseconds(20));
  EXPECT_EQ(codes_, Codes(2, absl::StatusCode::kUnavailable));
  EXPECT_TRUE(groups_.names.empty());
  time_.Advance(absl::Milliseconds(100));
  Ask("group");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.back(), absl::StatusCode::kOk);
}

TEST_F(SimGroupStreamTest, AMessageThatIsLostTakesItsStreamWithIt) {
  for (const bool answer : {false, true}) {
    for (int i = 0; i < 20; ++i) {
      network_.SetOptions({.lose_request = answer ? 0.0 : 1.0, .lose_answer = answer ? 1.0 : 0.0});
      groups_.names.clear();
      codes_.clear();
      AskMany(3);
      time_.Advance(absl::Seconds(5));
      network_.SetOptions({});
      Ask("after");  // Lost, too, unless an end has noticed by now.
      time_.Advance(absl::Seconds(15));
      EXPECT_GE(groups_.names.size(), answer ? 3u : 0u);
      ASSERT_EQ(codes_.size(), 4u);
      for (int call = 0; call < 3; ++call) {
        EXPECT_TRUE(codes_[call] == absl::StatusCode::kUnknown || codes_[call] == absl::StatusCode::kDeadlineExceeded);
      }
      time_.Advance(absl::Seconds(5));
    }
  }
  AskMany(1);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.back(), absl::StatusCode::kOk);
}

TEST_F(SimGroupStreamTest, AMessageThatIsRepeatedIsAnsweredOnce) {
  network_.SetOptions({.repeat_request = 1});
  AskMany(3);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(groups_.names.size(), 6u);
  EXPECT_EQ(codes_, Codes(3, absl::StatusCode::kOk));
}

TEST_F(SimGroupStreamTest, APartitionSwallowsCallsUntilItHealsAndTheStreamIsGivenUp) {
  network_.Partition("a", "b");
  Ask("group");
  time_.Advance(absl::Seconds(20));
  ASSERT_EQ(codes_.size(), 1u);
  network_.Heal("a", "b");
  Ask("group");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_.back(), absl::StatusCode::kOk);
}

TEST_F(SimGroupStreamTest, NothingReachesAKilledClient) {
  groups_.hold = true;
  AskMany(3);
  time_.Advance(absl::Seconds(1));
  loop_a_.Kill();
  for (auto& done : groups_.held) done(EnsurePodGroupResponse());
  time_.Advance(absl::Seconds(1));
  network_.RemoveHost("a");
  time_.Advance(absl::Seconds(20));
  EXPECT_TRUE(codes_.empty());
}

TEST_F(SimGroupStreamTest, APausedServerHandlesLateWhatReachedItAndAPausedClientHearsLate) {
  loop_b_->Pause();
  AskMany(3);
  time_.Advance(absl::Seconds(5));
  EXPECT_TRUE(groups_.names.empty());
  loop_b_->Resume();
  loop_a_.Pause();
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(groups_.names.size(), 3u);
  EXPECT_TRUE(codes_.empty());
  loop_a_.Resume();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_, Codes(3, absl::StatusCode::kOk));
}

TEST_F(SimGroupStreamTest, APeerThatIsLetGoStillHearsItsAnswers) {
  groups_.hold = true;
  AskMany(3);
  peer_.reset();
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(groups_.held.size(), 3u);
  for (auto& done : groups_.held) done(EnsurePodGroupResponse());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(codes_, Codes(3, absl::StatusCode::kOk));
}

}  // namespace
}  // namespace basalt::rpc
