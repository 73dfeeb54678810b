#include "common/testing/controller_rig/rig_context.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/base/slots.h"
#include "common/testing/controller_rig/rig_process.h"
#include "gateway/route/owner_watch.h"
#include "gateway/translate/decoder.h"

namespace basalt::testing {

using Kind = runtime::WriteOutcome::Kind;

std::string InterestOf(std::string_view watch, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}/{}", watch, ns, name);
}

Loop& RigContext::loop() { return process_.loop; }
Random& RigContext::random() { return process_.random; }
kv::KvStore& RigContext::store() { return *process_.store; }

// ---- keys and slots ----

void RigContext::Wake(std::string_view key) {
  if (!IsOpen(key)) return;
  process_.dirty.emplace(key);
  rig_.PostRound();
}

void RigContext::WakeAt(std::string_view key, absl::Time when) {
  if (!IsOpen(key)) return;
  const std::string name(key);
  auto& timer = process_.timers[name];
  if (timer.second != kNoTimer && timer.first <= when) return;
  if (timer.second != kNoTimer) process_.loop.Cancel(timer.second);
  timer = {when, process_.loop.RunAfter(when - ApiNow(), [this, name] {
             process_.timers.erase(name);
             Wake(name);
           })};
}

void RigContext::ClockChanged(absl::Duration set_back) {
  for (const auto& [name, timer] : std::exchange(process_.timers, {})) {
    process_.loop.Cancel(timer.second);
    WakeAt(name, timer.first - std::max(set_back, absl::ZeroDuration()));
  }
}

bool RigContext::IsReady(uint32_t slot) const { return rig_.ready && SlotEpoch(slot) != 0; }

int64_t RigContext::SlotEpoch(uint32_t slot) const {
  const auto own = process_.epochs.find(slot);
  return own == process_.epochs.end() ? rig_.epoch_ : own->second;
}

int64_t RigContext::SlotEpochOf(std::string_view key) const { return SlotEpoch(SlotOf(key)); }

uint64_t RigContext::GenerationOf(std::string_view key) const {
  const auto own = process_.generations.find(SlotOf(key));
  return own == process_.generations.end() ? 0 : own->second;
}

runtime::SlotCounts RigContext::Slots() const {
  const auto closed = std::count_if(process_.epochs.begin(), process_.epochs.end(),
                                    [](const auto& entry) { return entry.second == 0; });
  const size_t owned = kSlotCount - static_cast<size_t>(closed);
  return {owned, rig_.ready ? owned : 0};
}

// ---- writes ----

void RigContext::Write(std::string_view key, gateway::v1::WriteRequest request, runtime::WriteDone done) {
  if (!IsOpen(key)) return;
  Send({.key = std::string(key),
        .generation = GenerationOf(key),
        .request = std::move(request),
        .done = std::move(done)});
}

void RigContext::WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, runtime::WriteDone done) {
  Sent sent{.key = std::string(key),
            .generation = GenerationOf(key),
            .for_caller = true,
            .request = std::move(request),
            .done = std::move(done)};
  if (IsOpen(key)) return Send(std::move(sent));
  Answer(std::move(sent), absl::ZeroDuration(), {.kind = Kind::kNotSent});
}

void RigContext::Send(Sent sent) {
  if (rig_.Point()) return;
  const Fate chosen = rig_.fate ? rig_.fate(sent.request) : Fate::kNormal;
  if (chosen == Fate::kNotSent) return Answer(std::move(sent), kRigLatency, {.kind = Kind::kNotSent});
  if (chosen == Fate::kLostRequest) {
    return Answer(std::move(sent), std::max(kRigLatency, rig_.unknown_after), {.kind = Kind::kUnknown});
  }
  gateway::v1::Owner& owner = *sent.request.mutable_owner();
  owner.mutable_member()->set_service(rig_.parts_.service);
  owner.mutable_member()->set_replica(process_.loop.name());
  owner.set_key(sent.key);
  owner.set_slot(SlotOf(sent.key));
  owner.set_slot_epoch(SlotEpochOf(sent.key));
  // The request reaches the server even if the process dies meanwhile.
  ++rig_.in_flight_;
  rig_.server_.loop().RunAfter(
      kRigLatency, [this, alive = process_.alive, rig = &rig_, sent = std::move(sent), chosen]() mutable {
        --rig->in_flight_;
        const gateway::v1::WriteResponse response = rig->server_.Write(sent.request);
        if (!*alive || rig->Point()) return;
        if (chosen == Fate::kLostAnswer) {
          return Answer(std::move(sent), std::max(kRigLatency, rig->unknown_after), {.kind = Kind::kUnknown});
        }
        const absl::Duration more = rig->answers_late ? rig->answers_late(sent.request) : absl::ZeroDuration();
        Answer(std::move(sent), kRigLatency + more,
               {.kind = response.has_error() ? Kind::kRefused : Kind::kDone,
                .object = response.object(),
                .gone = response.gone(),
                .error = response.error()});
      });
}

void RigContext::Answer(Sent sent, absl::Duration after, runtime::WriteOutcome outcome) {
  process_.loop.RunAfter(after, [this, sent = std::move(sent), outcome = std::move(outcome)]() mutable {
    const bool lives = IsOpen(sent.key) && GenerationOf(sent.key) == sent.generation;
    if (!lives && !sent.for_caller) return;
    const bool watched = outcome.object.kind_case() != kube::v1::Object::KIND_NOT_SET && !outcome.object.has_generic();
    if (lives && outcome.kind == Kind::kDone && watched) rig_.DeliverAnswer(sent.key, outcome.object, outcome.gone);
    sent.done(std::move(outcome));
    if (lives) Wake(sent.key);
  });
}

// ---- reads ----

void RigContext::Get(std::string_view key, gateway::v1::GetRequest request, runtime::GetDone done) {
  if (!IsOpen(key)) return;
  GetForCaller(key, std::move(request),
               [this, key = std::string(key), generation = GenerationOf(key),
                done = std::move(done)](absl::StatusOr<gateway::v1::GetResponse> answer) mutable {
                 if (IsOpen(key) && GenerationOf(key) == generation) done(std::move(answer));
               });
}

void RigContext::GetForCaller(std::string_view key, gateway::v1::GetRequest request, runtime::GetDone done) {
  request.mutable_owner()->mutable_member()->set_service(rig_.parts_.service);
  request.mutable_owner()->set_key(std::string(key));
  process_.loop.RunAfter(kRigLatency, [this, request = std::move(request), done = std::move(done)]() mutable {
    done(rig_.server_.Get(request));
  });
}

void RigContext::AddInterest(std::string_view watch, std::string_view ns, std::string_view name) {
  EXPECT_TRUE(process_.interests.insert(InterestOf(watch, ns, name)).second) << name << " is asked for twice";
  const bool is_owner = gateway::IsOwnerWatch(watch);
  if (is_owner) rig_.server_.FollowOwners(watch);
  // Deliver the present state. Each later change follows.
  process_.loop.RunAfter(kRigLatency,
                         [this, is_owner, watch = std::string(watch), ns = std::string(ns), name = std::string(name)] {
                           kube::v1::Object object;
                           bool gone = true;
                           if (auto owner = rig_.server_.ReadOwner(watch, ns, name); is_owner && owner) {
                             object = *std::move(owner);
                             gone = false;
                           } else if (const auto stored = rig_.server_.server().Get(watch, ns, name)) {
                             gateway::Decoder decoder(gateway::ObjectKind::kGeneric);
                             const auto decoded = decoder.DecodeObject(ToText(*stored));
                             EXPECT_TRUE(decoded.ok()) << decoded.status();
                             if (decoded.ok()) object = decoded->object;
                             gone = false;
                           } else {
                             object.mutable_generic()->mutable_meta()->set_namespace_(ns);
                             object.mutable_generic()->mutable_meta()->set_name(name);
                           }
                           rig_.DeliverInterest(watch, object, gone);
                         });
}

void RigContext::DropInterest(std::string_view watch, std::string_view ns, std::string_view name) {
  EXPECT_EQ(process_.interests.erase(InterestOf(watch, ns, name)), 1u) << name << " was not asked for";
}

// ---- others ----

bool RigContext::CallOwner(gateway::v1::ServiceKind service, std::string_view, runtime::PeerCall call) {
  const auto peer = process_.peers.find(service);
  if (peer == process_.peers.end()) return false;
  call(*peer->second, [](absl::AnyInvocable<void()> task) { task(); });
  return true;
}

void RigContext::MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) {
  rig_.DeliverAnswer(std::string(key), object, gone);
}

void RigContext::Fail(const absl::Status& why) {
  fmt::print(stderr, "the controller failed: {}\n", why.ToString());
  std::abort();
}

}  // namespace basalt::testing
