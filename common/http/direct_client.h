#pragma once

// An http::Client whose server is a Handler in the same process: every message is a task on the other side's loop. The
// deterministic simulation and the actors inside kubesim use it.
#include <functional>
#include <map>
#include <memory>

#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http {

// The behaviour of the network between one client and one server. The hooks run on the loop that sends; leave them
// empty if the two loops have different threads. Chunks of one response never overtake each other, whatever `delay`
// returns.
struct DirectLink {
  // Returns the delay of one message in either direction. Empty if messages have no delay.
  std::function<absl::Duration()> delay;
  // Returns whether a request is lost: the handler never gets it, and the client gets UNKNOWN.
  std::function<bool()> drop_request;
  // Returns whether an answer is lost: the handler has acted, but the client gets UNKNOWN.
  std::function<bool()> drop_response;
  // True if a sent request takes effect although its sender has died or cancelled meanwhile, as on a real network.
  // Requires: the handler outlives everything on its loop.
  bool deliver_after_cancel = false;
  // True if new requests fail with UNAVAILABLE. Use DirectClient::SetCut, which also ends the open requests.
  bool cut = false;
};

// Confined to `loop`; the handler is called on `handler_loop`. Both loops and the handler must outlive the calls. A
// SimLoop on either side may be killed. The server observes the end of a dead client's calls when they are destroyed. A
// dead server's connections break (UNKNOWN) when its writers, or the requests on the way to it, are destroyed.
class DirectClient : public Client {
 public:
  DirectClient(Loop& loop, Loop& handler_loop, Handler& handler, std::shared_ptr<DirectLink> link = nullptr);
  ~DirectClient() override;

  std::unique_ptr<Call> Start(Request request, ResponseObserver& observer) override;

  void SetCut(bool cut);
  DirectLink& link() { return *link_; }

 private:
  class Exchange;
  class DirectCall;
  class Writer;

  Loop& loop_;
  Loop& handler_loop_;
  Handler& handler_;
  std::shared_ptr<DirectLink> link_;
  std::shared_ptr<std::map<uint64_t, std::weak_ptr<Exchange>>> open_;  // Has the order of the calls of Start.
  uint64_t next_id_ = 1;
};

}  // namespace basalt::http
