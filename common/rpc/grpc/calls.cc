#include "common/rpc/grpc/calls.h"

#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/library_log.h"

namespace basalt::rpc {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, uint32_t servers,
                                           const std::shared_ptr<const Credentials>& credentials) {
  TakeOverGrpcLog();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 << 20);
  arguments.SetMaxSendMessageSize(64 << 20);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // The time for one attempt to connect: enough for a busy host, and a host that is gone delays no caller for long.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // Rules of the callers decide which calls are sent again.
  const std::shared_ptr<const Credentials> used = credentials != nullptr ? credentials : Credentials::Insecure();
  return grpc::CreateCustomChannel(address, used->ForChannel(servers), arguments);
}

}  // namespace basalt::rpc
