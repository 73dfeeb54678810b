#include "common/shell/service_process.h"

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <utility>

#include "common/base/host_port.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/discovery/gateway_names.h"
#include "common/discovery/resolver.h"
#include "common/exec/run_on.h"
#include "common/obs/log.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/certificate_watch.h"
#include "common/rpc/grpc/gateway/gateway_peer.h"
#include "common/rpc/grpc/peers/peers.h"
#include "common/rpc/grpc/peers/replica.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/user_access.h"
#include "common/rpc/http_status.h"
#include "common/shell/replica_members.h"

namespace basalt::shell {
namespace {

constexpr absl::Duration kDrain = absl::Seconds(2);
constexpr int kMostWorkers = 64;
constexpr absl::Duration kReviewTimeout = absl::Seconds(15);  // Exceeds a gateway's timeout for the API server.

class Process final : public ServiceProcess {
 public:
  explicit Process(ServiceOptions options) : options_(std::move(options)) {}

  ~Process() override {
    if (server_ != nullptr) server_->SetServing(false);
    if (replica_ != nullptr) {
      std::promise<void> stopped;
      replica_->Stop([&stopped] { stopped.set_value(); });
      stopped.get_future().wait();
    }
    if (server_ != nullptr) server_->Drain(kDrain);
    server_.reset();
    certificate_watch_.reset();
    status_.reset();
    // Posted tasks still run before the loops end. After that no task refers to the replica any more.
    worker_loops_.clear();
    // Calls that wait for a gateway end on the main loop, and are answered on the loop of calls.
    if (main_loop_ != nullptr) {
      RunOn(*main_loop_, [this] { gateway_.reset(); });
      RunOn(*main_loop_, [] {});
    }
    api_loop_.reset();
    peers_.reset();
    main_loop_.reset();
    replica_.reset();
  }

  absl::Status Open(const MakeParts& make_parts) {
    if (options_.replica.empty()) options_.replica = options_.name + "-0";
    BASALT_ASSIGN_OR_RETURN(auto gateways, discovery::ParseGatewayNames(options_.gateways));
    if (options_.workers < 1 || options_.workers > kMostWorkers) {
      return Invalid(fmt::format("--workers: {} is not between 1 and {}", options_.workers, kMostWorkers));
    }
    BASALT_RETURN_IF_ERROR(OpenStore());
    health_.AddTarget("gateway", "not attached yet");
    main_loop_ = MakeThreadLoop(options_.name);
    api_loop_ = MakeThreadLoop(options_.name + "-api");
    std::vector<Loop*> workers;
    // A single worker shares the main loop, so that each message from or to the gateway wakes one thread and not two.
    if (options_.workers == 1) {
      workers.push_back(main_loop_.get());
    } else {
      for (int i = 0; i < options_.workers; ++i) {
        worker_loops_.push_back(MakeThreadLoop(fmt::format("{}-w{}", options_.name, i)));
        workers.push_back(worker_loops_.back().get());
      }
    }
    metrics_
        ->GetGauge("basalt_process_info", "Which cluster, replica and release this process is of; always 1.",
                   {{"cluster", options_.cluster},
                    {"process", options_.name},
                    {"replica", options_.replica},
                    {"version", std::string(Version())}})
        .Set(1);
    gateway_ = rpc::MakeGrpcGatewayPeer(*main_loop_, std::move(gateways), discovery::MakeSystemResolver(*main_loop_),
                                        options_.credentials);
    peers_ = rpc::MakeGrpcPeerDirectory(*main_loop_, options_.credentials);
    const ServiceParts parts = make_parts(*metrics_, health_);
    runtime::RuntimeOptions runtime_options;
    runtime_options.cluster = options_.cluster;
    runtime_options.version = std::string(Version());
    runtime_options.service = options_.kind;
    runtime_options.replica = options_.replica;
    runtime_options.name_secret = MakeUuid(random_);
    runtime_options.keeps_records = parts.keeps_records;
    runtime_options.on_failure = [this](const absl::Status& why) { Fail(why); };
    replica_ = std::make_unique<runtime::Replica>(runtime_options, *main_loop_, workers, random_, *store_, *gateway_,
                                                  *peers_, metrics_.get(), &health_, parts.make_controller);
    BASALT_RETURN_IF_ERROR(StartHttpStatus());
    const std::shared_ptr<rpc::CallGuard> guard =
        rpc::MakeCallGuard(options_.credentials, metrics_.get(), options_.user_rate);
    // The list of denied identities is read before the port opens, so that no denied client gets in.
    BASALT_ASSIGN_OR_RETURN(
        certificate_watch_,
        rpc::CertificateWatch::Start(
            *main_loop_, options_.credentials.get(), guard, *metrics_, health_, [this](const identity::KeyPair& own) {
              if (status_ == nullptr) return absl::OkStatus();
              return status_->SetCertificate({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem});
            }));
    const auto limiter = std::make_shared<rpc::InflightLimiter>();
    std::vector<std::unique_ptr<rpc::GrpcService>> services = parts.make_services(
        *replica_, *api_loop_, std::make_unique<ReplicaMembers>(*replica_, options_.credentials, MakeUsers(guard)),
        limiter);
    services.push_back(rpc::MakeReplicaService(*main_loop_, replica_->hand_over(), limiter, guard));
    BASALT_ASSIGN_OR_RETURN(server_, rpc::GrpcServer::Start({.address = options_.listen,
                                                             .bounds = options_.grpc_bounds,
                                                             .credentials = options_.credentials,
                                                             .guard = guard},
                                                            std::move(services)));
    BASALT_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(options_.listen, /*least_port=*/0));
    address.port = server_->port();
    replica_->SetAddress(options_.advertise.empty() ? ToText(address) : options_.advertise);
    replica_->Start();
    server_->SetServing(true);
    return absl::OkStatus();
  }

  void Leave() override {
    if (!failure().ok()) return;
    std::promise<void> left;
    replica_->Leave([&left] { left.set_value(); });
    left.get_future().wait();
  }

  int port() const override { return server_->port(); }
  int metrics_port() const override { return status_ == nullptr ? 0 : status_->port(); }
  absl::Status failure() const override {
    MutexLock lock(mutex_);
    return failure_;
  }

 private:
  // Null without TLS. The object runs on the main loop, on which the gateway is called.
  std::shared_ptr<rpc::UserAccess> MakeUsers(const std::shared_ptr<rpc::CallGuard>& guard) {
    if (guard == nullptr) return nullptr;
    auto review = [this](gateway::v1::ReviewAccessRequest request, rpc::Done<gateway::v1::ReviewAccessResponse> done) {
      // The gateway is gone if the call comes during the end of the process.
      if (gateway_ == nullptr) return done(absl::UnavailableError("the process is ending"));
      gateway_->ReviewAccess(std::move(request), kReviewTimeout, std::move(done));
    };
    return std::make_shared<rpc::UserAccess>(*main_loop_, guard, std::move(review), options_.namespace_rate);
  }

  absl::Status OpenStore() {
    kv::OpenOptions store;
    store.data_dir = options_.data_dir;
    store.cluster = options_.cluster;
    store.service = options_.name;
    store.replica = options_.replica;
    store.sync = options_.sync;
    store.rebuild = options_.rebuild;
    BASALT_ASSIGN_OR_RETURN(store_, kv::OpenRocksKv(store));
    return absl::OkStatus();
  }

  absl::Status StartHttpStatus() {
    if (options_.metrics_listen.empty()) return absl::OkStatus();
    BASALT_ASSIGN_OR_RETURN(const HostPort at, ParseHostPort(options_.metrics_listen, /*least_port=*/0));
    rpc::HttpStatusOptions http;
    http.server = {.address = at.host, .port = static_cast<uint16_t>(at.port), .bounds = options_.metrics_bounds};
    if (options_.credentials != nullptr && options_.credentials->is_secure()) {
      BASALT_ASSIGN_OR_RETURN(const rpc::CheckedFiles files, rpc::CheckFiles(*options_.credentials->files()));
      http.server.certificate = {.certificate_pem = files.own.certificate_pem, .key_pem = files.own.key_pem};
    }
    http.process = options_.name;
    http.version = std::string(Version());
    http.metrics_token = options_.metrics_token;
    BASALT_ASSIGN_OR_RETURN(status_, rpc::StartHttpStatus(*api_loop_, *metrics_, health_, http));
    return absl::OkStatus();
  }

  void Fail(const absl::Status& why) {
    obs::LogError("the process must end", {{"why", why.ToString()}});
    MutexLock lock(mutex_);
    failure_ = why;
  }

  ServiceOptions options_;
  SystemRandom random_;
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  obs::Health health_;
  std::unique_ptr<kv::KvStore> store_;
  std::unique_ptr<Loop> main_loop_;
  std::unique_ptr<Loop> api_loop_;
  std::vector<std::unique_ptr<Loop>> worker_loops_;
  std::unique_ptr<rpc::GatewayPeer> gateway_;
  std::unique_ptr<rpc::PeerDirectory> peers_;
  std::unique_ptr<runtime::Replica> replica_;
  std::unique_ptr<rpc::GrpcServer> server_;
  std::unique_ptr<rpc::CertificateWatch> certificate_watch_;
  std::unique_ptr<http::PageServer> status_;
  mutable Mutex mutex_;
  absl::Status failure_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceProcess>> ServiceProcess::Start(ServiceOptions options,
                                                                      const MakeParts& make_parts) {
  auto process = std::make_unique<Process>(std::move(options));
  BASALT_RETURN_IF_ERROR(process->Open(make_parts));
  return std::unique_ptr<ServiceProcess>(std::move(process));
}

}  // namespace basalt::shell
