#pragma once

// Everything that is sent to the API server but lists and watches. Rules: correctness 4.
//
// Writes of one object go out one after the other, in the order of their calls; replicas take turns; how many are under
// way at once follows what the server bears (additive increase, halved by its own flow control and by time-outs), and
// how many go out in a second what the operator allows. Resent, within the write's own time, is only what surely was
// not carried out: not sent, or answered 401, 429, 503 with Retry-After, or 403 by a server that has just started.
//
// How long a refusal holds up what: the server's own flow control (IsOfServer) holds up everything, for 30 s at most. A
// refusal of one request, by an admission webhook for example, holds up that request and the later writes of its
// object, each within its own time.
//
// Confined to one loop. `done` runs on it, exactly once, never before the call returns, and not after the writer is
// destroyed; it may call the writer. The client and the clock outlive it.
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
  int max_parallel = 240;  // Less than the client has: the lease is to be renewed also when all are under way.
  int first_parallel = 32;
  AdmissionLimits room;  // For what waits and what is under way.
  TokenBucketOptions rate;
  absl::Duration default_timeout = absl::Seconds(10);
  absl::Duration max_timeout = absl::Seconds(60);
  // We wait this much longer than timeout= tells the server to, and a write is given to the network within it: so the
  // server, which counts from when it hears of it, gives up before we do.
  absl::Duration patience = absl::Seconds(2);
  // A refusal for want of rights is not believed for this long after the server could not be reached: one that has just
  // started knows of no rights yet.
  absl::Duration starting = absl::Seconds(30);
  BackOffPolicy connect_back_off = {.first = absl::Milliseconds(50), .most = absl::Seconds(2)};
  // What one attempt of a write may take of its time at most: so long the next leader waits for it after the end of the
  // lead. A deletion of many objects takes until then.
  absl::Duration max_attempt = absl::InfiniteDuration();
  std::string field_manager = "basalt";
  std::string user_agent = "basalt-gateway";  // Each write names its owner after it.
  size_t max_answer = 64 << 20;
  // Writes for users are made in the users' names. Where the API server says that the gateway may not impersonate a
  // user, the gateway does not try to for so long.
  absl::Duration no_impersonation = absl::Minutes(5);
};

class KubeWriter {
 public:
  // What Kubernetes refused is WriteResponse.error. Statuses: INVALID_ARGUMENT (never sent), RESOURCE_EXHAUSTED (too
  // many are waiting), UNAVAILABLE (surely not carried out), UNKNOWN and DEADLINE_EXCEEDED (it may have been).
  using WriteDone = std::function<void(absl::StatusOr<v1::WriteResponse>)>;
  // A read is repeated for 10 s whatever happened to it; then UNAVAILABLE.
  using GetDone = std::function<void(absl::StatusOr<v1::GetResponse>)>;

  // `clock` may be null. While it does not know the server's time, api_time_ms is 0.
  KubeWriter(Loop& loop, http::Client& client, Random& random, WriterOptions options = {}, ApiClock* clock = nullptr);
  ~KubeWriter();
  KubeWriter(const KubeWriter&) = delete;
  KubeWriter& operator=(const KubeWriter&) = delete;

  // `job_uid`: as PrepareWrite has it.
  void Write(v1::WriteRequest request, WriteDone done, std::string_view job_uid = {});
  void Get(v1::GetRequest request, GetDone done);

  // No write goes out before `from`, nor at `until` or later, by the loop's clock. Those that come early wait within
  // their own time; from `until` on all that are not under way end as UNAVAILABLE, and so does each that comes. Reads
  // go on. At first there is no such bound.
  void AllowBetween(absl::Time from, absl::Time until);
  // Runs `done` once no write is under way, nor may the server be at one whose outcome is not known: with the window
  // closed, that is until it is opened again. Once at a time.
  void WhenQuiet(std::function<void()> done);

  // Drops the writes that are not under way and match: their slot has moved. They end as UNAVAILABLE.
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
    v1::WriteRequest write;  // Of a write.
    WriteDone write_done;    // Null for a read.
    GetDone get_done;
    std::string replica;
    size_t bytes = 0;  // Of room.
    absl::Duration timeout;
    absl::Time deadline;
    absl::Time started;
    absl::Time settled;  // Of what is under way: the server has given it up by then.
    std::unique_ptr<http::Call> call;
    bool is_impersonating = false;  // What is under way.
    v1::KubeError refusal;          // The last one that it was resent after; code 0 = none.
  };

  // RESOURCE_EXHAUSTED: there is no room. `op` is left then.
  absl::Status Accept(std::unique_ptr<Op>& op);
  void NotifyQuiet();
  void Drop(absl::FunctionRef<bool(const v1::WriteRequest&)> matches, std::string_view why);
  void Post(Task task);
  // Starts what may start, then arms the timer for what comes next.
  void Pump();
  void Send(Op& op);
  absl::Duration LongestAttempt(const Op& op, absl::Time send_by) const;
  void OnAnswer(OpId id, absl::StatusOr<http::Response> result);
  void OnRefused(Op& op, const http::Response& response);
  // A write may still be carried out, until the server gives it up.
  void NoteUnknown(const Op& op);
  // Nothing goes out for so long.
  void PauseAll(absl::Duration pause);
  // Sends the request again after `pause`, others meanwhile; ends it where its time does not last that long.
  void Resend(Op& op, absl::Duration pause = absl::ZeroDuration());
  void Slower(const Op& op);
  void ExpireWaiting();
  // Each ends the op: it is gone afterwards.
  void Finish(Op& op, absl::StatusOr<v1::WriteResponse> result);
  void FinishRefused(Op& op, v1::KubeError error);
  void FinishWritten(Op& op, const http::Response& response);
  // Takes it out of all queues and lets the next write of its object follow.
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
  std::map<std::string, std::deque<OpId>> objects_;  // Writes of one object; the first may be under way.
  std::map<std::string, std::deque<OpId>> ready_;    // By replica. May hold ids that have ended.
  std::set<std::pair<absl::Time, OpId>> held_;       // Sent again from then on. May hold ids that have ended.
  std::string turn_;                                 // The replica that was served last.
  std::set<std::pair<absl::Time, OpId>> deadlines_;  // Of all that is not under way.
  std::map<ObjectKind, Decoder> decoders_;

  // Of writes.
  absl::Time from_ = absl::InfinitePast();
  absl::Time until_ = absl::InfiniteFuture();
  size_t writes_ = 0;  // Waiting and under way.
  size_t writes_in_flight_ = 0;
  std::function<void()> when_quiet_;
  absl::Time settled_ = absl::InfinitePast();  // The server has given up all whose outcome is not known.
  TimerId settled_timer_ = kNoTimer;

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
