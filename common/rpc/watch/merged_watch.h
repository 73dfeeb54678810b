#pragma once

// One client's watch, at any replica: the parts of all owners as one feed. If a part ends, or its slots get other
// owners, the watch goes on at the new owners from its position. Confined to its loop.
//
// Holds at most one message of each part: the owners publish fewer states to a slow client (watch_hub.h).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/kube/object_key.h"
#include "common/rpc/feed.h"
#include "common/rpc/members.h"
#include "common/watch/watch_token.h"

namespace basalt::rpc {

// Returns the request's namespace. Empty for requests without one, such as those about queues.
template <typename Request>
std::string NamespaceOf(const Request& request) {
  if constexpr (requires { request.namespace_(); }) return request.namespace_();
  return "";
}

// `Watched` describes the watch of a service:
//   Request           with namespace, unless its objects have none, name and token;
//   Response          with type (STATE, DELETED, SYNCED, RESET, PROGRESS), token, slot, slots, and the object;
//   PartRequest       with namespace, as Request, name, slots and since;
//   PartResponse      with type (the same, and MOVED), position, positions, slots, and the object;
//   MoveObject(PartResponse&, Response&)
//   SlotsOf(ns, name)  optional: the slots in which an object of that name may be, if not only the slot of "ns/name".
template <typename Watched>
class MergedWatch final : public Feed<typename Watched::Response> {
 public:
  using Request = typename Watched::Request;
  using Response = typename Watched::Response;
  using PartRequest = typename Watched::PartRequest;
  using PartResponse = typename Watched::PartResponse;
  using Part = Feed<PartResponse>;
  // Opens a part at that member, or here. Null if the part cannot be opened. `notify` is called on any thread.
  using OpenPart = std::function<std::unique_ptr<Part>(const gateway::v1::Member& member, PartRequest request,
                                                       std::function<void()> notify)>;

  static constexpr bool kHasNamespace = requires(const Request& request) { request.namespace_(); };
  static constexpr absl::Duration kTokenInterval = absl::Seconds(1);
  static constexpr absl::Duration kRetry = absl::Milliseconds(200);
  static constexpr absl::Duration kPatience = absl::Seconds(30);  // The longest time without an owner that answers.

  // Loop and members outlive the watch. `notify` is called on any thread.
  MergedWatch(Loop& loop, const Members& members, OpenPart open, const Request& request, std::function<void()> notify);

  bool Take(Response* response) override;
  std::optional<absl::Status> End() override { return end_; }
  // Retries at most every kRetry.
  void Tick() override;

 private:
  struct OpenedPart {
    gateway::v1::Member member;
    SlotSet slots;  // The slots that the part still publishes.
    std::unique_ptr<Part> feed;
  };
  using Parts = std::list<OpenedPart>;

  void Attach();
  void FollowAssignment();
  // Returns true if `response` is for the client.
  bool TakeFrom(OpenedPart& part, PartResponse& message, Response* response);
  void Detach(OpenedPart& part, const std::vector<uint32_t>& slots, std::string_view why);
  void SetPosition(const OpenedPart& part, const watch::v1::SlotPosition& position);
  void AddToken(Response* response);

  Loop& loop_;
  const Members& members_;
  const OpenPart open_;
  const std::function<void()> notify_;
  const std::string ns_;
  const std::string name_;
  SlotSet wanted_;
  std::vector<watch::WatchPosition> positions_;  // By slot: how far the client's watch has come.
  std::vector<gateway::v1::Member> assignment_;
  Parts parts_;
  typename Parts::iterator next_part_;
  SlotSet detached_;  // Wanted slots that no part publishes.
  SlotSet unsynced_;  // Slots whose snapshot is not complete.
  bool sent_synced_ = false;
  std::vector<absl::Time> failing_since_;  // By slot.
  absl::Time last_attempt_ = absl::InfinitePast();
  absl::Time last_token_ = absl::InfinitePast();
  bool token_due_ = false;  // Positions have changed since the last token.
  std::optional<absl::Status> end_;
};

template <typename Watched>
MergedWatch<Watched>::MergedWatch(Loop& loop, const Members& members, OpenPart open, const Request& request,
                                  std::function<void()> notify)
    : loop_(loop),
      members_(members),
      open_(std::move(open)),
      notify_(std::move(notify)),
      ns_(NamespaceOf(request)),
      name_(request.name()),
      positions_(watch::ReadWatchToken(request.token())),
      next_part_(parts_.end()),
      failing_since_(kSlotCount, absl::InfiniteFuture()) {
  const bool is_one = !name_.empty() && (kHasNamespace == !ns_.empty());
  if (!is_one) {
    wanted_ = SlotSet::All();
  } else if constexpr (requires { Watched::SlotsOf(ns_, name_); }) {
    for (const uint32_t slot : Watched::SlotsOf(ns_, name_)) wanted_.Insert(slot);
  } else {
    wanted_.Insert(SlotOf(kube::ObjectKey(ns_, name_)));
  }
  detached_ = wanted_;
  unsynced_ = wanted_;
  assignment_ = members_.all();
  if (assignment_.empty()) {
    end_ = MakeStatus(absl::StatusCode::kUnavailable, "this replica is not attached to a gateway yet; try again");
    return;
  }
  Attach();
}

// Opens parts at the owners of the slots that no part publishes.
template <typename Watched>
void MergedWatch<Watched>::Attach() {
  last_attempt_ = loop_.Now();
  if (assignment_.empty()) return;
  const std::vector<size_t> owners = OwnersOf(assignment_);
  std::map<size_t, SlotSet> by_owner;
  for (const uint32_t slot : detached_.ToVector()) by_owner[owners[slot]].Insert(slot);
  detached_ = {};
  for (const auto& [owner, slots] : by_owner) {
    PartRequest request;
    if constexpr (kHasNamespace) request.set_namespace_(ns_);
    request.set_name(name_);
    request.set_slots(slots.ToBytes());
    for (const uint32_t slot : slots.ToVector()) {
      if (positions_[slot].revision != 0) *request.add_since() = watch::ToMessage(slot, positions_[slot]);
    }
    OpenedPart& part = parts_.emplace_back(OpenedPart{assignment_[owner], slots, nullptr});
    part.feed = open_(part.member, std::move(request), notify_);
  }
}

template <typename Watched>
void MergedWatch<Watched>::FollowAssignment() {
  std::vector<gateway::v1::Member> newest = members_.all();
  const bool same = std::equal(newest.begin(), newest.end(), assignment_.begin(), assignment_.end(),
                               [](const auto& a, const auto& b) { return IsSame(a, b); });
  if (same || newest.empty()) return;
  assignment_ = std::move(newest);
  const std::vector<size_t> owners = OwnersOf(assignment_);
  for (auto part = parts_.begin(); part != parts_.end();) {
    std::vector<uint32_t> moved;
    for (const uint32_t slot : part->slots.ToVector()) {
      if (!IsSame(assignment_[owners[slot]], part->member)) moved.push_back(slot);
    }
    Detach(*part, moved, "its owner has changed");
    if (part->slots.empty()) {
      if (next_part_ == part) ++next_part_;
      part = parts_.erase(part);
    } else {
      ++part;
    }
  }
}

template <typename Watched>
void MergedWatch<Watched>::Detach(OpenedPart& part, const std::vector<uint32_t>& slots, std::string_view why) {
  const absl::Time now = loop_.Now();
  for (const uint32_t slot : slots) {
    if (!part.slots.Contains(slot)) continue;
    part.slots.Erase(slot);
    detached_.Insert(slot);
    failing_since_[slot] = std::min(failing_since_[slot], now);
    if (now - failing_since_[slot] < kPatience || end_) continue;
    end_ = MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("slot {} has had no owner that answers for {}, last {} at {}: {}", slot,
                                  absl::FormatDuration(kPatience), part.member.replica(), part.member.address(), why));
  }
}

template <typename Watched>
void MergedWatch<Watched>::SetPosition(const OpenedPart& part, const watch::v1::SlotPosition& position) {
  if (!part.slots.Contains(position.slot())) return;
  positions_[position.slot()] = watch::PositionOf(position);
  failing_since_[position.slot()] = absl::InfiniteFuture();
  token_due_ = true;
}

template <typename Watched>
void MergedWatch<Watched>::AddToken(Response* response) {
  response->set_token(watch::MakeWatchToken(positions_));
  last_token_ = loop_.Now();
  token_due_ = false;
}

template <typename Watched>
bool MergedWatch<Watched>::TakeFrom(OpenedPart& part, PartResponse& message, Response* response) {
  switch (message.type()) {
    case PartResponse::TYPE_STATE:
    case PartResponse::TYPE_DELETED: {
      const uint32_t slot = message.position().slot();
      if (!part.slots.Contains(slot)) return false;  // Another part publishes the slot now.
      SetPosition(part, message.position());
      response->set_type(message.type() == PartResponse::TYPE_STATE ? Response::TYPE_STATE : Response::TYPE_DELETED);
      Watched::MoveObject(message, *response);
      response->set_slot(slot);
      // The token of all slots is large; that of one slot costs nothing.
      if (wanted_.size() == 1 || loop_.Now() >= last_token_ + kTokenInterval) AddToken(response);
      return true;
    }
    case PartResponse::TYPE_RESET:
      for (const uint32_t slot : message.slots()) {
        if (!part.slots.Contains(slot)) continue;
        positions_[slot] = {};
        unsynced_.Insert(slot);
        token_due_ = true;
        response->add_slots(slot);
      }
      if (response->slots().empty()) return false;
      response->set_type(Response::TYPE_RESET);
      sent_synced_ = false;
      return true;
    case PartResponse::TYPE_SYNCED:
      for (const watch::v1::SlotPosition& position : message.positions()) SetPosition(part, position);
      for (const uint32_t slot : part.slots.ToVector()) {
        unsynced_.Erase(slot);
        failing_since_[slot] = absl::InfiniteFuture();
      }
      return false;
    case PartResponse::TYPE_PROGRESS:
      for (const watch::v1::SlotPosition& position : message.positions()) SetPosition(part, position);
      return false;
    case PartResponse::TYPE_MOVED:
      Detach(part, {message.slots().begin(), message.slots().end()}, "it does not have the slot, or not yet");
      return false;
    default:
      return false;
  }
}

template <typename Watched>
bool MergedWatch<Watched>::Take(Response* response) {
  if (end_) return false;
  // Takes one message of each part in turn, until no part has one.
  for (size_t without = 0; without <= parts_.size() && !parts_.empty();) {
    if (next_part_ == parts_.end()) next_part_ = parts_.begin();
    const auto part = next_part_++;
    PartResponse message;
    if (part->feed != nullptr && part->feed->Take(&message)) {
      without = 0;
      const bool for_client = TakeFrom(*part, message, response);
      if (part->slots.empty()) parts_.erase(part);
      if (end_) return false;
      if (for_client) return true;
      continue;
    }
    const std::optional<absl::Status> over =
        part->feed == nullptr ? absl::UnavailableError("it cannot be asked") : part->feed->End();
    if (over) {
      // Another try would keep the owner exhausted, so the watch ends and the client gets the reason.
      if (absl::IsResourceExhausted(*over)) {
        end_ = Annotate(*over, fmt::format("{} at {}", part->member.replica(), part->member.address()));
      }
      Detach(*part, part->slots.ToVector(), over->ToString());
      parts_.erase(part);
      if (end_) return false;
      continue;
    }
    ++without;
  }
  if (!sent_synced_ && unsynced_.empty()) {
    sent_synced_ = true;
    response->set_type(Response::TYPE_SYNCED);
    AddToken(response);
    return true;
  }
  if (token_due_ && loop_.Now() >= last_token_ + kTokenInterval) {
    response->set_type(Response::TYPE_PROGRESS);
    AddToken(response);
    return true;
  }
  return false;
}

template <typename Watched>
void MergedWatch<Watched>::Tick() {
  if (end_) return;
  FollowAssignment();
  for (const OpenedPart& part : parts_) {
    if (part.feed != nullptr) part.feed->Tick();
  }
  if (!detached_.empty() && loop_.Now() >= last_attempt_ + kRetry) Attach();
  notify_();
}

}  // namespace basalt::rpc
