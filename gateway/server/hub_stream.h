#pragma once

// One replica's stream, for the parts of the hub only.
#include <memory>

#include "gateway/server/hub.h"

namespace basalt::gateway {

bool IsSameToken(std::string_view a, std::string_view b);

// The transport owns the stream. The hub refers to it by Replica::stream while it is that replica's.
class Hub::Stream : public rpc::AttachSession {
 public:
  Stream(Hub& hub, rpc::AttachSink& sink) : hub_(hub), sink_(sink), alive_(hub.alive_) {}
  ~Stream() override { Stream::OnClosed(); }

  void OnRequest(v1::AttachRequest request) override;
  void OnSent() override;
  void OnClosed() override;

  void End(const absl::Status& status);

  std::unique_ptr<Session> session_;

 private:
  absl::Status Handle(const v1::AttachRequest& request);

  Hub& hub_;
  rpc::AttachSink& sink_;
  std::shared_ptr<bool> alive_;
  bool ended_ = false;
};

}  // namespace basalt::gateway
