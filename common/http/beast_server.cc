#include "common/http/beast_server.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace basalt::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr size_t kReadBytes = 16 << 10;
constexpr uint32_t kMaxHeaderBytes = 64 << 10;
// What a peer may send ahead while its request is being answered.
constexpr size_t kMaxAhead = 64 << 10;
// After a refused body: what is still read and thrown away, so that the peer gets to read the answer.
constexpr size_t kMaxDiscard = 64 << 20;
constexpr auto kDiscardTime = std::chrono::seconds(2);

std::string_view ReasonOf(int status) {
  const beast::string_view text = beast::http::obsolete_reason(beast::http::int_to_status(status));
  return {text.data(), text.size()};
}

class SessionBase : public std::enable_shared_from_this<SessionBase> {
 public:
  virtual ~SessionBase() = default;
  virtual void FlushSoon() = 0;  // From any thread.
  virtual void StopSoon() = 0;   // From any thread.
};

// One answer: the handler's loop fills it, the session empties it.
struct Exchange {
  Mutex mutex;
  // Null once the connection is gone: nothing is posted to the session's executor after that.
  SessionBase* session BASALT_GUARDED_BY(mutex) = nullptr;
  std::string out BASALT_GUARDED_BY(mutex);
  bool has_head BASALT_GUARDED_BY(mutex) = false;
  int status BASALT_GUARDED_BY(mutex) = 0;
  Headers headers BASALT_GUARDED_BY(mutex);
  bool ended BASALT_GUARDED_BY(mutex) = false;
  bool broken BASALT_GUARDED_BY(mutex) = false;  // The handler dropped its writer.
  std::atomic<bool> closed{false};
  std::atomic<size_t> buffered{0};

  std::function<void()> on_close;  // The handler's loop's.
};

class Writer final : public ResponseWriter {
 public:
  Writer(Loop& loop, std::shared_ptr<Exchange> exchange) : loop_(loop), exchange_(std::move(exchange)) {}
  // A dropped writer breaks the connection, after what was written has gone out.
  ~Writer() override {
    if (ended_) return;
    MutexLock lock(exchange_->mutex);
    exchange_->broken = true;
    if (exchange_->session != nullptr) exchange_->session->FlushSoon();
  }

  void Head(int status, const Headers& headers) override {
    {
      MutexLock lock(exchange_->mutex);
      exchange_->has_head = true;
      exchange_->status = status;
      exchange_->headers = headers;
    }
    FlushLater();
  }

  void Chunk(std::string_view data) override {
    if (closed() || data.empty()) return;
    exchange_->buffered += data.size();
    {
      MutexLock lock(exchange_->mutex);
      exchange_->out.append(data);
    }
    FlushLater();
  }

  void End() override {
    if (std::exchange(ended_, true)) return;
    exchange_->on_close = nullptr;
    MutexLock lock(exchange_->mutex);
    exchange_->ended = true;
    if (exchange_->session != nullptr) exchange_->session->FlushSoon();
  }

  bool closed() const override { return ended_ || exchange_->closed; }
  void OnClose(std::function<void()> on_close) override {
    if (!ended_) exchange_->on_close = std::move(on_close);
  }
  size_t buffered() const override { return exchange_->buffered; }

 private:
  // After the running task: an answer made in one go is then one write with a Content-Length, and the events of one
  // task are one chunk.
  void FlushLater() {
    if (std::exchange(flush_posted_, true)) return;
    loop_.Post([exchange = exchange_, posted = posted_] {
      *posted = false;
      MutexLock lock(exchange->mutex);
      if (!exchange->ended && exchange->session != nullptr) exchange->session->FlushSoon();
    });
  }

  Loop& loop_;
  const std::shared_ptr<Exchange> exchange_;
  bool ended_ = false;
  const std::shared_ptr<bool> posted_ = std::make_shared<bool>(false);
  bool& flush_posted_ = *posted_;
};

class ServerImpl;

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

// One connection; everything runs on its strand. Reading goes on while an answer is under way: that is how a peer that
// goes away from a quiet watch is noticed.
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

  // Feeds what was read to the parser, unless an answer is under way.
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
      auto writer = std::make_shared<Writer>(shared->loop, exchange);
      if (!shared->stopped) shared->handler.Handle(request, std::move(writer));
    });
  }

  // Writes what there is, one write at a time.
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
          keep_alive_ = false;  // HTTP/1.0: the body ends with the connection.
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

class ServerImpl final : public Server {
 public:
  ServerImpl(Loop& loop, Handler& handler, const ServerOptions& options)
      : shared_(std::make_shared<Shared>(loop, handler, options.max_body)), acceptor_(asio::make_strand(context_)) {}

  absl::Status Listen(const ServerOptions& options) {
    ErrorCode error;
    const asio::ip::address address = asio::ip::make_address(options.address, error);
    if (error) {
      return MakeStatus(absl::StatusCode::kInvalidArgument, fmt::format("'{}' is not an IP address", options.address));
    }
    if (!options.tls_cert_file.empty()) {
      tls_.emplace(asio::ssl::context::tls_server);
      tls_->use_certificate_chain_file(options.tls_cert_file, error);
      if (!error) tls_->use_private_key_file(options.tls_key_file, asio::ssl::context::pem, error);
      if (error) {
        return MakeStatus(
            absl::StatusCode::kInvalidArgument,
            fmt::format("cannot use {} and {}: {}", options.tls_cert_file, options.tls_key_file, error.message()));
      }
    }
    const tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    if (error) {
      return MakeStatus(absl::StatusCode::kUnavailable,
                        fmt::format("cannot listen on {}:{}: {}", options.address, options.port, error.message()));
    }
    port_ = acceptor_.local_endpoint(error).port();
    Accept();
    for (int i = 0; i < std::max(1, options.threads); ++i) {
      threads_.push_back(MakeThreadLoop(fmt::format("http-{}", i)));
      threads_.back()->Post([this] { context_.run(); });
    }
    return absl::OkStatus();
  }

  ~ServerImpl() override {
    shared_->stopped = true;
    asio::post(acceptor_.get_executor(), [this] {
      ErrorCode ignored;
      acceptor_.close(ignored);
      for (const auto& session : Sessions()) session->StopSoon();
    });
    work_.reset();
    threads_.clear();  // Joins: the context runs until every session has closed.
  }

  uint16_t port() const override { return port_; }
  size_t connections() const override {
    MutexLock lock(shared_->mutex);
    return shared_->sessions.size();
  }

 private:
  std::vector<std::shared_ptr<SessionBase>> Sessions() {
    std::vector<std::shared_ptr<SessionBase>> all;
    MutexLock lock(shared_->mutex);
    for (const auto& [raw, weak] : shared_->sessions) {
      if (auto session = weak.lock()) all.push_back(std::move(session));
    }
    return all;
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](ErrorCode error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (!error) {
        ErrorCode ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        if (tls_.has_value()) {
          using Tls = asio::ssl::stream<tcp::socket>;
          std::make_shared<Session<Tls>>(shared_, Tls(std::move(socket), *tls_))->Start();
        } else {
          std::make_shared<Session<tcp::socket>>(shared_, std::move(socket))->Start();
        }
        return Accept();
      }
      // Out of descriptors, or the peer has gone already: not a reason to spin.
      retry_.expires_after(std::chrono::milliseconds(50));
      retry_.async_wait([this](ErrorCode) {
        if (acceptor_.is_open()) Accept();
      });
    });
  }

  asio::io_context context_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{context_.get_executor()};
  const std::shared_ptr<Shared> shared_;
  std::optional<asio::ssl::context> tls_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_{acceptor_.get_executor()};
  uint16_t port_ = 0;
  std::vector<std::unique_ptr<Loop>> threads_;  // Last: they run the context.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> StartServer(Loop& handler_loop, Handler& handler, ServerOptions options) {
  auto server = std::make_unique<ServerImpl>(handler_loop, handler, options);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace basalt::http
