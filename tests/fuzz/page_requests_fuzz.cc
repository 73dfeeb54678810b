// Target: bytes that a client sends over loopback to the port of pages that every process has. Whatever the bytes are,
// the next client is answered.
#include <memory>
#include <string>
#include <string_view>

#include "common/exec/loop.h"
#include "common/http/testing/raw_connection.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/http_status.h"
#include "tests/fuzz/input.h"

namespace basalt {
namespace {

using fuzz::Require;

struct Process {
  Process() {
    auto started = rpc::StartHttpStatus(*loop, *metrics, health, {.server = {}, .process = "p", .version = "1"});
    Require(started.ok(), "a port is free");
    pages = *std::move(started);
  }
  const std::unique_ptr<Loop> loop = MakeThreadLoop("pages");
  const std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  obs::Health health;
  std::unique_ptr<http::PageServer> pages;
};

// Returns the port's answer until the port closes the connection. A client whose request has no end gives up.
std::string AnswerTo(std::string_view bytes, uint16_t port, timeval patience) {
  http::testing::RawConnection client(port, patience);
  // The reset frees the client's port at once. So many clients would else use up the host's ports, each of which is
  // kept for a minute after an ordinary end.
  client.EndWithReset();
  client.Send(bytes);
  return client.ReadToEnd();
}

}  // namespace
}  // namespace basalt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  constexpr std::string_view kLast = "GET /healthz HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n";
  static Process process;
  const std::string bytes = std::string(fuzz::TextOf(data, size)) + "\r\n\r\n" + std::string(kLast);
  const std::string answer = AnswerTo(bytes, process.pages->port(), {.tv_sec = 0, .tv_usec = 50'000});
  Require(answer.empty() || answer == "timed out" || answer.starts_with("HTTP/1."), "an answer begins with its status");
  const std::string next = AnswerTo(kLast, process.pages->port(), {.tv_sec = 5, .tv_usec = 0});
  Require(next.starts_with("HTTP/1.1 200"), "the next client is answered");
  return 0;
}
