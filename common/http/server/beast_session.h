#pragma once

// One connection of the HTTP server. Internal to the server: only beast_server.cc includes this header.
#include <fmt/format.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/http/server/server_writer.h"

namespace basalt::http::internal {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

inline constexpr size_t kReadBytes = 16 << 10;
inline constexpr uint32_t kMaxHeaderBytes = 64 << 10;
// Limits the bytes that a peer may send ahead while its request is being answered.
inline constexpr size_t kMaxAhead = 64 << 10;
// Limits the bytes that are read and thrown away after a refused body, so that the peer gets to read the answer.
inline constexpr size_t kMaxDiscard = 64 << 20;
inline constexpr auto kDiscardTime = std::chrono::seconds(2);

inline std::string_view ReasonOf(int status) {
  const beast::string_view text = beast::http::obsolete_reason(beast::http::int_to_status(status));
  return {text.data(), text.size()};
}

// The state that the connections of one server share.
struct Shared {
  Shared(Loop& loop_in, Handler& handler_in, size_t max_body_in)
      : loop(loop_in), handler(handler_in), max_body(max_body_in) {}
  Loop& loop;
  Handler& handler;
  const size_t max_body;
  std::atomic<bool> stopped{false};
  Mutex mutex;
  std::map<SessionBase*, std::weak_ptr<SessionBase>> sessions BASALT_GUARDED_BY(mutex);
};

// One connection. Everything runs on its strand. Reading goes on while an answer is under way, so that the server
// notices when a peer leaves a quiet watch.
template <typename Stream>
class Session final : public SessionBase {
 public:
  Session(std::shared_ptr<Shared> shared, Stream stream)
      : shared_(std::move(shared)), stream_(std::move(stream)), discard_timer_(stream_.get_executor()) {}

  void Start() {
    {
      MutexLock lock(shared_->mutex);
      shared_->sessions.emplace(this, weak_from_this());
    }
    asio::dispatch(stream_.get_executor(), [self = Self()] { self->Handshake(); });
  }

  void FlushSoon() override {
    asio::post(stream_.get_executor(), [self = Self()] { self->Flush(); });
  }
  void StopSoon() override {
    asio::post(stream_.get_executor(), [self = Self()] { self->Close(); });
  }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, tcp::socket>;
  using Parser = beast::http::request_parser<beast::http::string_body>;

  std::shared_ptr<Session> Self() { return std::static_pointer_cast<Session>(this->shared_from_this()); }

  tcp::socket& Socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  void Handshake() {
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, [self = Self()](ErrorCode error) {
        if (error) return self->Close();
        self->NextRequest();
        self->Read();
      });
    } else {
      NextRequest();
      Read();
    }
  }

  void NextRequest() {
    parser_.emplace();
    parser_->eager(true);
    parser_->body_limit(shared_->max_body);
    parser_->header_limit(kMaxHeaderBytes);
    continued_ = false;
  }

  void Read() {
    if (reading_ || closed_) return;
    reading_ = true;
    stream_.async_read_some(buffer_.prepare(kReadBytes), [self = Self()](ErrorCode error, size_t bytes) {
      self->reading_ = false;
      if (self->closed_) return;
      if (error) return self->Close();
      self->buffer_.commit(bytes);
      self->Take();
    });
  }

  // Feeds the bytes that were read to the parser, unless an answer is under way.
  void Take() {
    if (discarding_) {
      discarded_ += buffer_.size();
      buffer_.consume(buffer_.size());
      if (discarded_ > kMaxDiscard) return Close();
      return Read();
    }
    if (exchange_ == nullptr) {
      while (buffer_.size() > 0 && !parser_->is_done()) {
        ErrorCode error;
        const size_t used = parser_->put(buffer_.data(), error);
        buffer_.consume(used);
        if (error == beast::http::error::need_more) break;
        if (error) return Refuse(error);
        if (used == 0) break;
      }
      if (!parser_->is_done() && parser_->is_header_done() && !continued_ &&
          beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) {
        continued_ = true;
        extra_ = "HTTP/1.1 100 Continue\r\n\r\n";
        Flush();
      }
      if (parser_->is_done()) Dispatch();
    }
    if (exchange_ == nullptr || buffer_.size() < kMaxAhead) Read();
  }

  void Refuse(ErrorCode error) {
    const bool too_large = error == beast::http::error::body_limit || error == beast::http::error::buffer_overflow;
    const int status = error == beast::http::error::header_limit ? 431 : too_large ? 413 : 400;
    const std::string text = status == 413
                                 ? fmt::format("the request body is larger than {} bytes\n", shared_->max_body)
                                 : fmt::format("bad request: {}\n", error.message());
    extra_ =
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                    status, ReasonOf(status), text.size(), text);
    discarding_ = true;
    discard_timer_.expires_after(kDiscardTime);
    discard_timer_.async_wait([self = Self()](ErrorCode cancelled) {
      if (!cancelled) self->Close();
    });
    Flush();
    buffer_.consume(buffer_.size());
    Read();
  }

  void Dispatch() {
    auto message = parser_->release();
    const auto text = [](beast::string_view view) { return std::string(view.data(), view.size()); };
    Request request;
    request.method = text(message.method_string());
    request.target = text(message.target());
    for (const auto& field : message) request.headers.emplace_back(text(field.name_string()), text(field.value()));
    request.body = std::move(message.body());
    keep_alive_ = message.keep_alive();
    chunked_allowed_ = message.version() >= 11;
    is_head_ = request.method == "HEAD";
    head_sent_ = false;
    chunked_ = false;

    exchange_ = std::make_shared<Exchange>();
    {
      MutexLock lock(exchange_->mutex);
      exchange_->session = this;
    }
    shared_->loop.Post([shared = shared_, exchange = exchange_, request = std::move(request)] {
      auto writer = std::make_shared<ServerWriter>(shared->loop, exchange);
      if (!shared->stopped) shared->handler.Handle(request, std::move(writer));
    });
  }

  // Writes the bytes that wait, one write at a time.
  void Flush() {
    if (writing_ || closed_) return;
    write_.clear();
    writing_body_ = 0;
    bool finished = false;
    bool broken = false;
    write_.swap(extra_);
    if (exchange_ != nullptr) {
      MutexLock lock(exchange_->mutex);
      broken = exchange_->broken;
      finished = exchange_->ended;
      if (exchange_->has_head) Serialise(*exchange_);
    }
    if (write_.empty()) {
      if (broken) return Close();
      if (finished) FinishAnswer();
      return;
    }
    writing_ = true;
    asio::async_write(stream_, asio::buffer(write_), [self = Self(), finished](ErrorCode error, size_t) {
      self->writing_ = false;
      if (self->closed_) return;
      if (error) return self->Close();
      if (self->exchange_ != nullptr) self->exchange_->buffered -= self->writing_body_;
      if (self->discarding_) self->Socket().shutdown(tcp::socket::shutdown_send, error);
      if (finished) {
        self->FinishAnswer();
      } else {
        self->Flush();
      }
    });
  }

  void Serialise(Exchange& exchange) BASALT_REQUIRES(exchange.mutex) {
    const bool no_body = is_head_ || exchange.status == 204 || exchange.status == 304;
    if (!head_sent_) {
      head_sent_ = true;
      write_ += fmt::format("HTTP/1.1 {} {}\r\n", exchange.status, ReasonOf(exchange.status));
      bool has_length = false;
      for (const auto& [name, value] : exchange.headers) {
        if (beast::iequals(name, "Content-Length")) has_length = true;
        if (beast::iequals(name, "Transfer-Encoding") || beast::iequals(name, "Connection")) continue;
        write_ += fmt::format("{}: {}\r\n", name, value);
      }
      if (!has_length && !no_body) {
        if (exchange.ended) {
          write_ += fmt::format("Content-Length: {}\r\n", exchange.out.size());
        } else if (chunked_allowed_) {
          chunked_ = true;
          write_ += "Transfer-Encoding: chunked\r\n";
        } else {
          keep_alive_ = false;  // With HTTP/1.0 the body ends with the connection.
        }
      }
      if (!keep_alive_) {
        write_ += "Connection: close\r\n";
      } else if (!chunked_allowed_) {
        write_ += "Connection: keep-alive\r\n";
      }
      write_ += "\r\n";
    }
    writing_body_ = exchange.out.size();
    if (!no_body && !exchange.out.empty()) {
      if (chunked_) {
        write_ += fmt::format("{:x}\r\n", exchange.out.size());
        write_ += exchange.out;
        write_ += "\r\n";
      } else if (write_.empty()) {
        write_.swap(exchange.out);
      } else {
        write_ += exchange.out;
      }
    }
    exchange.out.clear();
    if (exchange.ended && chunked_) write_ += "0\r\n\r\n";
  }

  void FinishAnswer() {
    {
      MutexLock lock(exchange_->mutex);
      exchange_->session = nullptr;
    }
    exchange_ = nullptr;
    if (!keep_alive_) return ShutDown();
    NextRequest();
    Take();
  }

  void ShutDown() {
    ErrorCode ignored;
    if constexpr (kTls) {
      closed_ = true;
      stream_.async_shutdown([self = Self()](ErrorCode) {
        self->closed_ = false;
        self->Close();
      });
    } else {
      Socket().shutdown(tcp::socket::shutdown_send, ignored);
      Close();
    }
  }

  void Close() {
    if (std::exchange(closed_, true)) return;
    {
      MutexLock lock(shared_->mutex);
      shared_->sessions.erase(this);
    }
    discard_timer_.cancel();
    ErrorCode ignored;
    Socket().close(ignored);
    if (exchange_ == nullptr) return;
    {
      MutexLock lock(exchange_->mutex);
      exchange_->session = nullptr;
    }
    exchange_->closed = true;
    shared_->loop.Post([exchange = std::move(exchange_)] {
      const std::function<void()> on_close = std::exchange(exchange->on_close, nullptr);
      if (on_close != nullptr) on_close();
    });
    exchange_ = nullptr;
  }

  const std::shared_ptr<Shared> shared_;
  Stream stream_;
  asio::steady_timer discard_timer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  bool reading_ = false;
  bool closed_ = false;
  bool continued_ = false;
  bool discarding_ = false;
  size_t discarded_ = 0;

  // The request that is being answered.
  std::shared_ptr<Exchange> exchange_;
  bool keep_alive_ = true;
  bool chunked_allowed_ = true;
  bool is_head_ = false;
  bool head_sent_ = false;
  bool chunked_ = false;

  bool writing_ = false;
  size_t writing_body_ = 0;
  std::string write_;
  std::string extra_;  // Goes out before the answer.
};

}  // namespace basalt::http::internal
