#pragma once

// The history of jobs: an entry for each decision that was written to the status and for each edit of the spec.
#include "basalt/storage/v1/job_record.pb.h"
#include "common/history/history.h"

namespace basalt::jobsvc {

using HistoryStore = history::History<storage::v1::HistoryRecord>;

}  // namespace basalt::jobsvc
