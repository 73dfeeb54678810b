#include "gateway/main/process.h"

#include <fmt/format.h>

#include <future>
#include <utility>

#include "common/base/host_port.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/exec/process_clock.h"
#include "common/exec/run_on.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/certificate_watch.h"
#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/gateway/gateway_service.h"
#include "common/rpc/grpc/gateway/user_service.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/users.h"
#include "common/rpc/http_status.h"
#include "gateway/users/token_issuer.h"

namespace basalt::gateway {
namespace {

constexpr absl::Duration kHealthPeriod = absl::Milliseconds(100);

class RunningProcess : public Process {
 public:
  explicit RunningProcess(absl::Duration drain)
      : drain_(drain), metrics_(obs::MakeMetrics()), loop_(MakeThreadLoop("gateway")), health_(loop_.get()) {}

  ~RunningProcess() override {
    // The timer uses the server, which is destroyed first.
    RunOn(*loop_, [this] { loop_->Cancel(health_timer_); });
    if (server_) {
      server_->SetServing(false);
      server_->Drain(drain_);
      server_.reset();
    }
    certificate_watch_.reset();
    GiveLeadBack();
    status_.reset();
    RunOn(*loop_, [this] {
      issuer_.reset();
      gateway_.reset();
      client_.reset();
    });
  }

  absl::Status Start(ProcessOptions options, const MakeClient& make_client) {
    const std::string version = options.gateway.hub.version;
    metrics_
        ->GetGauge("basalt_process_info", "Which cluster, replica and release this process is of; always 1.",
                   {{"cluster", options.gateway.hub.cluster},
                    {"process", "gateway"},
                    {"replica", options.gateway.hub.replica},
                    {"version", version}})
        .Set(1);
    options.gateway.on_fatal = [this](const absl::Status& why) {
      MutexLock lock(mutex_);
      failure_ = why;
    };
    RunOn(*loop_, [&] {
      client_ = make_client(*loop_);
      gateway_ = std::make_unique<Gateway>(*loop_, *client_, random_, *metrics_, health_, std::move(options.gateway));
    });
    if (!options.metrics_listen.empty()) {
      BASALT_ASSIGN_OR_RETURN(const HostPort at, ParseHostPort(options.metrics_listen, /*least_port=*/0));
      rpc::HttpStatusOptions http;
      http.server = {.address = at.host, .port = static_cast<uint16_t>(at.port), .bounds = options.metrics_bounds};
      if (options.credentials != nullptr && options.credentials->is_secure()) {
        BASALT_ASSIGN_OR_RETURN(const rpc::CheckedFiles files, rpc::CheckFiles(*options.credentials->files()));
        http.server.certificate = {.certificate_pem = files.own.certificate_pem, .key_pem = files.own.key_pem};
      }
      http.process = "gateway";
      http.version = version;
      http.metrics_token = options.metrics_token;
      BASALT_ASSIGN_OR_RETURN(status_, rpc::StartHttpStatus(*loop_, *metrics_, health_, http));
    }
    const std::shared_ptr<rpc::CallGuard> guard =
        rpc::MakeCallGuard(options.credentials, metrics_.get(), options.user_rate);
    // The watch starts before the port is open, so that no denied caller comes in.
    BASALT_ASSIGN_OR_RETURN(
        certificate_watch_,
        rpc::CertificateWatch::Start(
            *loop_, options.credentials.get(), guard, *metrics_, health_, [this](const identity::KeyPair& own) {
              if (status_ == nullptr) return absl::OkStatus();
              return status_->SetCertificate({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem});
            }));
    std::vector<std::unique_ptr<rpc::GrpcService>> services;
    const auto limiter = std::make_shared<rpc::InflightLimiter>();
    services.push_back(rpc::MakeGatewayService(*loop_, *gateway_, limiter, guard));
    if (options.user_rate.has_value()) {
      RunOn(*loop_, [&] {
        TokenIssuerOptions issuer;
        issuer.reviews.on_review = [this](const std::string& resource, const v1::KubeError* error) {
          gateway_->OnReview(resource, error);
        };
        issuer_ = std::make_unique<TokenIssuer>(*loop_, *client_, *metrics_, KeysOf(*options.credentials, guard),
                                                std::move(issuer));
      });
      services.push_back(rpc::MakeUserService(*loop_, user_handler_, limiter));
    }
    BASALT_ASSIGN_OR_RETURN(server_, rpc::GrpcServer::Start({.address = options.listen,
                                                             .max_request_bytes = rpc::kMostWriteBatchBytes,
                                                             .bounds = options.grpc_bounds,
                                                             .credentials = options.credentials,
                                                             .guard = guard},
                                                            std::move(services)));
    started_ = true;
    BASALT_ASSIGN_OR_RETURN(HostPort own, ParseHostPort(options.listen, /*least_port=*/0));
    own.port = server_->port();
    const std::string address = options.advertise.empty() ? ToText(own) : options.advertise;
    RunOn(*loop_, [&] {
      gateway_->Start(address);
      FollowHealth();
    });
    return absl::OkStatus();
  }

  int port() const override { return server_->port(); }
  int metrics_port() const override { return status_ ? status_->port() : 0; }
  const obs::Health& health() const override { return health_; }
  absl::Status failure() const override {
    MutexLock lock(mutex_);
    return failure_;
  }

 private:
  // Lives as long as the server.
  class IssuerHandler final : public rpc::UserHandler {
   public:
    explicit IssuerHandler(const std::unique_ptr<TokenIssuer>& issuer) : issuer_(issuer) {}
    void LogIn(v1::LogInRequest request, const rpc::LogInClient& client, rpc::Done<v1::LogInResponse> done) override {
      issuer_->LogIn(request, client.chain_pem, client.host, std::move(done));
    }
    void ReviewAccess(v1::ReviewAccessRequest request, rpc::Done<v1::ReviewAccessResponse> done) override {
      issuer_->ReviewAccess(request, std::move(done));
    }

   private:
    const std::unique_ptr<TokenIssuer>& issuer_;
  };

  static UserKeys KeysOf(const rpc::Credentials& credentials, const std::shared_ptr<rpc::CallGuard>& guard) {
    const std::shared_ptr<rpc::Users> users = guard->users();
    UserKeys keys;
    keys.cluster = credentials.rules()->cluster();
    keys.verify = [users](std::string_view token) { return users->Verify(token); };
    keys.check_certificate = [users](std::string_view chain) { return users->CheckUserCertificate(chain); };
    keys.is_denied = [users](std::string_view user) { return users->IsDenied(user); };
    keys.sign = [users](const v1::UserClaims& claims) { return identity::SignUserToken(claims, users->own()); };
    keys.allow = [users](const std::string& whose) { return users->AllowCall(whose, ProcessNow()); };
    keys.now = [] { return rpc::Users::Now(); };
    keys.set_authorities = [users](std::shared_ptr<const identity::Authorities> authorities) {
      users->SetKubernetes(std::move(authorities));
    };
    return keys;
  }

  void FollowHealth() {
    const bool ready = health_.IsReady();
    if (ready != serving_) server_->SetServing(ready);
    serving_ = ready;
    health_timer_ = loop_->RunAfter(kHealthPeriod, [this] { FollowHealth(); });
  }

  void GiveLeadBack() {
    if (!started_) return;
    std::promise<void> given_back;
    loop_->Post([&] { gateway_->Stop([&] { given_back.set_value(); }); });
    given_back.get_future().wait();
  }

  const absl::Duration drain_;
  SystemRandom random_;
  std::unique_ptr<obs::Metrics> metrics_;
  std::unique_ptr<Loop> loop_;
  obs::Health health_;
  std::unique_ptr<http::Client> client_;  // The client, the gateway and the issuer live on the loop.
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<TokenIssuer> issuer_;  // Null if users of Kubernetes do not call.
  IssuerHandler user_handler_{issuer_};
  std::unique_ptr<http::PageServer> status_;
  std::unique_ptr<rpc::GrpcServer> server_;
  std::unique_ptr<rpc::CertificateWatch> certificate_watch_;
  bool started_ = false;
  bool serving_ = false;
  TimerId health_timer_ = kNoTimer;
  mutable Mutex mutex_;
  absl::Status failure_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Start(ProcessOptions options, MakeClient make_client) {
  auto process = std::make_unique<RunningProcess>(options.drain);
  BASALT_RETURN_IF_ERROR(process->Start(std::move(options), make_client));
  return std::unique_ptr<Process>(std::move(process));
}

}  // namespace basalt::gateway
