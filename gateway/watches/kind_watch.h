#pragma once

// Watches the wanted objects of one kind under one watch, each with the JSON that rules of grouping read
// (translate/owner.cc). Keeps nothing, and reads only the identity of other objects of the kind. An event that changes
// nothing of that JSON is passed on, too. Confined to one loop.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/http/http.h"
#include "gateway/kube/kube_access.h"
#include "gateway/kube/reflect/reflector.h"
#include "gateway/watches/object_watch.h"

namespace basalt::gateway {

class ReflectedKind final : public KindWatch, private ReflectorSink {
 public:
  // Requires: the resource has a version and a plural. `listener` must outlive this object.
  ReflectedKind(const ReflectedObject::Shared& shared, const v1::Resource& resource, KindListener& listener);

  // Lists that one name: the right to list a kind suffices, and the list shows as of which version there is no such
  // object.
  void Read(const std::string& ns, const std::string& name, rpc::Done<ReadObject> done) override;

 private:
  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override;
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override;
  void OnBookmark(int64_t) override {}
  void OnAbsent() override;
  void OnForbidden(const std::string& message) override;
  void OnError(const absl::Status& status) override;

  http::Client& client_;
  obs::Metrics& metrics_;
  const v1::Resource kind_;
  const std::string resource_;  // A name such as "pytorchjobs.kubeflow.org"; in metrics the watch.
  KindListener& listener_;
  std::map<uint64_t, std::unique_ptr<http::Call>> reads_;  // The reads under way.
  uint64_t next_read_ = 0;
  Reflector reflector_;  // The last member, so that it ends first.
};

}  // namespace basalt::gateway
