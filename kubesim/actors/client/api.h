#pragma once

// Requests of an actor to the API server, with JSON bodies. A limited number is in flight, and a request is repeated if
// repeating helps. Confined to one loop. The destructor cancels all requests: no callback comes after that.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/base/json.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::actors {

struct ApiOptions {
  size_t max_in_flight = 64;
  std::string user_agent = "kubesim-actor";
  absl::Duration timeout = absl::Seconds(30);
  absl::Duration least_back_off = absl::Milliseconds(100);
  absl::Duration most_back_off = absl::Seconds(10);
};

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kMergePatchType = "application/merge-patch+json";
inline constexpr std::string_view kStrategicPatchType = "application/strategic-merge-patch+json";

struct ApiRequest {
  std::string method = "GET";
  std::string target;
  std::string body;  // JSON text.
  std::string_view content_type = kJsonType;
  // Repeat the request after a 409, which for an idempotent patch without a resourceVersion means "try again", not
  // "your copy is old".
  bool retry_conflict = false;
};

// An answer that repeating does not change: 2xx, 404, 409, 422 …
struct ApiAnswer {
  int status = 0;
  json::value body;  // Null if the body is no JSON.
  bool ok() const { return status >= 200 && status < 300; }
};

class Api {
 public:
  using Done = std::function<void(const ApiAnswer&)>;

  // `loop`, `client` and `random` outlive this object.
  Api(Loop& loop, http::Client& client, Random& random, ApiOptions options = {});
  ~Api();

  // Sends a request. It is repeated with back-off (or after Retry-After) on 429, 5xx, a broken connection and a
  // timeout, until there is an answer. So the request must be one that may be sent twice. `done` may start further
  // requests.
  void Do(ApiRequest request, Done done);

  size_t in_flight() const { return running_.size(); }
  size_t queued() const { return queue_.size(); }
  Loop& loop() { return loop_; }
  Random& random() { return random_; }

 private:
  struct Work {
    ApiRequest request;
    Done done;
    int attempt = 0;
    std::unique_ptr<http::Call> call;
    TimerId timer = kNoTimer;
  };

  void Pump();
  void Send(uint64_t id);
  void Answered(uint64_t id, absl::StatusOr<http::Response> response);
  void Repeat(uint64_t id, absl::Duration at_least);

  Loop& loop_;
  http::Client& client_;
  Random& random_;
  const ApiOptions options_;
  uint64_t next_id_ = 1;
  std::deque<std::unique_ptr<Work>> queue_;
  std::map<uint64_t, std::unique_ptr<Work>> running_;
};

}  // namespace basalt::actors
