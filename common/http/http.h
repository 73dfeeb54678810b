#pragma once

// HTTP as the gateway, kubesim and its actors use it: a request, and a response that comes in chunks. This interface is
// the seam of the deterministic simulation: below it are sockets (curl, Beast) or a queue of tasks; all code above is
// the same.
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

// Returns the value of the first header of that name, compared without case. Empty if the header is absent.
std::string_view FindHeader(const Headers& headers, std::string_view name);

struct Request {
  std::string method = "GET";
  std::string target;  // The path and query, escaped: /api/v1/pods?watch=true
  Headers headers;
  std::string body;
  absl::Duration timeout = absl::Seconds(30);              // Limits the whole exchange. Infinite for watches.
  absl::Duration idle_timeout = absl::InfiniteDuration();  // Limits the time between two chunks.
  // By the clock of the client's loop, no part of the request goes out at this time or later. A request that has not
  // gone out completely by then ends as UNAVAILABLE with Failure::kLate; the server has not carried it out.
  absl::Time send_by = absl::InfiniteFuture();
  // True for lists and watches. They have their own connections, so that no large answer delays a short request.
  bool bulk = false;
  // Requests gzip from the server; OnChunk gets the decompressed bytes.
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

// Gets the response, on the loop that the client was made for: OnHead once, OnChunk any number of times, OnEnd once and
// last.
class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;
  virtual void OnHead(const ResponseHead& head) = 0;
  virtual void OnChunk(std::string_view data) = 0;
  // OK: the body ended as HTTP requires. UNAVAILABLE: the request surely was not sent (no connection, or not in time
  // for `send_by`). UNKNOWN: the connection broke after the request went out. DEADLINE_EXCEEDED: one of the two
  // timeouts has passed.
  virtual void OnEnd(const absl::Status& status) = 0;
};

// An exchange under way. Its destruction, on the loop, cancels the exchange: the observer is not called any more.
class Call {
 public:
  virtual ~Call() = default;
};

class Client {
 public:
  virtual ~Client() = default;
  // `observer` must outlive the returned call. It is not called before Start returns.
  virtual std::unique_ptr<Call> Start(Request request, ResponseObserver& observer) = 0;
};

// Collects a whole body. The destruction of the returned call cancels the exchange; `done` is not called then.
using FetchDone = std::function<void(absl::StatusOr<Response>)>;
std::unique_ptr<Call> Fetch(Client& client, Request request, FetchDone done, size_t max_body = 1ULL << 30);

// ---- server side ----

// Answers one request: Head first, then any number of chunks, then End. May be kept and used later (a watch). Its
// destruction without End breaks the connection. All methods run on the handler's loop.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  virtual void Head(int status, const Headers& headers) = 0;
  virtual void Chunk(std::string_view data) = 0;
  virtual void End() = 0;
  // Returns true once the peer has gone. Later writes are dropped.
  virtual bool closed() const = 0;
  // `on_close` runs on the handler's loop when the peer goes before End.
  virtual void OnClose(std::function<void()> on_close) = 0;
  // Returns the number of written bytes that have not gone out yet. A handler cuts off a watch whose peer does not
  // read.
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
