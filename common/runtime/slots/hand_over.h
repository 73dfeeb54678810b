#pragma once

// Both ends of the passage of a slot's records from the replica that had it to the one that has it now (correctness 5).
// Everything on the replica's main loop.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/kv/kv_store.h"
#include "common/reconcile/back_off.h"
#include "common/rpc/peers.h"

namespace basalt::runtime {

struct HandOverOptions {
  std::string cluster;
  gateway::v1::Member self;
  absl::Duration call_timeout = absl::Seconds(2);
  // For what an owner needs in order to act: then it is taken for lost.
  absl::Duration patience = absl::Seconds(5);
  // For history, which nobody waits for. The gateway tells of it again when its source comes back.
  absl::Duration history_patience = absl::Minutes(10);
  BackOffPolicy again{.first = absl::Milliseconds(5), .most = absl::Milliseconds(500)};
  BackOffPolicy history_again{.first = absl::Milliseconds(20), .most = absl::Seconds(5)};
};

// The new owner's end: fetches what it was granted, and the history that others still have, source by source, slots of
// one source together.
class Takeover {
 public:
  struct Callbacks {
    // The slots may begin: their records are in the store under `epoch`, or, of `lost`, nothing is.
    std::function<void(int64_t epoch, std::vector<uint32_t> slots, std::vector<uint32_t> lost)> taken;
    // The source has nothing left of them.
    std::function<void(const gateway::v1::OrphanedRecords&)> cleared;
    std::function<void(const absl::Status&)> failed;  // The store.
  };

  // All outlive it.
  Takeover(HandOverOptions options, Loop& loop, Random& random, kv::KvStore& store, rpc::PeerDirectory& peers,
           Callbacks callbacks);
  ~Takeover();

  // A grant of a slot that is fetched already replaces it. They are asked for together by Start.
  void Grant(const gateway::v1::SlotGrant& grant);
  void Start();
  // Of slots that have begun. What is under way already goes on.
  void Import(const gateway::v1::OrphanedRecords& leftovers, absl::FunctionRef<bool(uint32_t slot)> is_ours);
  // The slot begins: what an owner needs in order to act is not stored any more, nor dropped.
  void Forget(uint32_t slot);
  // What is here of the slot goes to another owner: no more of its history is fetched, and none dropped elsewhere.
  void EndImports(uint32_t slot);
  // A new stream tells everything anew. History goes on.
  void ForgetGrants();

 private:
  struct Fetch;
  struct Wanted {
    int64_t epoch = 0;
    gateway::v1::Member source;
    int64_t source_epoch = 0;
  };

  // Slot -> the epoch that it was granted in; of history, the source's.
  using Epochs = std::map<uint32_t, int64_t>;
  using ImportKey = std::pair<uint32_t, std::string>;  // Slot, and the replica that has its history.

  std::shared_ptr<Fetch> MakeFetch(const gateway::v1::Member& source, replica::v1::ExportRecordsRequest::Part part);
  absl::Duration PatienceFor(const Fetch& fetch) const;
  void Ask(const std::shared_ptr<Fetch>& fetch);
  void AskLater(const std::shared_ptr<Fetch>& fetch, std::string_view why);
  void OnPage(const std::shared_ptr<Fetch>& fetch, absl::StatusOr<replica::v1::ExportRecordsResponse> page);
  bool StorePage(Fetch& fetch, const replica::v1::ExportRecordsResponse& page);
  void GiveUp(Fetch& fetch);
  // All pages have come: the next part of what is complete, and this one again of what is not.
  void EndPages(const std::shared_ptr<Fetch>& fetch);
  void Report(const Epochs& taken, const Epochs& lost);
  void ReportCleared(const Fetch& fetch, const Epochs& cleared);
  bool Wants(const Fetch& fetch, uint32_t slot) const;
  void Drop(const Fetch& fetch, const Epochs& slots);  // It wants them no more.

  const HandOverOptions options_;
  Loop& loop_;
  Random& random_;
  kv::KvStore& store_;
  rpc::PeerDirectory& peers_;
  const Callbacks callbacks_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<uint32_t, Wanted> granted_;                    // Not asked for yet.
  std::map<uint32_t, std::shared_ptr<Fetch>> under_way_;  // Of what an owner needs, by slot: its newest fetch.
  std::map<ImportKey, std::shared_ptr<Fetch>> imports_;   // Of history, its newest fetch.
};

// The old owner's end.
class Handover {
 public:
  // Both outlive it.
  Handover(HandOverOptions options, kv::KvStore& store, Takeover& takeover)
      : options_(std::move(options)), store_(store), takeover_(takeover) {}

  // A worker may change the slot's records from here on, until it has released it.
  void SetBusy(uint32_t slot, int64_t epoch) { busy_[slot] = epoch; }
  // Released in answer to the assignment of that epoch.
  void SetFree(uint32_t slot, int64_t epoch);
  bool IsBusy(uint32_t slot) const { return busy_.contains(slot); }
  // Of the newest assignment: `owners[slot]` is an index into `members`; both are empty where there are no members.
  void SetOwners(std::vector<gateway::v1::Member> members, std::vector<size_t> owners);

  // Statuses as ReplicaService.ExportRecords has them; those of the store are final for the process.
  absl::StatusOr<replica::v1::ExportRecordsResponse> Serve(const replica::v1::ExportRecordsRequest& request);

 private:
  absl::Status CheckSource(const replica::v1::ExportRecordsRequest& request) const;
  // No worker here changes it, and another process has it, which is the one that asks.
  bool IsFreeFor(const gateway::v1::Member& asks, uint32_t slot) const;
  absl::StatusOr<replica::v1::ExportRecordsResponse> Drop(const replica::v1::ExportRecordsRequest& request);

  const HandOverOptions options_;
  kv::KvStore& store_;
  Takeover& takeover_;
  std::vector<gateway::v1::Member> members_;
  std::vector<size_t> owners_;        // By slot: index into `members_`.
  std::map<uint32_t, int64_t> busy_;  // With the epoch in which it began.
};

}  // namespace basalt::runtime
