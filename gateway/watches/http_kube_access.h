#pragma once

// Implements KubeAccess by HTTP: with the one writer, a watch for each object that is requested by its name, and
// searches for kinds. Reports the outcome of each write and read to readiness. Confined to one loop.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/metrics.h"
#include "gateway/health/readiness.h"
#include "gateway/kube/api_clock.h"
#include "gateway/kube/kind_finder.h"
#include "gateway/kube/kube_access.h"
#include "gateway/kube/write/writer.h"
#include "gateway/watches/kind_watch.h"
#include "gateway/watches/object_watch.h"

namespace basalt::gateway {

class HttpKubeAccess : public KubeAccess {
 public:
  // All references must outlive this object. `slow_retry` is the time between two looks at an absent or forbidden
  // resource; ± half.
  HttpKubeAccess(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, Readiness& readiness,
                 const WriterOptions& options, absl::Duration slow_retry);

  void Write(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns, const std::string& name,
                                     ObjectSeen seen) override;
  std::unique_ptr<KindSearch> FindKind(const WantedKind& wanted, bool absent, KindFound found) override;
  std::unique_ptr<KindWatch> WatchKind(const v1::Resource& resource, KindListener& listener) override;
  void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) override;
  absl::Time ApiNow() override;
  int64_t ApiTimeMs() override;

  ApiClock& clock() { return clock_; }
  KubeWriter& writer() { return writer_; }

 private:
  // Returns a callback that reports the outcome to readiness before it calls `done`.
  template <typename Response>
  std::function<void(absl::StatusOr<Response>)> Observed(std::string_view verb, std::string resource,
                                                         rpc::Done<Response> done);

  Readiness& readiness_;
  ApiClock clock_;
  KubeWriter writer_;
  const ReflectedObject::Shared objects_;
  const KindFinder::Shared kinds_;
};

}  // namespace basalt::gateway
