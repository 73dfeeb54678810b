#pragma once

// Sends every request to the API server except lists and watches. Rules: correctness 4.
//
// Writes of one object go out one after the other, in the order of their calls, and replicas take turns. The number of
// requests under way follows the capacity of the server (additive increase, halved by its own flow control and by
// time-outs). The number of requests in a second follows the operator's limit. A request is resent, within its own
// time, only if it was surely not carried out: not sent, or answered 401, 429, 503 with Retry-After, or 403 by a server
// that has just started.
//
// The server's own flow control (IsOfServer) holds up all requests, for 30 s at most. A refusal of one request, by an
// admission webhook for example, holds up that request and the later writes of its object, each within its own time.
//
// Confined to one loop. `done` runs on the loop, exactly once, never before the call returns, and not after the writer
// is destroyed; `done` may call the writer. The client and the clock must outlive the writer.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/expiring_cache.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/reconcile/back_off.h"
#include "common/time/token_bucket.h"
#include "gateway/kube/api_clock.h"
#include "gateway/kube/write/admission_limit.h"
#include "gateway/kube/write/kube_request.h"

namespace basalt::gateway {

struct WriterOptions {
  int min_parallel = 4;
  int max_parallel = 240;  // Fewer than the client has, so that the Lease can be renewed while all are under way.
  int first_parallel = 32;
  AdmissionLimits room;  // Counts requests that wait and those under way.
  TokenBucketOptions rate;
  absl::Duration default_timeout = absl::Seconds(10);
  absl::Duration max_timeout = absl::Seconds(60);
  // The client waits this much longer than the timeout= that it sends, and a write reaches the network within this
  // time. The server, which counts from when it receives the request, so gives up before the client does.
  absl::Duration patience = absl::Seconds(2);
  // For this long after the server could not be reached, a refusal for a missing right is not believed: a server that
  // has just started knows of no rights yet.
  absl::Duration starting = absl::Seconds(30);
  BackOffPolicy connect_back_off = {.first = absl::Milliseconds(50), .most = absl::Seconds(2)};
  // The longest attempt of a write: the next leader waits for it so long after the end of the lead. A deletion of many
  // objects may last until then.
  absl::Duration max_attempt = absl::InfiniteDuration();
  std::string field_manager = "basalt";
  std::string user_agent = "basalt-gateway";  // Each write names its owner after it.
  size_t max_answer = 64 << 20;
  // Writes for users are made in the users' names. After the API server has refused the impersonation of a user, the
  // gateway does not try it again for this long.
  absl::Duration no_impersonation = absl::Minutes(5);
};

class KubeWriter {
 public:
  // WriteResponse.error holds a refusal by Kubernetes. Statuses: INVALID_ARGUMENT (never sent), RESOURCE_EXHAUSTED (too
  // many requests wait), UNAVAILABLE (surely not carried out), UNKNOWN and DEADLINE_EXCEEDED (the write may have been
  // carried out).
  using WriteDone = std::function<void(absl::StatusOr<v1::WriteResponse>)>;
  // A read is repeated for 10 s after any failure; then it ends as UNAVAILABLE.
  using GetDone = std::function<void(absl::StatusOr<v1::GetResponse>)>;

  // `clock` may be null. api_time_ms is 0 while the clock does not know the server's time.
  KubeWriter(Loop& loop, http::Client& client, Random& random, WriterOptions options = {}, ApiClock* clock = nullptr);
  ~KubeWriter();
  KubeWriter(const KubeWriter&) = delete;
  KubeWriter& operator=(const KubeWriter&) = delete;

  // `job_uid` is as in PrepareWrite.
  void Write(v1::WriteRequest request, WriteDone done, std::string_view job_uid = {});
  void Get(v1::GetRequest request, GetDone done);

  // Permits no write before `from`, nor at `until` or later, by the loop's clock. Early writes wait within their own
  // time. From `until` on, every write that is not under way ends as UNAVAILABLE, and so does every new one. Reads go
  // on. At first there is no such bound.
  void AllowBetween(absl::Time from, absl::Time until);
  // Runs `done` once no write is under way, and the server cannot be carrying out a write of unknown outcome. With the
  // window closed, this holds until the window is opened again. Only one call may wait.
  void WhenQuiet(std::function<void()> done);

  // Drops the matching writes that are not under way: their slot has moved. They end as UNAVAILABLE.
  void DropWaiting(absl::FunctionRef<bool(const v1::WriteRequest&)> matches);

  size_t in_flight() const { return in_flight_; }
  size_t waiting() const { return deadlines_.size(); }
  const AdmissionLimit& room() const { return admission_; }
  int parallel() const { return static_cast<int>(limit_); }

 private:
  using OpId = uint64_t;
  struct Op {
    OpId id = 0;
    KubeRequest prepared;
    v1::WriteRequest write;  // Set for a write.
    WriteDone write_done;    // Null for a read.
    GetDone get_done;
    std::string replica;
    size_t bytes = 0;  // The size that admission_ counts.
    absl::Duration timeout;
    absl::Time deadline;
    absl::Time started;
    absl::Time given_up_at;  // When the server has given up the attempt under way.
    std::unique_ptr<http::Call> call;
    bool is_impersonating = false;  // The attempt under way impersonates the user.
    v1::KubeError refusal;          // The last refusal that the request was resent after; code 0 if there was none.
  };

  // RESOURCE_EXHAUSTED if a limit is reached. `op` then stays with the caller.
  absl::Status Accept(std::unique_ptr<Op>& op);
  void NotifyQuiet();
  void Drop(absl::FunctionRef<bool(const v1::WriteRequest&)> matches, std::string_view why);
  void Post(Task task);
  // Starts the requests that may start, then arms the timer for the next ones.
  void Pump();
  void Send(Op& op);
  absl::Duration LongestAttempt(const Op& op, absl::Time send_by) const;
  void OnAnswer(OpId id, absl::StatusOr<http::Response> result);
  void OnRefused(Op& op, const http::Response& response);
  // The write may still be carried out, until the server gives it up.
  void NoteUnknown(const Op& op);
  // Sends nothing for this long.
  void PauseAll(absl::Duration pause);
  // Sends the request again after `pause`, and others meanwhile. Ends the request if its time is too short for that.
  void Resend(Op& op, absl::Duration pause = absl::ZeroDuration());
  void Slower(const Op& op);
  void ExpireWaiting();
  // Each of these three functions ends the op, which is gone afterwards.
  void Finish(Op& op, absl::StatusOr<v1::WriteResponse> result);
  void FinishRefused(Op& op, v1::KubeError error);
  void FinishWritten(Op& op, const http::Response& response);
  // Takes the op out of all queues and lets the next write of its object follow.
  std::unique_ptr<Op> Remove(Op& op);
  Decoder& DecoderFor(ObjectKind kind);
  int64_t ApiTimeMs() { return clock_ == nullptr || !clock_->known() ? 0 : clock_->NowMs(); }

  Loop& loop_;
  http::Client& client_;
  Random& random_;
  const WriterOptions options_;
  ApiClock* const clock_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  OpId next_id_ = 1;
  std::map<OpId, std::unique_ptr<Op>> ops_;
  AdmissionLimit admission_;
  std::map<std::string, std::deque<OpId>> objects_;  // The writes of each object; the first one may be under way.
  std::map<std::string, std::deque<OpId>> ready_;    // By replica. May contain ids that have ended.
  std::set<std::pair<absl::Time, OpId>> held_;       // When each op is sent again. May contain ids that have ended.
  std::string turn_;                                 // The replica that was served last.
  std::set<std::pair<absl::Time, OpId>> deadlines_;  // The deadlines of all ops that are not under way.
  std::map<ObjectKind, Decoder> decoders_;

  // The following members concern writes only.
  absl::Time from_ = absl::InfinitePast();
  absl::Time until_ = absl::InfiniteFuture();
  size_t writes_ = 0;  // How many writes wait or are under way.
  size_t writes_in_flight_ = 0;
  std::function<void()> when_quiet_;
  absl::Time given_up_at_ = absl::InfinitePast();  // When the server has given up every write of unknown outcome.
  TimerId given_up_timer_ = kNoTimer;

  size_t in_flight_ = 0;
  absl::Duration latency_;  // How long answers take, smoothed.
  double limit_;
  TokenBucket rate_;
  absl::Time slowed_ = absl::InfinitePast();
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Time lost_ = absl::InfinitePast();      // When the server was last out of reach.
  ExpiringCache<bool> not_impersonated_{1000};  // Users whom the gateway may not impersonate.
  BackOff connect_back_off_;
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::gateway
