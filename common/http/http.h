#pragma once

// HTTP as the gateway, kubesim and its actors see it: a request, and a response that comes in chunks. This is the seam
// of the deterministic simulation: below it are sockets (curl, Beast) or a queue of tasks, above it everything is the
// same.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value of the first header of that name, compared without case; empty = absent.
std::string_view FindHeader(const Headers& headers, std::string_view name);

struct Request {
  std::string method = "GET";
  std::string target;  // Path and query, escaped: /api/v1/pods?watch=true
  Headers headers;
  std::string body;
  absl::Duration timeout = absl::Seconds(30);              // Of the whole exchange; infinite for watches.
  absl::Duration idle_timeout = absl::InfiniteDuration();  // Between two chunks.
  // By the clock of the client's loop: nothing of it goes out then or later. What has not gone out whole by then ends
  // as UNAVAILABLE with Failure::kLate; the server has not carried it out.
  absl::Time send_by = absl::InfiniteFuture();
  // Lists and watches: they go by connections of their own, so that no large answer holds up a short request.
  bool bulk = false;
  // Asks for gzip; OnChunk hears what was in it.
  bool compressed = false;
};

struct ResponseHead {
  int status = 0;
  Headers headers;
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
};

// Called on the loop that the client was made for: OnHead once, OnChunk any number of times, OnEnd once and last.
class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;
  virtual void OnHead(const ResponseHead& head) = 0;
  virtual void OnChunk(std::string_view data) = 0;
  // OK: the body ended as HTTP says it should. UNAVAILABLE: surely not sent (could not connect, or not by `send_by`).
  // UNKNOWN: the connection broke after the request went out. DEADLINE_EXCEEDED: one of the two timeouts.
  virtual void OnEnd(const absl::Status& status) = 0;
};

// Destroying it cancels the exchange: the observer hears nothing after that. Destroy it on the loop.
class Call {
 public:
  virtual ~Call() = default;
};

class Client {
 public:
  virtual ~Client() = default;
  // `observer` outlives the returned call. Never calls the observer before it returns.
  virtual std::unique_ptr<Call> Start(Request request, ResponseObserver& observer) = 0;
};

// Collects a whole body. Destroying the returned call cancels; `done` then is not called.
using FetchDone = std::function<void(absl::StatusOr<Response>)>;
std::unique_ptr<Call> Fetch(Client& client, Request request, FetchDone done, size_t max_body = 1ULL << 30);

// ---- server side ----

// Answers one request. Head first, then any number of chunks, then End. May be kept and used later (a watch).
// Dropping it without End breaks the connection. All methods on the handler's loop.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  virtual void Head(int status, const Headers& headers) = 0;
  virtual void Chunk(std::string_view data) = 0;
  virtual void End() = 0;
  // True once the peer has gone; what is written then is dropped.
  virtual bool closed() const = 0;
  // `on_close` runs on the handler's loop when the peer goes before End.
  virtual void OnClose(std::function<void()> on_close) = 0;
  // Bytes accepted but not yet taken by the peer: a watch to a peer that does not read is cut off by the handler.
  virtual size_t buffered() const = 0;

  void Whole(int status, Headers headers, std::string_view body) {
    Head(status, headers);
    if (!body.empty()) Chunk(body);
    End();
  }
};

class Handler {
 public:
  virtual ~Handler() = default;
  virtual void Handle(const Request& request, std::shared_ptr<ResponseWriter> writer) = 0;
};

}  // namespace basalt::http
