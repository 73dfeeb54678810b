#pragma once

// Requests of an actor to the API server: JSON in, JSON out, bounded in flight, repeated where repeating helps.
// Confined to one loop. Destroying it cancels everything: no callback comes after that.
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
  // A 409 means "try again" (an idempotent patch without a resourceVersion), not "your copy is old".
  bool retry_conflict = false;
};

// Any answer that repeating does not change: 2xx, 404, 409, 422 … `body` is null where it was not JSON.
struct ApiAnswer {
  int status = 0;
  json::value body;
  bool ok() const { return status >= 200 && status < 300; }
};

class Api {
 public:
  using Done = std::function<void(const ApiAnswer&)>;

  // All three outlive it.
  Api(Loop& loop, http::Client& client, Random& random, ApiOptions options = {});
  ~Api();

  // Repeats with back-off (or after Retry-After) on 429, 5xx, a broken connection and a timeout, until there is an
  // answer: callers send only what may be sent twice. `done` may start further requests.
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
