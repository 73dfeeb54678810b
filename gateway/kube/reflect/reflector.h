#pragma once

// Keeps up one list and watch of one resource for ever: architecture, Gateway; correctness 1.
//
// Confined to one loop. The sink is called on that loop and must not destroy, stop or start the reflector from within a
// call. The client, the clock and the sink must outlive the reflector. Destroying the reflector ends its exchange and
// its timers.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/reconcile/back_off.h"
#include "gateway/kube/api_clock.h"
#include "gateway/kube/reflect/line_splitter.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {

class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // The server began to answer a list or watch with 200.
  virtual void OnAccepted() {}
  // Receives the whole content as of `resource_version`: an object that is not in it is gone from the watch.
  virtual void OnReplace(std::vector<Decoded> objects, int64_t resource_version) = 0;
  // Receives an ADDED, MODIFIED or DELETED. The event may be a repetition or older than the known state. The sink may
  // change `decoded`, whose memory is used for the next event.
  virtual void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) = 0;
  // Everything up to `resource_version` has been reported.
  virtual void OnBookmark(int64_t resource_version) = 0;
  // The server does not serve the resource; the reflector asks again now and then. Called once per change.
  virtual void OnAbsent() = 0;
  // The gateway may not list or watch the resource. Called as OnAbsent is.
  virtual void OnForbidden(const std::string& message) = 0;
  // A failure happened, and the reflector tries again: for readiness, logs and metrics. UNAUTHENTICATED: an HTTP 401.
  // INTERNAL, INVALID_ARGUMENT and RESOURCE_EXHAUSTED: the server answered with something else that is of no use. Other
  // codes are those of http::ResponseObserver.
  virtual void OnError(const absl::Status& status) = 0;
};

struct ReflectorOptions {
  std::string watch;  // The id of the watch, for messages.
  std::string path;   // A path such as /api/v1/pods.
  ObjectKind kind = ObjectKind::kGeneric;
  std::string label_selector;
  std::string field_selector;
  // Only for kOwner: the sink receives wanted objects only. Null if all objects are wanted. Called on the reflector's
  // loop.
  Wants wants;
  // Selects workloads whose pods are for one of these schedulers: the API server has no such selector.
  std::vector<std::string> schedulers;
  int page_limit = 500;
  // kTry falls back to pages for good if the server has no streaming lists.
  enum class StreamingList { kTry, kOff } streaming_list = StreamingList::kTry;
  BackOffPolicy back_off = {.first = absl::Milliseconds(100), .most = absl::Seconds(30)};
  absl::Duration slow_retry = absl::Seconds(30);  // The pause after absent or forbidden; ± half.
  // For this long after the server could not be reached, a refusal for a missing right is not believed: a server that
  // has just started knows of no rights yet.
  absl::Duration starting = absl::Seconds(30);
  // Applies `starting` also after the reflector's start: the server may have just started, and nobody has observed
  // that.
  bool distrusts_first_refusal = false;
  absl::Duration list_timeout = absl::Seconds(60);  // The limit for a page, and for a streaming list as a whole.
  absl::Duration watch_timeout = absl::Minutes(5);  // The server ends a watch after 1–2 times this.
  absl::Duration idle_timeout = absl::Minutes(3);   // Bookmarks come about once a minute.
  bool compressed = true;                           // Pages come as gzip.
  size_t max_line = 4 << 20;
  size_t max_page = 512 << 20;
};

class Reflector : private http::ResponseObserver {
 public:
  // `clock` may be null.
  Reflector(Loop& loop, http::Client& client, Random& random, ReflectorOptions options, ReflectorSink& sink,
            ApiClock* clock = nullptr);
  ~Reflector() override;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void Start();
  // Ends the exchange under way. Start goes on from the last resourceVersion.
  void Stop();

  // Returns 0 if nothing is listed yet.
  int64_t resource_version() const { return resource_version_; }
  bool streams_lists() const { return streaming_; }

 private:
  enum class Phase { kStopped, kPage, kStreamingList, kWatch, kWaiting };
  enum class Presence { kUnknown, kServed, kAbsent, kForbidden };

  void OnHead(const http::ResponseHead& head) override;
  void OnChunk(std::string_view data) override;
  void OnEnd(const absl::Status& status) override;

  void List();
  void FetchPage();
  void StartStreamingList();
  void StartWatch();
  void Open(Phase phase, std::string target, absl::Duration timeout, absl::Duration idle_timeout);
  std::string Target(std::vector<std::pair<std::string, std::string>> query) const;

  // Returns false if the exchange was ended, so that the rest of the chunk is of no use.
  bool HandleLine(std::string_view line);
  bool HandleListed();
  void HandlePage();
  void HandleRefusal(const v1::KubeError& error);
  void HandleWatchError(const v1::KubeError& error);
  void Replace(std::vector<Decoded> objects, int64_t resource_version);
  void StreamEnded(const absl::Status& status);

  void Relist();
  void RetryAfter(absl::Duration delay);
  void RetryLater(const absl::Status& reason, absl::Duration at_least = absl::ZeroDuration());
  void RetrySlowly();
  void EndExchange();
  void ForgetListed();

  Loop& loop_;
  http::Client& client_;
  Random& random_;
  const ReflectorOptions options_;
  ReflectorSink& sink_;
  ApiClock* const clock_;

  Phase phase_ = Phase::kStopped;
  Presence presence_ = Presence::kUnknown;
  bool streaming_;
  int64_t resource_version_ = 0;  // Where a watch goes on; 0 means to list first.
  BackOff back_off_;
  absl::Time lost_ = absl::InfinitePast();  // When the server was last out of reach.
  int failed_watches_ = 0;                  // How many watches failed in a row, without a line between them.
  bool relisted_at_once_ = false;           // True after a list at once for an expired version, until a line comes.
  int short_lists_ = 0;                     // How many streaming lists ended before their content was complete.
  int expired_pages_ = 0;                   // How many continue tokens expired in a row.

  // The following members belong to the exchange under way.
  std::unique_ptr<http::Call> call_;
  TimerId timer_ = kNoTimer;       // Runs while the reflector waits.
  TimerId list_timer_ = kNoTimer;  // Bounds a streaming list.
  int status_ = 0;
  http::Headers headers_;
  std::string body_;  // The body of a page or a refusal.
  LineSplitter lines_;
  bool heard_ = false;
  absl::Time opened_;

  // The following members belong to the list under way.
  std::vector<Decoded> listed_;
  // For a streaming list: the index in listed_, by namespace and name.
  std::map<std::pair<std::string, std::string>, size_t> listed_at_;
  int64_t listed_version_ = 0;
  std::string continue_;
  Decoder decoder_;
  WatchEvent event_;  // The event of the current line.
};

}  // namespace basalt::gateway
