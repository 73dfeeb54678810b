#pragma once

// How the processes of the suite meet. Each interface has two implementations: gRPC, for everything that ships, and an
// in-memory one over SimTime for the deterministic simulation, where each message is a task that can be delayed,
// reordered between peers, cut off or lost. A service does not know which one it has.
//
// Every callback comes on the loop that the implementation was made for, never before the call that caused it returns.
// Statuses of calls: UNAVAILABLE = surely not handled (could not reach the peer, or it said so), as is
// RESOURCE_EXHAUSTED (there was no room, here or there); DEADLINE_EXCEEDED and UNKNOWN = it may have been handled;
// others are the peer's own answer.
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

// ---- client side: what a replica sees of the gateway ----

class AttachObserver {
 public:
  virtual ~AttachObserver() = default;
  virtual void OnBatch(gateway::v1::AttachBatch batch) = 0;
  // Last call. The stream is over, whoever ended it.
  virtual void OnClosed(const absl::Status& status) = 0;
};

// Destroying it ends the stream; the observer hears nothing after that.
class AttachStream {
 public:
  virtual ~AttachStream() = default;
  virtual void Send(gateway::v1::AttachRequest request) = 0;
};

class GatewayPeer {
 public:
  virtual ~GatewayPeer() = default;
  // `observer` outlives the stream.
  virtual std::unique_ptr<AttachStream> Attach(AttachObserver& observer) = 0;
  virtual void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
                     Done<gateway::v1::WriteResponse> done) = 0;
  virtual void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) = 0;
  // UNIMPLEMENTED: the gateway takes no users.
  virtual void ReviewAccess(gateway::v1::ReviewAccessRequest, absl::Duration /*timeout*/,
                            Done<gateway::v1::ReviewAccessResponse> done) {
    done(absl::UnimplementedError("this gateway takes no users"));
  }
};

// What a member of one service offers to other services. Who asks knows its type: that follows from the service.
class ServicePeer {
 public:
  virtual ~ServicePeer() = default;
};

// Of SERVICE_KIND_POD_GROUP.
class PodGroupPeer : public ServicePeer {
 public:
  virtual void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request, absl::Duration timeout,
                              Done<podgroup::v1::EnsurePodGroupResponse> done) = 0;
  virtual void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request, absl::Duration timeout,
                              Done<podgroup::v1::DeletePodGroupResponse> done) = 0;
};

class ReplicaPeer {
 public:
  virtual ~ReplicaPeer() = default;
  virtual void ExportRecords(replica::v1::ExportRecordsRequest request, absl::Duration timeout,
                             Done<replica::v1::ExportRecordsResponse> done) = 0;
};

// Finds peers by what the assignment says of them.
class PeerDirectory {
 public:
  virtual ~PeerDirectory() = default;
  // Null: its service offers nothing to others.
  virtual std::shared_ptr<ServicePeer> Services(const gateway::v1::Member& member) = 0;
  virtual std::shared_ptr<ReplicaPeer> Replicas(const gateway::v1::Member& member) = 0;
};

// ---- server side ----

// The down half of one Attach stream, seen by the gateway. One batch at a time: Send, then wait for OnSent.
class AttachSink {
 public:
  virtual ~AttachSink() = default;
  // `batch`: a gateway.v1.AttachBatch as it goes on the wire, since the gateway keeps its objects so. Requires: the
  // batch before has been reported by AttachSession::OnSent.
  virtual void Send(std::string batch) = 0;
  // Ends the stream. No call on the session follows but OnClosed.
  virtual void Close(const absl::Status& status) = 0;
  // The client has a certificate of the very name that its Hello states.
  virtual bool is_name_proven() const { return false; }
};

// The gateway's side of one stream. Destroyed by the transport after OnClosed.
class AttachSession {
 public:
  virtual ~AttachSession() = default;
  virtual void OnRequest(gateway::v1::AttachRequest request) = 0;
  virtual void OnSent() = 0;  // The transport has taken the batch; the next may be sent.
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
