#include "common/kv/migrations.h"

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status_macros.h"

namespace basalt::kv {
namespace {

// Limits the size of one batch.
constexpr size_t kMostOperations = 20'000;

// Renames records of all slots: the second part of the key changes from `from` to `to`.
absl::Status RenameKind(Family family, std::string_view from, std::string_view to, KvStore& store) {
  std::string next;  // "published" sorts before "shown" in each slot, so the scan meets no renamed key.
  bool is_done = false;
  while (!is_done) {
    is_done = true;
    WriteBatch batch;
    const auto move = [&](std::string_view key, std::string_view value) {
      std::string_view rest = key;
      uint32_t slot = 0;
      std::string kind;
      if (!TakeSlot(rest, slot) || !TakeText(rest, kind) || kind != from) return true;
      std::string renamed(key.substr(0, 2));
      PutText(renamed, to);
      renamed += rest;
      batch.Put(family, renamed, value);
      batch.Delete(family, key);
      is_done = batch.size() < kMostOperations;
      if (!is_done) next = key;
      return is_done;
    };
    BASALT_RETURN_IF_ERROR(store.Scan(family, next, "", move));
    if (!batch.empty()) BASALT_RETURN_IF_ERROR(store.Write(batch));
  }
  return absl::OkStatus();
}

absl::Status RenameKey(Family family, std::string_view from, std::string_view to, KvStore& store) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(family, from));
  if (!value.has_value()) return absl::OkStatus();
  WriteBatch batch;
  batch.Put(family, std::string(to), *value);
  batch.Delete(family, std::string(from));
  return store.Write(batch);
}

}  // namespace

absl::Status Migrate(uint32_t from, KvStore& store) {
  if (from < 2) {
    BASALT_RETURN_IF_ERROR(RenameKind(Family::kAux, "shown", "published", store));
    BASALT_RETURN_IF_ERROR(RenameKey(Family::kMeta, "!token", "!name_secret", store));
  }
  return absl::OkStatus();
}

}  // namespace basalt::kv
