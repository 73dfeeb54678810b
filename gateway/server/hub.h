#pragma once

// The gateway without its reflectors: sends cached objects to the replicas that own them, and sends the replicas'
// writes to Kubernetes if they still own the objects. Everything runs on one loop.
//
// A second live process under the same name is refused with ALREADY_EXISTS while the attached one acknowledges. Once
// the oldest batch of the attached one has waited for the grace period, that process is taken for dead: its stream is
// closed with ABORTED, and the newer one is let in. A second stream of the same incarnation replaces the first at once,
// since the client has given the first one up.
// A name belongs to its replica for as long as it is a member's, over restarts of both sides. Names and incarnations
// are no secret. A stream proves the name by the name secret or by a certificate, and is given a token, by which each
// write and read proves that it is that process's. A process whose stream has broken is answered for as long as its
// slots wait for it.
//
// A slot is opened for its owner when no write of an earlier owner or incarnation is under way for it (correctness 4),
// and when the owner has its newest records (ownership.h: FindSource; Session::Grant).
//
// The hub follows at first: it refuses replicas with UNAVAILABLE until it leads.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/storage/v1/storage.pb.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/kube/namespace_rules.h"
#include "common/obs/log_limit.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "common/rpc/protocols.h"
#include "gateway/access/permissions.h"
#include "gateway/interests/interests.h"
#include "gateway/interests/owner_interests.h"
#include "gateway/kube/kube_access.h"
#include "gateway/lead/assignment_store.h"
#include "gateway/ownership/ownership.h"
#include "gateway/route/cache.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

struct HubOptions {
  std::string cluster;
  std::string replica = "gateway-0";
  std::string version;                         // For people only.
  rpc::Protocols protocols = rpc::kProtocols;  // Replicas that speak none of them are refused.
  OwnershipOptions ownership;
  SessionOptions session;
  size_t tombstone_bytes = 16 << 20;  // For each replica, and for the slots without an owner of each service.
  InterestOptions interests;
  RouteOptions routes;
  kube::NamespaceRules namespaces;  // The namespaces in which replicas may make requests.
  absl::Duration stats_period = absl::Seconds(1);
  absl::Duration save_again = absl::Milliseconds(500);  // The pause after an assignment could not be saved.
  // The limit for each service. Every replica receives the names of all, and they stand in one ConfigMap.
  size_t most_replicas = 128;
  // The time between two refusals that are logged, and between two losses of records. All are counted.
  absl::Duration between_warnings = absl::Seconds(1);
  // Called at each change with a text on how the attached replicas differ from OwnershipOptions.expected. Empty if they
  // do not differ.
  std::function<void(const std::string& differs)> on_members;
  // The slot goes on without the records that existed of it.
  std::function<void(v1::ServiceKind service, uint32_t slot)> on_records_lost;
};

class Hub : public rpc::GatewayHandler, public CacheListener {
 public:
  // All references must outlive the hub. Every stream must end (OnClosed) before the hub.
  Hub(Loop& loop, Random& random, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
      const std::vector<std::string>& watches, HubOptions options);
  ~Hub() override;

  Cache& cache() { return cache_; }
  const OwnerInterests& owner_interests() const { return owner_interests_; }

  // Serves replicas, from the record that the last leader saved. The record is empty if there was none.
  void Lead(const storage::v1::AssignmentRecord& saved);
  // Ends all streams and drops writes that were not sent. `leader` and `leader_address` are those of the leading
  // gateway. Empty if it is not known.
  void Follow(std::string leader, std::string leader_address);
  bool leads() const { return ownership_ != nullptr; }

  // ---- rpc::GatewayHandler ----
  std::unique_ptr<rpc::AttachSession> OnAttach(rpc::AttachSink& sink) override;
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  void GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) override;

  // ---- CacheListener ----
  void OnState(ObjectId id) override;
  void OnDeparture(ObjectId id, const Departure& departure) override;
  void OnHeldBack(ObjectId id) override;
  void OnWatch(WatchIndex watch) override;

 private:
  class Stream;
  struct Replica {
    explicit Replica(size_t tombstone_bytes) : tombstones(tombstone_bytes) {}
    v1::Member member;
    std::string version;
    v1::ProtocolRange protocols;
    std::string name_secret;  // As its process states it.
    std::string token;        // The token of that process, drawn here. Empty if it has not attached to this leader.
    Tombstones tombstones;
    Stream* stream = nullptr;
    absl::Time attached;  // When that stream, or the last one, attached.
  };
  struct Slot {
    Replica* owner = nullptr;  // The replica that receives the slot's changes.
    int in_flight = 0;         // The writes of all owners, also over changes of the lead.
  };
  using ReplicaKey = std::pair<int, std::string>;

  absl::Status CheckLeading() const;
  // Checks that the sender is an attached replica, owns the slot, and may ask for that object. Counts and logs
  // refusals.
  template <typename Request>
  Permission CheckRequest(const Request& request, Permission (*check)(const Request&, const Known&));
  // Returns the replica that sends, or why the sender is not the process that is known by that name.
  absl::StatusOr<const Replica*> FindSender(const v1::Owner& sender) const;
  void Refuse(std::string_view call, const v1::Member& sender, std::string_view reason, const absl::Status& why);
  Known known(absl::Time stream_began = absl::InfinitePast()) const {
    return {cache_, memory_, options_.namespaces, loop_.Now(), stream_began};
  }
  // Reads and compares an object that the gateway does not know, and writes with the UID and version that were read.
  void LookAndWrite(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done);
  void WriteFound(v1::WriteRequest request, absl::Time deadline, absl::StatusOr<v1::GetResponse> found,
                  rpc::Done<v1::WriteResponse> done);
  void Send(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done);
  absl::StatusOr<v1::GetResponse> ReduceAnswer(const v1::GetRequest& request, absl::StatusOr<v1::GetResponse> answer);
  void OnWriteOver(v1::ServiceKind service, uint32_t slot);
  void NoteRecordsOfWriter(const v1::Owner& owner);
  absl::Status Hello(Stream& stream, rpc::AttachSink& sink, const v1::Hello& hello);
  absl::Status CheckHello(const v1::Hello& hello) const;
  absl::Status TakeName(const rpc::AttachSink& sink, const v1::Hello& hello);
  absl::Status CheckRoom(v1::ServiceKind service) const;
  void Detach(Stream& stream);
  void Acknowledged(Session& session);
  void Taken(const v1::Member& member, const v1::RecordsImported& taken);
  void CountLostRecords(v1::ServiceKind service, uint32_t slot);
  // Sends owners which records others still have of slots that have begun. If `source` is set, sends only those that
  // `source` has.
  void SendLeftovers(v1::ServiceKind service, const std::vector<uint32_t>& slots, const std::string& source = "");

  // Brings members and slots in line with the attached replicas.
  void ReconcileMembership();
  void Save(storage::v1::AssignmentRecord record);
  void Adopt(const storage::v1::AssignmentRecord& record);
  void MoveSlot(const Ownership::Change& change);
  // Brings the slot as far towards its owner as it can go now: granted, or open.
  void Advance(v1::ServiceKind service, uint32_t slot);
  void AdvanceAll(int service);
  bool IsWanted(const Replica& replica, uint32_t slot) const;
  void DismissLeavers();
  void SendMembers();
  void OnWritten(const v1::WriteRequest& request, const std::string& job_uid,
                 absl::StatusOr<v1::WriteResponse>& answer);
  v1::Topology MakeTopology() const;
  void AddMoves(v1::Topology& topology) const;
  void AddSlots(v1::ServiceKind service, v1::Topology& topology) const;
  bool IsOpen(v1::ServiceKind service, uint32_t slot) const;
  void UpdateStats();
  Session* SessionOf(Replica& replica) const;

  Loop& loop_;
  Random& random_;
  KubeAccess& kube_;
  AssignmentStore& store_;
  HubMetrics metrics_;
  const HubOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::string leader_;
  std::string leader_address_;
  std::unique_ptr<Ownership> ownership_;  // Null while another gateway leads.
  std::optional<std::string> members_sent_;
  bool saving_ = false;
  uint64_t term_ = 0;  // Grows with each change between leading and following.
  Cache cache_;
  AccessMemory memory_;
  Interests interests_;
  OwnerInterests owner_interests_;
  std::map<ReplicaKey, std::unique_ptr<Replica>> replicas_;
  std::array<std::vector<Slot>, kServiceKinds> slots_;
  // By service: the departures from slots whose last owner is gone, for the next owner.
  std::vector<Tombstones> unowned_;
  TimerId membership_timer_ = kNoTimer;
  TimerId save_timer_ = kNoTimer;
  TimerId stats_timer_ = kNoTimer;
  obs::LogLimit refusals_logged_{options_.between_warnings};
  obs::LogLimit losses_logged_{options_.between_warnings};
};

}  // namespace basalt::gateway
