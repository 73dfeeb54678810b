#pragma once

// A thread with a libcurl multi handle: it drives the transfers of one kind over connections of their own. Internal to
// the curl client.
#include <curl/curl.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/http/curl/curl_client.h"
#include "common/http/curl/curl_transfer.h"

namespace basalt::http::internal {

struct CurlCommand {
  enum Kind { kStart, kCancel, kTimedOut, kResume, kIdentified, kIdentifiedAgain } kind;
  TransferPtr transfer;
  absl::StatusOr<IdentityPtr> identity = IdentityPtr();  // Of the last two.
};

class CurlWorker {
 public:
  // `credentials` may be null. It and `options` outlive the lane's thread: Stop before they go.
  CurlWorker(const TimeSystem& time, const CurlOptions& options, Credentials* credentials, bool bulk);
  ~CurlWorker();

  // Any thread, until the lane is destroyed.
  void Post(CurlCommand command);
  // Ends the thread; nothing is driven any more.
  void Stop();

 private:
  void Drive();
  // Waits until the thread may take in what has come, or is told something.
  void Rest();
  void Execute(CurlCommand command);
  void StartQueued();
  // Finds out who we are, then begins.
  void Identify(TransferPtr transfer);
  void Begin(const TransferPtr& transfer);
  void SetUp(Transfer& transfer);
  void Complete(CURL* easy, CURLcode code);
  // Takes the transfer off curl and keeps the handle for the next one.
  void Detach(Transfer& transfer);
  // It ends; what is told is up to its loop.
  void End(const TransferPtr& transfer, const absl::Status& status);
  void EndRefused(const TransferPtr& transfer);
  // Tells the loop that something waits. Requires the transfer's mutex not to be held.
  static void Notify(const TransferPtr& transfer);
  curl_socket_t SocketOf(const Transfer& transfer);
  // It must not go out any more. Asked as late as the library allows: it may have waited for other requests, for an
  // identity or for a connection, or the whole process stood still.
  static bool IsLate(Transfer& transfer);
  // Something came for it.
  void Heard(Transfer& transfer);
  // Cuts the connection of a transfer that has timed out, if nothing has come on it for a while.
  void CutIfSilent(const Transfer& transfer);

  static size_t OnHeader(char* data, size_t size, size_t count, void* user);
  static size_t OnBody(char* data, size_t size, size_t count, void* user);
  // Before the first byte of it, with a connection at hand.
  static int OnConnected(void* user, char*, char*, int, int);
  static size_t OnUpload(char* out, size_t size, size_t count, void* user);
  static int OnRewind(void* user, curl_off_t offset, int origin);
  static curl_socket_t OnOpen(void* user, curlsocktype purpose, curl_sockaddr* address);
  static int OnClose(void* user, curl_socket_t socket);

  const TimeSystem& time_;
  const CurlOptions& options_;
  Credentials* const credentials_;
  CURLM* multi_ = nullptr;

  Mutex mutex_;
  std::deque<CurlCommand> commands_ BASALT_GUARDED_BY(mutex_);
  bool stopping_ BASALT_GUARDED_BY(mutex_) = false;
  bool resting_ BASALT_GUARDED_BY(mutex_) = false;  // Not in the library's poll: the library's wake-up is not heard.
  CondVar posted_;

  // The thread's.
  struct Connection {
    absl::Time heard;  // When something came on it last, or when it was opened.
    long port = 0;     // Ours; 0 = not asked for yet.
  };
  std::map<curl_socket_t, Connection> connections_;
  std::map<CURL*, TransferPtr> active_;
  std::deque<TransferPtr> waiting_;
  const size_t max_parallel_;
  size_t parallel_ = 0;
  bool spoke_http1_ = false;  // An answer came over HTTP/1.
  std::vector<CURL*> kept_;
  TokenBucket wakeups_;

  std::unique_ptr<Loop> driver_;  // Last: its thread uses everything above.
};

}  // namespace basalt::http::internal
