#pragma once

// The metrics of the hub. Confined to the hub's loop.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/obs/metrics.h"
#include "gateway/route/cache.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

std::string_view ServiceName(v1::ServiceKind service);

class HubMetrics {
 public:
  // `metrics` must outlive this object.
  explicit HubMetrics(obs::Metrics& metrics);

  void CountState() { states_.Add(); }
  void CountDeparture() { departures_.Add(); }
  // A slot that has moved begins at its new owner, `after` the assignment that moved it.
  void SlotOpens(absl::Duration after) {
    moved_.Add();
    moving_.Observe(absl::ToDoubleSeconds(after));
  }
  void CountLostRecords() { lost_records_.Add(); }
  void WriteFenced() { fenced_.Add(); }
  // `call` and `reason` have a few values each.
  void CountRefusal(std::string_view call, v1::ServiceKind service, std::string_view reason);
  void ShowEpoch(int64_t epoch);
  void WriteBegins() { in_flight_.Add(1); }
  void WriteEnds(std::string_view verb, const std::string& plural, const absl::StatusOr<v1::WriteResponse>& answer);

  // `session` is null while the replica is away.
  void ShowReplica(const v1::Member& member, const Session* session, const Tombstones& tombstones);
  void RemoveReplica(const v1::Member& member);
  void ShowWatches(const std::vector<WatchInfo>& watches);

 private:
  obs::Metrics& metrics_;
  obs::Gauge& in_flight_;
  obs::Counter& states_;
  obs::Counter& departures_;
  obs::Counter& moved_;
  obs::Histogram& moving_;
  obs::Counter& lost_records_;
  obs::Counter& fenced_;
  obs::Gauge& epoch_;
  std::map<std::string, obs::Counter*> writes_;
  std::map<std::string, obs::Counter*> refusals_;
};

}  // namespace basalt::gateway
