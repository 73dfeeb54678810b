// Target: bytes that a client sends to our HTTP server, with kubesim behind it. The one connection lies in memory, and
// reads return pieces that end anywhere.
#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/http/server/beast_session.h"
#include "common/obs/log.h"
#include "common/time/sim_time.h"
#include "kubesim/server/api_server.h"
#include "tests/fuzz/input.h"

namespace basalt::http {
namespace {

namespace asio = internal::asio;
using fuzz::Require;
using internal::ErrorCode;
using internal::tcp;

// The two directions of a connection.
struct Wire {
  std::string_view in;
  size_t chunk = 1;
  std::string out;
};

// The session takes this for a stream with TLS. Its handshake always succeeds, and the socket below is never open.
class Pipe {
 public:
  using executor_type = asio::any_io_executor;

  Pipe(asio::io_context& context, Wire& wire) : socket_(context), wire_(&wire) {}
  executor_type get_executor() { return socket_.get_executor(); }
  tcp::socket& next_layer() { return socket_; }

  template <typename Handler>
  void async_handshake(asio::ssl::stream_base::handshake_type, Handler handler) {
    Complete(std::move(handler), ErrorCode());
  }
  template <typename Handler>
  void async_shutdown(Handler handler) {
    Complete(std::move(handler), ErrorCode());
  }
  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler handler) {
    const size_t bytes =
        asio::buffer_copy(buffers, asio::buffer(wire_->in.data(), std::min(wire_->chunk, wire_->in.size())));
    wire_->in.remove_prefix(bytes);
    Complete(std::move(handler), bytes > 0 ? ErrorCode() : ErrorCode(asio::error::eof), bytes);
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler handler) {
    const size_t bytes = asio::buffer_size(buffers);
    const size_t before = wire_->out.size();
    wire_->out.resize(before + bytes);
    asio::buffer_copy(asio::buffer(wire_->out.data() + before, bytes), buffers);
    Complete(std::move(handler), ErrorCode(), bytes);
  }

 private:
  template <typename Handler, typename... Results>
  void Complete(Handler handler, Results... results) {
    asio::post(get_executor(), [handler = std::move(handler), results...]() mutable { handler(results...); });
  }

  tcp::socket socket_;
  Wire* wire_;
};

void Serve(std::string_view bytes) {
  SimTime time;
  SimLoop loop(time, "kubesim");
  SeededRandom random(1);
  kubesim::ApiServer api(loop, random, {.managed_fields = bytes.size() % 2 == 0});
  asio::io_context context;
  const auto shared = std::make_shared<internal::Shared>(loop, api, /*max_body=*/64 << 10);
  Wire wire{.in = bytes, .chunk = 1 + bytes.size() % 97};
  std::make_shared<internal::Session<Pipe>>(shared, Pipe(context, wire))->Start();
  do {
    context.restart();
    time.RunDueTasks();
  } while (context.poll() > 0);
  for (size_t at = wire.out.find("HTTP/1.1 "); at != std::string::npos; at = wire.out.find("HTTP/1.1 ", at + 1)) {
    fuzz::CountRun();
  }
  Require(wire.out.empty() || wire.out.starts_with("HTTP/1.1 "), "an answer begins with its status");
  MutexLock lock(shared->mutex);
  Require(shared->sessions.empty(), "a connection ends with its client");
}

}  // namespace
}  // namespace basalt::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  basalt::obs::SetLogLevel(basalt::obs::Level::kNothing);
  basalt::http::Serve(basalt::fuzz::TextOf(data, size));
  return 0;
}
