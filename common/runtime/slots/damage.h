#pragma once

// Reports records that could not be read and were dropped.
#include "absl/status/status.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/obs/metrics.h"

namespace basalt::runtime {

// Counts the records by kind in basalt_store_damaged_records_total, and logs the owners of the first ones, without
// contents. `metrics` may be null. Any thread. A repeated call counts the records again.
void ReportDamage(const kv::Damage& damage, obs::Metrics* metrics);

// Deletes the records from the store, and then reports them; does nothing if there are none. Returns the error of the
// store. Any thread. A repeated call counts the records again.
absl::Status DropDamaged(kv::KvStore& store, const kv::Damage& damage, obs::Metrics* metrics);

}  // namespace basalt::runtime
