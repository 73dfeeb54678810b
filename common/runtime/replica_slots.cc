// The owners of slots, the records that go with slots, and leaving.
#include "common/runtime/replica_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/rpc/members.h"
#include "common/runtime/slots/replica_records.h"
#include "common/runtime/slots/slot_records.h"

namespace basalt::runtime {

std::vector<gateway::v1::Member> MembersOf(const gateway::v1::Assignment& assignment,
                                           gateway::v1::ServiceKind service) {
  std::vector<gateway::v1::Member> members;
  for (const gateway::v1::Member& member : assignment.members()) {
    if (member.service() == service) members.push_back(member);
  }
  return members;
}

std::optional<size_t> OwnerIndex(const std::vector<gateway::v1::Member>& members, uint32_t slot) {
  if (members.empty()) return std::nullopt;
  std::vector<std::string_view> names;
  for (const gateway::v1::Member& member : members) names.push_back(member.replica());
  return RendezvousOwner(names, slot);
}

void Replica::Core::Leave(absl::AnyInvocable<void()> done) {
  if (stopped_ || failed_ || leaving_ || handover_ == nullptr) return done();
  leaving_ = true;
  left_ = std::move(done);
  if (stream_ != nullptr) stream_->Send(LeaveRequest());
  loop_.RunAfter(options_.leave_timeout, [core = shared_from_this()] { core->FinishLeave(); });
  // Without a gateway the slots cannot go to another replica. The wait is for a gateway that may be about to lead.
  loop_.RunAfter(options_.leave_without_gateway, [core = shared_from_this()] {
    if (core->received_ == 0 || core->stream_ == nullptr) core->FinishLeave();
  });
}

void Replica::Core::ExportRecords(replica::v1::ExportRecordsRequest request,
                                  rpc::Done<replica::v1::ExportRecordsResponse> done) {
  if (stopped_ || failed_ || handover_ == nullptr) {
    return done(MakeStatus(absl::StatusCode::kUnavailable, "this replica is not serving"));
  }
  done(handover_->Serve(request));
}

void Replica::Core::Released(int64_t epoch, std::vector<uint32_t> slots) {
  loop_.Post([core = shared_from_this(), epoch, slots = std::move(slots)] {
    if (core->stopped_ || core->failed_) return;
    for (const uint32_t slot : slots) core->handover_->SetFree(slot, epoch);
    if (core->stream_ == nullptr) return;
    gateway::v1::AttachRequest request;
    request.mutable_released()->set_epoch(epoch);
    for (const uint32_t slot : slots) request.mutable_released()->add_slots(slot);
    core->stream_->Send(std::move(request));
  });
}

void Replica::Core::Taken(int64_t epoch, const std::vector<uint32_t>& slots, const std::vector<uint32_t>& lost) {
  if (stream_ == nullptr) return;
  gateway::v1::AttachRequest request;
  request.mutable_records_imported()->set_epoch(epoch);
  for (const uint32_t slot : slots) request.mutable_records_imported()->add_slots(slot);
  for (const uint32_t slot : lost) request.mutable_records_imported()->add_unavailable(slot);
  stream_->Send(std::move(request));
}

void Replica::Core::Cleared(const gateway::v1::OrphanedRecords& leftovers) {
  if (stream_ == nullptr) return;
  gateway::v1::AttachRequest request;
  *request.mutable_orphans_removed() = leftovers;
  stream_->Send(std::move(request));
}

void Replica::Core::FinishLeave() {
  if (left_ == nullptr) return;
  loop_.Post([done = std::exchange(left_, nullptr)]() mutable { done(); });
}

void Replica::Core::SetAssignment(gateway::v1::Assignment assignment,
                                  std::vector<std::vector<Worker::Delivery>>& deliveries) {
  auto view = std::make_shared<AssignmentView>();
  std::vector<gateway::v1::Member> mine = MembersOf(assignment, options_.service);
  std::vector<size_t> owners = rpc::OwnersOf(mine);
  view->owned.resize(kSlotCount);
  owned_ = 0;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    view->owned[slot] = !owners.empty() && rpc::IsSame(mine[owners[slot]], self_);
    owned_ += view->owned[slot] ? 1 : 0;
    if (view->owned[slot]) continue;
    takeover_->Forget(slot);
    takeover_->EndImports(slot);
  }
  handover_->SetOwners(std::move(mine), std::move(owners));
  std::map<std::string, std::shared_ptr<rpc::ServicePeer>> service_peers;
  for (const gateway::v1::Member& member : assignment.members()) {
    if (member.service() == options_.service) continue;
    const std::string id = member.SerializeAsString();
    const auto known = service_peers_.find(id);
    auto peer = known != service_peers_.end() ? known->second : peers_.Services(member);
    OtherService& other = view->others[member.service()];
    other.members.push_back(member.replica());
    other.peers.push_back(peer);
    service_peers.emplace(id, std::move(peer));
  }
  service_peers_ = std::move(service_peers);
  if (assignment.epoch() > last_epoch_) {
    last_epoch_ = assignment.epoch();
    kv::WriteBatch batch;
    PutLastEpoch(last_epoch_, batch);
    if (const absl::Status status = store_.Write(batch); !status.ok()) return Fail(status);
  }
  view->assignment = std::move(assignment);
  {
    MutexLock lock(view_mutex_);
    view_ = view;
  }
  for (auto& of_worker : deliveries) of_worker.emplace_back(std::shared_ptr<const AssignmentView>(view));
  UpdateSlotsHealth();
}

}  // namespace basalt::runtime
