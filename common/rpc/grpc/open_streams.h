#pragma once

// Knows the open streams of a server, and ends those of a client whose identity is denied. Any thread. Heavy (gRPC):
// only in .cc files.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace basalt::rpc {

class OpenStreams {
 public:
  using IsDenied = std::function<bool(const std::vector<std::string>& uris)>;

  // The server calls the interceptors for each stream. Unary calls end soon, and are not recorded here.
  static std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeInterceptors(
      std::shared_ptr<OpenStreams> streams);

  // `is_denied` runs on any thread.
  explicit OpenStreams(IsDenied is_denied) : is_denied_(std::move(is_denied)) {}

  // Ends the streams of denied clients with CANCELLED. One thread at a time; may be repeated.
  void EndDenied() BASALT_EXCLUDES(mutex_);

 private:
  class Interceptor;

  void Add(grpc::ServerContextBase& context) BASALT_EXCLUDES(mutex_);
  void Remove(grpc::ServerContextBase& context) BASALT_EXCLUDES(mutex_);

  const IsDenied is_denied_;
  Mutex mutex_;
  CondVar cancelled_;
  std::map<grpc::ServerContextBase*, std::vector<std::string>> streams_ BASALT_GUARDED_BY(mutex_);
  // The context that is being cancelled, which must not be destroyed meanwhile.
  grpc::ServerContextBase* cancelling_ BASALT_GUARDED_BY(mutex_) = nullptr;
  // The thread that cancels it: gRPC may report the end of any stream from within the cancellation, on that thread.
  std::thread::id canceller_ BASALT_GUARDED_BY(mutex_);
};

// The URIs in the certificate of a client.
std::vector<std::string> UrisOf(const grpc::AuthContext& context);

}  // namespace basalt::rpc
