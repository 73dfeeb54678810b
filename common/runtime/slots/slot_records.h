#pragma once

// What a store holds of a slot, whatever the service: the epoch of its records, and their passage from one replica to
// another (correctness 5). Stateless; errors are those of the store. Any thread.
//
// Keys of every family but kMeta begin with the slot. kHistory and kHistoryIndex are history, the rest is control:
// without it an owner has to rebuild its state from Kubernetes.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/replica/v1/replica.pb.h"
#include "basalt/storage/v1/storage.pb.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::runtime {

// Of every slot that the store has records of. One that cannot be read is put to `damage` and left out; where that is
// null, it is DATA_LOSS.
absl::StatusOr<std::map<uint32_t, storage::v1::SlotMeta>> ReadSlotMetas(const kv::KvStore& store,
                                                                        kv::Damage* damage = nullptr);
// DATA_LOSS: it cannot be read.
absl::StatusOr<storage::v1::SlotMeta> ReadSlotMeta(const kv::KvStore& store, uint32_t slot);
// The store has the records of that ownership, and whatever history there is with them.
void PutSlotEpoch(uint32_t slot, int64_t epoch, kv::WriteBatch& batch);
// Of what `meta` tells only history is left: newer records are being taken over.
void LeaveOnlyHistory(uint32_t slot, const storage::v1::SlotMeta& meta, kv::WriteBatch& batch);

absl::StatusOr<bool> HasControlRecords(const kv::KvStore& store, uint32_t slot);
// Of an older ownership: history stays.
void DropControlRecords(uint32_t slot, kv::WriteBatch& batch);
// What there is of that epoch, for another replica has it now. False: nothing is.
bool DropSlotRecords(uint32_t slot, const storage::v1::SlotMeta& meta, int64_t epoch, kv::WriteBatch& batch);

inline constexpr size_t kPageBytes = 1 << 20;

// One page of what ExportRecords asks for, of the slots that are free: nobody changes
// them any more. Those that are not come later (not_yet). Those that the store
// has no records of, or of another epoch, are refused. INVALID_ARGUMENT for a cursor that is none.
absl::StatusOr<replica::v1::ExportRecordsResponse> ReadPage(
    const kv::KvStore& store, const replica::v1::ExportRecordsRequest& request,
    absl::FunctionRef<bool(uint32_t slot)> is_free = [](uint32_t) { return true; }, size_t bytes = kPageBytes);

// INVALID_ARGUMENT, and nothing is put, where the record is not one of a slot and part that were asked for.
absl::Status PutRecord(const replica::v1::SlotRecord& record, replica::v1::ExportRecordsRequest::Part part,
                       uint32_t slot, kv::WriteBatch& batch);
// The slot that the record's key begins with; INVALID_ARGUMENT where there is none.
absl::StatusOr<uint32_t> SlotOfRecord(const replica::v1::SlotRecord& record);

}  // namespace basalt::runtime
