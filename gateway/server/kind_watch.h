#pragma once

// The objects of one kind that somebody wants, under one watch, each with the JSON that rules of grouping read
// (translate/owner.cc). Nothing is kept here, and of other objects of the kind no more is read than which they are. An
// event that changes nothing of it is passed on all the same. Confined to one loop.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/http/http.h"
#include "gateway/kube/kube_access.h"
#include "gateway/kube/reflect/reflector.h"
#include "gateway/server/object_watch.h"

namespace basalt::gateway {

class ReflectedKind final : public KindWatch, private ReflectorSink {
 public:
  // Requires: the resource has a version and a plural. `listener` outlives it.
  ReflectedKind(const ReflectedObject::Shared& shared, const v1::Resource& resource, KindListener& listener);

  // A list of that one name: the right to list a kind is enough for it, and it says as of which version there is none.
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
  const std::string resource_;  // "pytorchjobs.kubeflow.org"; in metrics the watch.
  KindListener& listener_;
  std::map<uint64_t, std::unique_ptr<http::Call>> reads_;  // Under way.
  uint64_t next_read_ = 0;
  Reflector reflector_;  // Last: it ends first.
};

}  // namespace basalt::gateway
