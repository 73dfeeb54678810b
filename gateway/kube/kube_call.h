#pragma once

// One read or write of a single object whose outcome is to be known: was it carried out, surely not, or nobody knows.
// Confined to the client's loop.
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
    kDone,     // 2xx; `body`.
    kRefused,  // Surely not carried out; `error` says why.
    kUnsent,   // Surely not carried out: no connection, or told to come again.
    kUnknown,  // It may have been, or may still be.
  };
  Outcome outcome = Outcome::kUnknown;
  std::string body;
  v1::KubeError error;        // Code 0 where the server said nothing.
  std::string why;            // Of everything but kDone, for people.
  absl::Duration come_again;  // How long the server wants us to wait; mostly zero.
};

struct KubeCall {
  std::string method = "GET";
  std::string target;  // Without a query.
  std::string body;
  std::string user_agent;
  // Of a write the server is told the same, less a moment: it gives up before we do.
  absl::Duration timeout;
};

// Destroying the returned call cancels it: `done` is then not called, and what became of a write is unknown.
std::unique_ptr<http::Call> StartKubeCall(http::Client& client, KubeCall call, std::function<void(KubeAnswer)> done);

}  // namespace basalt::gateway
