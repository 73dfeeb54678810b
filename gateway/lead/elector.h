#pragma once

// Elects the leading gateway by a Lease in Kubernetes, which one gateway holds at a time.
//
// The clocks of two processes are never compared. A standby takes the Lease if it finds the Lease free, or unchanged
// for the whole duration by its own clock. A leader that could not renew the Lease leads no longer than two thirds of
// the duration after it requested its last renewal, by its own clock. Every write is a compare-and-swap on uid and
// resourceVersion. A write whose outcome is unknown is resolved by reading.
//
// A process takes the Lease at once if an earlier process of the same replica name holds it: that process is dead. A
// running process that finds another incarnation under its own name is the earlier one, and ends (OnFatal).
//
// A Lease that is gone is created anew. Only its last holder may write soon after (Taken.wait), since the last holder
// leads on until its next renewal. If the last holder is the first to create it, the holder goes on leading.
//
// Confined to `loop`, which is also the client's. No call of the listener comes before the method that caused it
// returns, nor after the elector is destroyed. References must outlive the elector.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/reconcile/back_off.h"
#include "gateway/kube/kube_call.h"
#include "gateway/lead/lease.h"

namespace basalt::gateway {

// These are parts of the lease's duration.
inline constexpr double kRequestPart = 1.0 / 5;  // The time limit of one request.
inline constexpr double kFirstRetryPart = 1.0 / 150;

struct ElectorOptions {
  std::string lease_namespace = "default";
  std::string lease_name = "basalt-gateway";
  Holder self;
  std::string address;  // The address at which the gRPC server of this process listens.
  std::string user_agent = "basalt-gateway";
  absl::Duration duration = absl::Seconds(15);
  absl::Duration renew_period;  // Varies by ± a tenth. Zero means two fifteenths of the duration.
};

class ElectorListener {
 public:
  struct Taken {
    absl::Time at;
    // No write may begin before at + wait: writes of an earlier leader may still be under way.
    absl::Duration wait;
    // There was no Lease, and this process has never observed one. If something else shows that a gateway has led, this
    // one must wait for the whole duration.
    bool was_absent = false;
  };

  virtual ~ElectorListener() = default;
  // This process leads from now on. OnRenewed follows at once.
  virtual void OnTaken(const Taken& taken) = 0;
  // Called with each renewal. No write may begin at `until` or later.
  virtual void OnRenewed(absl::Time until) = 0;
  // Called once after the start, after each loss of the lead, and when another gateway is observed to lead. `leader` is
  // empty if no gateway of ours is known to lead.
  virtual void OnFollow(const std::string& leader, const std::string& address) = 0;
  virtual void OnCondition(const obs::Health::Condition& condition) = 0;
  // Receives the answer to each request.
  virtual void OnAnswer(const KubeAnswer& /*answer*/) {}
  // Another process has replaced this one, which does not lead. No call follows.
  virtual void OnFatal(const absl::Status& why) = 0;
};

class Elector {
 public:
  Elector(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, ElectorListener& listener,
          ElectorOptions options);
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  void Start();
  // The wait of Taken is over: a gateway that takes the Lease from this process does not owe it any more.
  void Waited() { owed_ = absl::ZeroDuration(); }
  // Another process acts as leader, too: this process stops leading and reads the Lease again. If the Lease is still
  // its own, it waits for the whole duration before it writes.
  void StepDown(std::string_view why);
  // Gives the Lease back, so that a standby takes it and writes at once. To be called only when nothing of this process
  // is under way any more. Ends everything. `done` runs on the loop, after at most a third of the duration.
  void Release(std::function<void()> done);

  bool leads() const { return leads_; }

 private:
  enum class Verb { kCreate, kTake, kRenew, kRelease };
  struct Attempt {
    Verb verb;
    absl::Time asked;
    std::string renewed;
    // As in Taken, if this attempt makes the process lead.
    absl::Duration wait;
    bool was_absent = false;
  };

  void Schedule(absl::Duration delay);
  void Step();
  void Look();
  void Send(KubeCall call, void (Elector::*then)(KubeAnswer));
  void OnLooked(KubeAnswer answer);
  void OnAbsent();
  void OnSeen(Lease lease);
  void FollowSameName(const Lease& lease);
  void FollowOther(const Lease& lease);
  void Claim(Verb verb, absl::Duration wait = absl::ZeroDuration(), bool was_absent = false);
  void OnClaimed(KubeAnswer answer);
  void Succeeded(Attempt attempt, Lease lease);
  void Lose(std::string_view why);
  void Replaced(const Lease& lease);
  void Retry(const KubeAnswer& answer, std::string_view verb);
  void RetryMalformed(const absl::Status& why);
  void StartRelease();
  void EndRelease();

  void Keep(Lease lease);
  void NotifyLeader();
  void NotifyFollower(const std::string& leader, const std::string& address);
  void SetCondition(obs::Health::Condition condition);
  std::string Path(bool collection) const;
  std::string LeaseText() const;
  absl::Duration Period();

  Loop& loop_;
  http::Client& client_;
  Random& random_;
  ElectorListener& listener_;
  const ElectorOptions options_;
  const std::string identity_;
  obs::Gauge& leads_gauge_;
  obs::Counter& renewals_;
  obs::Counter& transitions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  bool stopped_ = false;
  bool releasing_ = false;
  bool leads_ = false;
  absl::Time until_ = absl::InfinitePast();  // The end of the lead while this process leads.
  absl::Duration owed_;                      // The wait before the first write of this lead. Zero once it is over.

  bool looked_ = false;  // True once a read since the start has shown whether there is a Lease.
  // The identity with our replica name that held the Lease when this process began. Empty if there was none.
  std::string before_;
  bool must_look_ = true;  // The Lease must be read before the next write.
  // The newest observed Lease, which the next write replaces. Nullopt if none was ever observed.
  std::optional<Lease> seen_;
  absl::Time seen_since_;   // When the mark of seen_ was first observed, by our own clock.
  absl::Duration longest_;  // The longest of our duration and those of all holders that were observed.

  std::optional<Attempt> attempt_;  // The write that is under way or whose outcome is unknown.
  // The wait before the first write, while the Lease is ours but this process does not lead yet.
  absl::Duration pending_wait_;
  // Taken.was_absent, for the same time.
  bool pending_absent_ = false;

  std::optional<std::string> followed_;  // The leader and the address of the last OnFollow.
  std::string state_;                    // The state of the last condition.
  absl::Time answered_;                  // When the Lease was last read or written, or when the elector was started.
  BackOff back_off_;
  std::unique_ptr<http::Call> call_;
  TimerId step_timer_ = kNoTimer;
  TimerId expiry_timer_ = kNoTimer;
  TimerId release_timer_ = kNoTimer;
  std::function<void()> released_;
};

}  // namespace basalt::gateway
