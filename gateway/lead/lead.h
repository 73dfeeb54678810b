#pragma once

// The lead of the gateways in one process: the Lease (elector.h), the assignment that goes with it
// (kube_assignment_store.h), and when writes may begin.
//
// Confined to `loop`; references outlive it. No call of the listener or a hook comes before the method that caused it
// returns, nor after this is destroyed.
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
  std::string lease_name = "basalt-gateway";  // The assignment is in the ConfigMap of that name with "-assignment".
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration renew_period;  // Zero: two fifteenths of the duration.
  std::string replica = "gateway-0";
  std::string incarnation;  // New for every start of the process.
  std::string version;

  // What a write may take at most beyond the end of the lead: so long a new leader waits for those of the former one.
  absl::Duration MaxWrite() const { return lease_duration / 4; }
};

class LeadListener {
 public:
  virtual ~LeadListener() = default;
  // It leads, from what the leader before it has saved; a record without an epoch where there was none. Then, or later,
  // OnFollow.
  virtual void OnLead(const storage::v1::AssignmentRecord& saved) = 0;
  // It does not lead. Empty: nobody is known to. Once after the start, whenever the lead is lost, and when another is
  // seen to lead.
  virtual void OnFollow(std::string leader, std::string leader_address) = 0;
};

struct LeadHooks {
  // No write may begin before `from`, nor at `until` or later. `until` grows with each renewal.
  std::function<void(absl::Time from, absl::Time until)> allow_writes;
  // Calls back once no write of a replica is under way any more, nor may be at the server, where none may begin. Empty:
  // none is. The save of the assignment is not waited for: compare-and-swap guards it.
  std::function<void(std::function<void()>)> when_quiet;
  std::function<void(const obs::Health::Condition&)> set_condition;
  // What became of each request about the Lease: a gateway that does not lead asks nothing else. Empty: nobody cares.
  std::function<void(const KubeAnswer&)> on_answer;
  // Another process has taken this one's place: it must end.
  std::function<void(const absl::Status&)> on_fatal;
};

class Lead : private ElectorListener {
 public:
  Lead(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, LeadOptions options, LeadHooks hooks);
  ~Lead() override;

  // `address`: where the gRPC server of this process is reached. The listener outlives this.
  void Start(LeadListener& listener, std::string address);
  // To be used between OnLead and OnFollow. Statuses are those of AssignmentStore; what is ABORTED also ends the lead
  // for the moment.
  AssignmentStore& assignments();
  // Lets no write begin any more and, once it is quiet (LeadHooks), gives the lead back. The listener hears nothing
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
  // What is wrong with the assignment; OK = nothing.
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
  std::optional<Taken> taken_;  // While the Lease is ours.
  bool leads_ = false;          // And the listener knows.
  absl::Time from_ = absl::InfiniteFuture();
  absl::Time until_ = absl::InfinitePast();
  obs::Health::Condition lease_;
  std::optional<obs::Health::Condition> problem_;
  BackOff back_off_;
  TimerId load_timer_ = kNoTimer;
  TimerId wait_timer_ = kNoTimer;  // Until writes may begin.
};

}  // namespace basalt::gateway
