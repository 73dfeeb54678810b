#include "common/http/curl/curl_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/http/curl/curl_setup.h"

namespace basalt::http {
namespace {

constexpr size_t kMaxKeptHandles = 256;
constexpr long kMaxKeptConnections = 512;
constexpr size_t kMaxHeaderBytes = 1 << 20;
constexpr absl::Duration kTokenAge = absl::Minutes(1);

void GlobalInit() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

class CurlClient;

// One exchange. What the two threads share is behind the mutex; the rest belongs to the thread named.
struct Transfer : std::enable_shared_from_this<Transfer> {
  CurlClient* client = nullptr;
  // Written before the driver sees it, then only the driver's.
  Request request;
  CURL* easy = nullptr;
  internal::CurlLists lists;
  size_t sent = 0;
  ResponseHead head;
  size_t header_bytes = 0;
  bool head_done = false;
  bool counted = false;  // In the limit of parallel requests.
  bool cancelled = false;
  char error[CURL_ERROR_SIZE] = {};

  // The loop's.
  ResponseObserver* observer = nullptr;  // Null: ended or cancelled.
  TimerId whole_timer = kNoTimer;
  TimerId idle_timer = kNoTimer;
  absl::Duration idle;
  absl::Time last_activity;

  Mutex mutex;
  bool posted BASALT_GUARDED_BY(mutex) = false;
  bool paused BASALT_GUARDED_BY(mutex) = false;
  bool has_head BASALT_GUARDED_BY(mutex) = false;
  ResponseHead pending_head BASALT_GUARDED_BY(mutex);
  std::string pending BASALT_GUARDED_BY(mutex);
  bool has_end BASALT_GUARDED_BY(mutex) = false;
  absl::Status end BASALT_GUARDED_BY(mutex);
};
using TransferPtr = std::shared_ptr<Transfer>;

class CurlClient final : public Client {
 public:
  CurlClient(Loop& loop, CurlOptions options) : loop_(loop), options_(std::move(options)) {
    GlobalInit();
    while (options_.base_url.ends_with('/')) options_.base_url.pop_back();
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxKeptConnections);
    driver_ = MakeThreadLoop("curl");
    driver_->Post([this] { Drive(); });
  }

  ~CurlClient() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    driver_.reset();
    for (const auto& [easy, transfer] : active_) Detach(*transfer);
    for (CURL* easy : kept_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }

  std::unique_ptr<Call> Start(Request request, ResponseObserver& observer) override;

  void Cancel(const TransferPtr& transfer) {
    Forget(*transfer);
    Tell({Command::kCancel, transfer});
  }

 private:
  struct Command {
    enum Kind { kStart, kCancel, kResume } kind;
    TransferPtr transfer;
  };

  class CurlCall final : public Call {
   public:
    CurlCall(CurlClient& client, TransferPtr transfer) : client_(client), transfer_(std::move(transfer)) {}
    ~CurlCall() override {
      if (transfer_->observer != nullptr) client_.Cancel(transfer_);
    }

   private:
    CurlClient& client_;
    const TransferPtr transfer_;
  };

  // ---- on the loop ----

  // The exchange is over for the observer.
  ResponseObserver* Forget(Transfer& transfer) {
    if (transfer.whole_timer != kNoTimer) loop_.Cancel(std::exchange(transfer.whole_timer, kNoTimer));
    if (transfer.idle_timer != kNoTimer) loop_.Cancel(std::exchange(transfer.idle_timer, kNoTimer));
    return std::exchange(transfer.observer, nullptr);
  }

  void TimeOut(const TransferPtr& transfer, std::string_view what) {
    ResponseObserver* observer = Forget(*transfer);
    if (observer == nullptr) return;
    Tell({Command::kCancel, transfer});
    observer->OnEnd(MakeStatus(absl::StatusCode::kDeadlineExceeded, what));
  }

  void ArmIdle(const TransferPtr& transfer, absl::Time when) {
    transfer->idle_timer = loop_.RunAt(when, [this, transfer] {
      transfer->idle_timer = kNoTimer;
      const absl::Time due = transfer->last_activity + transfer->idle;
      bool waiting;
      {
        MutexLock lock(transfer->mutex);
        waiting = transfer->posted;  // Something has come, this loop was only slow.
      }
      if (waiting || due > loop_.Now()) {
        ArmIdle(transfer, std::max(due, loop_.Now() + transfer->idle));
      } else {
        TimeOut(transfer, "nothing came within the idle timeout");
      }
    });
  }

  // Static: it may run when the call and then the client are gone already.
  static void Deliver(const TransferPtr& transfer);

  void Tell(Command command) {
    {
      MutexLock lock(mutex_);
      commands_.push_back(std::move(command));
      if (commands_.size() > 1) return;  // The driver has been told.
    }
    curl_multi_wakeup(multi_);
  }

  // ---- on the driver ----

  void Drive();
  void Obey(Command command);
  void Admit();
  void Begin(const TransferPtr& transfer);
  void SetUp(Transfer& transfer);
  void Complete(CURL* easy, CURLcode code);
  // Takes the transfer off curl and keeps the handle for the next one.
  void Detach(Transfer& transfer);
  // Tells the loop that something waits. Requires the transfer's mutex not to be held.
  void Notify(const TransferPtr& transfer) {
    {
      MutexLock lock(transfer->mutex);
      if (std::exchange(transfer->posted, true)) return;
    }
    loop_.Post([transfer] { Deliver(transfer); });
  }
  std::string Token();

  static size_t OnHeader(char* data, size_t size, size_t count, void* user);
  static size_t OnBody(char* data, size_t size, size_t count, void* user);
  static size_t OnUpload(char* out, size_t size, size_t count, void* user);

  Loop& loop_;
  CurlOptions options_;
  CURLM* multi_ = nullptr;

  Mutex mutex_;
  std::deque<Command> commands_ BASALT_GUARDED_BY(mutex_);
  bool stopping_ BASALT_GUARDED_BY(mutex_) = false;

  // The driver's.
  std::map<CURL*, TransferPtr> active_;
  std::deque<TransferPtr> waiting_;
  size_t parallel_ = 0;
  std::vector<CURL*> kept_;
  std::string token_;
  absl::Time token_read_ = absl::InfinitePast();

  std::unique_ptr<Loop> driver_;  // Last: its thread uses everything above.
};

std::unique_ptr<Call> CurlClient::Start(Request request, ResponseObserver& observer) {
  auto transfer = std::make_shared<Transfer>();
  transfer->client = this;
  transfer->observer = &observer;
  transfer->idle = request.idle_timeout;
  transfer->last_activity = loop_.Now();
  if (request.timeout < absl::InfiniteDuration()) {
    transfer->whole_timer = loop_.RunAfter(request.timeout, [this, transfer] {
      transfer->whole_timer = kNoTimer;
      TimeOut(transfer, "the request took longer than its timeout");
    });
  }
  if (request.idle_timeout < absl::InfiniteDuration()) ArmIdle(transfer, loop_.Now() + request.idle_timeout);
  transfer->request = std::move(request);
  Tell({Command::kStart, transfer});
  return std::make_unique<CurlCall>(*this, transfer);
}

void CurlClient::Deliver(const TransferPtr& transfer) {
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
  // Each call may destroy the Call, and with it clear the observer.
  if (transfer->observer == nullptr) return;
  CurlClient& client = *transfer->client;
  transfer->last_activity = client.loop_.Now();
  if (resume) client.Tell({Command::kResume, transfer});
  if (has_head) transfer->observer->OnHead(head);
  if (transfer->observer != nullptr && !body.empty()) transfer->observer->OnChunk(body);
  if (transfer->observer != nullptr && has_end) client.Forget(*transfer)->OnEnd(end);
}

void CurlClient::Drive() {
  while (true) {
    std::deque<Command> commands;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      commands.swap(commands_);
    }
    for (Command& command : commands) Obey(std::move(command));
    Admit();
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) Complete(message->easy_handle, message->data.result);
    }
    if (!waiting_.empty() && parallel_ < options_.max_parallel) continue;
    curl_multi_poll(multi_, nullptr, 0, 10'000, nullptr);
  }
}

void CurlClient::Obey(Command command) {
  Transfer& transfer = *command.transfer;
  switch (command.kind) {
    case Command::kStart:
      if (transfer.request.timeout < absl::InfiniteDuration()) {
        waiting_.push_back(std::move(command.transfer));
      } else {
        Begin(command.transfer);
      }
      return;
    case Command::kCancel:
      transfer.cancelled = true;
      if (transfer.easy != nullptr) {
        active_.erase(transfer.easy);
        Detach(transfer);
      }
      return;
    case Command::kResume:
      if (transfer.easy != nullptr) curl_easy_pause(transfer.easy, CURLPAUSE_CONT);
      return;
  }
}

void CurlClient::Admit() {
  while (!waiting_.empty() && parallel_ < options_.max_parallel) {
    const TransferPtr transfer = std::move(waiting_.front());
    waiting_.pop_front();
    if (transfer->cancelled) continue;
    transfer->counted = true;
    ++parallel_;
    Begin(transfer);
  }
}

void CurlClient::Begin(const TransferPtr& transfer) {
  if (kept_.empty()) {
    transfer->easy = curl_easy_init();
  } else {
    transfer->easy = kept_.back();
    kept_.pop_back();
  }
  SetUp(*transfer);
  active_.emplace(transfer->easy, transfer);
  curl_multi_add_handle(multi_, transfer->easy);
}

std::string CurlClient::Token() {
  if (options_.bearer_token_file.empty()) return options_.bearer_token;
  const absl::Time now = loop_.Now();
  if (now - token_read_ > kTokenAge) {
    std::ifstream file(options_.bearer_token_file);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    // While the file is being replaced the old token is better than none.
    if (const std::string_view trimmed = Trim(text); !trimmed.empty()) token_ = trimmed;
    token_read_ = now;
  }
  return token_;
}

void CurlClient::SetUp(Transfer& transfer) {
  CURL* easy = transfer.easy;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &CurlClient::OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlClient::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  // By a read function without a seek function: the library would otherwise silently send a request again when a kept
  // connection dies under it, and the first one may have taken effect.
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, &CurlClient::OnUpload);
  curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
  transfer.lists = internal::SetUpRequest(easy, options_, transfer.request, Token());
}

void CurlClient::Detach(Transfer& transfer) {
  curl_multi_remove_handle(multi_, transfer.easy);
  transfer.lists = {};
  curl_easy_reset(transfer.easy);
  if (kept_.size() < kMaxKeptHandles) {
    kept_.push_back(transfer.easy);
  } else {
    curl_easy_cleanup(transfer.easy);
  }
  transfer.easy = nullptr;
  if (std::exchange(transfer.counted, false)) --parallel_;
}

void CurlClient::Complete(CURL* easy, CURLcode code) {
  const auto found = active_.find(easy);
  if (found == active_.end()) return;
  const TransferPtr transfer = found->second;
  active_.erase(found);
  absl::Status status;
  if (code != CURLE_OK) {
    long request_bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    const std::string_view text =
        transfer->error[0] != '\0' ? std::string_view(transfer->error) : std::string_view(curl_easy_strerror(code));
    status = MakeStatus(request_bytes == 0 ? absl::StatusCode::kUnavailable : absl::StatusCode::kUnknown,
                        fmt::format("{} {}: {}", transfer->request.method, options_.base_url, text));
  }
  Detach(*transfer);
  {
    MutexLock lock(transfer->mutex);
    transfer->has_end = true;
    transfer->end = status;
  }
  Notify(transfer);
}

size_t CurlClient::OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  std::string_view line = Trim({data, bytes});
  if (transfer.head_done) return bytes;  // A trailer.
  transfer.header_bytes += bytes;
  if (transfer.header_bytes > kMaxHeaderBytes) return 0;
  if (line.starts_with("HTTP/")) {
    transfer.head = {};
    const size_t space = line.find(' ');
    for (size_t i = space + 1; space != std::string_view::npos && i < line.size() && line[i] >= '0' && line[i] <= '9';
         ++i) {
      transfer.head.status = transfer.head.status * 10 + (line[i] - '0');
    }
    return bytes;
  }
  if (!line.empty()) {
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      transfer.head.headers.emplace_back(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
    }
    return bytes;
  }
  if (transfer.head.status < 200) return bytes;  // An interim response: the real one follows.
  transfer.head_done = true;
  {
    MutexLock lock(transfer.mutex);
    transfer.has_head = true;
    transfer.pending_head = std::move(transfer.head);
  }
  transfer.client->Notify(transfer.shared_from_this());
  return bytes;
}

size_t CurlClient::OnBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  {
    MutexLock lock(transfer.mutex);
    if (transfer.pending.size() >= transfer.client->options_.high_water) {
      transfer.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    transfer.pending.append(data, size * count);
  }
  transfer.client->Notify(transfer.shared_from_this());
  return size * count;
}

size_t CurlClient::OnUpload(char* out, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = std::min(size * count, transfer.request.body.size() - transfer.sent);
  transfer.request.body.copy(out, bytes, transfer.sent);
  transfer.sent += bytes;
  return bytes;
}

}  // namespace

std::unique_ptr<Client> MakeCurlClient(Loop& loop, CurlOptions options) {
  return std::make_unique<CurlClient>(loop, std::move(options));
}

}  // namespace basalt::http
