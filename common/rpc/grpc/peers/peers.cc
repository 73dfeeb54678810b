#include "common/rpc/grpc/peers/peers.h"

#include <map>
#include <utility>

#include "basalt/podgroup/v1/podgroup.grpc.pb.h"
#include "basalt/replica/v1/replica.grpc.pb.h"
#include "common/rpc/grpc/calls.h"

namespace basalt::rpc {
namespace {

using podgroup::v1::DeletePodGroupRequest;
using podgroup::v1::DeletePodGroupResponse;
using podgroup::v1::EnsurePodGroupRequest;
using podgroup::v1::EnsurePodGroupResponse;
using podgroup::v1::PodGroupService;
using replica::v1::HandOverRequest;
using replica::v1::HandOverResponse;
using replica::v1::ReplicaService;

class PodGroups final : public PodGroupPeer {
 public:
  PodGroups(Loop& loop, std::shared_ptr<CallSet> calls, const std::string& address)
      : loop_(loop), calls_(std::move(calls)), stub_(PodGroupService::NewStub(MakeChannel(address))) {}

  void EnsurePodGroup(EnsurePodGroupRequest request, absl::Duration timeout,
                      Done<EnsurePodGroupResponse> done) override {
    CallUnary(*calls_, loop_, std::move(request), timeout, std::move(done),
              [&](auto... arguments) { stub_->async()->EnsurePodGroup(arguments...); });
  }
  void DeletePodGroup(DeletePodGroupRequest request, absl::Duration timeout,
                      Done<DeletePodGroupResponse> done) override {
    CallUnary(*calls_, loop_, std::move(request), timeout, std::move(done),
              [&](auto... arguments) { stub_->async()->DeletePodGroup(arguments...); });
  }

 private:
  Loop& loop_;
  const std::shared_ptr<CallSet> calls_;
  const std::unique_ptr<PodGroupService::Stub> stub_;
};

class Replica final : public ReplicaPeer {
 public:
  Replica(Loop& loop, std::shared_ptr<CallSet> calls, const std::string& address)
      : loop_(loop), calls_(std::move(calls)), stub_(ReplicaService::NewStub(MakeChannel(address))) {}

  void HandOver(HandOverRequest request, absl::Duration timeout, Done<HandOverResponse> done) override {
    CallUnary(*calls_, loop_, std::move(request), timeout, std::move(done),
              [&](auto... arguments) { stub_->async()->HandOver(arguments...); });
  }

 private:
  Loop& loop_;
  const std::shared_ptr<CallSet> calls_;
  const std::unique_ptr<ReplicaService::Stub> stub_;
};

// One peer for each address, as long as somebody uses it.
template <typename Interface, typename Implementation>
class Known {
 public:
  std::shared_ptr<Interface> Get(Loop& loop, const std::shared_ptr<CallSet>& calls, const std::string& address) {
    // Those of members that are gone go with their last user.
    std::erase_if(peers_, [](const auto& peer) { return peer.second.expired(); });
    std::weak_ptr<Interface>& known = peers_[address];
    std::shared_ptr<Interface> peer = known.lock();
    if (peer == nullptr) {
      peer = std::make_shared<Implementation>(loop, calls, address);
      known = peer;
    }
    return peer;
  }

 private:
  std::map<std::string, std::weak_ptr<Interface>> peers_;
};

class Directory final : public PeerDirectory {
 public:
  explicit Directory(Loop& loop) : loop_(loop) {}
  ~Directory() override { calls_->EndAll(); }

  std::shared_ptr<ServicePeer> Services(const gateway::v1::Member& member) override {
    if (member.service() != gateway::v1::SERVICE_KIND_POD_GROUP) return nullptr;
    return pod_groups_.Get(loop_, calls_, member.address());
  }
  std::shared_ptr<ReplicaPeer> Replicas(const gateway::v1::Member& member) override {
    return replicas_.Get(loop_, calls_, member.address());
  }

 private:
  Loop& loop_;
  const std::shared_ptr<CallSet> calls_ = std::make_shared<CallSet>();
  Known<PodGroupPeer, PodGroups> pod_groups_;
  Known<ReplicaPeer, rpc::Replica> replicas_;
};

}  // namespace

std::unique_ptr<PeerDirectory> MakeGrpcPeerDirectory(Loop& loop) { return std::make_unique<Directory>(loop); }

}  // namespace basalt::rpc
