#include "common/rpc/grpc/open_streams.h"

#include <utility>

#include "common/identity/user_token.h"
#include "common/rpc/grpc/users.h"

namespace basalt::rpc {

using grpc::experimental::InterceptionHookPoints;

// Observes the begin and end of every stream of a server, whatever service it belongs to. The context of the stream
// exists up to POST_RECV_CLOSE.
class OpenStreams::Interceptor final : public grpc::experimental::Interceptor {
 public:
  Interceptor(std::shared_ptr<OpenStreams> streams, grpc::ServerContextBase& context)
      : streams_(std::move(streams)), context_(context) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    // The client is known from its first message of metadata on.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      streams_->Add(context_);
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE)) streams_->Remove(context_);
    methods->Proceed();
  }

 private:
  const std::shared_ptr<OpenStreams> streams_;
  grpc::ServerContextBase& context_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> OpenStreams::MakeInterceptors(
    std::shared_ptr<OpenStreams> streams) {
  class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
   public:
    explicit Factory(std::shared_ptr<OpenStreams> made_for) : streams_(std::move(made_for)) {}
    grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
      if (info->type() == grpc::experimental::ServerRpcInfo::Type::UNARY) return nullptr;
      return new Interceptor(streams_, *info->server_context());  // gRPC deletes it.
    }

   private:
    const std::shared_ptr<OpenStreams> streams_;
  };
  return std::make_unique<Factory>(std::move(streams));
}

void OpenStreams::Add(grpc::ServerContextBase& context) {
  std::vector<std::string> uris = UrisOf(*context.auth_context());
  if (const std::string token = UserTokenOf(context); !token.empty()) {
    uris.push_back(identity::UriOfUser(ClaimsIn(token).user()));
  }
  {
    MutexLock lock(mutex_);
    streams_[&context] = uris;
  }
  // EndDenied finds the streams of clients that are denied from now on.
  if (is_denied_(uris)) context.TryCancel();
}

void OpenStreams::Remove(grpc::ServerContextBase& context) {
  MutexLock lock(mutex_);
  while (cancelling_ == &context && canceller_ != std::this_thread::get_id()) cancelled_.Wait(mutex_);
  streams_.erase(&context);
}

void OpenStreams::EndDenied() {
  std::vector<grpc::ServerContextBase*> denied;
  mutex_.Lock();
  for (const auto& [context, uris] : streams_) {
    if (is_denied_(uris)) denied.push_back(context);
  }
  for (grpc::ServerContextBase* const context : denied) {
    // The stream may have ended, and another stream may have its address by now.
    const auto still = streams_.find(context);
    if (still == streams_.end() || !is_denied_(still->second)) continue;
    cancelling_ = context;
    canceller_ = std::this_thread::get_id();
    mutex_.Unlock();
    context->TryCancel();
    mutex_.Lock();
    cancelling_ = nullptr;
    cancelled_.NotifyAll();
  }
  mutex_.Unlock();
}

std::vector<std::string> UrisOf(const grpc::AuthContext& context) {
  std::vector<std::string> uris;
  for (const grpc::string_ref& uri : context.FindPropertyValues("peer_uri")) uris.emplace_back(uri.data(), uri.size());
  return uris;
}

}  // namespace basalt::rpc
