#pragma once

// A hash of everything that a job's message to clients follows from (common/watch/state_hash.h). Pure.
#include <cstdint>

#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;

// Requires that the job is there.
uint64_t ShownStateOf(const JobEntry& entry, const GroupView& group, const QueueView& view);

}  // namespace basalt::jobsvc
