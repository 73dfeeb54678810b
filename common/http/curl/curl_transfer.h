#pragma once

// One exchange of the curl client, between its loop and the worker that drives it. Internal to the client.
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

// The mutex guards the members that both threads use. Each of the others belongs to the thread that its comment names.
struct Transfer : std::enable_shared_from_this<Transfer> {
  CurlWorker* lane = nullptr;  // Never changes after Start.

  // The following belong to the worker's thread once the transfer is posted to the worker.
  Request request;
  CURL* easy = nullptr;
  CurlLists lists;
  size_t sent = 0;
  ResponseHead head;
  size_t header_bytes = 0;
  bool head_done = false;
  int status = 0;        // The status of the answer, once its head is done.
  bool counted = false;  // Whether the transfer counts towards the limit of parallel requests.
  bool cancelled = false;
  IdentityPtr identity;
  bool again = false;    // Whether the request was sent a second time, with another identity.
  bool refused = false;  // Whether a 401 is kept back, since the request may be sent once more.
  std::string refusal;   // The body of the 401 that is kept back.
  bool cut = false;      // Whether the worker cut the connection.
  bool late = false;     // Whether the request was given up since it had not gone out by its `send_by`.
  curl_socket_t heard_on = CURL_SOCKET_BAD;
  char error[CURL_ERROR_SIZE] = {};

  // The following belong to the loop.
  Loop* loop = nullptr;
  ResponseObserver* observer = nullptr;  // Null if the call has ended or was cancelled.
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

  // Ends the exchange for the observer, and returns the observer. Runs on the loop.
  ResponseObserver* Forget();
  // Passes the parts of the answer that have come to the observer. Runs on the loop, maybe after the call and then the
  // client are gone.
  static void Deliver(const std::shared_ptr<Transfer>& transfer);
};
using TransferPtr = std::shared_ptr<Transfer>;

}  // namespace basalt::http::internal
