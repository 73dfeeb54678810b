#include "common/rpc/follow_leader.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace basalt::rpc {
namespace {

struct FakePeer final : GatewayPeer {
  FakePeer(std::string peer_name, std::vector<std::string>& all_calls) : name(std::move(peer_name)), calls(all_calls) {}

  struct Stream final : AttachStream {
    explicit Stream(FakePeer& peer) : peer_(peer) {}
    ~Stream() override { peer_.observer = nullptr; }
    void Send(gateway::v1::AttachRequest) override { peer_.calls.push_back("send " + peer_.name); }
    FakePeer& peer_;
  };

  std::unique_ptr<AttachStream> Attach(AttachObserver& attached) override {
    calls.push_back("attach " + name);
    observer = &attached;
    return std::make_unique<Stream>(*this);
  }
  void Write(gateway::v1::WriteRequest, absl::Duration, Done<gateway::v1::WriteResponse>) override {
    calls.push_back("write " + name);
  }
  void Get(gateway::v1::GetRequest, absl::Duration, Done<gateway::v1::GetResponse>) override {
    calls.push_back("get " + name);
  }

  const std::string name;
  std::vector<std::string>& calls;
  AttachObserver* observer = nullptr;
};

struct Observer final : AttachObserver {
  void OnBatch(gateway::v1::AttachBatch batch) override { batches.push_back(batch.sequence()); }
  void OnClosed(const absl::Status& status) override { closed = status; }
  std::vector<int64_t> batches;
  std::optional<absl::Status> closed;
};

class FollowLeaderTest : public ::testing::Test {
 protected:
  FollowLeaderTest() {
    std::vector<std::unique_ptr<GatewayPeer>> peers;
    for (const char* name : {"a", "b"}) {
      auto peer = std::make_unique<FakePeer>(name, calls_);
      (name[0] == 'a' ? a_ : b_) = peer.get();
      peers.push_back(std::move(peer));
    }
    peer_ = FollowLeader(std::move(peers));
  }

  void Attach() {
    stream_.reset();
    stream_ = peer_->Attach(observer_);
  }
  std::vector<std::string> Calls() { return std::exchange(calls_, {}); }

  using Strings = std::vector<std::string>;

  Strings calls_;
  FakePeer* a_ = nullptr;
  FakePeer* b_ = nullptr;
  std::unique_ptr<GatewayPeer> peer_;
  Observer observer_;
  std::unique_ptr<AttachStream> stream_;
};

TEST_F(FollowLeaderTest, AStreamThatBroughtNothingIsMadeToTheNextOneAroundTheRing) {
  for (int i = 0; i < 3; ++i) {
    Attach();
    (i % 2 == 0 ? a_ : b_)->observer->OnClosed(absl::UnavailableError("not the leader"));
  }
  EXPECT_EQ(Calls(), (Strings{"attach a", "attach b", "attach a"}));
  EXPECT_EQ(observer_.closed, absl::UnavailableError("not the leader"));
}

TEST_F(FollowLeaderTest, AStreamThatWorkedIsMadeToTheSameOneAgain) {
  Attach();
  a_->observer->OnClosed(absl::UnavailableError("nobody listens there"));
  Attach();
  gateway::v1::AttachBatch batch;
  batch.set_sequence(1);
  b_->observer->OnBatch(batch);
  b_->observer->OnClosed(absl::UnavailableError("the connection broke"));
  Attach();
  EXPECT_EQ(Calls(), (Strings{"attach a", "attach b", "attach b"}));
  EXPECT_EQ(observer_.batches, std::vector<int64_t>{1});
}

TEST_F(FollowLeaderTest, CallsGoWhereTheLastAttachWent) {
  peer_->Get({}, absl::Seconds(1), [](auto) {});
  Attach();
  stream_->Send({});
  peer_->Write({}, absl::Seconds(1), [](auto) {});
  a_->observer->OnClosed(absl::UnavailableError("not the leader"));
  peer_->Write({}, absl::Seconds(1), [](auto) {});
  Attach();
  stream_->Send({});
  peer_->Write({}, absl::Seconds(1), [](auto) {});
  EXPECT_EQ(Calls(), (Strings{"get a", "attach a", "send a", "write a", "write a", "attach b", "send b", "write b"}));
}

}  // namespace
}  // namespace basalt::rpc
