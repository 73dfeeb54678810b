#pragma once

// The history of jobs: an entry for each decision that was written to the status, for each edit of the spec or of the
// phase by others, and for a deletion after the time to live.
#include "basalt/storage/v1/job_record.pb.h"
#include "common/history/history.h"

namespace basalt::jobsvc {

using HistoryStore = history::History<storage::v1::HistoryRecord>;

}  // namespace basalt::jobsvc
