#pragma once

// Who leads: a Lease in Kubernetes, held by one gateway at a time.
//
// Nobody's clock is compared with another's. A standby takes the Lease when it finds it free, or unchanged for the
// whole duration by its own clock; a leader that was not able to renew leads no longer than two thirds of the duration
// after it asked for its last renewal, by its own clock. Every write is a compare-and-swap on uid and resourceVersion;
// one whose outcome is unknown is settled by reading.
//
// A process of the same replica name takes the Lease at once: the one before it is dead. One that is there already and
// finds another incarnation under its own name is that one, and ends (OnFatal).
//
// A Lease that is gone is made anew. Nobody but its last holder may write soon after (Taken.wait), since that one leads
// on until its next renewal; it makes it anew itself, if it comes first, and goes on.
//
// Confined to `loop`, which the client is of. No call of the listener comes before the method that caused it returns,
// nor after the elector is destroyed. References outlive it.
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

// Parts of the lease's duration.
inline constexpr double kRequestPart = 1.0 / 5;  // What one request of ours may take.
inline constexpr double kFirstRetryPart = 1.0 / 150;

struct ElectorOptions {
  std::string lease_namespace = "default";
  std::string lease_name = "basalt-gateway";
  Holder self;
  std::string address;  // Where the gRPC server of this process listens.
  std::string user_agent = "basalt-gateway";
  absl::Duration duration = absl::Seconds(15);
  absl::Duration renew_period;  // ± a tenth; zero: two fifteenths of the duration.
};

class ElectorListener {
 public:
  struct Taken {
    absl::Time at;
    // Before at + wait no write may begin: a leader before this one may still have some under way.
    absl::Duration wait;
    // There was no Lease, and this process has never seen one. Where something else shows that somebody has led, it is
    // to wait for the whole duration.
    bool was_absent = false;
  };

  virtual ~ElectorListener() = default;
  // OnRenewed follows, at once and with each renewal: no write may begin at `until` or later.
  virtual void OnTaken(const Taken& taken) = 0;
  virtual void OnRenewed(absl::Time until) = 0;
  // Once after the start, after each loss of the lead, and when another is seen to lead. Empty: nobody that is ours.
  virtual void OnFollow(const std::string& leader, const std::string& address) = 0;
  virtual void OnCondition(const obs::Health::Condition& condition) = 0;
  // What became of each request.
  virtual void OnAnswer(const KubeAnswer& /*answer*/) {}
  // This process has been replaced. It does not lead; nothing follows.
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
  // The wait is over: whoever takes the Lease from this process does not owe it any more.
  void Waited() { owed_ = absl::ZeroDuration(); }
  // Somebody else acts as leader, too: this process leads no more and looks again. Where the Lease is its own still,
  // it waits for the whole duration before it writes.
  void StepDown(std::string_view why);
  // Gives the Lease back, so that a standby takes it at once and writes at once: only when nothing of this process is
  // under way any more. Ends everything. `done` runs on the loop, after at most a third of the duration.
  void Release(std::function<void()> done);

  bool leads() const { return leads_; }

 private:
  enum class Verb { kCreate, kTake, kRenew, kRelease };
  struct Attempt {
    Verb verb;
    absl::Time asked;
    std::string renewed;
    // As in Taken, where it is what makes this process lead.
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
  absl::Time until_ = absl::InfinitePast();  // While it leads.
  absl::Duration owed_;                      // Before the first write of this lead; zero once it was waited for.

  bool looked_ = false;        // Whether there is one is known since the start.
  std::string before_;         // Of our name, whose Lease it was when this process began; empty: nobody.
  bool must_look_ = true;      // Before the next write.
  std::optional<Lease> seen_;  // The newest; what the next write compares with. None where there has never been one.
  absl::Time seen_since_;      // When its mark was first seen, by our own clock.
  absl::Duration longest_;     // Of the durations of all holders that were seen, and of ours.

  std::optional<Attempt> attempt_;  // Under way, or of unknown outcome.
  // What is owed before the first write since it is ours, though this process does not lead yet.
  absl::Duration pending_wait_;
  bool pending_absent_ = false;

  std::optional<std::string> followed_;  // As told.
  std::string state_;                    // Of the condition.
  absl::Time answered_;                  // Or when it was started.
  BackOff back_off_;
  std::unique_ptr<http::Call> call_;
  TimerId step_timer_ = kNoTimer;
  TimerId expiry_timer_ = kNoTimer;
  TimerId release_timer_ = kNoTimer;
  std::function<void()> released_;
};

}  // namespace basalt::gateway
