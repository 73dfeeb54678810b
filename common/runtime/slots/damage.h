#pragma once

// What becomes known of records that could not be read and were dropped.
#include "absl/status/status.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/obs/metrics.h"

namespace basalt::runtime {

// Counts them by kind in basalt_store_damaged_records_total, and logs whose they were, without contents: of many the
// first. `metrics` may be null. Any thread.
void ReportDamage(const kv::Damage& damage, obs::Metrics* metrics);

// Deletes them from the store, and then reports them; nothing where there are none. Fails where the store does.
absl::Status DropDamaged(kv::KvStore& store, const kv::Damage& damage, obs::Metrics* metrics);

}  // namespace basalt::runtime
