#include "common/runtime/slots/slot_records.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::runtime {
namespace {

using replica::v1::ExportRecordsRequest;
using replica::v1::ExportRecordsResponse;

constexpr std::string_view kMetaPrefix = "slot";
constexpr std::array kControl = {kv::Family::kRecords, kv::Family::kPods, kv::Family::kAux};
constexpr std::array kHistory = {kv::Family::kHistory, kv::Family::kHistoryIndex};

std::string MetaKey(uint32_t slot) {
  std::string key(kMetaPrefix);
  kv::PutSlot(key, slot);
  return key;
}

std::string SlotPrefix(uint32_t slot) {
  std::string prefix;
  kv::PutSlot(prefix, slot);
  return prefix;
}

void DropFamily(kv::Family family, uint32_t slot, kv::WriteBatch& batch) {
  const std::string prefix = SlotPrefix(slot);
  batch.DeleteRange(family, prefix, kv::PrefixEnd(prefix));
}

absl::StatusOr<storage::v1::SlotMeta> ParseMeta(std::string_view value, uint32_t slot) {
  storage::v1::SlotMeta meta;
  if (!meta.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return MakeStatus(absl::StatusCode::kDataLoss, fmt::format("what is stored of slot {} cannot be read", slot));
  }
  return meta;
}

bool HoldsHistory(const storage::v1::SlotMeta& meta, int64_t epoch) {
  return epoch != 0 && (meta.epoch() == epoch || (meta.epoch() == 0 && meta.history_epoch() == epoch));
}

bool IsOfPart(uint32_t family, ExportRecordsRequest::Part part) {
  const auto is = [family](kv::Family other) { return static_cast<kv::Family>(family) == other; };
  return part == ExportRecordsRequest::PART_HISTORY ? std::any_of(kHistory.begin(), kHistory.end(), is)
                                                    : std::any_of(kControl.begin(), kControl.end(), is);
}

// Where a page ended: position among the requested slots, family, and the last key in the page.
struct Cursor {
  size_t slot = 0;
  size_t family = 0;  // Position among the families of the part.
  std::string after;
};

std::string Text(const Cursor& cursor) { return fmt::format("{} {} {}", cursor.slot, cursor.family, cursor.after); }

absl::StatusOr<Cursor> ParseCursor(std::string_view text) {
  Cursor cursor;
  if (text.empty()) return cursor;
  const char* const end = text.data() + text.size();
  const auto slot = std::from_chars(text.data(), end, cursor.slot);
  if (slot.ec == std::errc() && slot.ptr != end && *slot.ptr == ' ') {
    const auto family = std::from_chars(slot.ptr + 1, end, cursor.family);
    if (family.ec == std::errc() && family.ptr != end && *family.ptr == ' ') {
      cursor.after.assign(family.ptr + 1, end);
      return cursor;
    }
  }
  return Invalid("ExportRecordsRequest.cursor is none of a page before");
}

}  // namespace

absl::StatusOr<std::map<uint32_t, storage::v1::SlotMeta>> ReadSlotMetas(const kv::KvStore& store, kv::Damage* damage) {
  std::map<uint32_t, storage::v1::SlotMeta> metas;
  kv::DamageCollector damaged(damage);
  const auto visit = [&](std::string_view key, std::string_view value) {
    std::string_view rest = key.substr(kMetaPrefix.size());
    uint32_t slot = 0;
    if (!kv::TakeSlot(rest, slot) || slot >= kSlotCount) return true;
    absl::StatusOr<storage::v1::SlotMeta> meta = ParseMeta(value, slot);
    if (!meta.ok()) return damaged.Add({"slot", kv::Family::kMeta, std::string(key), fmt::format("slot {}", slot), ""});
    metas[slot] = *std::move(meta);
    return true;
  };
  BASALT_RETURN_IF_ERROR(store.Scan(kv::Family::kMeta, kMetaPrefix, kv::PrefixEnd(kMetaPrefix), visit));
  BASALT_RETURN_IF_ERROR(damaged.status());
  return metas;
}

absl::StatusOr<storage::v1::SlotMeta> ReadSlotMeta(const kv::KvStore& store, uint32_t slot) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(kv::Family::kMeta, MetaKey(slot)));
  if (!value.has_value()) return storage::v1::SlotMeta();
  return ParseMeta(*value, slot);
}

void LeaveOnlyHistory(uint32_t slot, const storage::v1::SlotMeta& meta, kv::WriteBatch& batch) {
  DropControlRecords(slot, batch);
  storage::v1::SlotMeta left;
  left.set_history_epoch(meta.epoch() != 0 ? meta.epoch() : meta.history_epoch());
  batch.Put(kv::Family::kMeta, MetaKey(slot), left.SerializeAsString());
}

void PutSlotEpoch(uint32_t slot, int64_t epoch, kv::WriteBatch& batch) {
  storage::v1::SlotMeta meta;
  meta.set_epoch(epoch);
  batch.Put(kv::Family::kMeta, MetaKey(slot), meta.SerializeAsString());
}

absl::StatusOr<bool> HasControlRecords(const kv::KvStore& store, uint32_t slot) {
  const std::string prefix = SlotPrefix(slot);
  bool has = false;
  for (const kv::Family family : kControl) {
    BASALT_RETURN_IF_ERROR(store.Scan(family, prefix, kv::PrefixEnd(prefix), [&](std::string_view, std::string_view) {
      has = true;
      return false;
    }));
  }
  return has;
}

void DropControlRecords(uint32_t slot, kv::WriteBatch& batch) {
  for (const kv::Family family : kControl) DropFamily(family, slot, batch);
}

absl::Status PrepareRecords(kv::KvStore& store, const gateway::v1::SlotBegin& begin) {
  BASALT_ASSIGN_OR_RETURN(const storage::v1::SlotMeta meta, ReadSlotMeta(store, begin.slot()));
  const int64_t stored = meta.epoch();
  if (stored == begin.epoch()) return absl::OkStatus();
  kv::WriteBatch batch;
  bool is_stale = stored != begin.records_epoch();
  if (stored == 0) {
    // Epoch 0 marks an interrupted hand-over: some pages were stored, and we cannot know whether all were.
    BASALT_ASSIGN_OR_RETURN(is_stale, HasControlRecords(store, begin.slot()));
  }
  if (is_stale) DropControlRecords(begin.slot(), batch);
  PutSlotEpoch(begin.slot(), begin.epoch(), batch);
  return store.Write(batch);
}

bool DropSlotRecords(uint32_t slot, const storage::v1::SlotMeta& meta, int64_t epoch, kv::WriteBatch& batch) {
  if (!HoldsHistory(meta, epoch)) return false;
  // Otherwise the control records are newer ones that are being imported.
  if (meta.epoch() == epoch) DropControlRecords(slot, batch);
  for (const kv::Family family : kHistory) DropFamily(family, slot, batch);
  batch.Delete(kv::Family::kMeta, MetaKey(slot));
  return true;
}

absl::StatusOr<ExportRecordsResponse> ReadPage(const kv::KvStore& store, const ExportRecordsRequest& request,
                                               absl::FunctionRef<bool(uint32_t slot)> is_free, size_t bytes) {
  BASALT_ASSIGN_OR_RETURN(Cursor cursor, ParseCursor(request.cursor()));
  const bool history = request.part() == ExportRecordsRequest::PART_HISTORY;
  const size_t families = history ? kHistory.size() : kControl.size();
  ExportRecordsResponse page;
  size_t filled = 0;
  for (; cursor.slot < static_cast<size_t>(request.slots_size()); ++cursor.slot) {
    const auto& asked = request.slots(static_cast<int>(cursor.slot));
    BASALT_ASSIGN_OR_RETURN(const storage::v1::SlotMeta meta, ReadSlotMeta(store, asked.slot()));
    const bool held = history ? HoldsHistory(meta, asked.epoch()) : asked.epoch() != 0 && meta.epoch() == asked.epoch();
    if (!held || !is_free(asked.slot())) {
      // The slot may be refused in the middle of its pages: the next slot begins at its first family.
      cursor.family = 0;
      cursor.after.clear();
      held ? page.add_not_yet(asked.slot()) : page.add_refused(asked.slot());
      continue;
    }
    const std::string prefix = SlotPrefix(asked.slot());
    for (; cursor.family < families; ++cursor.family) {
      const kv::Family family = history ? kHistory[cursor.family] : kControl[cursor.family];
      bool full = false;
      const std::string begin = cursor.after.empty() ? prefix : cursor.after + '\0';
      BASALT_RETURN_IF_ERROR(
          store.Scan(family, begin, kv::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
            if (filled >= bytes) {
              full = true;
              return false;
            }
            auto& record = *page.add_records();
            record.set_family(static_cast<uint32_t>(family));
            record.set_key(std::string(key));
            record.set_value(std::string(value));
            filled += key.size() + value.size();
            cursor.after = key;
            return true;
          }));
      if (full) {
        page.set_next_cursor(Text(cursor));
        return page;
      }
      cursor.after.clear();
    }
    cursor.family = 0;
    page.add_complete(asked.slot());
  }
  return page;
}

absl::StatusOr<uint32_t> SlotOfRecord(const replica::v1::SlotRecord& record) {
  std::string_view key = record.key();
  uint32_t slot = 0;
  if (!kv::TakeSlot(key, slot) || slot >= kSlotCount) {
    return Invalid("SlotRecord.key does not begin with a slot");
  }
  return slot;
}

absl::Status PutRecord(const replica::v1::SlotRecord& record, ExportRecordsRequest::Part part, uint32_t slot,
                       kv::WriteBatch& batch) {
  BASALT_ASSIGN_OR_RETURN(const uint32_t of, SlotOfRecord(record));
  if (of != slot || !IsOfPart(record.family(), part)) {
    return Invalid(fmt::format("SlotRecord of slot {} and family {} was not asked for", of, record.family()));
  }
  batch.Put(static_cast<kv::Family>(record.family()), record.key(), record.value());
  return absl::OkStatus();
}

}  // namespace basalt::runtime
