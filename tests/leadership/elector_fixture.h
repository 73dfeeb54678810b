#pragma once

// One elector or two on an API server in memory, with a record of the calls to their listeners.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/lead/elector.h"
#include "tests/leadership/world.h"

namespace basalt::leadership {

// A gateway process: its elector, and the calls to its listener.
class Site : public gateway::ElectorListener {
 public:
  Site(World& world, std::string replica, std::string incarnation = "a", absl::Duration skew = absl::ZeroDuration(),
       std::string ns = "default")
      : world_(world), loop_(world.time(), skew) {
    gateway::ElectorOptions options;
    options.lease_namespace = std::move(ns);
    options.self = {std::move(replica), std::move(incarnation)};
    options.address = options.self.replica + ":50";
    options.duration = kDuration;
    elector_ = std::make_unique<gateway::Elector>(loop_, client_, random_, *metrics_, *this, options);
    elector_->Start();
  }
  ~Site() override { Kill(); }

  void Kill() {
    loop_.Kill();
    elector_.reset();
  }
  void Release() {
    elector_->Release([this] { heard.emplace_back("released"); });
  }

  void OnTaken(const Taken& taken) override {
    heard.push_back(
        fmt::format("taken, waits {}{}", absl::FormatDuration(taken.wait), taken.was_absent ? ", was absent" : ""));
    taken_at = world_.time().Now();
    if (taken.was_absent) elector_->Waited();
  }
  void OnRenewed(absl::Time until) override { left = until - loop_.Now(); }
  void OnFollow(const std::string& leader, const std::string& address) override {
    heard.push_back(leader.empty() ? "follows nobody" : fmt::format("follows {} at {}", leader, address));
    lost_at = world_.time().Now();
  }
  void OnCondition(const obs::Health::Condition& said) override { condition = said; }
  void OnFatal(const absl::Status& why) override { fatal = why; }

  std::vector<std::string> Take() { return std::exchange(heard, {}); }
  bool leads() const { return elector_ != nullptr && elector_->leads(); }
  gateway::Elector& elector() { return *elector_; }
  PausableLoop& loop() { return loop_; }
  http::DirectClient& client() { return client_; }
  obs::Metrics& metrics() { return *metrics_; }

  std::vector<std::string> heard;
  absl::Duration left;  // The remaining time of the lead, as of the last renewal.
  absl::Time taken_at, lost_at;
  obs::Health::Condition condition;
  std::optional<absl::Status> fatal;

 private:
  World& world_;
  PausableLoop loop_;
  SeededRandom random_{7};
  std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  http::DirectClient client_{loop_, world_.server_loop(), world_.api()};
  std::unique_ptr<gateway::Elector> elector_;
};

class ElectorTest : public ::testing::Test {
 protected:
  // Starts two gateways. The first one leads, the second one follows.
  void StartTwo(absl::Duration skew = absl::ZeroDuration()) {
    first_ = std::make_unique<Site>(world_, "gateway-0");
    world_.Advance(absl::Seconds(1));
    second_ = std::make_unique<Site>(world_, "gateway-1", "b", skew);
    world_.Advance(absl::Seconds(10));
    ASSERT_TRUE(first_->leads());
    ASSERT_FALSE(second_->leads());
    first_->Take();
    second_->Take();
  }
  // Returns the time from `then` until the second gateway took the Lease.
  absl::Duration TakenAfter(absl::Time then) {
    EXPECT_TRUE(world_.AdvanceUntil([&] { return second_->leads(); }, absl::Minutes(2)));
    return second_->taken_at - then;
  }
  void MakeForeign(std::string_view spec) {
    const http::Response made = world_.Do(
        "POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        fmt::format(R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"basalt-gateway"}},)"
                    R"("spec":{}}})",
                    spec));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void Patch(const std::string& target, const std::string& patch) {
    const http::Response answer = world_.Do("PATCH", target, patch, "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  World world_;
  std::unique_ptr<Site> first_, second_;
};

}  // namespace basalt::leadership
