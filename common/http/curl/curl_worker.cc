#include "common/http/curl/curl_worker.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/status.h"
#include "common/http/curl/curl_error.h"

namespace basalt::http::internal {
namespace {

constexpr size_t kMaxKeptHandles = 256;
constexpr long kMaxKeptConnections = 512;
constexpr size_t kMaxHeaderBytes = 1 << 20;
constexpr size_t kMaxRefusal = 64 << 10;
// The number of streams that every server should accept at once on a connection (RFC 9113, 6.5.2).
constexpr size_t kLeastStreams = 100;
// Limits the connections if streams share them. A server that speaks only HTTP/1.1 gets that many requests at once.
constexpr long kMaxMultiplexed = 16;

bool Multiplexes(const CurlOptions& options) { return options.http2 && options.base_url.starts_with("https://"); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

CurlWorker::CurlWorker(const TimeSystem& time, const CurlOptions& options, Credentials* credentials, bool bulk)
    : time_(time),
      options_(options),
      credentials_(credentials),
      multi_(curl_multi_init()),
      max_parallel_(Multiplexes(options) ? std::min(options.max_parallel, kLeastStreams) : options.max_parallel),
      wakeups_(options.wakeups) {
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxKeptConnections);
  // When a connection is full, libcurl would open a new one for each request that waits.
  if (!bulk && Multiplexes(options)) curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, kMaxMultiplexed);
  driver_ = MakeThreadLoop(bulk ? "curl-bulk" : "curl");
  driver_->Post([this] { Drive(); });
}

CurlWorker::~CurlWorker() {
  Stop();
  for (const auto& [easy, transfer] : active_) Detach(*transfer);
  for (CURL* easy : kept_) curl_easy_cleanup(easy);
  curl_multi_cleanup(multi_);
}

void CurlWorker::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  posted_.NotifyAll();
  curl_multi_wakeup(multi_);
  driver_.reset();
}

void CurlWorker::Post(CurlCommand command) {
  {
    MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
    if (commands_.size() > 1) return;  // The thread has been woken already.
    if (resting_) return posted_.NotifyAll();
  }
  curl_multi_wakeup(multi_);
}

void CurlWorker::Notify(const TransferPtr& transfer) {
  {
    MutexLock lock(transfer->mutex);
    if (std::exchange(transfer->posted, true)) return;
  }
  transfer->loop->Post([transfer] { Transfer::Deliver(transfer); });
}

// ---- the thread ----

void CurlWorker::Drive() {
  while (true) {
    std::deque<CurlCommand> commands;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      commands.swap(commands_);
    }
    for (CurlCommand& command : commands) Execute(std::move(command));
    StartQueued();
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) Complete(message->easy_handle, message->data.result);
    }
    if (!waiting_.empty() && parallel_ < max_parallel_) continue;
    long again_ms = -1;
    curl_multi_timeout(multi_, &again_ms);
    if (again_ms == 0) continue;  // libcurl has left something unread.
    curl_multi_poll(multi_, nullptr, 0, 10'000, nullptr);
    Rest();
  }
}

void CurlWorker::Rest() {
  MutexLock lock(mutex_);
  resting_ = true;
  while (commands_.empty() && !stopping_ && !wakeups_.Allows(time_.Now())) {
    // Wait by a clock that cannot be set.
    posted_.WaitUntil(mutex_,
                      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wakeups_.Next() - time_.Now()));
  }
  resting_ = false;
  if (const absl::Time now = time_.Now(); wakeups_.Allows(now)) wakeups_.Take(now);
}

void CurlWorker::Execute(CurlCommand command) {
  Transfer& transfer = *command.transfer;
  switch (command.kind) {
    case CurlCommand::kStart:
      if (transfer.request.timeout < absl::InfiniteDuration()) {
        waiting_.push_back(std::move(command.transfer));
      } else {
        Identify(std::move(command.transfer));
      }
      return;
    case CurlCommand::kTimedOut:
      if (transfer.easy != nullptr) CutIfSilent(transfer);
      [[fallthrough]];
    case CurlCommand::kCancel:
      transfer.cancelled = true;
      if (transfer.easy != nullptr) {
        active_.erase(transfer.easy);
        Detach(transfer);
      } else if (std::exchange(transfer.counted, false)) {
        --parallel_;
      }
      return;
    case CurlCommand::kResume:
      if (transfer.easy != nullptr) curl_easy_pause(transfer.easy, CURLPAUSE_CONT);
      return;
    case CurlCommand::kIdentified:
      if (transfer.cancelled) return;
      if (!command.identity.ok()) {
        return End(command.transfer, FailureStatus(absl::StatusCode::kUnavailable, Failure::kCredentials,
                                                   ToStd(command.identity.status().message())));
      }
      transfer.identity = *std::move(command.identity);
      return Begin(command.transfer);
    case CurlCommand::kIdentifiedAgain:
      if (transfer.cancelled) return;
      if (!command.identity.ok() || *command.identity == transfer.identity) return EndRefused(command.transfer);
      transfer.identity = *std::move(command.identity);
      transfer.again = true;
      transfer.refused = false;
      transfer.refusal.clear();
      transfer.sent = 0;
      transfer.head = {};
      transfer.header_bytes = 0;
      transfer.head_done = false;
      return Begin(command.transfer);
  }
}

void CurlWorker::StartQueued() {
  while (!waiting_.empty() && parallel_ < max_parallel_) {
    TransferPtr transfer = std::move(waiting_.front());
    waiting_.pop_front();
    if (transfer->cancelled) continue;
    transfer->counted = true;
    ++parallel_;
    Identify(std::move(transfer));
  }
}

void CurlWorker::Identify(TransferPtr transfer) {
  if (credentials_ == nullptr) return Begin(transfer);
  transfer->identity = credentials_->Known();
  if (transfer->identity != nullptr) return Begin(transfer);
  credentials_->Get([this, transfer](absl::StatusOr<IdentityPtr> identity) {
    Post({CurlCommand::kIdentified, transfer, std::move(identity)});
  });
}

void CurlWorker::Begin(const TransferPtr& transfer) {
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

void CurlWorker::SetUp(Transfer& transfer) {
  CURL* easy = transfer.easy;
  transfer.error[0] = '\0';
  transfer.heard_on = CURL_SOCKET_BAD;
  transfer.cut = false;
  transfer.late = false;
  transfer.status = 0;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &CurlWorker::OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlWorker::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  // The body comes by functions that may refuse. Otherwise libcurl would silently send a request again when a kept
  // connection dies under it, though the first request may have taken effect.
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, &CurlWorker::OnUpload);
  curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &CurlWorker::OnRewind);
  curl_easy_setopt(easy, CURLOPT_SEEKDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &CurlWorker::OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &CurlWorker::OnOpen);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &CurlWorker::OnClose);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  transfer.lists = SetUpRequest(easy, options_, transfer.request, transfer.identity.get());
}

void CurlWorker::Detach(Transfer& transfer) {
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

void CurlWorker::Complete(CURL* easy, CURLcode code) {
  const auto found = active_.find(easy);
  if (found == active_.end()) return;
  const TransferPtr transfer = found->second;
  active_.erase(found);
  // A server that refuses a request before it has read the body may break the stream off behind its answer.
  if (transfer->status >= 400 && (code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2_STREAM)) code = CURLE_OK;
  const auto status_of = [&] {
    if (code == CURLE_OK) return absl::OkStatus();
    if (code == CURLE_ABORTED_BY_CALLBACK && transfer->late) return LateStatus();
    return ErrorOf(easy, code, transfer->error, transfer->cut, transfer->request, options_.base_url);
  };
  const absl::Status status = status_of();
  Detach(*transfer);
  if (transfer->refused && status.ok()) {
    return credentials_->GetOtherThan(transfer->identity, [this, transfer](absl::StatusOr<IdentityPtr> identity) {
      Post({CurlCommand::kIdentifiedAgain, transfer, std::move(identity)});
    });
  }
  End(transfer, status);
}

void CurlWorker::End(const TransferPtr& transfer, const absl::Status& status) {
  if (std::exchange(transfer->counted, false)) --parallel_;
  {
    MutexLock lock(transfer->mutex);
    transfer->has_end = true;
    transfer->end = status;
  }
  Notify(transfer);
}

void CurlWorker::EndRefused(const TransferPtr& transfer) {
  {
    MutexLock lock(transfer->mutex);
    transfer->has_head = true;
    transfer->pending_head = std::move(transfer->head);
    transfer->pending = std::move(transfer->refusal);
  }
  End(transfer, absl::OkStatus());
}

// ---- connections ----

curl_socket_t CurlWorker::OnOpen(void* user, curlsocktype, curl_sockaddr* address) {
  auto& lane = *static_cast<CurlWorker*>(user);
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  const absl::Duration probe_after = lane.options_.probe_after, dead_after = lane.options_.dead_after;
  const auto set = [fd](int level, int name, absl::Duration value, absl::Duration unit) {
    const int number = static_cast<int>(std::max<int64_t>(1, value / unit));
    setsockopt(fd, level, name, &number, sizeof(number));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, absl::Seconds(1), absl::Seconds(1));
  set(IPPROTO_TCP, TCP_KEEPIDLE, probe_after, absl::Seconds(1));
  set(IPPROTO_TCP, TCP_KEEPINTVL, (dead_after - probe_after) / 3, absl::Seconds(1));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3 * absl::Seconds(1), absl::Seconds(1));
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, dead_after, absl::Milliseconds(1));
  lane.connections_[fd] = {lane.time_.Now()};
  return fd;
}

int CurlWorker::OnClose(void* user, curl_socket_t socket) {
  static_cast<CurlWorker*>(user)->connections_.erase(socket);
  return close(socket);
}

// Finds the socket by our port, since libcurl does not name the socket of a stream that shares a connection before the
// stream ends.
curl_socket_t CurlWorker::SocketOf(const Transfer& transfer) {
  long port = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_LOCAL_PORT, &port);
  if (port <= 0) return CURL_SOCKET_BAD;
  for (auto& [socket, connection] : connections_) {
    if (connection.port == 0) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
      // The port lies at the same place in sockaddr_in and sockaddr_in6.
      connection.port = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    }
    if (connection.port == port) return socket;
  }
  return CURL_SOCKET_BAD;
}

void CurlWorker::Heard(Transfer& transfer) {
  if (transfer.heard_on == CURL_SOCKET_BAD) transfer.heard_on = SocketOf(transfer);
  const auto found = connections_.find(transfer.heard_on);
  if (found != connections_.end()) found->second.heard = time_.Now();
}

void CurlWorker::CutIfSilent(const Transfer& transfer) {
  const curl_socket_t socket = SocketOf(transfer);
  const auto found = connections_.find(socket);
  if (found == connections_.end() || time_.Now() - found->second.heard < options_.dead_after / 3) return;
  for (const auto& [easy, other] : active_) other->cut = other->cut || SocketOf(*other) == socket;
  // With this option the kernel throws away the bytes that the peer has not acknowledged. Otherwise it would send them
  // again once the peer is back, though the requests have already failed.
  const linger at_once{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  // libcurl then sees the end of the connection, ends its other requests, and opens another one for new requests.
  shutdown(socket, SHUT_RDWR);
}

// ---- callbacks of libcurl ----

size_t CurlWorker::OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  const std::string_view line = Trim({data, bytes});
  transfer.lane->Heard(transfer);
  if (transfer.head_done) return bytes;  // The line is a trailer.
  transfer.header_bytes += bytes;
  if (transfer.header_bytes > kMaxHeaderBytes) return 0;
  if (line.starts_with("HTTP/")) {
    if (line.starts_with("HTTP/1")) transfer.lane->spoke_http1_ = true;
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
  if (transfer.head.status < 200) return bytes;  // This is an interim response; the final one follows.
  transfer.head_done = true;
  transfer.status = transfer.head.status;
  if (transfer.head.status == 401 && transfer.lane->credentials_ != nullptr && !transfer.again) {
    transfer.refused = true;
    return bytes;
  }
  {
    MutexLock lock(transfer.mutex);
    transfer.has_head = true;
    transfer.pending_head = std::move(transfer.head);
  }
  Notify(transfer.shared_from_this());
  return bytes;
}

size_t CurlWorker::OnBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.lane->Heard(transfer);
  if (transfer.refused) {
    transfer.refusal.append(data, std::min(size * count, kMaxRefusal - std::min(kMaxRefusal, transfer.refusal.size())));
    return size * count;
  }
  {
    MutexLock lock(transfer.mutex);
    if (transfer.pending.size() >= transfer.lane->options_.high_water) {
      transfer.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    transfer.pending.append(data, size * count);
  }
  Notify(transfer.shared_from_this());
  return size * count;
}

bool CurlWorker::IsLate(Transfer& transfer) {
  transfer.late = transfer.lane->time_.Now() >= transfer.request.send_by;
  return transfer.late;
}

int CurlWorker::OnConnected(void* user, char*, char*, int, int) {
  return IsLate(*static_cast<Transfer*>(user)) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

// A request may still be given up here: a server carries nothing out before it has the whole body.
size_t CurlWorker::OnUpload(char* out, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.sent < transfer.request.body.size() && IsLate(transfer)) return CURL_READFUNC_ABORT;
  const size_t bytes = std::min(size * count, transfer.request.body.size() - transfer.sent);
  transfer.request.body.copy(out, bytes, transfer.sent);
  transfer.sent += bytes;
  return bytes;
}

// libcurl calls this to send the request again on another connection. Over HTTP/2, libcurl sets an error first if the
// connection died. Without an error, the server has refused the stream with GOAWAY or REFUSED_STREAM, and so surely not
// looked at the request (RFC 9113, 8.7). A connection of HTTP/1 that ends sets no error either; `spoke_http1_` excludes
// that case, since such a connection had an answer before.
int CurlWorker::OnRewind(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.error[0] != '\0' || transfer.lane->spoke_http1_ || offset != 0 || origin != SEEK_SET) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer.sent = 0;
  return CURL_SEEKFUNC_OK;
}

}  // namespace basalt::http::internal
