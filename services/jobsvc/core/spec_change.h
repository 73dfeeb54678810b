#pragma once

// What an edit has changed in a job's spec: for history, sizes with their numbers and all else by its name; and for a
// warning, what of it may not change (job spec 2.6). Specs are compared by what is kept of them, so that one which
// nobody saw being edited is told, too. Pure.
#include <cstdint>
#include <string>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"

namespace basalt::jobsvc {

// Of the spec as it was written, without defaults.
storage::v1::SpecRecord SpecFacts(kube::v1::JobSpec spec);

// Grows with every change of what is hashed, and with every field that a spec can have.
inline constexpr int32_t kSpecFormat = 1;

// "minAvailable 2 -> 3; task worker: replicas 3 -> 5; spec edited: tasks[0].template". Empty: nothing. Below 2 KiB.
std::string SpecChange(const storage::v1::SpecRecord& before, const storage::v1::SpecRecord& after);

// "spec.queue cannot be changed; of a job only … can": the first field and how many there are beside, by U4 and U5,
// with what would be right. Empty: nothing that may not change differs, or nobody can say so, as of what was kept by a
// version that knew less. Below 1 KiB.
std::string ForbiddenChange(const storage::v1::SpecRecord& before, const storage::v1::SpecRecord& after);
// What a person can do about it.
inline constexpr std::string_view kUndoEdit = "change it back, or delete the job and submit it again";
// Of a spec that departs from the one which was begun with.
std::string Departure(const storage::v1::SpecRecord& spec);

// Whether the edit from `before` made `after` depart from what the job has begun with, and in what (Departure); empty
// also where it leads back there. Keeps in `after` what later edits are compared with. A spec that was never accepted
// may be corrected: the job begins with the one that is.
std::string FollowEdit(const storage::v1::SpecRecord& before, bool is_refused, int64_t now_ms,
                       storage::v1::SpecRecord& after);

}  // namespace basalt::jobsvc
