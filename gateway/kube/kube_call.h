#pragma once

// One read or write of a single object whose outcome must be known: it was carried out, was surely not, or nobody
// knows. Confined to the client's loop.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/http/http.h"

namespace basalt::gateway {

struct KubeAnswer {
  enum class Outcome {
    kDone,     // The answer is a 2xx, with `body`.
    kRefused,  // The call was surely not carried out; `error` states why.
    // The call was surely not carried out: there was no connection, or the server wants the client to come again.
    kUnsent,
    kUnknown,  // The call may have been carried out, or may still be.
  };
  Outcome outcome = Outcome::kUnknown;
  std::string body;
  v1::KubeError error;        // The code is 0 if the server did not answer.
  std::string why;            // The reason for every outcome but kDone, for people.
  absl::Duration come_again;  // How long the server wants the client to wait; mostly zero.
};

struct KubeCall {
  std::string method = "GET";
  std::string target;  // Has no query.
  std::string body;
  std::string user_agent;
  // The server of a write receives this timeout less a moment, so that it gives up before the client does.
  absl::Duration timeout;
};

// Destroying the returned call cancels it: `done` is then not called, and the outcome of a write is unknown.
std::unique_ptr<http::Call> StartKubeCall(http::Client& client, KubeCall call, std::function<void(KubeAnswer)> done);

}  // namespace basalt::gateway
