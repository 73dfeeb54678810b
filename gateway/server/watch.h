#pragma once

// One reflector and what comes of it: the cache's content, readiness, metrics and words. Confined to one loop.
#include <memory>
#include <string>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "gateway/kube/reflector.h"
#include "gateway/route/cache.h"

namespace basalt::gateway {

class Watch : private ReflectorSink {
 public:
  Watch(Loop& loop, http::Client& client, Random& random, ApiClock& clock, obs::Metrics& metrics, obs::Health& health,
        Cache& cache, WatchIndex index, ReflectorOptions options);
  ~Watch() override;

  void Start() { reflector_.Start(); }

 private:
  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override;
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override;
  void OnBookmark(int64_t resource_version) override;
  void OnAbsent() override;
  void OnForbidden(const std::string& message) override;
  void OnError(const absl::Status& status) override;

  // The watch goes on from where it was before it was forbidden.
  void NoteServed();
  void NoteUndecodable(const Decoded& decoded);

  obs::Health& health_;
  Cache& cache_;
  const WatchIndex index_;
  const std::string id_;
  const std::string target_;  // Of readiness.
  bool listed_ = false;
  obs::Counter& events_;
  obs::Counter& lists_;
  obs::Counter& errors_;
  obs::Counter& undecodable_;
  Reflector reflector_;  // Last: it ends first.
};

// The watches of a gateway, in the order of the cache's indices.
std::vector<ReflectorOptions> WatchesFor(const std::vector<std::string>& scheduler_names, bool streaming_lists);

}  // namespace basalt::gateway
