#include "gateway/server/membership.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/rpc/held_slots.h"
#include "common/rpc/program_name.h"

namespace basalt::gateway {

Membership::Membership(Loop& loop, KubeAccess& kube, AssignmentStore& store, Leadership& leadership, Replicas& replicas,
                       SlotMoves& moves, HubMetrics& metrics, MembershipOptions options)
    : loop_(loop),
      kube_(kube),
      store_(store),
      leadership_(leadership),
      replicas_(replicas),
      moves_(moves),
      metrics_(metrics),
      options_(std::move(options)) {}

Membership::~Membership() {
  *alive_ = false;
  loop_.Cancel(deadline_timer_);
  loop_.Cancel(save_timer_);
}

void Membership::Lead(const storage::v1::AssignmentRecord& saved) {
  saving_ = false;
  leadership_.Lead(options_.ownership, saved, loop_.Now());
  metrics_.ShowEpoch(saved.epoch());
  RestoreOwners();
  obs::LogInfo("leading", {{"gateway", leadership_.self()}, {"epoch", fmt::to_string(saved.epoch())}});
  Reconcile();
}

void Membership::RestoreOwners() {
  Ownership& ownership = leadership_.ownership();
  for (int service = 1; service <= kServiceKinds; ++service) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    // The owners are away: each gets its former slots when it attaches.
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const std::string& owner = ownership.Get(kind, i).owner.replica;
      if (moves_.IsDrained(kind, i)) ownership.NoteDrained(kind, i);
      replicas_.SetOwner(kind, i, owner.empty() ? nullptr : &replicas_.FindOrMake(service, owner));
    }
  }
  for (const v1::Member& member : ownership.assignment().members()) {
    if (Replica* known = replicas_.Find(member.service(), member.replica())) known->member = member;
  }
}

void Membership::Stop() {
  loop_.Cancel(std::exchange(deadline_timer_, kNoTimer));
  loop_.Cancel(std::exchange(save_timer_, kNoTimer));
  if (!reported_.value_or("").empty()) options_.on_members("");  // This gateway does not report them any more.
  reported_.reset();
}

void Membership::Attach(const v1::Hello& hello, std::string_view name_secret_digest, Session& session) {
  Ownership& ownership = leadership_.ownership();
  const v1::Member& self = hello.self();
  if (const size_t refused = ownership.Attach(hello, name_secret_digest, loop_.Now()); refused > 0) {
    obs::LogWarning("records that a replica holds are not believed: their slots were not its own in that epoch",
                    {{"replica", self.replica()}, {"slots", fmt::to_string(refused)}});
  }
  if (ownership.assignment().epoch() > 0) session.SetAssignment(ownership.assignment());
  Reconcile();
  moves_.AdvanceAll(self.service());
  if (hello.record_inventory_size() == 0) return;
  std::vector<uint32_t> held;
  rpc::ForEachHeldSlot(hello.record_inventory(), [&](uint32_t slot, int64_t, bool) { held.push_back(slot); });
  moves_.SendLeftovers(self.service(), held, self.replica());
}

void Membership::Detach(const v1::Member& member) {
  leadership_.ownership().Detach(member, loop_.Now());
  Reconcile();
}

void Membership::Release(const v1::Member& member, const v1::Released& released) {
  leadership_.ownership().Release(member, released);
  Reconcile();
}

void Membership::Leave(const v1::Member& member) {
  leadership_.ownership().Leave(member);
  Reconcile();
}

void Membership::Reconcile() {
  if (!leadership_.leads()) return;
  Ownership& ownership = leadership_.ownership();
  const std::vector<Ownership::Change> changes = ownership.TransferReadySlots(loop_.Now());
  if (!changes.empty()) {
    kube_.DropUnsent([&ownership](const v1::Owner& owner) { return !ownership.Check(owner).ok(); });
  }
  moves_.Move(changes);
  if (!saving_ && save_timer_ == kNoTimer) {
    std::optional<storage::v1::AssignmentRecord> wanted = ownership.Propose(loop_.Now());
    if (wanted.has_value()) Save(*std::move(wanted));
  }
  // Records that were waited for may be available elsewhere, or not at all.
  for (const v1::ServiceKind service : ownership.TakeExpired()) moves_.AdvanceAll(service);
  ForgetGone();
  moves_.DismissLeavers();
  ReportMembers();
  ArmDeadline();
}

void Membership::ForgetGone() {
  replicas_.EraseIf([this](const Replica& replica) {
    const v1::Member& member = replica.member;
    if (leadership_.ownership().IsPresent(member.service(), member.replica())) return false;
    // The replica's tombstones go with its slots.
    if (replicas_.OwnsAny(replica)) return false;
    metrics_.RemoveReplica(member);
    return true;
  });
}

void Membership::ArmDeadline() {
  loop_.Cancel(std::exchange(deadline_timer_, kNoTimer));
  const absl::Time deadline = leadership_.ownership().NextDeadline();
  if (deadline == absl::InfiniteFuture() || saving_ || save_timer_ != kNoTimer) return;
  deadline_timer_ = loop_.RunAt(deadline, [this, alive = alive_] {
    if (!*alive) return;
    deadline_timer_ = kNoTimer;
    Reconcile();
  });
}

void Membership::Save(storage::v1::AssignmentRecord record) {
  saving_ = true;
  store_.Save(record, [this, alive = alive_, term = leadership_.term(), record](const absl::Status& status) {
    if (!*alive || term != leadership_.term()) return;
    saving_ = false;
    if (status.ok()) return Adopt(record);
    obs::LogWarning("assignment not saved",
                    {{"epoch", fmt::to_string(record.epoch())}, {"why", std::string(ToStd(status.message()))}});
    // This gateway must do nothing in an epoch that is not its own.
    if (absl::IsAborted(status)) return options_.on_superseded();
    save_timer_ = loop_.RunAfter(options_.save_again, [this, alive] {
      if (!*alive) return;
      save_timer_ = kNoTimer;
      Reconcile();
    });
  });
}

void Membership::Adopt(const storage::v1::AssignmentRecord& record) {
  Ownership& ownership = leadership_.ownership();
  ownership.Adopt(record, loop_.Now());
  metrics_.ShowEpoch(record.epoch());
  obs::LogInfo("assignment changed",
               {{"epoch", fmt::to_string(record.epoch())}, {"members", fmt::to_string(record.members_size())}});
  for (const auto& [key, replica] : replicas_.all()) {
    Session* session = replica->session();
    if (session == nullptr) continue;
    session->SetAssignment(ownership.assignment());
    // The replica receives no more changes of slots that it is to release: the next owner does.
    const v1::ServiceKind service = replica->member.service();
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const bool is_releasing = ownership.Get(service, i).state == SlotState::kReleasing;
      if (is_releasing && replicas_.OwnerOf(service, i) == replica.get()) session->CloseSlot(i);
    }
  }
  Reconcile();
}

void Membership::ReportMembers() {
  if (options_.on_members == nullptr || options_.ownership.expected.empty()) return;
  std::vector<std::string> differs;
  for (const auto& [service, expected] : options_.ownership.expected) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    const int attached = leadership_.ownership().Attached(kind).first;
    if (attached == expected) continue;
    differs.push_back(fmt::format("{}: {} of {} attached", rpc::ProgramName(kind, "none"), attached, expected));
  }
  std::string text = fmt::format("{}", fmt::join(differs, ", "));
  if (reported_ == text) return;
  reported_ = text;
  options_.on_members(text);
}

}  // namespace basalt::gateway
