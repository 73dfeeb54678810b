#include "gateway/kube/write/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/failure.h"
#include "common/kube/text.h"
#include "common/obs/log.h"
#include "gateway/kube/refusal.h"

namespace basalt::gateway {
namespace {

// A request that has less time left is not sent: if the server gives it up in its midst, the outcome is unknown. The
// limit is kLeastAnswers times as long as answers take, at most kMostPart of the whole time, and at least kLeast.
constexpr double kLeastAnswers = 2;
constexpr absl::Duration kLeast = absl::Milliseconds(100);
constexpr double kMostPart = 0.25;
// The weight of one answer in the smoothed latency.
constexpr double kLatencyWeight = 0.125;
// The approximate size of a request without its body.
constexpr size_t kRequestBytes = 1024;
// The queue of reads, among those of the replicas.
constexpr char kReads[] = "";
constexpr char kNoLeader[] = "this gateway does not lead";
constexpr absl::Duration kDefaultPause = absl::Seconds(1);

absl::Status NotSent(std::string_view why) {
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("not sent to the API server: {}", why));
}

}  // namespace

KubeWriter::KubeWriter(Loop& loop, http::Client& client, Random& random, WriterOptions options, ApiClock* clock)
    : loop_(loop),
      client_(client),
      random_(random),
      options_(std::move(options)),
      clock_(clock),
      admission_(options_.room),
      limit_(options_.first_parallel),
      rate_(options_.rate),
      connect_back_off_(options_.connect_back_off) {}

KubeWriter::~KubeWriter() {
  *alive_ = false;
  loop_.Cancel(timer_);
  loop_.Cancel(given_up_timer_);
}

void KubeWriter::Post(Task task) {
  loop_.Post([alive = alive_, task = std::move(task)]() mutable {
    if (*alive) task();
  });
}

// ---- coming in ----

void KubeWriter::Write(v1::WriteRequest request, WriteDone done, std::string_view job_uid) {
  absl::StatusOr<KubeRequest> prepared = PrepareWrite(request, options_.field_manager, options_.user_agent, job_uid);
  absl::Status refused = prepared.status();
  if (refused.ok() && loop_.Now() >= until_) refused = NotSent(kNoLeader);
  if (!refused.ok()) {
    return Post([done = std::move(done), refused] { done(refused); });
  }
  absl::Duration timeout = absl::Milliseconds(request.timeout_ms());
  if (request.timeout_ms() <= 0) timeout = options_.default_timeout;
  auto op = std::make_unique<Op>();
  op->prepared = *std::move(prepared);
  op->replica =
      fmt::format("{}/{}", static_cast<int>(request.owner().member().service()), request.owner().member().replica());
  op->write = std::move(request);
  // The body is in `prepared`.
  if (op->write.has_create()) op->write.mutable_create()->clear_body();
  if (op->write.has_patch()) op->write.mutable_patch()->clear_body();
  op->write_done = std::move(done);
  op->timeout = std::min(timeout, options_.max_timeout);
  refused = Accept(op);
  if (!refused.ok()) Post([done = std::move(op->write_done), refused] { done(refused); });
}

void KubeWriter::Get(v1::GetRequest request, GetDone done) {
  absl::StatusOr<KubeRequest> prepared = PrepareGet(request, options_.user_agent);
  absl::Status refused = prepared.status();
  if (!refused.ok()) {
    return Post([done = std::move(done), refused] { done(refused); });
  }
  auto op = std::make_unique<Op>();
  op->prepared = *std::move(prepared);
  op->get_done = std::move(done);
  op->timeout = options_.default_timeout;
  refused = Accept(op);
  if (!refused.ok()) Post([done = std::move(op->get_done), refused] { done(refused); });
}

absl::Status KubeWriter::Accept(std::unique_ptr<Op>& op) {
  op->bytes = op->prepared.body.size() + op->prepared.named_body.size() + kRequestBytes;
  BASALT_RETURN_IF_ERROR(admission_.Take(op->replica, op->bytes));
  op->id = next_id_++;
  op->deadline = loop_.Now() + op->timeout;
  const OpId id = op->id;
  deadlines_.emplace(op->deadline, id);
  bool first = true;
  if (op->write_done != nullptr) {
    ++writes_;
    std::deque<OpId>& queue = objects_[op->prepared.object_key];
    queue.push_back(id);
    first = queue.size() == 1;
  }
  if (first) ready_[op->replica].push_back(id);
  ops_.emplace(id, std::move(op));
  Pump();
  return absl::OkStatus();
}

void KubeWriter::DropWaiting(absl::FunctionRef<bool(const v1::WriteRequest&)> matches) {
  Drop(matches, "its slot has another owner");
  Pump();
}

void KubeWriter::Drop(absl::FunctionRef<bool(const v1::WriteRequest&)> matches, std::string_view why) {
  std::vector<OpId> dropped;
  for (const auto& [deadline, id] : deadlines_) {
    const Op& op = *ops_.at(id);
    if (op.write_done != nullptr && matches(op.write)) dropped.push_back(id);
  }
  std::sort(dropped.begin(), dropped.end());
  for (const OpId id : dropped) {
    Post([op = std::shared_ptr<Op>(Remove(*ops_.at(id))), status = NotSent(why)] { op->write_done(status); });
  }
}

// ---- the window for writes ----

void KubeWriter::AllowBetween(absl::Time from, absl::Time until) {
  from_ = from;
  until_ = until;
  Pump();
}

void KubeWriter::WhenQuiet(std::function<void()> done) {
  when_quiet_ = std::move(done);
  NotifyQuiet();
}

void KubeWriter::NotifyQuiet() {
  if (given_up_timer_ != kNoTimer) loop_.Cancel(std::exchange(given_up_timer_, kNoTimer));
  if (writes_in_flight_ > 0 || when_quiet_ == nullptr) return;
  if (given_up_at_ <= loop_.Now()) return Post(std::exchange(when_quiet_, nullptr));
  given_up_timer_ = loop_.RunAt(given_up_at_, [this] {
    given_up_timer_ = kNoTimer;
    NotifyQuiet();
  });
}

// ---- going out ----

void KubeWriter::Pump() {
  const absl::Time now = loop_.Now();
  const bool too_late = now >= until_;
  const bool too_early = now < from_;
  if (too_late && writes_ > writes_in_flight_) {
    Drop([](const v1::WriteRequest&) { return true; }, kNoLeader);
    std::erase_if(ready_, [](const auto& queue) { return queue.first != kReads; });
  }
  for (; !held_.empty() && held_.begin()->first <= now; held_.erase(held_.begin())) {
    const auto op = ops_.find(held_.begin()->second);
    if (op != ops_.end()) ready_[op->second->replica].push_front(op->first);
  }
  while (now >= paused_until_ && static_cast<double>(in_flight_ + 1) <= limit_ && !ready_.empty() &&
         rate_.Allows(now)) {
    auto replica = too_late || too_early ? ready_.find(kReads) : ready_.upper_bound(turn_);
    if (replica == ready_.end()) {
      if (too_late || too_early) break;
      replica = ready_.begin();
    }
    turn_ = replica->first;
    const OpId id = replica->second.front();
    replica->second.pop_front();
    if (replica->second.empty()) ready_.erase(replica);
    const auto op = ops_.find(id);
    if (op != ops_.end()) Send(*op->second);
  }
  if (timer_ != kNoTimer) loop_.Cancel(std::exchange(timer_, kNoTimer));
  if (deadlines_.empty()) return;
  absl::Time wake = deadlines_.begin()->first;
  if (!ready_.empty() && paused_until_ > now) {
    wake = std::min(wake, paused_until_);
  } else if (!ready_.empty() && !rate_.Allows(now)) {
    wake = std::min(wake, rate_.Next());
  }
  if (!held_.empty()) wake = std::min(wake, held_.begin()->first);
  if (writes_ > writes_in_flight_) wake = std::min(wake, too_early ? std::min(from_, until_) : until_);
  timer_ = loop_.RunAt(wake, [this] {
    timer_ = kNoTimer;
    ExpireWaiting();
    Pump();
  });
}

void KubeWriter::Send(Op& op) {
  const absl::Duration left = op.deadline - loop_.Now();
  // The timer will end the request.
  if (left < std::max(kLeast, std::min(kLeastAnswers * latency_, kMostPart * op.timeout))) return;
  deadlines_.erase({op.deadline, op.id});
  rate_.Take(loop_.Now());
  ++in_flight_;
  if (op.write_done != nullptr) ++writes_in_flight_;
  op.started = loop_.Now();
  http::Request request;
  request.method = op.prepared.method;
  request.target = op.prepared.target;
  request.headers = op.prepared.headers;
  op.is_impersonating = !op.prepared.impersonation.empty() &&
                        not_impersonated_.Find(op.prepared.impersonation.front().second, op.started) == nullptr;
  if (op.is_impersonating) {
    request.headers.insert(request.headers.end(), op.prepared.impersonation.begin(), op.prepared.impersonation.end());
  }
  const bool is_named = !op.is_impersonating && !op.prepared.named_body.empty();
  request.body = is_named ? op.prepared.named_body : op.prepared.body;
  absl::Duration attempt = left;
  // The client has queues of its own, and the whole process may stand still before the bytes are gone.
  if (op.write_done != nullptr) {
    request.send_by = std::min(op.started + options_.patience, until_);
    attempt = std::min(left, LongestAttempt(op, request.send_by));
  }
  request.timeout = attempt + options_.patience;
  op.given_up_at = op.started + request.timeout;
  request.target += request.target.find('?') == std::string::npos ? '?' : '&';
  // Whole milliseconds, rounded down: the server gives up before the client does.
  request.target += "timeout=" + kube::FormatGoDuration(absl::Floor(attempt, absl::Milliseconds(1)));
  op.call = http::Fetch(
      client_, std::move(request),
      [this, id = op.id](absl::StatusOr<http::Response> result) { OnAnswer(id, std::move(result)); },
      options_.max_answer);
}

// The server must be done with a write when the next leader begins to write. Deleting many objects takes the server
// longer than one object ever should, and the objects that it does not reach cost another request: a collection gets
// the rest of the lead as well.
absl::Duration KubeWriter::LongestAttempt(const Op& op, absl::Time send_by) const {
  return op.write.has_delete_collection() ? until_ + options_.max_attempt - send_by : options_.max_attempt;
}

void KubeWriter::ExpireWaiting() {
  const absl::Time now = loop_.Now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Op& op = *ops_.at(deadlines_.begin()->second);
    if (op.refusal.code() != 0) {
      FinishRefused(op, op.refusal);
    } else {
      Finish(op, NotSent("its time ran out while it was waiting"));
    }
  }
}

// ---- coming back ----

void KubeWriter::OnAnswer(OpId id, absl::StatusOr<http::Response> result) {
  Op& op = *ops_.at(id);
  // The call may run this callback, so it must live until the end.
  const std::unique_ptr<http::Call> call = std::move(op.call);
  const bool was_full = static_cast<double>(in_flight_ + 1) > limit_;
  --in_flight_;
  if (op.write_done != nullptr) --writes_in_flight_;
  deadlines_.emplace(op.deadline, id);
  const bool late = http::FailureOf(result.status()) == http::Failure::kLate;
  if (!result.ok() && !late && !absl::IsResourceExhausted(result.status())) lost_ = loop_.Now();
  if (result.ok()) {
    latency_ += (loop_.Now() - op.started - latency_) * kLatencyWeight;
    if (result->status != 401 && result->status != 403) connect_back_off_.Reset();
    if (clock_ != nullptr) clock_->Observe(result->status, http::FindHeader(result->headers, "Date"));
    if (result->status >= 200 && result->status < 300) {
      if (was_full) limit_ = std::min<double>(options_.max_parallel, limit_ + 1.0 / limit_);
      FinishWritten(op, *result);
    } else {
      OnRefused(op, *result);
    }
  } else if (late) {
    Slower(op);
    Resend(op);
  } else if (absl::IsUnavailable(result.status()) ||
             (op.get_done != nullptr && !absl::IsResourceExhausted(result.status()))) {
    if (absl::IsDeadlineExceeded(result.status())) Slower(op);
    PauseAll(connect_back_off_.Next(random_));
    Resend(op);
  } else {
    if (absl::IsDeadlineExceeded(result.status())) Slower(op);
    // The answer is over the bound: the write was carried out, but its result is not known.
    const bool too_large = absl::IsResourceExhausted(result.status());
    if (!too_large) NoteUnknown(op);
    Finish(op, too_large ? MakeStatus(absl::StatusCode::kUnknown, ToStd(result.status().message())) : result.status());
  }
  Pump();
  NotifyQuiet();
}

void KubeWriter::OnRefused(Op& op, const http::Response& response) {
  v1::KubeError error = ReadRefusal(response, op.prepared.target);
  if (IsComeAgain(error)) {
    absl::Duration pause = error.retry_after_ms() > 0 ? absl::Milliseconds(error.retry_after_ms()) : kDefaultPause;
    pause *= 1.0 + 0.1 * random_.Unit();
    op.refusal = std::move(error);
    // Flow control counts an impersonated write to the flow of the user, so others go on.
    if (op.is_impersonating || !IsOfServer(response.body)) return Resend(op, pause);
    Slower(op);
    PauseAll(std::min(pause, kLongestPause));
    return Resend(op);
  }
  if (error.code() == 401) {
    // The server did nothing of the request, and would do nothing of another one. Our credentials can be put right
    // within the request's time.
    op.refusal = std::move(error);
    PauseAll(connect_back_off_.Next(random_));
    return Resend(op);
  }
  if (op.is_impersonating && IsImpersonationRefused(error)) {
    obs::LogInfo("an annotation names the user of a write: the gateway may not impersonate the user",
                 {{"why", Excerpt(error.message())}, {"cure", "apply deploy/rbac/impersonation"}});
    not_impersonated_.Put(op.prepared.impersonation.front().second, true, loop_.Now() + options_.no_impersonation);
    return Resend(op);
  }
  if (IsMissingRight(error) && loop_.Now() - lost_ < options_.starting) {
    op.refusal = std::move(error);
    return Resend(op, connect_back_off_.Next(random_));
  }
  // A proxy may have given up a write that the server is still carrying out.
  if (error.code() >= 500) NoteUnknown(op);
  if (error.code() == 504) {
    // The server gave up waiting for itself: the write may still be carried out.
    Slower(op);
    if (op.get_done != nullptr) return Resend(op, connect_back_off_.Next(random_));
    return Finish(op, MakeStatus(absl::StatusCode::kDeadlineExceeded,
                                 fmt::format("the API server timed out: {}", error.message())));
  }
  FinishRefused(op, std::move(error));
}

void KubeWriter::NoteUnknown(const Op& op) {
  if (op.write_done != nullptr) given_up_at_ = std::max(given_up_at_, op.given_up_at);
}

void KubeWriter::Slower(const Op& op) {
  // A request that was sent before the last halving proves nothing about the time after it.
  if (op.started < slowed_) return;
  slowed_ = loop_.Now();
  limit_ = std::max<double>(options_.min_parallel, limit_ / 2);
}

void KubeWriter::PauseAll(absl::Duration pause) { paused_until_ = std::max(paused_until_, loop_.Now() + pause); }

void KubeWriter::Resend(Op& op, absl::Duration pause) {
  const absl::Time from = loop_.Now() + pause;
  if (std::max(from, paused_until_) + kLeast > op.deadline) {
    if (op.refusal.code() != 0) return FinishRefused(op, op.refusal);
    return Finish(op, NotSent("no connection within its time"));
  }
  if (pause > absl::ZeroDuration()) {
    held_.emplace(from, op.id);
  } else {
    ready_[op.replica].push_front(op.id);
  }
}

std::unique_ptr<KubeWriter::Op> KubeWriter::Remove(Op& op) {
  deadlines_.erase({op.deadline, op.id});
  admission_.Give(op.replica, op.bytes);
  if (op.write_done != nullptr) {
    --writes_;
    const auto queue = objects_.find(op.prepared.object_key);
    const bool first = queue->second.front() == op.id;
    queue->second.erase(std::find(queue->second.begin(), queue->second.end(), op.id));
    if (queue->second.empty()) {
      objects_.erase(queue);
    } else if (first) {
      const Op& next = *ops_.at(queue->second.front());
      ready_[next.replica].push_back(next.id);
    }
  }
  const auto at = ops_.find(op.id);
  std::unique_ptr<Op> taken = std::move(at->second);
  ops_.erase(at);
  return taken;
}

void KubeWriter::Finish(Op& op, absl::StatusOr<v1::WriteResponse> result) {
  const std::shared_ptr<Op> taken = Remove(op);
  if (taken->get_done != nullptr) {
    return Post([taken, status = result.status()] { taken->get_done(status); });
  }
  if (result.ok()) result->set_api_time_ms(ApiTimeMs());
  Post([taken, result = std::move(result)] { taken->write_done(result); });
}

void KubeWriter::FinishRefused(Op& op, v1::KubeError error) {
  if (op.get_done == nullptr) {
    v1::WriteResponse response;
    *response.mutable_error() = std::move(error);
    return Finish(op, std::move(response));
  }
  const std::shared_ptr<Op> taken = Remove(op);
  v1::GetResponse response;
  *response.mutable_error() = std::move(error);
  response.set_api_time_ms(ApiTimeMs());
  Post([taken, response = std::move(response)] { taken->get_done(response); });
}

void KubeWriter::FinishWritten(Op& op, const http::Response& response) {
  if (op.get_done == nullptr) {
    absl::StatusOr<v1::WriteResponse> result = ReadWritten(op.write, response, DecoderFor(op.prepared.kind));
    if (!result.ok()) {
      // The write was carried out, but its result is not known.
      result = MakeStatus(absl::StatusCode::kUnknown,
                          fmt::format("the answer cannot be read: {}", ToStd(result.status().message())));
    }
    return Finish(op, std::move(result));
  }
  absl::StatusOr<Decoded> decoded = DecoderFor(op.prepared.kind).DecodeObject(response.body);
  if (!decoded.ok()) return Finish(op, NotSent(ToStd(decoded.status().message())));
  const std::shared_ptr<Op> taken = Remove(op);
  v1::GetResponse answer;
  *answer.mutable_object() = std::move(decoded->object);
  answer.set_api_time_ms(ApiTimeMs());
  Post([taken, answer = std::move(answer)] { taken->get_done(answer); });
}

Decoder& KubeWriter::DecoderFor(ObjectKind kind) {
  return decoders_.try_emplace(kind, Decoder(kind, Decoder::Json::kKeep)).first->second;
}

}  // namespace basalt::gateway
