#pragma once

// Connects a handler's loop with a connection of the HTTP server: the answer, and how much of it has gone out. Internal
// to the server.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http::internal {

class SessionBase : public std::enable_shared_from_this<SessionBase> {
 public:
  virtual ~SessionBase() = default;
  virtual void FlushSoon() = 0;  // Any thread.
  virtual void StopSoon() = 0;   // Any thread.
};

// One answer, which the handler's loop fills and the session empties.
struct Exchange {
  Mutex mutex;
  // Null once the connection is gone. Nothing is posted to the session's executor then.
  SessionBase* session BASALT_GUARDED_BY(mutex) = nullptr;
  std::string out BASALT_GUARDED_BY(mutex);
  bool has_head BASALT_GUARDED_BY(mutex) = false;
  int status BASALT_GUARDED_BY(mutex) = 0;
  Headers headers BASALT_GUARDED_BY(mutex);
  bool ended BASALT_GUARDED_BY(mutex) = false;
  bool broken BASALT_GUARDED_BY(mutex) = false;  // Whether the handler dropped its writer without End.
  std::atomic<bool> closed{false};
  std::atomic<size_t> buffered{0};

  std::function<void()> on_close;  // Belongs to the handler's loop.
};

// The handler's side of an Exchange.
class ServerWriter final : public ResponseWriter {
 public:
  ServerWriter(Loop& loop, std::shared_ptr<Exchange> exchange) : loop_(loop), exchange_(std::move(exchange)) {}
  // Without End, the destructor breaks the connection after the written bytes have gone out.
  ~ServerWriter() override {
    if (ended_) return;
    MutexLock lock(exchange_->mutex);
    exchange_->broken = true;
    if (exchange_->session != nullptr) exchange_->session->FlushSoon();
  }

  void Head(int status, const Headers& headers) override {
    {
      MutexLock lock(exchange_->mutex);
      exchange_->has_head = true;
      exchange_->status = status;
      exchange_->headers = headers;
    }
    FlushLater();
  }

  void Chunk(std::string_view data) override {
    if (closed() || data.empty()) return;
    exchange_->buffered += data.size();
    {
      MutexLock lock(exchange_->mutex);
      exchange_->out.append(data);
    }
    FlushLater();
  }

  void End() override {
    if (std::exchange(ended_, true)) return;
    exchange_->on_close = nullptr;
    MutexLock lock(exchange_->mutex);
    exchange_->ended = true;
    if (exchange_->session != nullptr) exchange_->session->FlushSoon();
  }

  bool closed() const override { return ended_ || exchange_->closed; }
  void OnClose(std::function<void()> on_close) override {
    if (!ended_) exchange_->on_close = std::move(on_close);
  }
  size_t buffered() const override { return exchange_->buffered; }

 private:
  // Flushes after the running task, so that an answer made in one task is one write with a Content-Length, and the
  // events of one task are one chunk.
  void FlushLater() {
    if (std::exchange(flush_posted_, true)) return;
    loop_.Post([exchange = exchange_, posted = posted_] {
      *posted = false;
      MutexLock lock(exchange->mutex);
      if (!exchange->ended && exchange->session != nullptr) exchange->session->FlushSoon();
    });
  }

  Loop& loop_;
  const std::shared_ptr<Exchange> exchange_;
  bool ended_ = false;
  const std::shared_ptr<bool> posted_ = std::make_shared<bool>(false);
  bool& flush_posted_ = *posted_;
};

}  // namespace basalt::http::internal
