#pragma once

// A thread with a libcurl multi handle, which drives the transfers of one kind (bulk or not) over its own connections.
// Internal to the curl client.
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
  absl::StatusOr<IdentityPtr> identity = IdentityPtr();  // For kIdentified and kIdentifiedAgain.
};

class CurlWorker {
 public:
  // `credentials` may be null. `credentials` and `options` must outlive the thread: call Stop() before they go.
  CurlWorker(const TimeSystem& time, const CurlOptions& options, Credentials* credentials, bool bulk);
  ~CurlWorker();

  // Queues a command. Any thread, until the worker is destroyed.
  void Post(CurlCommand command);
  // Ends the thread. Transfers make no progress any more.
  void Stop();

 private:
  void Drive();
  // Waits until the thread may read the answers that have come, or a command is queued, or Stop() is called.
  void Rest();
  void Execute(CurlCommand command);
  void StartQueued();
  // Gets the client's identity, then begins the transfer.
  void Identify(TransferPtr transfer);
  void Begin(const TransferPtr& transfer);
  void SetUp(Transfer& transfer);
  void Complete(CURL* easy, CURLcode code);
  // Takes the transfer off curl and keeps the handle for the next one.
  void Detach(Transfer& transfer);
  // Ends the transfer. Its loop decides whether the observer is still called.
  void End(const TransferPtr& transfer, const absl::Status& status);
  void EndRefused(const TransferPtr& transfer);
  // Lets the loop deliver the parts that have come. Requires: the caller does not hold the transfer's mutex.
  static void Notify(const TransferPtr& transfer);
  curl_socket_t SocketOf(const Transfer& transfer);
  // Returns whether the request must not go out any more. The check is as late as libcurl allows: the request may have
  // waited for other requests, for an identity or for a connection, or the whole process stood still.
  static bool IsLate(Transfer& transfer);
  // Records that bytes have come on the transfer's connection.
  void Heard(Transfer& transfer);
  // Cuts the connection of a transfer that has timed out, if nothing has come on it for a while.
  void CutIfSilent(const Transfer& transfer);

  static size_t OnHeader(char* data, size_t size, size_t count, void* user);
  static size_t OnBody(char* data, size_t size, size_t count, void* user);
  // libcurl calls this before the first byte of the request goes out, once a connection is open.
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
  bool resting_ BASALT_GUARDED_BY(mutex_) = false;  // Whether the thread waits outside of libcurl's poll.
  CondVar posted_;

  // All of the following belong to the thread.
  struct Connection {
    absl::Time heard;  // The time at which bytes came last, or at which the connection was opened.
    long port = 0;     // Our port. 0 if it was not looked up yet.
  };
  std::map<curl_socket_t, Connection> connections_;
  std::map<CURL*, TransferPtr> active_;
  std::deque<TransferPtr> waiting_;
  const size_t max_parallel_;
  size_t parallel_ = 0;
  bool spoke_http1_ = false;  // Whether an answer came over HTTP/1.
  std::vector<CURL*> kept_;
  TokenBucket wakeups_;

  std::unique_ptr<Loop> driver_;  // Is the last member, since its thread uses everything above.
};

}  // namespace basalt::http::internal
