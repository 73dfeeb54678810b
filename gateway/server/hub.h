#pragma once

// The gateway without its reflectors: what is cached goes to the replicas that own it, what they write goes to
// Kubernetes if they own it still. One loop; everything of it runs there.
//
// Another live process under the same name: refused with ALREADY_EXISTS while the one that is attached acknowledges;
// once its oldest batch has waited for the grace period it is taken for dead, its stream is closed with ABORTED and the
// newer one is let in. A second stream of the same incarnation replaces the first at once: the client has given it up.
// A name is its replica's for as long as it is a member's, over restarts of both sides. Names and incarnations are no
// secret: a stream proves the name by the name secret or by a certificate, and is given a token, by which each write
// and read proves that it is that process's. A process whose stream has broken is answered for as long as its slots
// wait for it.
//
// A slot is opened for its owner when no write of an earlier owner or incarnation for it is under way (correctness 4),
// and the newest records of it are with the owner (ownership.h: FindSource; Session::Grant).
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
#include "gateway/kube/kube_access.h"
#include "gateway/lead/assignment_store.h"
#include "gateway/route/cache.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/server/interests.h"
#include "gateway/server/owner_interests.h"
#include "gateway/server/ownership.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

struct HubOptions {
  std::string cluster;
  std::string replica = "gateway-0";
  std::string version;                         // For people alone.
  rpc::Protocols protocols = rpc::kProtocols;  // Replicas that speak none of them are refused.
  OwnershipOptions ownership;
  SessionOptions session;
  size_t tombstone_bytes = 16 << 20;  // For each replica, and for what nobody owns of each service.
  InterestOptions interests;
  RouteOptions routes;
  kube::NamespaceRules namespaces;  // Those in which replicas may ask for something.
  absl::Duration stats_period = absl::Seconds(1);
  absl::Duration save_again = absl::Milliseconds(500);  // After an assignment could not be saved.
  // Of each service. Everybody is told of all of them, and their names are in one ConfigMap.
  size_t most_replicas = 128;
  // Between refusals that are logged, and losses of records; all are counted.
  absl::Duration between_warnings = absl::Seconds(1);
  // How far those who are attached differ from OwnershipOptions.expected, in words; empty: not at all. At each change.
  std::function<void(const std::string& differs)> on_members;
  // The slot goes on without the records that there were of it.
  std::function<void(v1::ServiceKind service, uint32_t slot)> on_records_lost;
};

class Hub : public rpc::GatewayHandler, public CacheListener {
 public:
  // All references outlive the hub; every stream ends (OnClosed) before it.
  Hub(Loop& loop, Random& random, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
      const std::vector<std::string>& watches, HubOptions options);
  ~Hub() override;

  Cache& cache() { return cache_; }
  const OwnerInterests& owner_interests() const { return owner_interests_; }

  // Serves replicas, from what the last leader has saved (an empty record: there was none).
  void Lead(const storage::v1::AssignmentRecord& saved);
  // Ends all streams and drops what was not sent. `leader`: name and address of the one that leads; empty: not known.
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
    std::string token;        // Of that process, drawn here; empty: it has not attached to this leader.
    Tombstones tombstones;
    Stream* stream = nullptr;
    absl::Time attached;  // By that stream, or the last one.
  };
  struct Slot {
    Replica* owner = nullptr;  // Who hears of it.
    int in_flight = 0;         // Writes, of whoever, also over changes of the lead.
  };
  using ReplicaKey = std::pair<int, std::string>;

  absl::Status CheckLeading() const;
  // Whether the sender is an attached replica, owns the slot, and may ask for that object. Counts and logs what is not.
  template <typename Request>
  Permission CheckRequest(const Request& request, Permission (*check)(const Request&, const Known&));
  // The replica that sends, or why the sender is not the process that is known by that name.
  absl::StatusOr<const Replica*> FindSender(const v1::Owner& sender) const;
  void Refuse(std::string_view call, const v1::Member& sender, std::string_view reason, const absl::Status& why);
  Known known(absl::Time told_since = absl::InfinitePast()) const {
    return {cache_, memory_, options_.namespaces, loop_.Now(), told_since};
  }
  // Of an object that the gateway does not know: read, compared, and written with the UID and version that were read.
  void LookAndWrite(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done);
  void WriteFound(v1::WriteRequest request, absl::Time deadline, absl::StatusOr<v1::GetResponse> found,
                  rpc::Done<v1::WriteResponse> done);
  void Send(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done);
  absl::StatusOr<v1::GetResponse> ToldOf(const v1::GetRequest& request, absl::StatusOr<v1::GetResponse> answer);
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
  // Tells owners of what others still have of slots that have begun; `source`: only of what that one has.
  void SendLeftovers(v1::ServiceKind service, const std::vector<uint32_t>& slots, const std::string& source = "");

  // Brings members and slots in line with who is there.
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
  std::unique_ptr<Ownership> ownership_;  // Null: another gateway leads.
  std::optional<std::string> members_sent_;
  bool saving_ = false;
  uint64_t term_ = 0;  // Grows with each change between leading and following.
  Cache cache_;
  AccessMemory memory_;
  Interests interests_;
  OwnerInterests owner_interests_;
  std::map<ReplicaKey, std::unique_ptr<Replica>> replicas_;
  std::array<std::vector<Slot>, kServiceKinds> slots_;
  std::vector<Tombstones> unowned_;  // By service: what is gone of slots whose last owner is, for the next one.
  TimerId membership_timer_ = kNoTimer;
  TimerId save_timer_ = kNoTimer;
  TimerId stats_timer_ = kNoTimer;
  obs::LogLimit refusals_logged_{options_.between_warnings};
  obs::LogLimit losses_logged_{options_.between_warnings};
};

}  // namespace basalt::gateway
