#pragma once

// Lists and watches one object of any kind by its name, as a kubelet does with each ConfigMap that a pod mounts. The
// list comes in pages whatever else the server can, since there is at most one object. Confined to one loop.
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/metrics.h"
#include "gateway/kube/kube_access.h"
#include "gateway/kube/reflect/reflector.h"

namespace basalt::gateway {

class ReflectedObject final : public ObjectWatch, private ReflectorSink {
 public:
  // Shared by all objects, which the references must outlive.
  struct Shared {
    Loop& loop;
    http::Client& client;
    Random& random;
    ApiClock& clock;
    obs::Metrics& metrics;
    absl::Duration slow_retry;  // As ReflectorOptions.slow_retry.
  };

  // Requires: the resource has a version and a plural.
  ReflectedObject(const Shared& shared, const v1::Resource& resource, const std::string& ns, const std::string& name,
                  ObjectSeen seen);

 private:
  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override;
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override;
  void OnBookmark(int64_t) override {}
  void OnAbsent() override;
  void OnForbidden(const std::string& message) override;
  void OnError(const absl::Status& status) override;
  void See(kube::v1::Object object);

  obs::Metrics& metrics_;
  const std::string resource_;  // A name such as "persistentvolumeclaims"; in metrics the watch.
  const std::string name_;
  const ObjectSeen seen_;
  Reflector reflector_;  // The last member, so that it ends first.
};

}  // namespace basalt::gateway
