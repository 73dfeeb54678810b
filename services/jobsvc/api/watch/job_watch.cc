#include "services/jobsvc/api/watch/job_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "common/kube/object_key.h"

namespace basalt::jobsvc {

using job::v1::WatchJobsResponse;
using job::v1::WatchPartResponse;

JobWatch::JobWatch(Loop& loop, const rpc::Members& members, OpenPart open, const job::v1::WatchJobsRequest& request,
                   std::function<void()> notify)
    : loop_(loop),
      members_(members),
      open_(std::move(open)),
      notify_(std::move(notify)),
      ns_(request.namespace_()),
      name_(request.name()),
      positions_(watch::ReadWatchToken(request.token())),
      next_part_(parts_.end()),
      failing_since_(kSlotCount, absl::InfiniteFuture()) {
  if (!ns_.empty() && !name_.empty()) {
    wanted_.Insert(SlotOf(kube::ObjectKey(ns_, name_)));
  } else {
    wanted_ = SlotSet::All();
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

JobWatch::~JobWatch() = default;

// Asks the owners for the slots that nobody tells of.
void JobWatch::Attach() {
  last_attempt_ = loop_.Now();
  if (assignment_.empty()) return;
  const std::vector<size_t> owners = rpc::OwnersOf(assignment_);
  std::map<size_t, SlotSet> by_owner;
  for (const uint32_t slot : detached_.ToVector()) by_owner[owners[slot]].Insert(slot);
  detached_ = {};
  for (const auto& [owner, slots] : by_owner) {
    job::v1::WatchPartRequest request;
    request.set_namespace_(ns_);
    request.set_name(name_);
    request.set_slots(slots.ToBytes());
    for (const uint32_t slot : slots.ToVector()) {
      if (positions_[slot].revision != 0) *request.add_since() = watch::ToMessage(slot, positions_[slot]);
    }
    OpenedPart& part = parts_.emplace_back(OpenedPart{assignment_[owner], slots, nullptr});
    part.feed = open_(part.member, std::move(request), notify_);
  }
}

void JobWatch::FollowAssignment() {
  std::vector<gateway::v1::Member> newest = members_.all();
  const bool same = std::equal(newest.begin(), newest.end(), assignment_.begin(), assignment_.end(),
                               [](const auto& a, const auto& b) { return rpc::IsSame(a, b); });
  if (same || newest.empty()) return;
  assignment_ = std::move(newest);
  const std::vector<size_t> owners = rpc::OwnersOf(assignment_);
  for (auto part = parts_.begin(); part != parts_.end();) {
    std::vector<uint32_t> moved;
    for (const uint32_t slot : part->slots.ToVector()) {
      if (!rpc::IsSame(assignment_[owners[slot]], part->member)) moved.push_back(slot);
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

void JobWatch::Detach(OpenedPart& part, const std::vector<uint32_t>& slots, std::string_view why) {
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

void JobWatch::SetPosition(const OpenedPart& part, const watch::v1::SlotPosition& position) {
  if (!part.slots.Contains(position.slot())) return;
  positions_[position.slot()] = watch::PositionOf(position);
  failing_since_[position.slot()] = absl::InfiniteFuture();
  token_due_ = true;
}

void JobWatch::AddToken(WatchJobsResponse* response) {
  response->set_token(watch::MakeWatchToken(positions_));
  last_token_ = loop_.Now();
  token_due_ = false;
}

bool JobWatch::TakeFrom(OpenedPart& part, WatchPartResponse& told, WatchJobsResponse* response) {
  switch (told.type()) {
    case WatchPartResponse::TYPE_STATE:
    case WatchPartResponse::TYPE_DELETED: {
      const uint32_t slot = told.position().slot();
      if (!part.slots.Contains(slot)) return false;  // Another tells of it now.
      SetPosition(part, told.position());
      response->set_type(told.type() == WatchPartResponse::TYPE_STATE ? WatchJobsResponse::TYPE_STATE
                                                                      : WatchJobsResponse::TYPE_DELETED);
      response->mutable_job()->Swap(told.mutable_job());
      response->set_slot(slot);
      // The token of all slots is large; that of one costs nothing.
      if (wanted_.size() == 1 || loop_.Now() >= last_token_ + kTokenInterval) AddToken(response);
      return true;
    }
    case WatchPartResponse::TYPE_RESET:
      for (const uint32_t slot : told.slots()) {
        if (!part.slots.Contains(slot)) continue;
        positions_[slot] = {};
        unsynced_.Insert(slot);
        token_due_ = true;
        response->add_slots(slot);
      }
      if (response->slots().empty()) return false;
      response->set_type(WatchJobsResponse::TYPE_RESET);
      told_synced_ = false;
      return true;
    case WatchPartResponse::TYPE_SYNCED:
      for (const watch::v1::SlotPosition& position : told.positions()) SetPosition(part, position);
      for (const uint32_t slot : part.slots.ToVector()) {
        unsynced_.Erase(slot);
        failing_since_[slot] = absl::InfiniteFuture();
      }
      return false;
    case WatchPartResponse::TYPE_PROGRESS:
      for (const watch::v1::SlotPosition& position : told.positions()) SetPosition(part, position);
      return false;
    case WatchPartResponse::TYPE_MOVED:
      Detach(part, {told.slots().begin(), told.slots().end()}, "it does not have the slot, or not yet");
      return false;
    default:
      return false;
  }
}

bool JobWatch::Take(WatchJobsResponse* response) {
  if (end_) return false;
  // One message of each part in turn, until none has any.
  for (size_t without = 0; without <= parts_.size() && !parts_.empty();) {
    if (next_part_ == parts_.end()) next_part_ = parts_.begin();
    const auto part = next_part_++;
    WatchPartResponse told;
    if (part->feed != nullptr && part->feed->Take(&told)) {
      without = 0;
      const bool for_client = TakeFrom(*part, told, response);
      if (part->slots.empty()) parts_.erase(part);
      if (end_) return false;
      if (for_client) return true;
      continue;
    }
    const std::optional<absl::Status> over =
        part->feed == nullptr ? absl::UnavailableError("it cannot be asked") : part->feed->End();
    if (over) {
      // To ask again would keep it there: the client has to know.
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
  if (!told_synced_ && unsynced_.empty()) {
    told_synced_ = true;
    response->set_type(WatchJobsResponse::TYPE_SYNCED);
    AddToken(response);
    return true;
  }
  if (token_due_ && loop_.Now() >= last_token_ + kTokenInterval) {
    response->set_type(WatchJobsResponse::TYPE_PROGRESS);
    AddToken(response);
    return true;
  }
  return false;
}

void JobWatch::Tick() {
  if (end_) return;
  FollowAssignment();
  for (const OpenedPart& part : parts_) {
    if (part.feed != nullptr) part.feed->Tick();
  }
  if (!detached_.empty() && loop_.Now() >= last_attempt_ + kRetry) Attach();
  notify_();
}

}  // namespace basalt::jobsvc
