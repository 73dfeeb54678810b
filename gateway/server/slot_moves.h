#pragma once

// Brings each slot to its owner, with the records that go with it: drained, granted, open (correctness 4 and 5). A slot
// is opened for its owner when no write of an earlier owner or incarnation is under way for it, and when the owner has
// its newest records (ownership.h: FindSource; Session::Grant). Confined to one loop.
//
// Requires of all but the counts of writes: this gateway leads.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/exec/loop.h"
#include "common/obs/log_limit.h"
#include "gateway/ownership/leadership.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/server/replicas.h"

namespace basalt::gateway {

class SlotMoves {
 public:
  // The slot goes on without the records that existed of it.
  using RecordsLost = std::function<void(v1::ServiceKind service, uint32_t slot)>;

  // All references must outlive this object. `on_records_lost` may be null.
  SlotMoves(Loop& loop, Leadership& leadership, Replicas& replicas, HubMetrics& metrics, RecordsLost on_records_lost,
            absl::Duration between_logs);

  // Carries out changes of owners.
  void Move(const std::vector<Ownership::Change>& changes);
  // Brings the slots of the service as far towards their owners as they can go now.
  void AdvanceAll(v1::ServiceKind service);
  // Ends the stream of each replica that leaves, once nobody waits for its slots or its records.
  void DismissLeavers();

  // ---- writes under way: those of all owners, also over changes of the lead ----
  void WriteBegins(v1::ServiceKind service, uint32_t slot) { ++in_flight_[service - 1][slot]; }
  void WriteEnds(v1::ServiceKind service, uint32_t slot);
  bool IsDrained(v1::ServiceKind service, uint32_t slot) const { return in_flight_[service - 1][slot] == 0; }

  // ---- records ----
  // The replica has acknowledged batches.
  void OnAck(Session& session);
  // The owner writes. It has begun the slot and stored the records that it decides by. Its acknowledgement may still be
  // on its way, or may never come because the slot moves on at once.
  void NoteRecordsOfWriter(const v1::Owner& owner);
  void OnImported(const v1::Member& member, const v1::RecordsImported& imported);
  // The source has removed these orphaned records.
  void OnOrphansRemoved(const v1::OrphanedRecords& removed);
  // Sends owners which records others still have of slots that have begun. If `source` is set, sends only those that
  // `source` has.
  void SendLeftovers(v1::ServiceKind service, const std::vector<uint32_t>& slots, const std::string& source = "");

 private:
  // Brings the slot as far towards its owner as it can go now: granted, or open.
  void Advance(v1::ServiceKind service, uint32_t slot);
  bool IsOpen(v1::ServiceKind service, uint32_t slot) const;
  // Whether an attached replica is to have the records of the slot that `replica` has.
  bool IsWanted(const Replica& replica, uint32_t slot) const;
  // Whether anybody waits for the replica's slots or records, or it is a member.
  bool IsNeeded(const Replica& replica) const;
  void CountLostRecords(v1::ServiceKind service, uint32_t slot);

  Loop& loop_;
  Leadership& leadership_;
  Replicas& replicas_;
  HubMetrics& metrics_;
  const RecordsLost on_records_lost_;
  std::array<std::vector<int>, kServiceKinds> in_flight_;  // By service and slot.
  obs::LogLimit losses_logged_;
};

}  // namespace basalt::gateway
