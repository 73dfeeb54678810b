#pragma once

// Replicas that speak the protocol with a hub, for tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/sim_loop.h"
#include "common/obs/metrics.h"
#include "common/time/sim_time.h"
#include "gateway/kube/fake_kube_access.h"
#include "gateway/route/object_ref.h"
#include "gateway/server/hub.h"
#include "gateway/session/testing.h"

namespace basalt::gateway::testing {

// One replica's end of one stream. It takes everything at once, and acknowledges it unless `acknowledges` is false.
class FakeReplica : public rpc::AttachSink {
 public:
  FakeReplica(SimTime& time, Loop& loop, rpc::GatewayHandler& gateway, v1::Member self)
      : loop_(loop), self_(std::move(self)), time_(time) {
    session_ = gateway.OnAttach(*this);
  }
  // The sink stays valid until OnClosed.
  ~FakeReplica() override {
    EndSession();
    *exists_ = false;
  }

  v1::Hello Hello() const {
    v1::Hello hello;
    hello.set_cluster("c");
    hello.set_version("1");
    *hello.mutable_protocols() = rpc::RangeOf(rpc::kProtocols);
    hello.set_slot_count(kSlotCount);
    *hello.mutable_self() = self_;
    hello.set_keeps_records(true);
    hello.set_name_secret(fmt::format("the name secret of {}", self_.replica()));
    return hello;
  }
  void SayHello() { SayHello(Hello()); }
  void SayHello(const v1::Hello& hello) {
    v1::AttachRequest request;
    *request.mutable_hello() = hello;
    Say(std::move(request));
  }
  void Say(v1::AttachRequest request) {
    if (session_) session_->OnRequest(std::move(request));
    time_.RunDueTasks();
  }

  void Send(std::string bytes) override {
    v1::AttachBatch batch;
    EXPECT_TRUE(batch.ParseFromString(bytes));
    for (const v1::Item& item : batch.items()) {
      items.push_back(TextOf(item));
      if (item.has_begin()) epochs[item.begin().slot()] = item.begin().epoch();
      if (item.has_end()) ++ends;
      if (item.has_assignment()) assignment = item.assignment();
      if (item.has_session_start()) token = item.session_start().token();
      if (item.has_grant()) grants.push_back(item.grant());
    }
    const int64_t sequence = batch.sequence();
    loop_.Post([this, alive = alive_, sequence] {
      if (!*alive) return;
      session_->OnSent();
      if (!acknowledges) return;
      v1::AttachRequest request;
      request.mutable_ack()->set_sequence(sequence);
      session_->OnRequest(std::move(request));
    });
  }
  bool is_name_proven() const override { return is_certified; }
  void Close(const absl::Status& status) override {
    if (closed) return;
    closed = status;
    *alive_ = false;
    // The transport does the same: OnClosed comes later, on the loop.
    loop_.Post([this, exists = exists_] {
      if (*exists) EndSession();
    });
  }

  // Returns the items without those that only count: the start of the session, begins and ends, progress.
  std::string TakeText() {
    std::string text;
    for (const std::string& item : items) {
      if (item.starts_with("begin") || item.starts_with("end") || item.starts_with("progress") ||
          item.starts_with("session")) {
        continue;
      }
      text += (text.empty() ? "" : " | ") + item;
    }
    items.clear();
    return text;
  }
  v1::Owner OwnerFor(uint32_t slot) const {
    v1::Owner owner;
    owner.set_token(token);
    *owner.mutable_member() = self_;
    owner.set_slot(slot);
    const auto it = epochs.find(slot);
    owner.set_slot_epoch(it == epochs.end() ? 0 : it->second);
    return owner;
  }

  std::string token;          // The token of the session.
  bool is_certified = false;  // A certificate proves the name.
  bool acknowledges = true;
  std::vector<std::string> items;
  std::map<uint32_t, int64_t> epochs;
  int ends = 0;
  v1::Assignment assignment;
  std::vector<v1::SlotGrant> grants;
  std::optional<absl::Status> closed;

 private:
  void EndSession() {
    *alive_ = false;
    if (session_) session_->OnClosed();
    session_.reset();
  }

  Loop& loop_;
  const v1::Member self_;
  SimTime& time_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);   // False once the stream has ended.
  std::shared_ptr<bool> exists_ = std::make_shared<bool>(true);  // False once this object is destroyed.
  std::unique_ptr<rpc::AttachSession> session_;
};

inline v1::Member MemberOf(v1::ServiceKind service, const std::string& replica, const std::string& incarnation = "a") {
  v1::Member member;
  member.set_service(service);
  member.set_replica(replica);
  member.set_incarnation(incarnation);
  return member;
}

// A hub whose watches are listed, and the replicas that attach to it.
template <class Store = MemoryAssignmentStore>
class HubBench : public ::testing::Test {
 protected:
  explicit HubBench(std::vector<std::string> watches = {"jobs.batch.volcano.sh"},
                    HubOptions options = {.cluster = "c", .version = "1"})
      : hub(loop, random, kube, store, *metrics, watches, std::move(options)) {
    for (WatchIndex i = 0; i < watches.size(); ++i) hub.cache().Replace(i, {}, 10);
  }
  ~HubBench() override {
    for (const auto& replica : replicas) replica->Close(absl::OkStatus());
    time.RunDueTasks();
    replicas.clear();
    time.RunDueTasks();
  }
  // The replica has said nothing yet.
  FakeReplica& Connect(const std::string& name, const std::string& incarnation = "a",
                       v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
    replicas.push_back(std::make_unique<FakeReplica>(time, loop, hub, MemberOf(service, name, incarnation)));
    return *replicas.back();
  }
  FakeReplica& Attach(const std::string& name, const std::string& incarnation = "a",
                      v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
    FakeReplica& replica = Connect(name, incarnation, service);
    replica.SayHello();
    return replica;
  }
  // Attaches a replica that has its slots. All replicas have taken what they were sent.
  FakeReplica& Settle(const std::string& name, v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
    FakeReplica& replica = Attach(name, "a", service);
    time.Advance(absl::Seconds(1));
    for (const auto& each : replicas) each->items.clear();
    return replica;
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  FakeKubeAccess kube;
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  Store store{loop};
  SeededRandom random{1};
  Hub hub;
  std::vector<std::unique_ptr<FakeReplica>> replicas;
};

}  // namespace basalt::gateway::testing
