#include "common/rpc/grpc/gateway/write_stream.h"

#include <algorithm>

#include "common/base/status.h"
#include "common/rpc/grpc/gateway/write_limits.h"

namespace basalt::rpc {

using gateway::v1::WriteAnswers;
using gateway::v1::WriteBatch;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;

// ---- on the loop ----

void WriteStream::Begin(gateway::v1::GatewayService::Stub& stub) {
  self_ = shared_from_this();
  calls_.Add(&context_);
  stub.async()->Write(&context_, this);
  AddHold();  // Messages start outside gRPC's callbacks, until the stream is over.
  StartRead(&answers_);
  StartCall();
}

void WriteStream::Write(WriteRequest request, absl::Duration timeout, Done<WriteResponse> done) {
  const uint64_t id = ++last_id_;
  const size_t bytes = request.ByteSizeLong();
  if (bytes > kMaxWriteBytes) {
    loop_.Post([done = std::move(done)]() mutable {
      done(MakeStatus(absl::StatusCode::kResourceExhausted, "the write is larger than a message may be"));
    });
    return;
  }
  const absl::Time deadline = loop_.Now() + timeout;
  waiting_.emplace(id, Waiting{std::move(done), deadline});
  deadlines_.emplace(deadline, id);
  Queued queued{loop_.Now(), bytes, {}};
  queued.write.set_id(id);
  *queued.write.mutable_request() = std::move(request);
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(queued));
  }
  SetTimer();
  // After what else has been posted by now, which may be writes, too.
  if (std::exchange(flush_posted_, true)) return;
  loop_.Post([it = shared_from_this()] { it->Flush(); });
}

void WriteStream::Close() {
  MutexLock lock(mutex_);
  closing_ = true;
  SendNext();
}

void WriteStream::Flush() {
  flush_posted_ = false;
  MutexLock lock(mutex_);
  SendNext();
}

void WriteStream::TakeAnswers(WriteAnswers answers) {
  if (answers.ending()) {
    ending_ = true;
    AnswerUnsent("the gateway takes no more writes");
  }
  for (WriteAnswers::Answer& answer : *answers.mutable_answers()) {
    if (answer.has_response()) {
      Answer(answer.id(), std::move(*answer.mutable_response()));
    } else {
      const auto code = static_cast<absl::StatusCode>(answer.not_handled().code());
      Answer(answer.id(), MakeStatus(code == absl::StatusCode::kOk ? absl::StatusCode::kUnknown : code,
                                     answer.not_handled().message()));
    }
  }
}

void WriteStream::Answer(uint64_t id, absl::StatusOr<WriteResponse> answer) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;  // Its time was up.
  Done<WriteResponse> done = std::move(it->second.done);
  deadlines_.erase({it->second.deadline, id});
  waiting_.erase(it);
  done(std::move(answer));
}

void WriteStream::AnswerUnsent(std::string_view why) {
  std::deque<Queued> unsent;
  {
    MutexLock lock(mutex_);
    unsent.swap(queue_);
  }
  for (const Queued& queued : unsent) {
    Answer(queued.write.id(), MakeStatus(absl::StatusCode::kUnavailable, why));
  }
}

void WriteStream::SetTimer() {
  if (deadlines_.empty() || timer_at_ <= deadlines_.begin()->first) return;
  loop_.Cancel(timer_);
  timer_at_ = deadlines_.begin()->first;
  timer_ = loop_.RunAt(timer_at_, [it = shared_from_this()] { it->Expire(); });
}

void WriteStream::Expire() {
  timer_ = kNoTimer;
  timer_at_ = absl::InfiniteFuture();
  const absl::Time now = loop_.Now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const uint64_t id = deadlines_.begin()->second;
    if (Unqueue(id)) {
      Answer(id, MakeStatus(absl::StatusCode::kUnavailable, "the write could not be sent in time"));
    } else {
      Answer(id, MakeStatus(absl::StatusCode::kDeadlineExceeded, "no answer in time"));
    }
  }
  SetTimer();
}

bool WriteStream::Unqueue(uint64_t id) {
  MutexLock lock(mutex_);
  const auto it = std::lower_bound(queue_.begin(), queue_.end(), id,
                                   [](const Queued& queued, uint64_t sought) { return queued.write.id() < sought; });
  if (it == queue_.end() || it->write.id() != id) return false;
  queue_.erase(it);
  return true;
}

void WriteStream::End(const absl::Status& status) {
  ending_ = true;
  loop_.Cancel(timer_);
  const std::string_view why = status.ok() ? std::string_view("the stream of writes ended") : ToStd(status.message());
  AnswerUnsent(why);
  deadlines_.clear();
  for (auto& [id, waiting] : std::exchange(waiting_, {})) {
    waiting.done(MakeStatus(absl::StatusCode::kUnknown, why));
  }
}

// ---- gRPC's threads ----

void WriteStream::OnReadInitialMetadataDone(bool ok) {
  MutexLock lock(mutex_);
  open_ = ok;
  SendNext();
}

void WriteStream::OnReadDone(bool ok) {
  if (!ok) {
    {
      MutexLock lock(mutex_);
      over_ = true;
    }
    // Where a message could not be read the call would go on; else it is over, whatever is said now.
    context_.TryCancel();
    RemoveHold();
    return;
  }
  if (answers_.ending()) {
    MutexLock lock(mutex_);
    refused_ = true;
    SendNext();
  }
  loop_.Post(
      [it = shared_from_this(), answers = std::move(answers_)]() mutable { it->TakeAnswers(std::move(answers)); });
  answers_.Clear();
  StartRead(&answers_);
}

void WriteStream::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  sending_ = false;
  batch_ = WriteBatch();
  if (ok) {
    SendNext();
  } else {
    over_ = true;
  }
}

void WriteStream::OnDone(const grpc::Status& status) {
  calls_.End(&context_, [&] { loop_.Post([it = std::move(self_), status = FromGrpc(status)] { it->End(status); }); });
}

void WriteStream::SendNext() {
  if (!open_ || over_ || sending_) return;
  if (refused_ || (closing_ && queue_.empty())) {
    over_ = true;
    return StartWritesDone();
  }
  if (queue_.empty()) return;
  const absl::Time now = loop_.Now();
  size_t bytes = 0;
  while (!queue_.empty() && (bytes == 0 || bytes + queue_.front().bytes <= kMaxBatchBytes)) {
    Queued& queued = queue_.front();
    bytes += queued.bytes;
    // What it may take counts from when it was asked for.
    WriteRequest& request = *queued.write.mutable_request();
    if (request.timeout_ms() > 0) {
      request.set_timeout_ms(
          std::max<int64_t>(request.timeout_ms() - absl::ToInt64Milliseconds(now - queued.since), 1));
    }
    *batch_.add_writes() = std::move(queued.write);
    queue_.pop_front();
  }
  sending_ = true;
  StartWrite(&batch_);
}

}  // namespace basalt::rpc
