#pragma once

// A service that a GrpcServer registers, opaque so that gRPC's headers stay in .cc files.
#include <memory>
#include <utility>

namespace grpc {
class Service;
class ServerBuilder;
}  // namespace grpc

namespace basalt::rpc {

class GrpcService {
 public:
  virtual ~GrpcService() = default;
  virtual void Register(grpc::ServerBuilder& builder) = 0;
  // The server is about to end: calls that would not end by themselves are to end. Any thread.
  virtual void Drain() {}
};

// Wraps a generated (Callback)Service. Only where gRPC's headers are included: `T` must be complete.
template <typename T>
std::unique_ptr<GrpcService> WrapService(std::unique_ptr<T> service) {
  class Wrapper final : public GrpcService {
   public:
    explicit Wrapper(std::unique_ptr<T> inner) : inner_(std::move(inner)) {}
    void Register(grpc::ServerBuilder& builder) override {
      // Deduced late, so that this header needs no complete ServerBuilder.
      [this](auto& late) { late.RegisterService(inner_.get()); }(builder);
    }
    void Drain() override {
      if constexpr (requires(T & drained) { drained.Drain(); }) inner_->Drain();
    }

   private:
    const std::unique_ptr<T> inner_;
  };
  return std::make_unique<Wrapper>(std::move(service));
}

}  // namespace basalt::rpc
