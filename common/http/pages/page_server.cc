#include "common/http/pages/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/base/freed.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::http {
namespace {

// Limits the memory of one connection for the head of a request and of its answer.
constexpr size_t kConnectionMemory = 16 << 10;

char kTlsPriorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

absl::StatusOr<Address> ParseAddress(std::string text, uint16_t port) {
  if (text == "localhost") text = "127.0.0.1";
  Address address;
  std::memset(&address, 0, sizeof(address));
  if (inet_pton(AF_INET, text.c_str(), &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(port);
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), &address.v6.sin6_addr) == 1) {
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(port);
    return address;
  }
  return Invalid(fmt::format("pages are served at localhost or at an IP address, and '{}' is neither", text));
}

using TlsCredentials = std::shared_ptr<gnutls_certificate_credentials_st>;

absl::StatusOr<TlsCredentials> MakeTlsCredentials(const PageCertificate& certificate) {
  const auto view = [](const std::string& text) {
    return gnutls_datum_t{reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
                          static_cast<unsigned>(text.size())};
  };
  const gnutls_datum_t chain = view(certificate.certificate_pem);
  const gnutls_datum_t key = view(certificate.key_pem);
  gnutls_certificate_credentials_t made = nullptr;
  int code = gnutls_certificate_allocate_credentials(&made);
  std::unique_ptr<gnutls_certificate_credentials_st, Freed<gnutls_certificate_free_credentials>> credentials(made);
  if (code >= 0) code = gnutls_certificate_set_x509_key_mem(made, &chain, &key, GNUTLS_X509_FMT_PEM);
  if (code < 0) return Invalid(fmt::format("GnuTLS cannot use the certificate: {}", gnutls_strerror(code)));
  return TlsCredentials(std::move(credentials));
}

// One request. libmicrohttpd keeps a pointer to it from its first call to its last.
struct Exchange {
  MHD_Connection* connection = nullptr;
  std::optional<Response> response;
};

// The state that the loop and the library's thread share.
struct Shared {
  explicit Shared(MakePage make) : make_page(std::move(make)) {}

  const MakePage make_page;
  Mutex mutex;
  bool stopped BASALT_GUARDED_BY(mutex) = false;
  std::set<Exchange*> waiting BASALT_GUARDED_BY(mutex);  // Are suspended in the library until their page is made.
};

void MakePageOf(Shared& shared, Exchange* exchange, const PageRequest& request) {
  MutexLock lock(shared.mutex);
  // If the server has ended meanwhile, the exchange is gone.
  if (shared.waiting.erase(exchange) == 0) return;
  exchange->response = shared.make_page(request);
  MHD_resume_connection(exchange->connection);
}

MHD_Result Send(MHD_Connection* connection, const Response& page) {
  MHD_Response* const response =
      MHD_create_response_from_buffer(page.body.size(), const_cast<char*>(page.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  for (const auto& [name, value] : page.headers) MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(page.status), response);
  MHD_destroy_response(response);
  return queued;
}

class PageServerImpl final : public PageServer {
 public:
  PageServerImpl(Loop& loop, MakePage make, const PageServerOptions& options)
      : loop_(loop), options_(options), shared_(std::make_shared<Shared>(std::move(make))) {}

  ~PageServerImpl() override {
    {
      MutexLock lock(shared_->mutex);
      shared_->stopped = true;
      for (const Exchange* exchange : shared_->waiting) MHD_resume_connection(exchange->connection);
      shared_->waiting.clear();
    }
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  absl::Status Listen() {
    BASALT_ASSIGN_OR_RETURN(const Address address, ParseAddress(options_.address, options_.port));
    std::vector<MHD_OptionItem> tls;
    if (options_.certificate.has_value()) {
      BASALT_RETURN_IF_ERROR(SetCertificate(*options_.certificate));
      // libmicrohttpd needs a certificate to start. OnConnection gives each connection the certificate in force then.
      tls.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, options_.certificate->certificate_pem.data()});
      tls.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, options_.certificate->key_pem.data()});
      tls.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, kTlsPriorities});
    }
    tls.push_back({MHD_OPTION_END, 0, nullptr});
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    // "::" means every address of either family, as for a gRPC port.
    const bool is_any = address.any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address.v6.sin6_addr);
    if (address.any.sa_family == AF_INET6) flags |= is_any ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
    if (options_.certificate.has_value()) flags |= MHD_USE_TLS;
    const auto most = static_cast<unsigned>(std::max(1, options_.bounds.max_connections));
    const auto idle = static_cast<unsigned>(std::clamp<int64_t>(
        absl::ToInt64Seconds(absl::Ceil(options_.bounds.idle_timeout, absl::Seconds(1))), 1, 86400));
    // The port is part of the address. A connection that we close counts until the library's thread has noticed the
    // end. So the library's own limit, beyond which it refuses connections, is above ours.
    daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &PageServerImpl::OnRequest, this,       //
                               MHD_OPTION_SOCK_ADDR, &address.any,                                 //
                               MHD_OPTION_CONNECTION_LIMIT, 2 * most,                              //
                               MHD_OPTION_CONNECTION_TIMEOUT, idle,                                //
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,              //
                               MHD_OPTION_NOTIFY_CONNECTION, &PageServerImpl::OnConnection, this,  //
                               MHD_OPTION_NOTIFY_COMPLETED, &PageServerImpl::OnCompleted, this,    //
                               MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) {
      return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("cannot listen on {}:{}: {}", options_.address,
                                                                    options_.port, std::strerror(errno)));
    }
    port_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
    return absl::OkStatus();
  }

  uint16_t port() const override { return port_; }

  absl::Status SetCertificate(const PageCertificate& certificate) override {
    BASALT_ASSIGN_OR_RETURN(TlsCredentials credentials, MakeTlsCredentials(certificate));
    MutexLock lock(mutex_);
    tls_.swap(credentials);
    return absl::OkStatus();
  }

 private:
  // ---- the library calls these functions, all on its one thread ----

  struct Connection {
    int socket = -1;
    bool busy = false;   // Whether a page of the connection is being made.
    TlsCredentials tls;  // The credentials of the server when the connection was opened. Null for plain HTTP.
  };
  using Connections = std::list<Connection>;

  static Connections::iterator* ContextOf(MHD_Connection* connection) {
    return static_cast<Connections::iterator*>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  }

  static void OnConnection(void* self, MHD_Connection* connection, void** context,
                           MHD_ConnectionNotificationCode code) {
    PageServerImpl& server = *static_cast<PageServerImpl*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      const int socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
      server.idle_longest_.push_back({.socket = socket, .tls = server.CurrentTls()});
      if (const TlsCredentials& tls = server.idle_longest_.back().tls; tls != nullptr) {
        const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        gnutls_credentials_set(static_cast<gnutls_session_t>(info->tls_session), GNUTLS_CRD_CERTIFICATE, tls.get());
      }
      *context = new Connections::iterator(std::prev(server.idle_longest_.end()));
      return server.CloseIdlest();
    }
    const std::unique_ptr<Connections::iterator> at(
        static_cast<Connections::iterator*>(std::exchange(*context, nullptr)));
    if (at != nullptr) server.idle_longest_.erase(*at);
  }

  TlsCredentials CurrentTls() const {
    MutexLock lock(mutex_);
    return tls_;
  }

  void CloseIdlest() {
    auto open = static_cast<int>(std::count_if(idle_longest_.begin(), idle_longest_.end(),
                                               [](const Connection& connection) { return connection.socket >= 0; }));
    for (Connection& connection : idle_longest_) {
      if (open <= options_.bounds.max_connections) return;
      if (connection.socket < 0 || connection.busy) continue;
      // The library notices the end of the connection and closes it.
      shutdown(std::exchange(connection.socket, -1), SHUT_RDWR);
      --open;
    }
  }

  void SetBusy(MHD_Connection* connection, bool busy) {
    const Connections::iterator at = *ContextOf(connection);
    at->busy = busy;
    idle_longest_.splice(idle_longest_.end(), idle_longest_, at);
  }

  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path, const char* method,
                              const char* /*version*/, const char* /*body*/, size_t* body_size, void** context) {
    PageServerImpl& server = *static_cast<PageServerImpl*>(self);
    if (*context == nullptr) {
      *context = new Exchange{.connection = connection, .response = {}};
      const std::string_view verb = method;
      if (verb == MHD_HTTP_METHOD_GET || verb == MHD_HTTP_METHOD_HEAD) return MHD_YES;
      // This answer goes out before the body has come, so the library closes the connection afterwards.
      return Send(connection, {405, {{"Content-Type", "text/plain"}, {"Allow", "GET"}}, "only GET\n"});
    }
    if (*body_size > 0) {
      *body_size = 0;
      return MHD_YES;
    }
    return server.Answer(*static_cast<Exchange*>(*context), path);
  }

  MHD_Result Answer(Exchange& exchange, const char* path) {
    if (exchange.response.has_value()) {
      SetBusy(exchange.connection, false);
      return Send(exchange.connection, *exchange.response);
    }
    const char* const authorization =
        MHD_lookup_connection_value(exchange.connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    PageRequest request{.path = path, .authorization = authorization == nullptr ? "" : authorization};
    MutexLock lock(shared_->mutex);
    if (shared_->stopped) return MHD_NO;
    SetBusy(exchange.connection, true);
    shared_->waiting.insert(&exchange);
    MHD_suspend_connection(exchange.connection);
    loop_.Post([shared = shared_, exchange = &exchange, request = std::move(request)] {
      MakePageOf(*shared, exchange, request);
    });
    return MHD_YES;
  }

  static void OnCompleted(void* /*self*/, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
    delete static_cast<Exchange*>(std::exchange(*context, nullptr));
  }

  Loop& loop_;
  PageServerOptions options_;  // The library keeps pointers to the certificate.
  const std::shared_ptr<Shared> shared_;
  Connections idle_longest_;  // The connection that has been idle for longest is first.
  mutable Mutex mutex_;
  TlsCredentials tls_ BASALT_GUARDED_BY(mutex_);  // The credentials of the next connection. Null for plain HTTP.
  MHD_Daemon* daemon_ = nullptr;
  uint16_t port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PageServer>> StartPageServer(Loop& loop, MakePage make,
                                                            const PageServerOptions& options) {
  auto server = std::make_unique<PageServerImpl>(loop, std::move(make), options);
  BASALT_RETURN_IF_ERROR(server->Listen());
  return std::unique_ptr<PageServer>(std::move(server));
}

}  // namespace basalt::http
