#include "common/http/server/beast_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/http/server/beast_session.h"

namespace basalt::http {
namespace {

namespace asio = internal::asio;
using internal::ErrorCode;
using internal::Session;
using internal::SessionBase;
using internal::Shared;
using internal::tcp;

class ServerImpl final : public Server {
 public:
  ServerImpl(Loop& loop, Handler& handler, const ServerOptions& options)
      : shared_(std::make_shared<Shared>(loop, handler, options.max_body)), acceptor_(asio::make_strand(context_)) {}

  absl::Status Listen(const ServerOptions& options) {
    ErrorCode error;
    const asio::ip::address address = asio::ip::make_address(options.address, error);
    if (error) {
      return Invalid(fmt::format("'{}' is not an IP address", options.address));
    }
    if (!options.tls_cert_file.empty()) {
      tls_.emplace(asio::ssl::context::tls_server);
      tls_->use_certificate_chain_file(options.tls_cert_file, error);
      if (!error) tls_->use_private_key_file(options.tls_key_file, asio::ssl::context::pem, error);
      if (!error && !options.tls_client_ca_file.empty()) {
        tls_->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
        if (!error) tls_->load_verify_file(options.tls_client_ca_file, error);
      }
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
    threads_.clear();  // Joins the threads, which run the context until every session has closed.
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
      // The process is out of descriptors, or the peer has gone already. Wait, so that the loop does not spin.
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
  std::vector<std::unique_ptr<Loop>> threads_;  // Is the last member, since the threads run the context.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> StartServer(Loop& handler_loop, Handler& handler, ServerOptions options) {
  auto server = std::make_unique<ServerImpl>(handler_loop, handler, options);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace basalt::http
