#include "common/runtime/worker_writes.h"

#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"

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

WorkerWrites::WorkerWrites(Parts parts, const WorkerOptions& options, std::shared_ptr<WorkerHost> host,
                           obs::Metrics* metrics)
    : parts_(parts), options_(options), host_(std::move(host)) {
  if (metrics == nullptr) return;
  const std::pair<WriteOutcome::Kind, const char*> kinds[] = {{WriteOutcome::Kind::kDone, "done"},
                                                              {WriteOutcome::Kind::kRefused, "refused"},
                                                              {WriteOutcome::Kind::kNotSent, "not_sent"},
                                                              {WriteOutcome::Kind::kUnknown, "unknown"}};
  for (const auto& [kind, name] : kinds) {
    counters_[kind] = &metrics->GetCounter("basalt_writes_total", "Writes to Kubernetes by their outcome.",
                                           {{"outcome", name}, {"worker", std::to_string(options_.index)}});
  }
}

void WorkerWrites::Stop() {
  is_running_ = false;
  pending_.clear();
  host_.reset();
}

void WorkerWrites::EndSlot(const WorkerSlot& slot) {
  for (const uint64_t write : slot.writes) pending_.erase(write);
}

void WorkerWrites::OnApiTime(int64_t api_time_ms) {
  if (api_time_ms == 0) return;
  parts_.clock.Update(absl::FromUnixMillis(api_time_ms), parts_.loop.Now());
  parts_.queue->ClockChanged();
}

void WorkerWrites::Write(std::string_view key, gateway::v1::WriteRequest request, WriteDone done, bool for_caller) {
  const uint32_t slot_id = SlotOf(key);
  const auto slot = parts_.slots.find(slot_id);
  if (!is_running_ || slot == parts_.slots.end()) {
    if (!for_caller) return;
    parts_.loop.Post([done = std::move(done)]() mutable {
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
  const uint64_t id = next_id_++;
  if (!for_caller) slot->second.writes.insert(id);
  pending_.emplace(id, Pending{.key = std::string(key),
                               .slot = slot_id,
                               .generation = slot->second.generation,
                               .for_caller = for_caller,
                               .request = std::move(request),
                               .done = std::move(done),
                               .deadline = parts_.loop.Now() + timeout,
                               .back_off = BackOff(options_.resend)});
  Send(id);
}

bool WorkerWrites::IsOpen(uint32_t slot, uint64_t generation) const {
  const auto open = parts_.slots.find(slot);
  return open != parts_.slots.end() && open->second.generation == generation;
}

void WorkerWrites::Send(uint64_t id) {
  const auto it = pending_.find(id);
  if (it == pending_.end() || !is_running_) return;
  const absl::Duration left = std::max(it->second.deadline - parts_.loop.Now(), absl::Milliseconds(1));
  gateway::v1::WriteRequest request = it->second.request;
  request.set_timeout_ms(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
  host_->SendWrite(parts_.loop, std::move(request), left + kAnswerSlack,
                   [self = shared_from_this(), id](absl::StatusOr<gateway::v1::WriteResponse> answer) {
                     if (self->is_running_) self->OnAnswer(id, std::move(answer));
                   });
}

void WorkerWrites::OnAnswer(uint64_t id, absl::StatusOr<gateway::v1::WriteResponse> answer) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;  // The write's slot was closed.
  Pending& write = it->second;
  WriteOutcome outcome;
  if (answer.ok()) {
    OnApiTime(answer->api_time_ms());
    if (answer->has_error()) {
      outcome.kind = WriteOutcome::Kind::kRefused;
      outcome.error = std::move(*answer->mutable_error());
      return Finish(id, std::move(outcome));
    }
    outcome.kind = WriteOutcome::Kind::kDone;
    outcome.object = std::move(*answer->mutable_object());
    outcome.gone = answer->gone();
    if (!IsOpen(write.slot, write.generation)) {
      // The slot's present owner gets the object from its watch.
    } else if (outcome.gone) {
      parts_.tracker.OwnDeletion(write.slot, write.key, outcome.object);
    } else if (!parts_.tracker.OwnState(write.slot, write.key, outcome.object)) {
      outcome.gone = true;
    }
    return Finish(id, std::move(outcome));
  }
  outcome.status = answer.status();
  const auto later = [&](absl::Time when, auto task) {
    parts_.loop.RunAt(when, [self = shared_from_this(), task = std::move(task)]() mutable {
      if (self->is_running_) task(*self);
    });
  };
  switch (Classify(answer.status().code(), write.request)) {
    case SendResult::kNotSent: {
      const absl::Time again = parts_.loop.Now() + write.back_off.Next(parts_.random);
      if (again < write.deadline) return later(again, [id](WorkerWrites& self) { self.Send(id); });
      outcome.kind = WriteOutcome::Kind::kNotSent;
      return Finish(id, std::move(outcome));
    }
    case SendResult::kNotOwner:
      if (IsOpen(write.slot, write.generation)) OnNotOwner(write.slot);
      outcome.kind = WriteOutcome::Kind::kNotSent;
      return Finish(id, std::move(outcome));
    case SendResult::kRefused:
      outcome.kind = WriteOutcome::Kind::kRefused;
      outcome.error.set_code(400);
      outcome.error.set_reason("BadRequest");
      outcome.error.set_message(std::string(ToStd(answer.status().message())));
      return Finish(id, std::move(outcome));
    case SendResult::kUnknown:
      outcome.kind = WriteOutcome::Kind::kUnknown;
      return later(write.deadline + kResolveSlack, [id, outcome = std::move(outcome)](WorkerWrites& self) mutable {
        self.Finish(id, std::move(outcome));
      });
  }
}

void WorkerWrites::Finish(uint64_t id, WriteOutcome outcome) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  Pending write = std::move(it->second);
  pending_.erase(it);
  if (IsOpen(write.slot, write.generation)) parts_.slots.at(write.slot).writes.erase(id);
  if (const auto counter = counters_.find(outcome.kind); counter != counters_.end()) {
    counter->second->Add();
  }
  write.done(std::move(outcome));
  if (is_running_ && IsOpen(write.slot, write.generation)) parts_.queue->Add(write.key, write.slot);
}

void WorkerWrites::OnNotOwner(uint32_t slot_id) {
  WorkerSlot& slot = parts_.slots.at(slot_id);
  if (slot.refused) return;
  slot.refused = true;
  parts_.queue->Pause(slot_id);
  // Usually a new assignment or a new snapshot ends the pause sooner.
  const absl::Duration pause = kNotOwnerPause * (1.0 + parts_.random.Unit());
  parts_.loop.RunAfter(pause, [self = shared_from_this(), slot_id, generation = slot.generation] {
    if (!self->is_running_) return;
    const auto it = self->parts_.slots.find(slot_id);
    if (it == self->parts_.slots.end() || it->second.generation != generation || !it->second.refused) return;
    it->second.refused = false;
    if (it->second.ready) self->parts_.queue->Resume(slot_id);
  });
}

void WorkerWrites::SetOwner(std::string_view key, uint32_t slot, int64_t epoch, gateway::v1::Owner& owner) const {
  *owner.mutable_member() = options_.self;
  owner.set_slot(slot);
  owner.set_slot_epoch(epoch);
  owner.set_key(key.data(), key.size());
}

void WorkerWrites::Get(std::string_view key, gateway::v1::GetRequest request, GetDone done) {
  const uint32_t slot_id = SlotOf(key);
  const auto slot = parts_.slots.find(slot_id);
  if (slot == parts_.slots.end()) return;
  GetForCaller(key, std::move(request),
               [this, slot_id, generation = slot->second.generation,
                done = std::move(done)](absl::StatusOr<gateway::v1::GetResponse> answer) mutable {
                 if (IsOpen(slot_id, generation)) done(std::move(answer));
               });
}

void WorkerWrites::GetForCaller(std::string_view key, gateway::v1::GetRequest request, GetDone done) {
  if (!is_running_) return;
  const uint32_t slot_id = SlotOf(key);
  const auto slot = parts_.slots.find(slot_id);
  if (slot == parts_.slots.end()) {
    parts_.loop.Post([done = std::move(done)]() mutable { done(NoSlot()); });
    return;
  }
  SetOwner(key, slot_id, slot->second.epoch, *request.mutable_owner());
  host_->SendGet(parts_.loop, std::move(request), kGetTimeout,
                 [self = shared_from_this(), done = std::move(done)](auto answer) mutable {
                   if (!self->is_running_) return;
                   if (answer.ok()) self->OnApiTime(answer->api_time_ms());
                   done(std::move(answer));
                 });
}

}  // namespace basalt::runtime
