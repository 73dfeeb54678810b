#include "common/http/curl/curl_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "common/base/status.h"
#include "common/http/curl/curl_transfer.h"
#include "common/http/curl/curl_worker.h"

namespace basalt::http {
namespace {

using internal::CurlCommand;
using internal::CurlWorker;
using internal::Transfer;
using internal::TransferPtr;

void GlobalInit() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

CurlOptions Cleaned(CurlOptions options) {
  while (options.base_url.ends_with('/')) options.base_url.pop_back();
  return options;
}

std::unique_ptr<Credentials> MakeCredentials(const TimeSystem& time, const CurlOptions& options) {
  if (options.exec_plugin.has_value()) {
    return std::make_unique<Credentials>(time, MakeExecSource(*options.exec_plugin));
  }
  if (!options.bearer_token_file.empty()) {
    return std::make_unique<Credentials>(time, MakeTokenFileSource(time, options.bearer_token_file));
  }
  return nullptr;
}

class CurlClient final : public Client {
 public:
  CurlClient(Loop& loop, CurlOptions options)
      : loop_(loop), options_(Cleaned(std::move(options))), credentials_(MakeCredentials(loop, options_)) {}

  ~CurlClient() override {
    // The workers stop before the credentials go: the workers' threads call the credentials, whose thread posts to
    // them.
    short_.Stop();
    bulk_.Stop();
    credentials_.reset();
  }

  std::unique_ptr<Call> Start(Request request, ResponseObserver& observer) override {
    auto transfer = std::make_shared<Transfer>();
    transfer->lane = request.bulk ? &bulk_ : &short_;
    transfer->loop = &loop_;
    transfer->observer = &observer;
    transfer->idle = request.idle_timeout;
    transfer->last_activity = loop_.Now();
    if (request.timeout < absl::InfiniteDuration()) {
      transfer->whole_timer = loop_.RunAfter(request.timeout, [transfer] {
        transfer->whole_timer = kNoTimer;
        TimeOut(transfer, "the request took longer than its timeout");
      });
    }
    if (request.idle_timeout < absl::InfiniteDuration()) ArmIdle(transfer, loop_.Now() + request.idle_timeout);
    transfer->request = std::move(request);
    transfer->lane->Post({CurlCommand::kStart, transfer});
    return std::make_unique<CurlCall>(transfer);
  }

 private:
  class CurlCall final : public Call {
   public:
    explicit CurlCall(TransferPtr transfer) : transfer_(std::move(transfer)) {}
    ~CurlCall() override {
      if (transfer_->observer == nullptr) return;
      transfer_->Forget();
      transfer_->lane->Post({CurlCommand::kCancel, transfer_});
    }

   private:
    const TransferPtr transfer_;
  };

  static void TimeOut(const TransferPtr& transfer, std::string_view what) {
    ResponseObserver* observer = transfer->Forget();
    if (observer == nullptr) return;
    transfer->lane->Post({CurlCommand::kTimedOut, transfer});
    observer->OnEnd(MakeStatus(absl::StatusCode::kDeadlineExceeded, what));
  }

  static void ArmIdle(const TransferPtr& transfer, absl::Time when) {
    transfer->idle_timer = transfer->loop->RunAt(when, [transfer] {
      transfer->idle_timer = kNoTimer;
      const absl::Time now = transfer->loop->Now();
      const absl::Time due = transfer->last_activity + transfer->idle;
      bool waiting;
      {
        MutexLock lock(transfer->mutex);
        waiting = transfer->posted;  // True if something has come, and this loop was only slow.
      }
      if (waiting || due > now) {
        ArmIdle(transfer, std::max(due, now + transfer->idle));
      } else {
        TimeOut(transfer, "nothing came within the idle timeout");
      }
    });
  }

  Loop& loop_;
  const CurlOptions options_;
  std::unique_ptr<Credentials> credentials_;
  CurlWorker short_{loop_, options_, credentials_.get(), /*bulk=*/false};
  CurlWorker bulk_{loop_, options_, credentials_.get(), /*bulk=*/true};
};

}  // namespace

namespace internal {

ResponseObserver* Transfer::Forget() {
  if (whole_timer != kNoTimer) loop->Cancel(std::exchange(whole_timer, kNoTimer));
  if (idle_timer != kNoTimer) loop->Cancel(std::exchange(idle_timer, kNoTimer));
  return std::exchange(observer, nullptr);
}

void Transfer::Deliver(const TransferPtr& transfer) {
  bool has_head, has_end, resume;
  ResponseHead head;
  std::string body;
  absl::Status end;
  {
    MutexLock lock(transfer->mutex);
    transfer->posted = false;
    has_head = std::exchange(transfer->has_head, false);
    if (has_head) head = std::move(transfer->pending_head);
    body = std::exchange(transfer->pending, {});
    has_end = std::exchange(transfer->has_end, false);
    end = transfer->end;
    resume = std::exchange(transfer->paused, false);
  }
  // Each of the following callbacks may destroy the Call, which clears `observer`.
  if (transfer->observer == nullptr) return;
  transfer->last_activity = transfer->loop->Now();
  if (resume) transfer->lane->Post({CurlCommand::kResume, transfer});
  if (has_head) transfer->observer->OnHead(head);
  if (transfer->observer != nullptr && !body.empty()) transfer->observer->OnChunk(body);
  if (transfer->observer != nullptr && has_end) transfer->Forget()->OnEnd(end);
}

}  // namespace internal

std::unique_ptr<Client> MakeCurlClient(Loop& loop, CurlOptions options) {
  GlobalInit();
  return std::make_unique<CurlClient>(loop, std::move(options));
}

}  // namespace basalt::http
