#include "gateway/server/hub_metrics.h"

#include <fmt/format.h>

namespace basalt::gateway {
namespace {

obs::Labels LabelsOf(const v1::Member& member) {
  return {{"service", std::string(ServiceName(member.service()))}, {"replica", member.replica()}};
}

}  // namespace

std::string_view ServiceName(v1::ServiceKind service) {
  switch (service) {
    case v1::SERVICE_KIND_JOB:
      return "job";
    case v1::SERVICE_KIND_POD_GROUP:
      return "pod_group";
    case v1::SERVICE_KIND_QUEUE:
      return "queue";
    default:
      return "none";
  }
}

HubMetrics::HubMetrics(obs::Metrics& metrics)
    : metrics_(metrics),
      in_flight_(metrics.GetGauge("basalt_gateway_writes_in_flight", "Writes handed to Kubernetes and not answered.")),
      states_(metrics.GetCounter("basalt_gateway_states_total", "New states of cached objects.")),
      departures_(metrics.GetCounter("basalt_gateway_departures_total", "Objects that left a slot.")),
      moved_(metrics.GetCounter("basalt_gateway_slots_moved_total", "Slots that began at a new owner.")),
      moving_(metrics.GetHistogram("basalt_gateway_slot_move_seconds",
                                   "Seconds from an assignment to the begin of a slot at its new owner.",
                                   {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30})),
      lost_records_(metrics.GetCounter("basalt_gateway_slots_without_records_total",
                                       "Slots whose records could not be had from their last owner.")),
      fenced_(metrics.GetCounter("basalt_gateway_writes_fenced_total", "Writes of senders that do not own the slot.")),
      epoch_(metrics.GetGauge("basalt_gateway_epoch", "Epoch of the assignment.")) {}

void HubMetrics::ShowEpoch(int64_t epoch) { epoch_.Set(static_cast<double>(epoch)); }

void HubMetrics::WriteEnds(std::string_view verb, const std::string& plural,
                           const absl::StatusOr<v1::WriteResponse>& answer) {
  in_flight_.Add(-1);
  const std::string code = !answer.ok()          ? absl::StatusCodeToString(answer.status().code())
                           : answer->has_error() ? fmt::to_string(answer->error().code())
                                                 : "ok";
  obs::Counter*& counter = writes_[fmt::format("{} {} {}", verb, plural, code)];
  if (counter == nullptr) {
    counter = &metrics_.GetCounter("basalt_gateway_writes_total", "Writes answered.",
                                   {{"verb", std::string(verb)}, {"resource", plural}, {"code", code}});
  }
  counter->Add();
}

void HubMetrics::CountRefusal(std::string_view call, v1::ServiceKind service, std::string_view reason) {
  obs::Counter*& counter = refusals_[fmt::format("{} {} {}", call, ServiceName(service), reason)];
  if (counter == nullptr) {
    counter = &metrics_.GetCounter(
        "basalt_gateway_refusals_total", "Requests that the sender is not allowed to make.",
        {{"call", std::string(call)}, {"service", std::string(ServiceName(service))}, {"reason", std::string(reason)}});
  }
  counter->Add();
}

void HubMetrics::ShowReplica(const v1::Member& member, const Session* session, const Tombstones& tombstones) {
  const obs::Labels labels = LabelsOf(member);
  metrics_
      .GetGauge("basalt_gateway_replica_lag_seconds", "How long the oldest unacknowledged batch has waited.", labels)
      .Set(session ? absl::ToDoubleSeconds(session->Lag()) : 0);
  metrics_
      .GetGauge("basalt_gateway_replica_dirty_keys", "Keys whose newest state has not been sent to the replica yet.",
                labels)
      .Set(session ? static_cast<double>(session->dirty_keys()) : 0);
  metrics_
      .GetGauge("basalt_gateway_replica_tombstone_bytes",
                "Bytes of the last states of deleted objects, which are kept until the replica acknowledges them.",
                labels)
      .Set(static_cast<double>(tombstones.bytes()));
}

void HubMetrics::RemoveReplica(const v1::Member& member) {
  for (const char* name : {"basalt_gateway_replica_lag_seconds", "basalt_gateway_replica_dirty_keys",
                           "basalt_gateway_replica_tombstone_bytes"}) {
    metrics_.Remove(name, LabelsOf(member));
  }
}

void HubMetrics::ShowWatches(const std::vector<WatchInfo>& watches) {
  for (const WatchInfo& info : watches) {
    metrics_.GetGauge("basalt_gateway_objects", "Objects of the watch in the cache.", {{"watch", info.id}})
        .Set(static_cast<double>(info.objects));
  }
}

}  // namespace basalt::gateway
