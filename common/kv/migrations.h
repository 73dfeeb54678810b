#pragma once

// The schema of a store, and the way from an older one. A program opens a store of an older schema by migrating it, and
// a store of a newer schema where the newer program wrote that this one may read it (docs/upgrade.md).
#include <cstdint>

#include "absl/status/status.h"
#include "common/kv/kv_store.h"

namespace basalt::kv {

// 2: the records of a watch have the key "published", which was "shown", and the name secret of a replica
// "!name_secret", which was "!token".
inline constexpr uint32_t kSchemaVersion = 2;
// Programs of this schema and later read what this program writes. No release had schema 1; from schema 3 on this stays
// one release behind kSchemaVersion, so that a release can be taken back.
inline constexpr uint32_t kReadableFrom = 2;

// Brings the records from schema `from` to kSchemaVersion, in batches of a bounded size. A process that is killed in
// between does no harm: the migration may run again from the start. Requires: from < kSchemaVersion. Errors are those
// of the store.
absl::Status Migrate(uint32_t from, KvStore& store);

}  // namespace basalt::kv
