#pragma once

// What becomes known of records that could not be read and were dropped.
#include "common/kv/damage.h"
#include "common/obs/metrics.h"

namespace basalt::runtime {

// Counts them by kind in basalt_store_damaged_records_total, and logs whose they were, without contents: of many the
// first. `metrics` may be null. Any thread.
void ReportDamage(const kv::Damage& damage, obs::Metrics* metrics);

}  // namespace basalt::runtime
