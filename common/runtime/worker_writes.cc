// Writes and reads of a worker: correctness rule 4, on the client's side.
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/runtime/worker.h"

namespace basalt::runtime {
namespace {

// Added to a timeout: the answer may be on its way when the server has given up already.
constexpr absl::Duration kAnswerSlack = absl::Seconds(5);
// After the deadline and this time, nothing of an unanswered write is still under way at the server.
constexpr absl::Duration kResolveSlack = absl::Seconds(1);
constexpr absl::Duration kNotOwnerPause = absl::Seconds(1);
constexpr absl::Duration kGetTimeout = absl::Seconds(10);

enum class SendResult { kNotSent, kNotOwner, kRefused, kUnknown };

// The transport refuses a larger request, however often it is sent.
constexpr size_t kTooLarge = 48 << 20;

SendResult Classify(absl::StatusCode code, const gateway::v1::WriteRequest& request) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnauthenticated:  // The token of an earlier session: the next one has the present token.
      return SendResult::kNotSent;
    case absl::StatusCode::kResourceExhausted:  // A limit was reached there, for the moment.
      return request.ByteSizeLong() > kTooLarge ? SendResult::kRefused : SendResult::kNotSent;
    case absl::StatusCode::kFailedPrecondition:
      return SendResult::kNotOwner;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kOutOfRange:
      return SendResult::kRefused;
    default:
      return SendResult::kUnknown;
  }
}

absl::Status NoSlot() { return MakeStatus(absl::StatusCode::kUnavailable, "this replica does not have its slot"); }

}  // namespace

void Worker::StartWrite(std::string_view key, gateway::v1::WriteRequest request, WriteDone done, bool for_caller) {
  const uint32_t slot_id = SlotOf(key);
  const auto slot = slots_.find(slot_id);
  if (!Running() || slot == slots_.end()) {
    if (!for_caller) return;
    loop_.Post([done = std::move(done)]() mutable {
      WriteOutcome outcome;
      outcome.kind = WriteOutcome::Kind::kNotSent;
      outcome.status = NoSlot();
      done(std::move(outcome));
    });
    return;
  }
  SetOwner(key, slot_id, slot->second.epoch, *request.mutable_owner());
  const absl::Duration timeout =
      request.timeout_ms() > 0 ? absl::Milliseconds(request.timeout_ms()) : options_.write_timeout;
  const uint64_t id = next_write_++;
  if (!for_caller) slot->second.writes.insert(id);
  writes_.emplace(id, PendingWrite{.key = std::string(key),
                                   .slot = slot_id,
                                   .generation = slot->second.generation,
                                   .for_caller = for_caller,
                                   .request = std::move(request),
                                   .done = std::move(done),
                                   .deadline = loop_.Now() + timeout,
                                   .back_off = BackOff(options_.resend)});
  SendWrite(id);
}

bool Worker::SlotLives(const PendingWrite& write) const {
  const auto slot = slots_.find(write.slot);
  return slot != slots_.end() && slot->second.generation == write.generation;
}

void Worker::SendWrite(uint64_t id) {
  const auto it = writes_.find(id);
  if (it == writes_.end() || !Running()) return;
  const absl::Duration left = std::max(it->second.deadline - loop_.Now(), absl::Milliseconds(1));
  gateway::v1::WriteRequest request = it->second.request;
  request.set_timeout_ms(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
  host_->SendWrite(loop_, std::move(request), left + kAnswerSlack,
                   [self = shared_from_this(), id](absl::StatusOr<gateway::v1::WriteResponse> answer) {
                     if (self->Running()) self->OnWriteAnswer(id, std::move(answer));
                   });
}

void Worker::OnWriteAnswer(uint64_t id, absl::StatusOr<gateway::v1::WriteResponse> answer) {
  const auto it = writes_.find(id);
  if (it == writes_.end()) return;  // The write's slot was closed.
  PendingWrite& write = it->second;
  WriteOutcome outcome;
  if (answer.ok()) {
    OnApiTime(answer->api_time_ms());
    if (answer->has_error()) {
      outcome.kind = WriteOutcome::Kind::kRefused;
      outcome.error = std::move(*answer->mutable_error());
      return FinishWrite(id, std::move(outcome));
    }
    outcome.kind = WriteOutcome::Kind::kDone;
    outcome.object = std::move(*answer->mutable_object());
    outcome.gone = answer->gone();
    if (!SlotLives(write)) {
      // The slot's present owner gets the object from its watch.
    } else if (outcome.gone) {
      tracker_.OwnDeletion(write.slot, write.key, outcome.object);
    } else if (!tracker_.OwnState(write.slot, write.key, outcome.object)) {
      outcome.gone = true;
    }
    return FinishWrite(id, std::move(outcome));
  }
  outcome.status = answer.status();
  const auto later = [&](absl::Time when, auto task) {
    loop_.RunAt(when, [self = shared_from_this(), task = std::move(task)]() mutable {
      if (self->Running()) task(*self);
    });
  };
  switch (Classify(answer.status().code(), write.request)) {
    case SendResult::kNotSent: {
      const absl::Time again = loop_.Now() + write.back_off.Next(random_);
      if (again < write.deadline) return later(again, [id](Worker& self) { self.SendWrite(id); });
      outcome.kind = WriteOutcome::Kind::kNotSent;
      return FinishWrite(id, std::move(outcome));
    }
    case SendResult::kNotOwner:
      if (SlotLives(write)) OnNotOwner(write.slot);
      outcome.kind = WriteOutcome::Kind::kNotSent;
      return FinishWrite(id, std::move(outcome));
    case SendResult::kRefused:
      outcome.kind = WriteOutcome::Kind::kRefused;
      outcome.error.set_code(400);
      outcome.error.set_reason("BadRequest");
      outcome.error.set_message(std::string(ToStd(answer.status().message())));
      return FinishWrite(id, std::move(outcome));
    case SendResult::kUnknown:
      outcome.kind = WriteOutcome::Kind::kUnknown;
      return later(write.deadline + kResolveSlack, [id, outcome = std::move(outcome)](Worker& self) mutable {
        self.FinishWrite(id, std::move(outcome));
      });
  }
}

void Worker::FinishWrite(uint64_t id, WriteOutcome outcome) {
  const auto it = writes_.find(id);
  if (it == writes_.end()) return;
  PendingWrite write = std::move(it->second);
  writes_.erase(it);
  if (SlotLives(write)) slots_.at(write.slot).writes.erase(id);
  if (const auto counter = instruments_.writes.find(outcome.kind); counter != instruments_.writes.end()) {
    counter->second->Add();
  }
  write.done(std::move(outcome));
  if (Running() && SlotLives(write)) Wake(write.key);
}

void Worker::OnNotOwner(uint32_t slot_id) {
  Slot& slot = slots_.at(slot_id);
  if (slot.refused) return;
  slot.refused = true;
  queue_->Pause(slot_id);
  // Usually a new assignment or a new snapshot ends the pause sooner.
  const absl::Duration pause = kNotOwnerPause * (1.0 + random_.Unit());
  loop_.RunAfter(pause, [self = shared_from_this(), slot_id, generation = slot.generation] {
    if (!self->Running()) return;
    const auto it = self->slots_.find(slot_id);
    if (it == self->slots_.end() || it->second.generation != generation || !it->second.refused) return;
    it->second.refused = false;
    if (it->second.ready) self->queue_->Resume(slot_id);
  });
}

void Worker::SetOwner(std::string_view key, uint32_t slot, int64_t epoch, gateway::v1::Owner& owner) const {
  *owner.mutable_member() = options_.self;
  owner.set_slot(slot);
  owner.set_slot_epoch(epoch);
  owner.set_key(key.data(), key.size());
}

void Worker::Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) {
  const uint32_t slot_id = SlotOf(key);
  const auto slot = slots_.find(slot_id);
  if (slot == slots_.end()) return;
  GetForCaller(key, std::move(request),
               [this, slot_id, generation = slot->second.generation,
                done = std::move(done)](absl::StatusOr<gateway::v1::GetResponse> answer) mutable {
                 const auto it = slots_.find(slot_id);
                 if (it != slots_.end() && it->second.generation == generation) done(std::move(answer));
               });
}

void Worker::GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) {
  if (!Running()) return;
  const uint32_t slot_id = SlotOf(key);
  const auto slot = slots_.find(slot_id);
  if (slot == slots_.end()) {
    loop_.Post([done = std::move(done)]() mutable { done(NoSlot()); });
    return;
  }
  SetOwner(key, slot_id, slot->second.epoch, *request.mutable_owner());
  host_->SendGet(loop_, std::move(request), kGetTimeout,
                 [self = shared_from_this(), done = std::move(done)](auto answer) mutable {
                   if (!self->Running()) return;
                   if (answer.ok()) self->OnApiTime(answer->api_time_ms());
                   done(std::move(answer));
                 });
}

}  // namespace basalt::runtime
