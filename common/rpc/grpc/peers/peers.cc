#include "common/rpc/grpc/peers/peers.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "basalt/podgroup/v1/podgroup.grpc.pb.h"
#include "basalt/replica/v1/replica.grpc.pb.h"
#include "common/base/status.h"
#include "common/identity/rights.h"
#include "common/rpc/group_calls.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/peers/group_protocol.h"
#include "common/rpc/grpc/streams/call_stream.h"
#include "common/rpc/reopen_pause.h"

namespace basalt::rpc {
namespace {

using podgroup::v1::PodGroupService;
using replica::v1::ExportRecordsRequest;
using replica::v1::ExportRecordsResponse;
using replica::v1::ReplicaService;

// One stream carries all calls to the member. It is opened with the first call, and again with the first call after it
// has ended.
class PodGroups final : public GroupCallPeer {
 public:
  PodGroups(Loop& loop, std::shared_ptr<CallSet> calls, const std::string& address, uint32_t servers,
            const std::shared_ptr<const Credentials>& credentials)
      : loop_(loop),
        calls_(std::move(calls)),
        address_(address),
        stub_(PodGroupService::NewStub(MakeChannel(address, servers, credentials))) {}
  // Runs on the thread of the last holder. Calls under way are still answered.
  ~PodGroups() override { CloseStream(); }

 private:
  using Stream = CallStream<GroupProtocol>;

  void Ask(podgroup::v1::CallBatch::Call call, absl::Duration timeout, Done<GroupCallAnswer> done) override {
    if (stream_ != nullptr && stream_->ending()) {
      pause_.Ended(stream_->ended_at(), stream_->was_of_use());
      CloseStream();
    }
    if (stream_ == nullptr) {
      if (pause_.Blocks(loop_.Now())) return Refuse(std::move(done));
      stream_ = std::make_shared<Stream>(*calls_, loop_);
      stream_->Begin(*stub_);
    }
    stream_->Ask(std::move(call), timeout, std::move(done));
  }

  void Refuse(Done<GroupCallAnswer> done) {
    const absl::Status why = MakeStatus(absl::StatusCode::kUnavailable,
                                        fmt::format("the stream to {} ended; it is opened again soon", address_));
    loop_.Post([why, done = std::move(done)]() mutable { done(why); });
  }

  void CloseStream() {
    if (const auto stream = std::exchange(stream_, nullptr)) stream->Close();
  }

  Loop& loop_;
  const std::shared_ptr<CallSet> calls_;
  const std::string address_;
  const std::unique_ptr<PodGroupService::Stub> stub_;
  std::shared_ptr<Stream> stream_;
  ReopenPause pause_;
};

class Replica final : public ReplicaPeer {
 public:
  Replica(Loop& loop, std::shared_ptr<CallSet> calls, const std::string& address, uint32_t servers,
          const std::shared_ptr<const Credentials>& credentials)
      : loop_(loop),
        calls_(std::move(calls)),
        stub_(ReplicaService::NewStub(MakeChannel(address, servers, credentials))) {}

  void ExportRecords(ExportRecordsRequest request, absl::Duration timeout, Done<ExportRecordsResponse> done) override {
    CallUnary(*calls_, loop_, std::move(request), timeout, std::move(done),
              [&](auto... arguments) { stub_->async()->ExportRecords(arguments...); });
  }

 private:
  Loop& loop_;
  const std::shared_ptr<CallSet> calls_;
  const std::unique_ptr<ReplicaService::Stub> stub_;
};

// Keeps one peer for each service and address, as long as a caller uses it.
template <typename Interface, typename Implementation>
class Known {
 public:
  std::shared_ptr<Interface> Get(Loop& loop, const std::shared_ptr<CallSet>& calls, const gateway::v1::Member& member,
                                 const std::shared_ptr<const Credentials>& credentials) {
    // Peers of members that are gone are destroyed with their last user.
    std::erase_if(peers_, [](const auto& peer) { return peer.second.expired(); });
    std::weak_ptr<Interface>& known = peers_[{member.service(), member.address()}];
    std::shared_ptr<Interface> peer = known.lock();
    if (peer == nullptr) {
      peer = std::make_shared<Implementation>(loop, calls, member.address(), identity::Only({RoleOf(member.service())}),
                                              credentials);
      known = peer;
    }
    return peer;
  }

 private:
  std::map<std::pair<gateway::v1::ServiceKind, std::string>, std::weak_ptr<Interface>> peers_;
};

class Directory final : public PeerDirectory {
 public:
  Directory(Loop& loop, std::shared_ptr<const Credentials> credentials)
      : loop_(loop), credentials_(std::move(credentials)) {}
  ~Directory() override { calls_->EndAll(); }

  std::shared_ptr<ServicePeer> Services(const gateway::v1::Member& member) override {
    if (member.service() != gateway::v1::SERVICE_KIND_POD_GROUP) return nullptr;
    return pod_groups_.Get(loop_, calls_, member, credentials_);
  }
  std::shared_ptr<ReplicaPeer> Replicas(const gateway::v1::Member& member) override {
    return replicas_.Get(loop_, calls_, member, credentials_);
  }

 private:
  Loop& loop_;
  const std::shared_ptr<const Credentials> credentials_;
  const std::shared_ptr<CallSet> calls_ = std::make_shared<CallSet>();
  Known<PodGroupPeer, PodGroups> pod_groups_;
  Known<ReplicaPeer, rpc::Replica> replicas_;
};

}  // namespace

std::unique_ptr<PeerDirectory> MakeGrpcPeerDirectory(Loop& loop, std::shared_ptr<const Credentials> credentials) {
  return std::make_unique<Directory>(loop, std::move(credentials));
}

}  // namespace basalt::rpc
