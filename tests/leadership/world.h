#pragma once

// Gateways that compete for one Lease run in one simulated time, on an API server in memory. Each process has a clock
// and a network of its own, and can be paused and killed alone. One thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/http/direct_client.h"
#include "common/obs/metrics.h"
#include "gateway/lead/elector.h"
#include "kubesim/server/api_server.h"

namespace basalt::leadership {

constexpr absl::Duration kDuration = absl::Seconds(15);
constexpr char kLeases[] = "leases.coordination.k8s.io";
constexpr char kConfig[] = "basalt-gateway-assignment";

// A loop that can be paused and continued, as by SIGSTOP and SIGCONT. Tasks that became due while it was paused run
// afterwards.
class PausableLoop : public Loop {
 public:
  PausableLoop(SimTime& time, absl::Duration skew) : time_(time), skew_(skew) {}
  ~PausableLoop() override { *alive_ = false; }

  absl::Time Now() const override { return time_.Now() + skew_; }
  bool IsCurrent() const override { return true; }
  void Post(Task task) override { RunAt(Now(), std::move(task)); }
  TimerId RunAt(absl::Time when, Task task) override {
    const TimerId id = ++last_id_;
    tasks_[id] = std::move(task);
    timers_[id] = time_.RunAt(when - skew_, [this, alive = alive_, id] {
      if (!*alive) return;
      timers_.erase(id);
      if (paused_) return held_.push_back(id);
      Run(id);
    });
    return id;
  }
  void Cancel(TimerId id) override {
    tasks_.erase(id);
    if (const auto timer = timers_.find(id); timer != timers_.end()) {
      time_.Cancel(timer->second);
      timers_.erase(timer);
    }
  }

  void Pause() { paused_ = true; }
  void Continue() {
    paused_ = false;
    for (const TimerId id : std::exchange(held_, {})) {
      time_.RunAt(time_.Now(), [this, alive = alive_, id] {
        if (!*alive) return;
        if (paused_) return held_.push_back(id);
        Run(id);
      });
    }
  }
  // No task runs after Kill().
  void Kill() { *alive_ = false; }
  bool paused() const { return paused_; }

 private:
  void Run(TimerId id) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) return;
    Task task = std::move(found->second);
    tasks_.erase(found);
    task();
  }

  SimTime& time_;
  const absl::Duration skew_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool paused_ = false;
  TimerId last_id_ = 0;
  std::map<TimerId, Task> tasks_;
  std::map<TimerId, TimerId> timers_;
  std::vector<TimerId> held_;
};

class World {
 public:
  explicit World(uint64_t seed = 1) : random_(seed), api_(server_loop_, random_) { time_.RunDueTasks(); }

  SimTime& time() { return time_; }
  Loop& server_loop() { return server_loop_; }
  Random& random() { return random_; }
  kubesim::ApiServer& api() { return api_; }

  void Advance(absl::Duration duration) { time_.Advance(duration); }
  template <typename Condition>
  bool AdvanceUntil(Condition condition, absl::Duration limit) {
    return time_.AdvanceUntil(condition, limit);
  }

  // Sends a request as a person, and returns the answer of the server.
  http::Response Do(std::string method, std::string target, std::string body = "",
                    std::string type = "application/json") {
    http::Request request{.method = std::move(method), .target = std::move(target), .body = std::move(body)};
    request.headers = {{"Content-Type", std::move(type)}, {"User-Agent", "person"}};
    http::DirectClient client(server_loop_, server_loop_, api_);
    absl::StatusOr<http::Response> answer = absl::UnknownError("none came");
    const auto call = http::Fetch(client, std::move(request),
                                  [&](absl::StatusOr<http::Response> response) { answer = std::move(response); });
    time_.RunDueTasks();
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(http::Response());
  }
  static std::string LeasePath(std::string_view name = "basalt-gateway") {
    return "/apis/coordination.k8s.io/v1/namespaces/default/leases/" + std::string(name);
  }
  static std::string ConfigPath() { return "/api/v1/namespaces/default/configmaps/" + std::string(kConfig); }
  void DeleteLease() { Do("DELETE", LeasePath()); }
  // Returns "" if there is no Lease or no holder.
  std::string Holder() const {
    const auto lease = api_.Get(kLeases, "default", "basalt-gateway");
    const json::value* holder = lease == nullptr ? nullptr : FindPath(*lease, {"spec", "holderIdentity"});
    return holder == nullptr ? "" : std::string(holder->get_string());
  }
  void Fault(kubesim::FaultAction action, std::string_view verb, int64_t count, int code = 500,
             std::string_view resource = "leases") {
    kubesim::FaultRule rule;
    rule.verb = verb;
    rule.resource = resource;
    rule.action = action;
    rule.code = code;
    rule.count = count;
    api_.faults().Add(std::move(rule));
  }

 private:
  SimTime time_;
  SimLoop server_loop_{time_, "kubesim"};
  SeededRandom random_;
  kubesim::ApiServer api_;
};

}  // namespace basalt::leadership
