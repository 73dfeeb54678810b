#include "common/runtime/replica.h"

#include <utility>

#include "common/base/slots.h"
#include "common/runtime/replica_core.h"

namespace basalt::runtime {

Replica::Replica(RuntimeOptions options, Loop& main_loop, std::vector<Loop*> worker_loops, Random& random,
                 kv::KvStore& store, rpc::GatewayPeer& gateway, rpc::PeerDirectory& peers, obs::Metrics* metrics,
                 obs::Health* health, const ControllerFactory& factory)
    : core_(std::make_shared<Core>(std::move(options), main_loop, random, store, gateway, peers, metrics, health)) {
  core_->MakeWorkers(worker_loops, random, metrics, factory);
}

Replica::~Replica() { core_->StopNow(); }

void Replica::SetAddress(std::string address) { core_->SetAddress(std::move(address)); }

void Replica::Start() {
  core_->loop().Post([core = core_] { core->Start(); });
}

void Replica::Stop(absl::AnyInvocable<void()> done) {
  core_->loop().Post([core = core_, done = std::move(done)]() mutable { core->Stop(std::move(done)); });
}

void Replica::Leave(absl::AnyInvocable<void()> done) {
  core_->loop().Post([core = core_, done = std::move(done)]() mutable { core->Leave(std::move(done)); });
}

rpc::ReplicaHandler& Replica::hand_over() { return *core_; }

const gateway::v1::Member& Replica::self() const { return core_->self(); }

size_t Replica::workers() const { return core_->worker_count(); }

void Replica::OnWorkerOf(uint32_t slot, absl::AnyInvocable<void(Controller&)> task) {
  core_->OnWorker(WorkerOf(slot, workers()), std::move(task));
}

void Replica::OnWorker(size_t worker, absl::AnyInvocable<void(Controller&)> task) {
  core_->OnWorker(worker, std::move(task));
}

std::vector<gateway::v1::Member> Replica::Members(gateway::v1::ServiceKind service) const {
  const std::shared_ptr<const AssignmentView> view = core_->view();
  return view == nullptr ? std::vector<gateway::v1::Member>() : MembersOf(view->assignment, service);
}

std::optional<gateway::v1::Member> Replica::OwnerOf(gateway::v1::ServiceKind service, std::string_view key) const {
  const std::vector<gateway::v1::Member> members = Members(service);
  const std::optional<size_t> owner = OwnerIndex(members, SlotOf(key));
  if (!owner.has_value()) return std::nullopt;
  return members[*owner];
}

}  // namespace basalt::runtime
