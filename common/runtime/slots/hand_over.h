#pragma once

// Both ends of the passage of a slot's records from the replica that had the slot to the one that has it now
// (correctness 5). Used on the replica's main loop.
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
  // The longest wait for the records that an owner needs in order to act; after it they count as lost.
  absl::Duration patience = absl::Seconds(5);
  // The longest wait for history, which holds up nothing. The gateway announces history again when its source comes
  // back.
  absl::Duration history_patience = absl::Minutes(10);
  BackOffPolicy again{.first = absl::Milliseconds(5), .most = absl::Milliseconds(500)};
  BackOffPolicy history_again{.first = absl::Milliseconds(20), .most = absl::Seconds(5)};
};

// The new owner's end. Fetches the granted records, and the history that others still have, source by source: the slots
// of one source together. Methods may be repeated. Callbacks come on the main loop, also inside Start; none comes after
// the destructor.
class Takeover {
 public:
  struct Callbacks {
    // The slots may begin: their records are in the store under `epoch`. There are no records of `lost`, which is a
    // part of `slots`.
    std::function<void(int64_t epoch, std::vector<uint32_t> slots, std::vector<uint32_t> lost)> taken;
    // The source has no records of these slots any more.
    std::function<void(const gateway::v1::OrphanedRecords&)> cleared;
    std::function<void(const absl::Status&)> failed;  // The store failed.
  };

  // All references outlive it.
  Takeover(HandOverOptions options, Loop& loop, Random& random, kv::KvStore& store, rpc::PeerDirectory& peers,
           Callbacks callbacks);
  ~Takeover();

  // Replaces an earlier grant of the slot, also one that is being fetched. Nothing is fetched before Start.
  void Grant(const gateway::v1::SlotGrant& grant);
  // Fetches the slots granted since the last Start together.
  void Start();
  // Fetches the history of slots that have begun. Fetches under way go on.
  void Import(const gateway::v1::OrphanedRecords& leftovers, absl::FunctionRef<bool(uint32_t slot)> is_ours);
  // The slot begins: from now on no fetch stores or drops its control records.
  void Forget(uint32_t slot);
  // Another owner gets the slot's records: no more of its history is fetched, and none is dropped elsewhere.
  void EndImports(uint32_t slot);
  // A new stream announces all grants again. Fetches of history go on.
  void ForgetGrants();

 private:
  struct Fetch;
  struct Wanted {
    int64_t epoch = 0;
    gateway::v1::Member source;
    int64_t source_epoch = 0;
  };

  // Slot -> the epoch in which it was granted; for history, the source's epoch.
  using Epochs = std::map<uint32_t, int64_t>;
  using ImportKey = std::pair<uint32_t, std::string>;  // Slot, and the replica that has its history.

  std::shared_ptr<Fetch> MakeFetch(const gateway::v1::Member& source, replica::v1::ExportRecordsRequest::Part part);
  absl::Duration PatienceFor(const Fetch& fetch) const;
  void Ask(const std::shared_ptr<Fetch>& fetch);
  void AskLater(const std::shared_ptr<Fetch>& fetch, std::string_view why);
  void OnPage(const std::shared_ptr<Fetch>& fetch, absl::StatusOr<replica::v1::ExportRecordsResponse> page);
  bool StorePage(Fetch& fetch, const replica::v1::ExportRecordsResponse& page);
  void GiveUp(Fetch& fetch);
  // All pages have come: begins the next part of complete slots, and this part again of the others.
  void EndPages(const std::shared_ptr<Fetch>& fetch);
  void Report(const Epochs& taken, const Epochs& lost);
  void ReportCleared(const Fetch& fetch, const Epochs& cleared);
  bool Wants(const Fetch& fetch, uint32_t slot) const;
  void Drop(const Fetch& fetch, const Epochs& slots);  // The fetch no longer covers these slots.

  const HandOverOptions options_;
  Loop& loop_;
  Random& random_;
  kv::KvStore& store_;
  rpc::PeerDirectory& peers_;
  const Callbacks callbacks_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<uint32_t, Wanted> granted_;                    // Grants that are not fetched yet.
  std::map<uint32_t, std::shared_ptr<Fetch>> under_way_;  // By slot: its newest fetch of control records.
  std::map<ImportKey, std::shared_ptr<Fetch>> imports_;   // By slot and source: the newest fetch of history.
};

// The old owner's end. Methods may be repeated.
class Handover {
 public:
  // Store and takeover outlive it.
  Handover(HandOverOptions options, kv::KvStore& store, Takeover& takeover)
      : options_(std::move(options)), store_(store), takeover_(takeover) {}

  // From here on a worker may change the slot's records, until it has released the slot.
  void SetBusy(uint32_t slot, int64_t epoch) { busy_[slot] = epoch; }
  // The worker has released the slot in answer to the assignment of that epoch.
  void SetFree(uint32_t slot, int64_t epoch);
  bool IsBusy(uint32_t slot) const { return busy_.contains(slot); }
  // Sets the newest assignment: `owners[slot]` is an index into `members`; both are empty if there are no members.
  void SetOwners(std::vector<gateway::v1::Member> members, std::vector<size_t> owners);

  // Statuses as for ReplicaService.ExportRecords; those of the store are final for the process.
  absl::StatusOr<replica::v1::ExportRecordsResponse> Serve(const replica::v1::ExportRecordsRequest& request);

 private:
  absl::Status CheckSource(const replica::v1::ExportRecordsRequest& request) const;
  // Returns whether no worker here changes the slot's records, and another process owns the slot, namely `asks`.
  bool IsFreeFor(const gateway::v1::Member& asks, uint32_t slot) const;
  absl::StatusOr<replica::v1::ExportRecordsResponse> Drop(const replica::v1::ExportRecordsRequest& request);

  const HandOverOptions options_;
  kv::KvStore& store_;
  Takeover& takeover_;
  std::vector<gateway::v1::Member> members_;
  std::vector<size_t> owners_;        // By slot: index into `members_`.
  std::map<uint32_t, int64_t> busy_;  // By slot: the epoch in which it began.
};

}  // namespace basalt::runtime
