#pragma once

// All objects of one kind, listed and watched, of which each has the JSON that rules of grouping read
// (translate/owner.cc). An event that changes nothing of it is passed on all the same. Confined to one loop.
#include <string>
#include <vector>

#include "gateway/kube/kube_access.h"
#include "gateway/kube/reflect/reflector.h"
#include "gateway/server/object_watch.h"

namespace basalt::gateway {

class ReflectedKind final : public ObjectWatch, private ReflectorSink {
 public:
  // Requires: the resource has a version and a plural. `listener` outlives it.
  ReflectedKind(const ReflectedObject::Shared& shared, const v1::Resource& resource, KindListener& listener);

 private:
  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override;
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override;
  void OnBookmark(int64_t) override {}
  void OnAbsent() override;
  void OnForbidden(const std::string& message) override;
  void OnError(const absl::Status& status) override;

  obs::Metrics& metrics_;
  const std::string resource_;  // "pytorchjobs.kubeflow.org"; in metrics the watch.
  KindListener& listener_;
  Reflector reflector_;  // Last: it ends first.
};

}  // namespace basalt::gateway
