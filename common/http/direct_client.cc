#include "common/http/direct_client.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/base/mutex.h"
#include "common/http/failure.h"

namespace basalt::http {

// One request and its answer. The client's half is confined to the client's loop, the server's half to the handler's.
class DirectClient::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Loop& loop, Loop& handler_loop, std::shared_ptr<DirectLink> link, ResponseObserver& observer)
      : loop_(loop), handler_loop_(handler_loop), link_(std::move(link)), observer_(&observer) {}

  // ---- on the client's loop ----

  void Arm(absl::Duration whole, absl::Duration idle) {
    idle_ = idle;
    if (whole < absl::InfiniteDuration()) {
      whole_timer_ = loop_.RunAfter(whole, [self = shared_from_this()] {
        self->whole_timer_ = kNoTimer;
        self->EndAndClose(absl::DeadlineExceededError("the request took longer than its timeout"));
      });
    }
    ArmIdle();
  }

  // Ends the exchange since the call is destroyed: the observer is not called any more, and the connection closes for
  // the server.
  void Abandon() {
    Disarm();
    observer_ = nullptr;
    {
      MutexLock lock(mutex_);
      if (client_gone_) return;
      client_gone_ = true;
    }
    CloseServer();
  }

  void EndAndClose(const absl::Status& status) {
    if (observer_ == nullptr) return;
    CloseServer();
    End(status);
  }

  bool abandoned() {
    MutexLock lock(mutex_);
    return client_gone_;
  }

  // ---- on the handler's loop ----

  // Runs `deliver` on the client's loop, in order, unless the client has gone.
  void Send(Task deliver) {
    const absl::Duration delay = link_->delay ? link_->delay() : absl::ZeroDuration();
    MutexLock lock(mutex_);
    if (client_gone_) return;
    if (delay > absl::ZeroDuration()) delayed_ = true;
    if (!delayed_) {
      loop_.Post(std::move(deliver));
      return;
    }
    last_ = std::max(last_, loop_.Now() + delay);
    loop_.RunAt(last_, std::move(deliver));
  }

  void SendHead(int status, const Headers& headers) {
    if (link_->drop_response && link_->drop_response()) {
      SendEnd(absl::UnknownError("the connection broke: the response was lost"));
      response_lost_ = true;
      CloseServer();
      return;
    }
    Send([self = shared_from_this(), head = ResponseHead{status, headers}] {
      if (self->Arrives()) self->observer_->OnHead(head);
    });
  }

  void SendChunk(std::string_view data) {
    buffered_ += data.size();
    Send([self = shared_from_this(), text = std::string(data)] {
      self->buffered_ -= text.size();
      if (self->Arrives()) self->observer_->OnChunk(text);
    });
  }

  void SendEnd(const absl::Status& status) {
    Send([self = shared_from_this(), status] {
      if (self->observer_ != nullptr) self->End(status);
    });
  }

  void OnServerClosed() {
    if (server_closed_) return;
    server_closed_ = true;
    if (on_close_ == nullptr) return;
    const std::function<void()> on_close = std::move(on_close_);
    on_close_ = nullptr;
    on_close();
  }

  bool server_closed_ = false;
  bool response_lost_ = false;
  std::function<void()> on_close_;
  std::atomic<size_t> buffered_{0};

 private:
  bool Arrives() {
    if (observer_ == nullptr) return false;
    if (link_->cut) {
      EndAndClose(absl::UnknownError("the connection broke"));
      return false;
    }
    last_activity_ = loop_.Now();
    return true;
  }

  void End(const absl::Status& status) {
    Disarm();
    {
      MutexLock lock(mutex_);
      client_gone_ = true;
    }
    ResponseObserver* observer = std::exchange(observer_, nullptr);
    observer->OnEnd(status);
  }

  void CloseServer() {
    handler_loop_.Post([self = shared_from_this()] { self->OnServerClosed(); });
  }

  void ArmIdle() {
    if (idle_ == absl::InfiniteDuration()) return;
    last_activity_ = std::max(last_activity_, loop_.Now());
    StartIdleTimer(last_activity_ + idle_);
  }

  void StartIdleTimer(absl::Time when) {
    idle_timer_ = loop_.RunAt(when, [self = shared_from_this()] {
      self->idle_timer_ = kNoTimer;
      const absl::Time due = self->last_activity_ + self->idle_;
      if (due > self->loop_.Now()) {
        self->StartIdleTimer(due);
      } else {
        self->EndAndClose(absl::DeadlineExceededError("nothing came within the idle timeout"));
      }
    });
  }

  void Disarm() {
    if (whole_timer_ != kNoTimer) loop_.Cancel(std::exchange(whole_timer_, kNoTimer));
    if (idle_timer_ != kNoTimer) loop_.Cancel(std::exchange(idle_timer_, kNoTimer));
  }

  Loop& loop_;
  Loop& handler_loop_;
  const std::shared_ptr<DirectLink> link_;

  ResponseObserver* observer_;  // Null once ended or abandoned.
  TimerId whole_timer_ = kNoTimer;
  TimerId idle_timer_ = kNoTimer;
  absl::Duration idle_;
  absl::Time last_activity_ = absl::InfinitePast();

  Mutex mutex_;
  // Once true, nothing is posted to the client's loop, which may be gone.
  bool client_gone_ BASALT_GUARDED_BY(mutex_) = false;
  // Posted tasks and timers have no common order, so after the first delayed message all messages are timers.
  bool delayed_ BASALT_GUARDED_BY(mutex_) = false;
  absl::Time last_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
};

class DirectClient::Writer final : public ResponseWriter {
 public:
  explicit Writer(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Writer() override {
    if (!closed()) {
      exchange_->SendEnd(absl::UnknownError("the connection broke: the server closed it before the end"));
    }
  }

  void Head(int status, const Headers& headers) override {
    if (!closed()) exchange_->SendHead(status, headers);
  }
  void Chunk(std::string_view data) override {
    if (!closed() && !data.empty()) exchange_->SendChunk(data);
  }
  void End() override {
    const bool was_closed = closed();
    ended_ = true;
    exchange_->on_close_ = nullptr;
    if (!was_closed) exchange_->SendEnd(absl::OkStatus());
  }
  bool closed() const override { return ended_ || exchange_->server_closed_ || exchange_->response_lost_; }
  void OnClose(std::function<void()> on_close) override {
    if (!ended_) exchange_->on_close_ = std::move(on_close);
  }
  size_t buffered() const override { return exchange_->buffered_; }

 private:
  const std::shared_ptr<Exchange> exchange_;
  bool ended_ = false;
};

class DirectClient::DirectCall final : public Call {
 public:
  DirectCall(std::shared_ptr<Exchange> exchange, std::shared_ptr<std::map<uint64_t, std::weak_ptr<Exchange>>> open,
             uint64_t id)
      : exchange_(std::move(exchange)), open_(std::move(open)), id_(id) {}
  ~DirectCall() override {
    open_->erase(id_);
    exchange_->Abandon();
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<std::map<uint64_t, std::weak_ptr<Exchange>>> open_;
  const uint64_t id_;
};

DirectClient::DirectClient(Loop& loop, Loop& handler_loop, Handler& handler, std::shared_ptr<DirectLink> link)
    : loop_(loop),
      handler_loop_(handler_loop),
      handler_(handler),
      link_(link != nullptr ? std::move(link) : std::make_shared<DirectLink>()),
      open_(std::make_shared<std::map<uint64_t, std::weak_ptr<Exchange>>>()) {}

DirectClient::~DirectClient() = default;

std::unique_ptr<Call> DirectClient::Start(Request request, ResponseObserver& observer) {
  auto exchange = std::make_shared<Exchange>(loop_, handler_loop_, link_, observer);
  const uint64_t id = next_id_++;
  open_->emplace(id, exchange);
  auto call = std::make_unique<DirectCall>(exchange, open_, id);
  if (link_->cut) {
    exchange->server_closed_ = true;
    exchange->Send([exchange] { exchange->EndAndClose(absl::UnavailableError("could not connect")); });
    return call;
  }
  if (loop_.Now() >= request.send_by) {
    exchange->server_closed_ = true;
    exchange->Send([exchange] { exchange->EndAndClose(LateStatus()); });
    return call;
  }
  exchange->Arm(request.timeout, request.idle_timeout);
  // From here on the writer represents the connection, which breaks when the last owner of the writer, maybe the queue
  // of a killed loop, drops it.
  auto writer = std::make_shared<Writer>(exchange);
  const bool dropped = link_->drop_request && link_->drop_request();
  const absl::Duration delay = link_->delay ? link_->delay() : absl::ZeroDuration();
  Task arrive = [exchange, writer = std::move(writer), request = std::move(request), dropped, link = link_,
                 &handler = handler_]() mutable {
    if (dropped || link->cut) return;
    if (exchange->abandoned() && !link->deliver_after_cancel) return;
    handler.Handle(request, std::move(writer));
  };
  if (delay > absl::ZeroDuration()) {
    handler_loop_.RunAfter(delay, std::move(arrive));
  } else {
    handler_loop_.Post(std::move(arrive));
  }
  return call;
}

void DirectClient::SetCut(bool cut) {
  link_->cut = cut;
  if (!cut) return;
  std::vector<std::shared_ptr<Exchange>> open;
  for (const auto& [id, weak] : *open_) {
    if (auto exchange = weak.lock()) open.push_back(std::move(exchange));
  }
  for (const auto& exchange : open) {
    loop_.Post([exchange] { exchange->EndAndClose(absl::UnknownError("the connection broke")); });
  }
}

}  // namespace basalt::http
