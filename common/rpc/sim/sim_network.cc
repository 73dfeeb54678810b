#include "common/rpc/sim/sim_network.h"

#include <utility>

#include "common/rpc/sim/sim_core.h"

namespace basalt::rpc {

SimNetwork::SimNetwork(SimTime& time, Random& random, SimNetworkOptions options)
    : core_(std::make_shared<Core>(time, random, options)) {}
SimNetwork::~SimNetwork() { core_->Shutdown(); }

void SimNetwork::SetOptions(SimNetworkOptions options) { core_->SetOptions(options); }
void SimNetwork::AddHost(const std::string& name, SimLoop& loop) { core_->AddHost(name, loop); }
void SimNetwork::RemoveHost(const std::string& name) { core_->RemoveHost(name); }
void SimNetwork::Drain(const std::string& name, absl::Duration at_most, std::function<void()> done) {
  core_->Drain(name, at_most, std::move(done));
}
void SimNetwork::Serve(const std::string& host, GatewayHandler& handler) {
  if (Core::Host* it = core_->Find(host)) it->gateway = &handler;
}
void SimNetwork::Serve(const std::string& host, PodGroupHandler& handler) {
  if (Core::Host* it = core_->Find(host)) it->pod_groups = &handler;
}
void SimNetwork::Serve(const std::string& host, ReplicaHandler& handler) {
  if (Core::Host* it = core_->Find(host)) it->replicas = &handler;
}
void SimNetwork::Partition(const std::string& a, const std::string& b) { core_->Cut(a, b); }
void SimNetwork::Heal(const std::string& a, const std::string& b) { core_->Heal(a, b); }
void SimNetwork::HealAll() { core_->HealAll(); }
void SimNetwork::BreakStreams(const std::string& a, const std::string& b) { core_->BreakStreams(a, b); }

std::unique_ptr<GatewayPeer> SimNetwork::Gateway(const std::string& host, const std::string& server) {
  class ClientStream final : public AttachStream {
   public:
    ClientStream(std::weak_ptr<Core> core, uint64_t id) : core_(std::move(core)), id_(id) {}
    ~ClientStream() override {
      if (const auto core = core_.lock()) core->CloseFromClient(id_);
    }
    void Send(gateway::v1::AttachRequest request) override {
      if (const auto core = core_.lock()) core->SendUp(id_, std::move(request));
    }

   private:
    const std::weak_ptr<Core> core_;
    const uint64_t id_;
  };

  class Peer final : public GatewayPeer {
   public:
    Peer(std::weak_ptr<Core> core, Core::Endpoint self, std::string server)
        : core_(std::move(core)), self_(std::move(self)), server_(std::move(server)) {}

    std::unique_ptr<AttachStream> Attach(AttachObserver& observer) override {
      const auto core = core_.lock();
      return std::make_unique<ClientStream>(core_, core ? core->OpenStream(self_, server_, observer) : 0);
    }
    void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
               Done<gateway::v1::WriteResponse> done) override {
      const auto core = core_.lock();
      if (core == nullptr) return;
      const bool may_repeat = !request.has_delete_collection();
      core->Start<gateway::v1::WriteRequest, gateway::v1::WriteResponse>(
          self_, server_, std::move(request), timeout, std::move(done),
          [](Core::Host& host, auto message, auto answer) {
            if (host.gateway == nullptr) return false;
            host.gateway->Write(std::move(message), std::move(answer));
            return true;
          },
          may_repeat);
    }
    void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) override {
      const auto core = core_.lock();
      if (core == nullptr) return;
      core->Start<gateway::v1::GetRequest, gateway::v1::GetResponse>(
          self_, server_, std::move(request), timeout, std::move(done),
          [](Core::Host& host, auto message, auto answer) {
            if (host.gateway == nullptr) return false;
            host.gateway->Get(std::move(message), std::move(answer));
            return true;
          });
    }

   private:
    const std::weak_ptr<Core> core_;
    const Core::Endpoint self_;
    const std::string server_;
  };

  return std::make_unique<Peer>(core_, core_->EndpointOf(host), server);
}

std::unique_ptr<PeerDirectory> SimNetwork::Directory(const std::string& host) {
  class ReplicaOf final : public ReplicaPeer {
   public:
    ReplicaOf(std::weak_ptr<Core> core, Core::Endpoint self, std::string server)
        : core_(std::move(core)), self_(std::move(self)), server_(std::move(server)) {}
    void ExportRecords(replica::v1::ExportRecordsRequest request, absl::Duration timeout,
                       Done<replica::v1::ExportRecordsResponse> done) override {
      const auto core = core_.lock();
      if (core == nullptr) return;
      core->Start<replica::v1::ExportRecordsRequest, replica::v1::ExportRecordsResponse>(
          self_, server_, std::move(request), timeout, std::move(done), [](Core::Host& to, auto message, auto answer) {
            if (to.replicas == nullptr) return false;
            to.replicas->ExportRecords(std::move(message), std::move(answer));
            return true;
          });
    }

   private:
    const std::weak_ptr<Core> core_;
    const Core::Endpoint self_;
    const std::string server_;
  };

  class PeersOf final : public PeerDirectory {
   public:
    PeersOf(std::weak_ptr<Core> core, Core::Endpoint self) : core_(std::move(core)), self_(std::move(self)) {}
    std::shared_ptr<ServicePeer> Services(const gateway::v1::Member& member) override {
      if (member.service() != gateway::v1::SERVICE_KIND_POD_GROUP) return nullptr;
      const auto core = core_.lock();
      return core == nullptr ? nullptr : core->MakeGroupPeer(self_, member.address());
    }
    std::shared_ptr<ReplicaPeer> Replicas(const gateway::v1::Member& member) override {
      return std::make_shared<ReplicaOf>(core_, self_, member.address());
    }

   private:
    const std::weak_ptr<Core> core_;
    const Core::Endpoint self_;
  };

  return std::make_unique<PeersOf>(core_, core_->EndpointOf(host));
}

}  // namespace basalt::rpc
