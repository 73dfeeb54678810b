#pragma once

// How a slot's revisions are recorded and read again: families and keys are those of store/job_store.h. Stateless.
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/base/random.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/watch/revision_log.h"

namespace basalt::jobsvc {

// `epoch`: the slot's. `visit` is told what was last published of the jobs that are not deleted.
absl::StatusOr<watch::RevisionLog> LoadRevisions(
    const kv::KvStore& store, uint32_t slot, int64_t epoch,
    const std::function<void(const std::string& key, const storage::v1::ShownJob& published)>& visit,
    kv::Damage& damage);

// The job is published in another state than before, whose hash is `state`. Returns the revision of that.
int64_t RecordPublished(uint32_t slot, const std::string& key, uint64_t state, watch::RevisionLog& log, Random& random,
                        kv::WriteBatch& batch);
void RecordDeleted(uint32_t slot, const std::string& key, const std::string& uid, watch::RevisionLog& log,
                   Random& random, kv::WriteBatch& batch);

}  // namespace basalt::jobsvc
