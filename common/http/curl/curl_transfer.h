#pragma once

// One exchange of the curl client, between its loop and the lane that drives it. Internal to the client.
#include <curl/curl.h>

#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/http/credentials/credentials.h"
#include "common/http/curl/curl_setup.h"
#include "common/http/http.h"

namespace basalt::http::internal {

class CurlWorker;

// What the two threads share is behind the mutex; the rest belongs to the thread named.
struct Transfer : std::enable_shared_from_this<Transfer> {
  CurlWorker* lane = nullptr;  // Never changes.

  // Written before the lane sees it, then only the lane's.
  Request request;
  CURL* easy = nullptr;
  CurlLists lists;
  size_t sent = 0;
  ResponseHead head;
  size_t header_bytes = 0;
  bool head_done = false;
  int status = 0;        // Once the head is done.
  bool counted = false;  // In the limit of parallel requests.
  bool cancelled = false;
  IdentityPtr identity;
  bool again = false;    // It was sent a second time, with another identity.
  bool refused = false;  // A 401 that is kept back: it may be sent once more.
  std::string refusal;   // The body of that.
  bool cut = false;      // Its connection was cut.
  bool late = false;     // It was given up since it had not gone out by its `send_by`.
  curl_socket_t heard_on = CURL_SOCKET_BAD;
  char error[CURL_ERROR_SIZE] = {};

  // The loop's.
  Loop* loop = nullptr;
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

  // The exchange is over for the observer. On the loop.
  ResponseObserver* Forget();
  // Tells the observer what has come. On the loop; it may run when the call and then the client are gone already.
  static void Deliver(const std::shared_ptr<Transfer>& transfer);
};
using TransferPtr = std::shared_ptr<Transfer>;

}  // namespace basalt::http::internal
