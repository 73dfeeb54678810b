#pragma once

// The interfaces between the processes of the suite. Each interface has two implementations: gRPC, for everything that
// ships, and an in-memory one over SimTime for the deterministic simulation, where each message is a task that can be
// delayed, reordered between peers, cut off or lost. A service does not know which one it has.
//
// Each object is used on the loop that its implementation was made for. Every callback comes on that loop, never before
// the call that caused it returns. Statuses of calls: UNAVAILABLE means surely not handled (the peer could not be
// reached, or it stated so), as does RESOURCE_EXHAUSTED (a limit was reached, here or at the peer). DEADLINE_EXCEEDED
// and UNKNOWN mean that the call may have been handled. Other statuses are the peer's own answer.
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/gateway/v1/user.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "basalt/replica/v1/replica.pb.h"

namespace basalt::rpc {

template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

// ---- client side: the gateway as a replica uses it ----

class AttachObserver {
 public:
  virtual ~AttachObserver() = default;
  // Comes once for each batch, in the order of the batches.
  virtual void OnBatch(gateway::v1::AttachBatch batch) = 0;
  // The last call. The stream is over, whichever side ended it.
  virtual void OnClosed(const absl::Status& status) = 0;
};

// Destroying it ends the stream; the observer is not called after that.
class AttachStream {
 public:
  virtual ~AttachStream() = default;
  // Sends one message. Nothing is sent once the stream is over.
  virtual void Send(gateway::v1::AttachRequest request) = 0;
};

class GatewayPeer {
 public:
  virtual ~GatewayPeer() = default;
  // `observer` outlives the stream. May be repeated once the stream before has ended.
  virtual std::unique_ptr<AttachStream> Attach(AttachObserver& observer) = 0;
  // Not to be repeated after a status that leaves open whether the write was handled.
  virtual void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
                     Done<gateway::v1::WriteResponse> done) = 0;
  // Only reads, and may be repeated.
  virtual void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) = 0;
  // Only reads, and may be repeated. UNIMPLEMENTED: the gateway takes no users. This default answers before it
  // returns.
  virtual void ReviewAccess(gateway::v1::ReviewAccessRequest, absl::Duration /*timeout*/,
                            Done<gateway::v1::ReviewAccessResponse> done) {
    done(absl::UnimplementedError("this gateway takes no users"));
  }
};

// A member of one service as other services use it. The caller knows the type of the peer: it follows from the service.
class ServicePeer {
 public:
  virtual ~ServicePeer() = default;
};

// The peer for SERVICE_KIND_POD_GROUP. Both calls are idempotent and may be repeated.
class PodGroupPeer : public ServicePeer {
 public:
  virtual void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request, absl::Duration timeout,
                              Done<podgroup::v1::EnsurePodGroupResponse> done) = 0;
  virtual void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request, absl::Duration timeout,
                              Done<podgroup::v1::DeletePodGroupResponse> done) = 0;
};

// A replica as the other replicas of its service use it. Calls may be repeated.
class ReplicaPeer {
 public:
  virtual ~ReplicaPeer() = default;
  virtual void ExportRecords(replica::v1::ExportRecordsRequest request, absl::Duration timeout,
                             Done<replica::v1::ExportRecordsResponse> done) = 0;
};

// Finds peers by their entries in the assignment. Calls may be repeated.
class PeerDirectory {
 public:
  virtual ~PeerDirectory() = default;
  // Null if the member's service offers nothing to other services.
  virtual std::shared_ptr<ServicePeer> Services(const gateway::v1::Member& member) = 0;
  virtual std::shared_ptr<ReplicaPeer> Replicas(const gateway::v1::Member& member) = 0;
};

// ---- server side ----
//
// Handlers and sessions are called on the loop that the transport was given, and may call a `done` before they return.
// A handler may get a call twice, as the simulated network shows. Only a DeleteCollection, which has no precondition,
// is handed over once.

// The gateway's way to send on one Attach stream. One batch at a time: Send, then wait for OnSent.
class AttachSink {
 public:
  virtual ~AttachSink() = default;
  // `batch` is a serialized gateway.v1.AttachBatch, since the gateway keeps its objects serialized. Requires:
  // AttachSession::OnSent has reported the batch before.
  virtual void Send(std::string batch) = 0;
  // Ends the stream. The session gets no further call but OnClosed. May be repeated.
  virtual void Close(const absl::Status& status) = 0;
  // Returns whether the client's certificate has the very name that its Hello states.
  virtual bool is_name_proven() const { return false; }
};

// The gateway's side of one stream. The transport destroys it after OnClosed.
class AttachSession {
 public:
  virtual ~AttachSession() = default;
  virtual void OnRequest(gateway::v1::AttachRequest request) = 0;
  virtual void OnSent() = 0;  // The transport has taken the batch; the next one may be sent.
  virtual void OnClosed() = 0;
};

class GatewayHandler {
 public:
  virtual ~GatewayHandler() = default;
  // `sink` stays valid until OnClosed.
  virtual std::unique_ptr<AttachSession> OnAttach(AttachSink& sink) = 0;
  virtual void Write(gateway::v1::WriteRequest request, Done<gateway::v1::WriteResponse> done) = 0;
  virtual void Get(gateway::v1::GetRequest request, Done<gateway::v1::GetResponse> done) = 0;
  virtual void GetTopology(gateway::v1::GetTopologyRequest request, Done<gateway::v1::Topology> done) = 0;
};

class PodGroupHandler {
 public:
  virtual ~PodGroupHandler() = default;
  virtual void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                              Done<podgroup::v1::EnsurePodGroupResponse> done) = 0;
  virtual void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                              Done<podgroup::v1::DeletePodGroupResponse> done) = 0;
};

class ReplicaHandler {
 public:
  virtual ~ReplicaHandler() = default;
  virtual void ExportRecords(replica::v1::ExportRecordsRequest request,
                             Done<replica::v1::ExportRecordsResponse> done) = 0;
};

}  // namespace basalt::rpc
