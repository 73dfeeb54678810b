#pragma once

// The changes that an edit made to a job's spec: for history, sizes with their numbers and all other fields by name;
// for a warning, the fields that may not change (job spec 2.6). Specs are compared by the facts that are kept of them,
// so that an edit that nobody observed is recorded, too. Pure.
#include <cstdint>
#include <string>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"

namespace basalt::jobsvc {

// Returns the facts of the spec as it was written, without defaults.
storage::v1::SpecRecord SpecFacts(kube::v1::JobSpec spec);

// Grows with every change of the hashed content, and with every field that a spec can have.
inline constexpr int32_t kSpecFormat = 1;

// Returns a text like "minAvailable 2 -> 3; task worker: replicas 3 -> 5; spec edited: tasks[0].template". Empty if
// nothing changed. Shorter than 2 KiB.
std::string SpecChange(const storage::v1::SpecRecord& before, const storage::v1::SpecRecord& after);

// Returns the first field that changed against U4 and U5, the number of other such fields, and what may be changed:
// "spec.queue cannot be changed; of a job only … can". Empty if no such field differs, or if nobody can know, as with
// facts that an older version of Basalt kept. Shorter than 1 KiB.
std::string ForbiddenChange(const storage::v1::SpecRecord& before, const storage::v1::SpecRecord& after);
// The advice for people.
inline constexpr std::string_view kUndoEdit = "change it back, or delete the job and submit it again";
// Returns the forbidden changes of a spec against the one with which the job began.
std::string Departure(const storage::v1::SpecRecord& spec);

// Returns how `after` departs from the spec with which the job began (see Departure), if the edit from `before` made it
// depart. Empty otherwise, also if the edit leads back to that spec. Keeps in `after` what later edits are compared
// with. A spec that was never accepted may be corrected: the job begins with the first accepted one.
std::string FollowEdit(const storage::v1::SpecRecord& before, bool is_refused, int64_t now_ms,
                       storage::v1::SpecRecord& after);

}  // namespace basalt::jobsvc
