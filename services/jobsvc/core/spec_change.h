#pragma once

// What an edit has changed in a job's spec, for history: sizes with their numbers, all else by its name. Specs are
// compared by what is kept of them, so that one which nobody saw being edited is told, too. Pure.
#include <string>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"

namespace basalt::jobsvc {

// Of the spec as it was written, without defaults.
storage::v1::SpecRecord SpecFacts(kube::v1::JobSpec spec);

// "minAvailable 2 -> 3; task worker: replicas 3 -> 5; spec edited: tasks[0].template". Empty: nothing. Below 2 KiB.
std::string SpecChange(const storage::v1::SpecRecord& before, const storage::v1::SpecRecord& after);

}  // namespace basalt::jobsvc
