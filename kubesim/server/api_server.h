#pragma once

// A Kubernetes API server as a library: no sockets, no threads, no clock of its own. Core kinds and custom resource
// definitions, all verbs, watches, patches, garbage collection, faults on request; everything in memory.
//
// Confined to `loop`: the server is made, called and destroyed there. The server may be destroyed while watches and
// delayed requests are open: their connections break. `loop` and `random` outlive the server.
//
// Beside the Kubernetes API the server has a path of its own, /kubesim/log: GET returns the writes so far, DELETE
// forgets them.
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
  // An error in options.crds is reported by startup_status(), and such a definition is not served.
  ApiServer(Loop& loop, Random& random, ApiServerOptions options = {});
  ~ApiServer() override;

  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override;

  const absl::Status& startup_status() const { return startup_status_; }
  // Creates an object in the server's own name, as a POST would, but without an entry in the log. The namespace is
  // taken from the object's metadata.
  absl::StatusOr<json::value> CreateObject(const json::value& object);
  // Returns the newest state of an object. Null if there is none. `resource` is a text like "pods" or
  // "jobs.batch.volcano.sh".
  std::shared_ptr<const json::value> Get(std::string_view resource, std::string_view ns, std::string_view name) const;
  const Store& store() const { return core_.store; }
  const Registry& types() const { return core_.types; }

  const std::deque<LoggedRequest>& log() const { return log_.entries(); }
  void ClearLog() { log_.Clear(); }

  FaultInjector& faults() { return faults_; }
  // The next three functions are about the watches of one resource, named as in Get(), or about all if it is empty.
  void DropWatches(std::string_view resource = {}) { watches_.DropAll(resource); }
  void StallWatches(std::string_view resource = {}) { watches_.Stall(resource); }
  void ReleaseWatches(std::string_view resource = {}) { watches_.Release(resource); }
  // Breaks every connection. Stored objects stay.
  void Restart();
  // Forgets all changes so far: requests with older resourceVersions are answered 410 from now on.
  void ForgetHistory();
  size_t open_watches() const { return watches_.size(); }
  // Returns whether the deletion of a collection is under way.
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
  void Send(Exchange& exchange, const absl::StatusOr<Answer>& answer);
  void SendList(Exchange& exchange, const std::vector<RevisionPtr>& items, const ListMetadata& metadata);
  void SendDocument(Exchange& exchange, int code, const json::value& document, std::string_view content_type = {});
  void SendText(Exchange& exchange, int code, std::string_view text);
  // Refuses a request in plain text, as API Priority and Fairness does.
  void SendTooManyRequests(Exchange& exchange, const absl::Status& fault);
  http::Headers MakeHeaders(std::string_view content_type = {}) const;
  void Log(const Exchange& exchange, const absl::StatusOr<Answer>& answer);
  void Seed();

  Core core_;
  ObjectWriter writer_;
  Deleter deleter_;
  SubResources subresources_;
  // The watches come before the controllers, so that they get a change before the changes that controllers make after
  // it.
  WatchHub watches_;
  CrdController crds_;
  NamespaceController namespaces_;
  QuotaController quotas_;
  GarbageCollector garbage_;
  FaultInjector faults_;
  RequestLog log_;
  absl::Status startup_status_;
  // Requests that are not answered at once, because a fault delays them or they are carried out in slices. Their
  // connections break when they are removed.
  std::map<uint64_t, std::shared_ptr<Exchange>> pending_;
  uint64_t next_exchange_ = 1;
};

}  // namespace basalt::kubesim
