#include "common/rpc/grpc/server.h"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/library_log.h"
#include "common/rpc/grpc/open_streams.h"
#include "fmt/format.h"

namespace basalt::rpc {
namespace {

void InitHealthOnce() {
  static const bool done = [] {
    TakeOverGrpcLog();
    grpc::EnableDefaultHealthCheckService(true);
    return true;
  }();
  static_cast<void>(done);
}

// Reflection and channelz are plugins, which gRPC gives to every server of the process.
void InitPluginsOnce() {
  static const bool done = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::channelz::experimental::InitChannelzService();
    return true;
  }();
  static_cast<void>(done);
}

class WithoutPlugins final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override { plugins->clear(); }
};

void SetBounds(const GrpcBounds& bounds, grpc::ServerBuilder& builder) {
  builder.SetResourceQuota(grpc::ResourceQuota("server").Resize(bounds.max_memory_bytes));
  const auto milliseconds = [](absl::Duration duration) {
    return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, INT_MAX));
  };
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, bounds.max_streams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(bounds.idle_timeout));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(bounds.handshake_timeout));
}

class Server final : public GrpcServer {
 public:
  Server(std::vector<std::unique_ptr<GrpcService>> services, std::unique_ptr<grpc::CallbackGenericService> unknown,
         std::unique_ptr<grpc::Server> server, int port)
      : services_(std::move(services)), unknown_(std::move(unknown)), server_(std::move(server)), port_(port) {}
  ~Server() override { Drain(absl::Seconds(1)); }

  int port() const override { return port_; }

  void SetServing(bool serving) override { server_->GetHealthCheckService()->SetServingStatus(serving); }

  void Drain(absl::Duration at_most) override {
    if (std::exchange(drained_, true)) return;
    server_->GetHealthCheckService()->Shutdown();
    for (const std::unique_ptr<GrpcService>& service : services_) service->Drain();
    server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(at_most));
    server_->Wait();
  }

 private:
  const std::vector<std::unique_ptr<GrpcService>> services_;
  const std::unique_ptr<grpc::CallbackGenericService> unknown_;
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
  bool drained_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              std::vector<std::unique_ptr<GrpcService>> services) {
  InitHealthOnce();
  InitPluginsOnce();
  grpc::ServerBuilder builder;
  if (!options.bounds.shows_itself) builder.SetOption(std::make_unique<WithoutPlugins>());
  int port = 0;
  const std::shared_ptr<const Credentials> credentials =
      options.credentials != nullptr ? options.credentials : Credentials::Insecure();
  builder.AddListeningPort(options.address, credentials->ForServer(options.guard), &port);
  if (options.guard != nullptr) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(
        OpenStreams::MakeInterceptors(std::shared_ptr<OpenStreams>(options.guard, &options.guard->streams())));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
  }
  builder.SetMaxReceiveMessageSize(options.max_request_bytes);
  builder.SetMaxSendMessageSize(options.max_answer_bytes);
  SetBounds(options.bounds, builder);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // A port in use is an error; else it would split the calls.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  for (const std::unique_ptr<GrpcService>& service : services) service->Register(builder);
  // This service answers UNIMPLEMENTED: gRPC starts no server that has no service at all.
  auto unknown = std::make_unique<grpc::CallbackGenericService>();
  builder.RegisterCallbackGenericService(unknown.get());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("cannot listen on {}", options.address));
  }
  server->GetHealthCheckService()->SetServingStatus(false);
  return std::make_unique<Server>(std::move(services), std::move(unknown), std::move(server), port);
}

}  // namespace basalt::rpc
