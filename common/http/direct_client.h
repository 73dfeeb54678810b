#pragma once

// An http::Client whose server is a Handler in the same process: every message is a task on the other side's loop. The
// deterministic simulation runs over it, and so do the actors inside kubesim.
#include <functional>
#include <map>
#include <memory>

#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http {

// What the network between one client and one server does. The hooks run on the loop that sends; where the two loops
// have different threads, leave them empty. Chunks of one response never overtake each other, whatever `delay` says.
struct DirectLink {
  std::function<absl::Duration()> delay;  // Of one message in either direction; empty = none.
  std::function<bool()> drop_request;     // The handler never sees it; the client hears UNKNOWN.
  std::function<bool()> drop_response;    // The handler has acted, the answer is lost; the client hears UNKNOWN.
  // A request that was sent takes effect although its sender has died or cancelled meanwhile, as on a real network.
  // Requires that the handler outlives everything on its loop.
  bool deliver_after_cancel = false;
  bool cut = false;  // New requests fail with UNAVAILABLE. Use DirectClient::SetCut, which also ends the open ones.
};

// Confined to `loop`; the handler is called on `handler_loop`. Both loops and the handler outlive the calls. Killing a
// SimLoop on either side is safe: a dead client's calls are closed for the server when they are destroyed, a dead
// server's connections break (UNKNOWN) when its writers, or the requests on the way to it, are destroyed.
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
  std::shared_ptr<std::map<uint64_t, std::weak_ptr<Exchange>>> open_;  // In the order of Start.
  uint64_t next_id_ = 1;
};

}  // namespace basalt::http
