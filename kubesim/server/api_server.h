#pragma once

// A Kubernetes API server as a library: no sockets, no threads, no clock of its own. Core kinds and custom resource
// definitions, all verbs, watches, patches, garbage collection, faults on request; everything in memory.
//
// Confined to `loop`: made, called and destroyed on it. It may be destroyed while watches and delayed requests are
// open: their connections break. `loop` and `random` outlive it.
//
// Beside the Kubernetes API it serves /kubesim/log (GET: the writes so far; DELETE: forget them) and /kubesim/faults
// (POST a rule of faults.h, or {"action": "dropWatches" | "stallWatches" | "releaseWatches" | "restart" |
// "forgetHistory", "resource": …}; DELETE: no more rules).
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "kubesim/server/controllers/crds.h"
#include "kubesim/server/controllers/garbage.h"
#include "kubesim/server/controllers/namespaces.h"
#include "kubesim/server/controllers/quotas.h"
#include "kubesim/server/discovery/openapi_cache.h"
#include "kubesim/server/faults/faults.h"
#include "kubesim/server/read/watch.h"
#include "kubesim/server/request_log.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/state/options.h"
#include "kubesim/server/write/collection_deletion.h"
#include "kubesim/server/write/deletion.h"
#include "kubesim/server/write/objects.h"
#include "kubesim/server/write/subresources.h"

namespace basalt::kubesim {

class ApiServer : public http::Handler {
 public:
  // INVALID_ARGUMENT-like problem with options.crds is in startup_status(): those definitions are not served.
  ApiServer(Loop& loop, Random& random, ApiServerOptions options = {});
  ~ApiServer() override;

  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override;

  const absl::Status& startup_status() const { return startup_status_; }
  // Creates an object in the server's own name, as a POST would; not in the log. A cluster-scoped kind, or the
  // namespace from the object's metadata.
  absl::StatusOr<json::value> CreateObject(const json::value& object);
  // The newest state, or null. `resource` is "pods" or "jobs.batch.volcano.sh".
  std::shared_ptr<const json::value> Get(std::string_view resource, std::string_view ns, std::string_view name) const;
  const Store& store() const { return core_.store; }
  const Registry& types() const { return core_.types; }

  const std::deque<LoggedRequest>& log() const { return log_.entries(); }
  void ClearLog() { log_.Clear(); }

  FaultInjector& faults() { return faults_; }
  // `resource` as in Get; empty: all.
  void DropWatches(std::string_view resource = {}) { watches_.DropAll(resource); }
  void StallWatches(std::string_view resource = {}) { watches_.Stall(resource); }
  void ReleaseWatches(std::string_view resource = {}) { watches_.Release(resource); }
  // Every connection breaks; what is stored stays.
  void Restart();
  // Older resourceVersions answer 410 from now on.
  void ForgetHistory();
  size_t open_watches() const { return watches_.size(); }
  // Some objects of a collection that is to be deleted are left.
  bool IsDeletingCollection() const;

 private:
  struct Exchange;
  void Dispatch(const std::shared_ptr<Exchange>& exchange);
  void Proceed(const std::shared_ptr<Exchange>& exchange, bool too_late);
  void HandleResource(const std::shared_ptr<Exchange>& exchange);
  absl::StatusOr<Answer> Act(const RequestInfo& info, std::string_view body);
  void HandleList(Exchange& exchange);
  void HandleDeleteCollection(const std::shared_ptr<Exchange>& exchange);
  void AdvanceDeletion(uint64_t id);
  void HandleOther(Exchange& exchange);
  void HandleHealth(Exchange& exchange);
  bool HandleDiscovery(Exchange& exchange);
  bool HandleOpenApi(Exchange& exchange);
  void HandleControl(Exchange& exchange);
  absl::Status Control(const json::value& body);
  void Send(Exchange& exchange, const absl::StatusOr<Answer>& answer);
  void SendList(Exchange& exchange, const std::vector<RevisionPtr>& items, const ListMetadata& metadata);
  void SendDocument(Exchange& exchange, int code, const json::value& document, std::string_view content_type = {});
  void SendText(Exchange& exchange, int code, std::string_view text);
  // As API Priority and Fairness refuses: in plain text.
  void SendTooManyRequests(Exchange& exchange, const absl::Status& fault);
  http::Headers MakeHeaders(std::string_view content_type = {}) const;
  void Log(const Exchange& exchange, const absl::StatusOr<Answer>& answer);
  void Seed();

  Core core_;
  ObjectWriter writer_;
  Deleter deleter_;
  SubResources subresources_;
  // The watches come first: they see a change before what the controllers make of it.
  WatchHub watches_;
  CrdController crds_;
  NamespaceController namespaces_;
  QuotaController quotas_;
  GarbageCollector garbage_;
  FaultInjector faults_;
  RequestLog log_;
  OpenApiCache openapi_;
  absl::Status startup_status_;
  // Requests that are not answered at once: a fault delays them, or they go on in slices. Their writers go with them.
  std::map<uint64_t, std::shared_ptr<Exchange>> pending_;
  uint64_t next_exchange_ = 1;
};

}  // namespace basalt::kubesim
