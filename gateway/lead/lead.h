#pragma once

// Combines the parts of leading in one gateway process: the Lease (elector.h), the assignment that goes with it
// (kube_assignment_store.h), and when writes may begin.
//
// Confined to `loop`. References must outlive this object. No call of the listener or a hook comes before the method
// that caused it returns, nor after this object is destroyed.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/storage/v1/storage.pb.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/reconcile/back_off.h"
#include "gateway/kube/kube_call.h"
#include "gateway/lead/assignment_store.h"
#include "gateway/lead/elector.h"
#include "gateway/lead/kube_assignment_store.h"

namespace basalt::gateway {

struct LeadOptions {
  std::string lease_namespace = "default";
  std::string lease_name = "basalt-gateway";  // The ConfigMap of that name with "-assignment" holds the assignment.
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration renew_period;  // Zero means two fifteenths of the duration.
  std::string replica = "gateway-0";
  std::string incarnation;  // New for every start of the process.
  std::string version;

  // How long a write may last beyond the end of the lead. A new leader waits so long for the writes of the former one.
  absl::Duration MaxWrite() const { return lease_duration / 4; }
};

class LeadListener {
 public:
  virtual ~LeadListener() = default;
  // This process leads, from the record that the leader before it saved. The record has no epoch if there was none.
  // OnFollow ends the lead.
  virtual void OnLead(const storage::v1::AssignmentRecord& saved) = 0;
  // This process does not lead. `leader` is empty if no leader is known. Called once after the start, whenever the lead
  // is lost, and when another gateway is observed to lead.
  virtual void OnFollow(std::string leader, std::string leader_address) = 0;
};

struct LeadHooks {
  // No write may begin before `from`, nor at `until` or later. `until` grows with each renewal.
  std::function<void(absl::Time from, absl::Time until)> allow_writes;
  // Called when no write may begin any more. Calls back once no write of a replica is under way or may still be at the
  // server. Empty if there are no such writes. The save of the assignment is not waited for: compare-and-swap guards
  // it.
  std::function<void(std::function<void()>)> when_quiet;
  std::function<void(const obs::Health::Condition&)> set_condition;
  // Receives the answer to each request about the Lease, the only requests of a gateway that does not lead. May be
  // empty.
  std::function<void(const KubeAnswer&)> on_answer;
  // Another process has taken the place of this one, which must end.
  std::function<void(const absl::Status&)> on_fatal;
};

class Lead : private ElectorListener {
 public:
  Lead(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, LeadOptions options, LeadHooks hooks);
  ~Lead() override;

  // `address` is where the gRPC server of this process is reached. The listener must outlive this object.
  void Start(LeadListener& listener, std::string address);
  // To be used between OnLead and OnFollow. Statuses are those of AssignmentStore; ABORTED also ends the lead for the
  // moment.
  AssignmentStore& assignments();
  // Permits no further writes and, once all is quiet (LeadHooks), gives the lead back. The listener is not called any
  // more.
  void Release(std::function<void()> done);

  bool leads() const { return leads_; }
  absl::Time writes_from() const { return from_; }
  absl::Time writes_until() const { return until_; }

 private:
  class Store;

  void OnTaken(const Taken& taken) override;
  void OnRenewed(absl::Time until) override;
  void OnFollow(const std::string& leader, const std::string& address) override;
  void OnCondition(const obs::Health::Condition& condition) override;
  void OnAnswer(const KubeAnswer& answer) override;
  void OnFatal(const absl::Status& why) override;

  void CancelTimers();
  void Load();
  void OnLoaded(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>> loaded);
  void OnSaved(const absl::Status& status);
  void AllowWrites();
  // Reports the problem of the assignment; OK means that there is none.
  void SetProblem(const absl::Status& status);
  void ShowCondition();

  Loop& loop_;
  http::Client& client_;
  Random& random_;
  obs::Metrics& metrics_;
  const LeadOptions options_;
  const LeadHooks hooks_;
  const std::string user_agent_;
  KubeAssignmentStore kept_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Elector> elector_;
  LeadListener* listener_ = nullptr;

  bool releasing_ = false;
  std::optional<Taken> taken_;  // Set while the Lease is ours.
  bool leads_ = false;          // The Lease is ours, and the listener knows.
  absl::Time from_ = absl::InfiniteFuture();
  absl::Time until_ = absl::InfinitePast();
  obs::Health::Condition lease_;
  std::optional<obs::Health::Condition> problem_;
  BackOff back_off_;
  TimerId load_timer_ = kNoTimer;
  TimerId wait_timer_ = kNoTimer;  // Runs until writes may begin.
};

}  // namespace basalt::gateway
