#include "common/rpc/follow_leader.h"

#include <utility>

namespace basalt::rpc {
namespace {

// Stands between a stream and its observer, and remembers whether the stream brought a batch.
class Watcher final : public AttachObserver {
 public:
  explicit Watcher(AttachObserver& observer) : observer_(observer) {}
  void OnBatch(gateway::v1::AttachBatch batch) override {
    had_batch_ = true;
    observer_.OnBatch(std::move(batch));
  }
  void OnClosed(const absl::Status& status) override { observer_.OnClosed(status); }
  bool had_batch() const { return had_batch_; }

 private:
  AttachObserver& observer_;
  bool had_batch_ = false;
};

class Stream final : public AttachStream {
 public:
  Stream(std::shared_ptr<Watcher> watcher, std::unique_ptr<AttachStream> inner)
      : watcher_(std::move(watcher)), inner_(std::move(inner)) {}
  void Send(gateway::v1::AttachRequest request) override { inner_->Send(std::move(request)); }

 private:
  const std::shared_ptr<Watcher> watcher_;  // Outlives the stream that notifies it.
  const std::unique_ptr<AttachStream> inner_;
};

class Peer final : public GatewayPeer {
 public:
  explicit Peer(std::vector<std::unique_ptr<GatewayPeer>> gateways) : gateways_(std::move(gateways)) {}

  std::unique_ptr<AttachStream> Attach(AttachObserver& observer) override {
    if (last_ != nullptr && !last_->had_batch()) current_ = (current_ + 1) % gateways_.size();
    last_ = std::make_shared<Watcher>(observer);
    return std::make_unique<Stream>(last_, gateways_[current_]->Attach(*last_));
  }
  void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
             Done<gateway::v1::WriteResponse> done) override {
    gateways_[current_]->Write(std::move(request), timeout, std::move(done));
  }
  void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) override {
    gateways_[current_]->Get(std::move(request), timeout, std::move(done));
  }

 private:
  const std::vector<std::unique_ptr<GatewayPeer>> gateways_;
  size_t current_ = 0;
  std::shared_ptr<Watcher> last_;
};

}  // namespace

std::unique_ptr<GatewayPeer> FollowLeader(std::vector<std::unique_ptr<GatewayPeer>> gateways) {
  return std::make_unique<Peer>(std::move(gateways));
}

}  // namespace basalt::rpc
