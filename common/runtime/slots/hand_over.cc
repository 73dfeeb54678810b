#include "common/runtime/slots/hand_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/slot_set.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/rpc/held_slots.h"
#include "common/rpc/members.h"
#include "common/rpc/request_bounds.h"
#include "common/runtime/slots/slot_records.h"

namespace basalt::runtime {

using replica::v1::ExportRecordsRequest;
using replica::v1::ExportRecordsResponse;

namespace {

absl::Status CheckDistinct(const ExportRecordsRequest& request) {
  SlotSet seen;
  for (const auto& asked : request.slots()) {
    if (seen.Contains(asked.slot())) {
      return Invalid(fmt::format("ExportRecordsRequest.slots names slot {} twice", asked.slot()));
    }
    seen.Insert(asked.slot());
  }
  return absl::OkStatus();
}

}  // namespace

// A fetch of one part of the slots that come from one source.
struct Takeover::Fetch {
  std::shared_ptr<rpc::ReplicaPeer> peer;
  ExportRecordsRequest request;
  Epochs left;      // Slots that are not complete yet.
  Epochs complete;  // Slots that are complete, and whose next part follows.
  absl::Time deadline;
  BackOff back_off;

  bool IsControl() const { return request.part() == ExportRecordsRequest::PART_CONTROL; }
  bool Brings(const gateway::v1::Member& source, uint32_t slot, int64_t epoch) const {
    if (request.source().incarnation() != source.incarnation()) return false;
    for (const Epochs* slots : {&left, &complete}) {
      if (const auto it = slots->find(slot); it != slots->end() && it->second == epoch) return true;
    }
    return false;
  }
  void Add(uint32_t slot, int64_t epoch) {
    auto& asked = *request.add_slots();
    asked.set_slot(slot);
    asked.set_epoch(epoch);
  }
};

Takeover::Takeover(HandOverOptions options, Loop& loop, Random& random, kv::KvStore& store, rpc::PeerDirectory& peers,
                   Callbacks callbacks)
    : options_(std::move(options)),
      loop_(loop),
      random_(random),
      store_(store),
      peers_(peers),
      callbacks_(std::move(callbacks)) {}

Takeover::~Takeover() { *alive_ = false; }

void Takeover::Grant(const gateway::v1::SlotGrant& grant) {
  granted_[grant.slot()] = {grant.epoch(), grant.source(), grant.source_epoch()};
}

std::shared_ptr<Takeover::Fetch> Takeover::MakeFetch(const gateway::v1::Member& source,
                                                     ExportRecordsRequest::Part part) {
  auto fetch = std::make_shared<Fetch>();
  fetch->peer = peers_.Replicas(source);
  fetch->request.set_cluster(options_.cluster);
  *fetch->request.mutable_source() = source;
  *fetch->request.mutable_owner() = options_.self;
  fetch->request.set_part(part);
  fetch->deadline = loop_.Now() + PatienceFor(*fetch);
  fetch->back_off = BackOff(fetch->IsControl() ? options_.again : options_.history_again);
  return fetch;
}

void Takeover::Start() {
  if (granted_.empty()) return;
  kv::WriteBatch batch;
  std::map<std::string, std::shared_ptr<Fetch>> fetches;
  Epochs here;
  for (const auto& [slot, wanted] : std::exchange(granted_, {})) {
    const absl::StatusOr<storage::v1::SlotMeta> stored = ReadSlotMeta(store_, slot);
    if (!stored.ok()) return callbacks_.failed(stored.status());
    if (stored->epoch() == wanted.epoch) {
      // The records were fetched before; the source has gone and come back since.
      here.emplace(slot, wanted.epoch);
      continue;
    }
    // The store's records of the slot are older, or the rest of an earlier attempt.
    LeaveOnlyHistory(slot, *stored, batch);
    std::shared_ptr<Fetch>& fetch = fetches[wanted.source.SerializeAsString()];
    if (fetch == nullptr) fetch = MakeFetch(wanted.source, ExportRecordsRequest::PART_CONTROL);
    fetch->Add(slot, wanted.source_epoch);
    fetch->left[slot] = wanted.epoch;
    under_way_[slot] = fetch;
  }
  if (!batch.empty()) {
    if (const absl::Status status = store_.Write(batch); !status.ok()) return callbacks_.failed(status);
  }
  Report(here, {});
  for (const auto& [source, fetch] : fetches) Ask(fetch);
}

void Takeover::Import(const gateway::v1::OrphanedRecords& leftovers, absl::FunctionRef<bool(uint32_t slot)> is_ours) {
  const auto fetch = MakeFetch(leftovers.source(), ExportRecordsRequest::PART_HISTORY);
  rpc::ForEachHeldSlot(leftovers.inventory(), [&](uint32_t slot, int64_t epoch, bool) {
    if (!is_ours(slot)) return;
    std::shared_ptr<Fetch>& known = imports_[{slot, leftovers.source().replica()}];
    if (known != nullptr && known->Brings(leftovers.source(), slot, epoch)) return;
    known = fetch;
    fetch->Add(slot, epoch);
    fetch->left[slot] = epoch;
  });
  if (!fetch->left.empty()) Ask(fetch);
}

void Takeover::Forget(uint32_t slot) {
  granted_.erase(slot);
  under_way_.erase(slot);
}

void Takeover::EndImports(uint32_t slot) {
  imports_.erase(imports_.lower_bound({slot, ""}), imports_.lower_bound({slot + 1, ""}));
}

void Takeover::ForgetGrants() {
  granted_.clear();
  under_way_.clear();
}

bool Takeover::Wants(const Fetch& fetch, uint32_t slot) const {
  if (fetch.IsControl()) {
    const auto it = under_way_.find(slot);
    return it != under_way_.end() && it->second.get() == &fetch;
  }
  const auto it = imports_.find({slot, fetch.request.source().replica()});
  return it != imports_.end() && it->second.get() == &fetch;
}

void Takeover::Drop(const Fetch& fetch, const Epochs& slots) {
  for (const auto& [slot, epoch] : slots) {
    if (fetch.IsControl()) {
      under_way_.erase(slot);
    } else {
      imports_.erase({slot, fetch.request.source().replica()});
    }
  }
}

absl::Duration Takeover::PatienceFor(const Fetch& fetch) const {
  return fetch.IsControl() ? options_.patience : options_.history_patience;
}

void Takeover::Ask(const std::shared_ptr<Fetch>& fetch) {
  fetch->peer->ExportRecords(fetch->request, options_.call_timeout,
                             [this, alive = alive_, fetch](absl::StatusOr<ExportRecordsResponse> page) {
                               if (*alive) OnPage(fetch, std::move(page));
                             });
}

void Takeover::AskLater(const std::shared_ptr<Fetch>& fetch, std::string_view why) {
  const absl::Time again = loop_.Now() + fetch->back_off.Next(random_);
  if (again >= fetch->deadline) {
    obs::LogWarning("records could not be taken over", {{"source", fetch->request.source().replica()},
                                                        {"slots", std::to_string(fetch->left.size())},
                                                        {"why", std::string(why)}});
    return GiveUp(*fetch);
  }
  loop_.RunAt(again, [this, alive = alive_, fetch] {
    if (*alive) Ask(fetch);
  });
}

void Takeover::OnPage(const std::shared_ptr<Fetch>& fetch, absl::StatusOr<ExportRecordsResponse> page) {
  for (Epochs* slots : {&fetch->left, &fetch->complete}) {
    std::erase_if(*slots, [&](const auto& entry) { return !Wants(*fetch, entry.first); });
  }
  if (fetch->left.empty() && fetch->complete.empty()) return;
  if (!page.ok()) {
    // Another process is the source by now: the gateway announces its history again.
    if (absl::IsFailedPrecondition(page.status()) && !fetch->IsControl()) return GiveUp(*fetch);
    return AskLater(fetch, page.status().ToString());
  }
  if (!StorePage(*fetch, *page)) return;
  if (page->next_cursor().empty()) return EndPages(fetch);
  fetch->back_off.Reset();
  fetch->deadline = std::max(fetch->deadline, loop_.Now() + PatienceFor(*fetch));
  fetch->request.set_cursor(page->next_cursor());
  Ask(fetch);
}

bool Takeover::StorePage(Fetch& fetch, const ExportRecordsResponse& page) {
  const ExportRecordsRequest::Part part = fetch.request.part();
  const bool control = fetch.IsControl();
  kv::WriteBatch batch;
  for (const replica::v1::SlotRecord& record : page.records()) {
    const absl::StatusOr<uint32_t> slot = SlotOfRecord(record);
    if (!slot.ok() || !fetch.left.contains(*slot)) continue;  // No longer ours, or not requested.
    if (const absl::Status put = PutRecord(record, part, *slot, batch); !put.ok()) {
      obs::LogWarning("a record was not taken", {{"why", put.ToString()}});
    }
  }
  Epochs complete;
  Epochs lost;
  for (const uint32_t slot : page.complete()) {
    if (const auto it = fetch.left.find(slot); it != fetch.left.end()) complete.insert(fetch.left.extract(it));
  }
  for (const uint32_t slot : page.refused()) {
    if (const auto it = fetch.left.find(slot); it != fetch.left.end()) lost.insert(fetch.left.extract(it));
  }
  if (control) {
    for (const auto& [slot, epoch] : complete) PutSlotEpoch(slot, epoch, batch);
    for (const auto& [slot, epoch] : lost) {
      // Records of an earlier page would look like all records.
      DropControlRecords(slot, batch);
      PutSlotEpoch(slot, epoch, batch);
    }
  }
  if (!batch.empty()) {
    if (const absl::Status status = store_.Write(batch); !status.ok()) {
      callbacks_.failed(status);
      return false;
    }
  }
  Drop(fetch, lost);
  if (control) {
    // The gateway announces where history is once the slot has begun.
    Drop(fetch, complete);
    Report(complete, lost);
  } else {
    ReportCleared(fetch, lost);
    fetch.complete.insert(complete.begin(), complete.end());
  }
  return true;
}

void Takeover::Report(const Epochs& taken, const Epochs& lost) {
  std::map<int64_t, std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> by_epoch;
  for (const auto& [slot, epoch] : taken) by_epoch[epoch].first.push_back(slot);
  for (const auto& [slot, epoch] : lost) {
    by_epoch[epoch].first.push_back(slot);
    by_epoch[epoch].second.push_back(slot);
  }
  for (auto& [epoch, slots] : by_epoch) callbacks_.taken(epoch, std::move(slots.first), std::move(slots.second));
}

void Takeover::ReportCleared(const Fetch& fetch, const Epochs& cleared) {
  if (cleared.empty()) return;
  gateway::v1::OrphanedRecords leftovers;
  *leftovers.mutable_source() = fetch.request.source();
  for (const auto& [slot, epoch] : cleared) {
    rpc::AddHeldSlot(slot, epoch, /*only_history=*/false, *leftovers.mutable_inventory());
  }
  callbacks_.cleared(leftovers);
}

void Takeover::GiveUp(Fetch& fetch) {
  const Epochs lost = std::exchange(fetch.left, {});
  if (fetch.IsControl()) {
    kv::WriteBatch batch;
    for (const auto& [slot, epoch] : lost) {
      DropControlRecords(slot, batch);
      PutSlotEpoch(slot, epoch, batch);
    }
    if (const absl::Status status = store_.Write(batch); !status.ok()) return callbacks_.failed(status);
    Report({}, lost);
  }
  Drop(fetch, lost);
  // Complete slots are dropped, too: the source still has their history, and the gateway announces it again.
  Drop(fetch, std::exchange(fetch.complete, {}));
}

void Takeover::EndPages(const std::shared_ptr<Fetch>& fetch) {
  google::protobuf::RepeatedPtrField<replica::v1::SlotOfEpoch> asked;
  asked.Swap(fetch->request.mutable_slots());
  fetch->request.clear_cursor();
  const Epochs complete = std::exchange(fetch->complete, {});
  if (fetch->request.part() == ExportRecordsRequest::PART_DONE) {
    Drop(*fetch, complete);
    ReportCleared(*fetch, complete);
  } else if (!complete.empty()) {
    // All history of these slots is here: the source drops its records.
    const auto done = MakeFetch(fetch->request.source(), ExportRecordsRequest::PART_DONE);
    for (const auto& [slot, epoch] : complete) {
      done->Add(slot, epoch);
      imports_[{slot, fetch->request.source().replica()}] = done;
    }
    done->left = complete;
    Ask(done);
  }
  for (const auto& slot : asked) {
    if (fetch->left.contains(slot.slot())) *fetch->request.add_slots() = slot;
  }
  if (!fetch->left.empty()) AskLater(fetch, "not released yet");
}

void Handover::SetFree(uint32_t slot, int64_t epoch) {
  const auto it = busy_.find(slot);
  if (it == busy_.end() || it->second > epoch) return;  // The slot has begun again since.
  busy_.erase(it);
}

void Handover::SetOwners(std::vector<gateway::v1::Member> members, std::vector<size_t> owners) {
  members_ = std::move(members);
  owners_ = std::move(owners);
}

absl::Status Handover::CheckSource(const ExportRecordsRequest& request) const {
  const gateway::v1::Member& asked = request.source();
  if (request.cluster() == options_.cluster && asked.service() == options_.self.service() &&
      rpc::IsSame(asked, options_.self)) {
    return absl::OkStatus();
  }
  const auto name = [](const gateway::v1::Member& member, std::string_view cluster) {
    return fmt::format("{} '{}' ({}) of cluster '{}'", gateway::v1::ServiceKind_Name(member.service()),
                       member.replica(), member.incarnation(), cluster);
  };
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("asked is {}, this is {}", name(asked, request.cluster()), name(options_.self, options_.cluster)));
}

bool Handover::IsFreeFor(const gateway::v1::Member& asks, uint32_t slot) const {
  if (IsBusy(slot) || owners_.empty()) return false;
  const gateway::v1::Member& owner = members_[owners_[slot]];
  return !rpc::IsSame(owner, options_.self) && owner.service() == asks.service() && rpc::IsSame(owner, asks);
}

absl::StatusOr<ExportRecordsResponse> Handover::Serve(const ExportRecordsRequest& request) {
  BASALT_RETURN_IF_ERROR(rpc::CheckRequest(request));
  BASALT_RETURN_IF_ERROR(CheckDistinct(request));
  BASALT_RETURN_IF_ERROR(CheckSource(request));
  switch (request.part()) {
    case ExportRecordsRequest::PART_CONTROL:
      return ReadPage(store_, request, [this](uint32_t slot) { return !IsBusy(slot); });
    case ExportRecordsRequest::PART_HISTORY:
      return ReadPage(store_, request, [&](uint32_t slot) {
        if (!IsFreeFor(request.owner(), slot)) return false;
        takeover_.EndImports(slot);
        return true;
      });
    case ExportRecordsRequest::PART_DONE:
      return Drop(request);
    default:
      return Invalid("ExportRecordsRequest.part is missing");
  }
}

absl::StatusOr<ExportRecordsResponse> Handover::Drop(const ExportRecordsRequest& request) {
  kv::WriteBatch batch;
  ExportRecordsResponse done;
  for (const auto& slot : request.slots()) {
    if (!IsFreeFor(request.owner(), slot.slot())) {
      done.add_not_yet(slot.slot());
      continue;
    }
    BASALT_ASSIGN_OR_RETURN(const storage::v1::SlotMeta meta, ReadSlotMeta(store_, slot.slot()));
    if (DropSlotRecords(slot.slot(), meta, slot.epoch(), batch)) takeover_.EndImports(slot.slot());
    done.add_complete(slot.slot());
  }
  if (!batch.empty()) BASALT_RETURN_IF_ERROR(store_.Write(batch));
  return done;
}

}  // namespace basalt::runtime
