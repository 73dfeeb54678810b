#pragma once

// The records of a slot in a store, whatever the service: their epoch, and their passage from one replica to another
// (correctness 5). Stateless; errors are those of the store. Any thread; each call may be repeated.
//
// Keys of every family but kMeta begin with the slot. kHistory and kHistoryIndex are history, the rest are control
// records: without them an owner has to rebuild its state from Kubernetes.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/replica/v1/replica.pb.h"
#include "basalt/storage/v1/storage.pb.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::runtime {

// Returns the meta records of all slots of which the store has records. An unreadable one is added to `damage` and left
// out; if `damage` is null, the result is DATA_LOSS.
absl::StatusOr<std::map<uint32_t, storage::v1::SlotMeta>> ReadSlotMetas(const kv::KvStore& store,
                                                                        kv::Damage* damage = nullptr);
// DATA_LOSS: the record cannot be read.
absl::StatusOr<storage::v1::SlotMeta> ReadSlotMeta(const kv::KvStore& store, uint32_t slot);
// Notes that the store has the records of that ownership, with their history, if any.
void PutSlotEpoch(uint32_t slot, int64_t epoch, kv::WriteBatch& batch);
// Leaves only the history of the records that `meta` describes, because newer records are being imported.
void LeaveOnlyHistory(uint32_t slot, const storage::v1::SlotMeta& meta, kv::WriteBatch& batch);

absl::StatusOr<bool> HasControlRecords(const kv::KvStore& store, uint32_t slot);
// Drops the control records of an older ownership; history stays.
void DropControlRecords(uint32_t slot, kv::WriteBatch& batch);
// Drops the records of that epoch, because another replica has them now. Returns false if the store has none of that
// epoch.
bool DropSlotRecords(uint32_t slot, const storage::v1::SlotMeta& meta, int64_t epoch, kv::WriteBatch& batch);

// Prepares the store for an ownership that begins. The store's records of the slot count only if no replica has newer
// ones.
absl::Status PrepareRecords(kv::KvStore& store, const gateway::v1::SlotBegin& begin);

inline constexpr size_t kPageBytes = 1 << 20;

// Returns one page of the records that ExportRecords requests, of the slots that are free: no worker changes their
// records any more. The other slots come later (not_yet). Slots of which the store has no records, or records of
// another epoch, are refused. INVALID_ARGUMENT: the cursor is malformed.
absl::StatusOr<replica::v1::ExportRecordsResponse> ReadPage(
    const kv::KvStore& store, const replica::v1::ExportRecordsRequest& request,
    absl::FunctionRef<bool(uint32_t slot)> is_free = [](uint32_t) { return true; }, size_t bytes = kPageBytes);

// Adds the record to `batch`. INVALID_ARGUMENT, and nothing is added, if the record is not one of the requested slot
// and part.
absl::Status PutRecord(const replica::v1::SlotRecord& record, replica::v1::ExportRecordsRequest::Part part,
                       uint32_t slot, kv::WriteBatch& batch);
// Returns the slot that the record's key begins with. INVALID_ARGUMENT if the key does not begin with one.
absl::StatusOr<uint32_t> SlotOfRecord(const replica::v1::SlotRecord& record);

}  // namespace basalt::runtime
