#pragma once

// The schema of a store, and the migration from an older schema. A program migrates a store of an older schema. It
// opens a store of a newer schema if the newer program wrote that this program may read the store (docs/upgrade.md).
#include <cstdint>

#include "absl/status/status.h"
#include "common/kv/kv_store.h"

namespace basalt::kv {

// Schema 2 renamed two keys: of the records of a watch from "shown" to "published", and of the name secret of a replica
// from "!token" to "!name_secret".
inline constexpr uint32_t kSchemaVersion = 2;
// Programs of this schema and later read the records that this program writes. No release had schema 1. From schema 3
// on this number stays one release behind kSchemaVersion, so that a release can be taken back.
inline constexpr uint32_t kReadableFrom = 2;

// Brings the records from schema `from` to kSchemaVersion, in batches of limited size. A kill in between does no harm:
// the migration may run again from the start. Requires: from < kSchemaVersion. Errors are those of the store.
absl::Status Migrate(uint32_t from, KvStore& store);

}  // namespace basalt::kv
