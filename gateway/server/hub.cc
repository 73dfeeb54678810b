#include "gateway/server/hub.h"

#include <utility>

#include "common/obs/log.h"
#include "gateway/server/topology.h"

namespace basalt::gateway {

Hub::Hub(Loop& loop, Random& random, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
         const std::vector<std::string>& watches, const HubOptions& options)
    : loop_(loop),
      kube_(kube),
      metrics_(metrics),
      version_(options.version),
      stats_period_(options.stats_period),
      leadership_(options.replica),
      cache_(watches, *this, options.routes),
      replicas_(cache_, options.tombstone_bytes),
      refusals_(loop, metrics_, options.between_warnings),
      moves_(loop, leadership_, replicas_, metrics_, options.on_records_lost, options.between_warnings),
      membership_(loop, kube, store, leadership_, replicas_, moves_, metrics_,
                  {.ownership = options.ownership,
                   .save_again = options.save_again,
                   .on_members = options.on_members,
                   .on_superseded = [this] { Follow("", ""); }}),
      calls_(loop, kube, cache_, leadership_, replicas_, moves_, metrics_, refusals_, options.namespaces),
      streams_(loop, random, kube, cache_, leadership_, replicas_, moves_, membership_, refusals_,
               {.cluster = options.cluster,
                .version = options.version,
                .protocols = options.protocols,
                .grace = options.ownership.grace,
                .most_replicas = options.most_replicas,
                .session = options.session,
                .interests = options.interests},
               [this] {
                 if (stats_timer_ == kNoTimer) ShowStats();
               }) {}

Hub::~Hub() {
  *alive_ = false;
  loop_.Cancel(stats_timer_);
}

void Hub::Lead(const storage::v1::AssignmentRecord& saved) { membership_.Lead(saved); }

void Hub::Follow(std::string leader, std::string leader_address) {
  const bool led = leads();
  leadership_.Follow(std::move(leader), std::move(leader_address));
  if (!led) return;
  obs::LogWarning("leading no more", {{"gateway", leadership_.self()}, {"leader", leadership_.leader()}});
  membership_.Stop();
  for (const auto& [key, replica] : replicas_.all()) metrics_.RemoveReplica(replica->member);
  replicas_.Clear(leadership_.Check());
  kube_.DropUnsent([](const v1::Owner&) { return true; });
}

std::unique_ptr<rpc::AttachSession> Hub::OnAttach(rpc::AttachSink& sink) { return streams_.Open(sink); }

void Hub::Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  calls_.Write(std::move(request), std::move(done));
}

void Hub::Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) {
  calls_.Get(std::move(request), std::move(done));
}

void Hub::GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) {
  loop_.Post([this, alive = alive_, slots_of = request.slots_of(), done = std::move(done)]() mutable {
    if (!*alive) return;
    const TopologySource source{leadership_, replicas_, cache_, loop_.Now()};
    done(MakeTopology(source, version_, slots_of));
  });
}

void Hub::OnState(ObjectId id) {
  metrics_.CountState();
  replicas_.OnState(id);
}

void Hub::OnDeparture(ObjectId id, const Departure& departure) {
  metrics_.CountDeparture();
  calls_.OnDeparture(departure);
  // A replica that knew the object may come back.
  const bool had_owner = leads() && departure.service != v1::SERVICE_KIND_UNSPECIFIED &&
                         leadership_.ownership().Get(departure.service, departure.slot).owner.epoch > 0;
  replicas_.OnDeparture(id, departure, /*keeps_unowned=*/had_owner);
}

void Hub::ShowStats() {
  stats_timer_ = kNoTimer;
  bool any = false;
  for (const auto& [key, replica] : replicas_.all()) {
    const Session* session = replica->session();
    any |= session != nullptr;
    metrics_.ShowReplica(replica->member, session, replica->tombstones);
  }
  metrics_.ShowWatches(cache_.watches());
  if (!any) return;
  stats_timer_ = loop_.RunAfter(stats_period_, [this, alive = alive_] {
    if (*alive) ShowStats();
  });
}

}  // namespace basalt::gateway
