#pragma once

// Runs one watch of the gateway. The watch's requests go to a client whose answers the target gives. The watch fills a
// cache, whose content must be consistent.
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/obs/health.h"
#include "common/obs/log.h"
#include "common/obs/metrics.h"
#include "common/time/sim_time.h"
#include "gateway/kube/fake_kube_access.h"
#include "gateway/kube/testing.h"
#include "gateway/route/object_ref.h"
#include "gateway/watches/watch.h"
#include "tests/fuzz/input.h"

namespace basalt::fuzz {

class Watched final : private gateway::CacheListener {
 public:
  // `id` names a watch. An unknown id stands for the watch of pods.
  Watched(std::string_view id, bool streaming_lists) : options_(OptionsOf(id, streaming_lists)) {
    obs::SetLogLevel(obs::Level::kNothing);
    watch_.Start();
    time_.RunDueTasks();
  }

  // Returns the newest open request, or null if there is none.
  gateway::ScriptedClient::Exchange* Request() {
    for (size_t i = client_.started(); i > 0; --i) {
      if (client_.at(i - 1).open()) return &client_.at(i - 1);
    }
    return nullptr;
  }
  void Run(absl::Duration time) {
    time_.Advance(time);
    client_kube_.writes.clear();  // These are Events about objects that cannot be read.
  }

  // Checks the cache, then empties it and checks that nothing is left.
  void CheckCache() {
    using namespace gateway;  // NOLINT: one function.
    const int64_t objects = cache_.watches()[0].objects;
    Require(static_cast<int64_t>(cache_.size()) == objects, "a watch counts its objects");
    int64_t members = 0;
    const auto count = [&](v1::ServiceKind service, uint32_t slot) {
      for (const ObjectId id : cache_.Members(service, slot)) {
        const kube::v1::Object object = cache_.Read(id);
        const ObjectRef ref = RefOf(object);
        Require(cache_.Find(0, ref.uid) == id, "an object is found by its UID");
        Require(cache_.IsBroadcastId(id) || cache_.SlotOfId(id, service) == slot, "an object is a member of its slot");
        ++members;
      }
    };
    for (const auto& [service, slot] : used_slots_) count(service, slot);
    cache_.Replace(0, {}, std::numeric_limits<int64_t>::max());
    Require(cache_.size() == 0, "an empty list leaves nothing");
    Require(members == 0 || objects > 0, "what is a member is there");
    for (const auto& [service, slot] : used_slots_) {
      Require(cache_.Members(service, slot).empty(), "what is gone is no member");
    }
  }

 private:
  static gateway::ReflectorOptions OptionsOf(std::string_view id, bool streaming_lists) {
    const std::vector<gateway::ReflectorOptions> all =
        gateway::WatchesFor({.names = {"volcano"}, .kai_names = {"kai-scheduler"}, .is_rich = false}, streaming_lists);
    for (const gateway::ReflectorOptions& options : all) {
      if (options.watch == id) return options;
    }
    return all[5];
  }

  void Note(gateway::ObjectId id) {
    using namespace gateway;  // NOLINT: one function.
    for (const v1::ServiceKind service : {v1::SERVICE_KIND_JOB, v1::SERVICE_KIND_POD_GROUP, v1::SERVICE_KIND_QUEUE}) {
      if (const uint32_t slot = cache_.SlotOfId(id, service); slot < kSlotCount) used_slots_.emplace(service, slot);
    }
  }
  void OnState(gateway::ObjectId id) override {
    Require(!cache_.IsHeldBack(id), "what is told is not held back");
    cache_.Read(id);
    Note(id);
  }
  void OnDeparture(gateway::ObjectId, const gateway::Departure& departure) override {
    Require(departure.last != nullptr, "the last state is told");
  }
  void OnHeldBack(gateway::ObjectId id) override { Note(id); }
  void OnWatch(gateway::WatchIndex) override {
    const int64_t version = cache_.watches()[0].resource_version;
    Require(version >= version_, "the version of a watch never goes back");
    version_ = version;
  }

  SimTime time_;
  SimLoop loop_{time_, "gateway"};
  gateway::ScriptedClient client_;
  SeededRandom random_{1};
  gateway::ApiClock clock_{loop_};
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  obs::Health health_{&time_};
  const gateway::ReflectorOptions options_;
  gateway::Cache cache_{{options_.watch}, *this, {.kai_scheduler_names = {"kai-scheduler"}}};
  gateway::testing::FakeKubeAccess client_kube_;
  gateway::Readiness readiness_{loop_, *metrics_, health_};
  gateway::Unreadable unreadable_{client_kube_, *metrics_};
  gateway::Watch watch_{{loop_, client_, random_, clock_, *metrics_, readiness_, unreadable_, cache_}, 0, options_};
  int64_t version_ = 0;
  std::set<std::pair<gateway::v1::ServiceKind, uint32_t>> used_slots_;  // Slots that have ever had an object.
};

}  // namespace basalt::fuzz
