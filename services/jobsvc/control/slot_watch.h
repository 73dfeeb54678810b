#pragma once

// What watching clients are told of one slot: every change that people see has a revision, recorded in the batch of the
// pass that made it (correctness 5). Deletions are remembered within a bound. Confined to the loop of its controller.
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/base/random.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/watch/watch_position.h"

namespace basalt::jobsvc {

class SlotWatch {
 public:
  struct Deletion {
    int64_t revision = 0;
    std::string key;
    std::string uid;
  };
  static constexpr size_t kMaxDeletions = 256;

  explicit SlotWatch(uint32_t slot) : slot_(slot) {}
  // `epoch`: the slot's. `visit` is told what was shown of the jobs that are not deleted.
  absl::Status Load(const kv::KvStore& store, int64_t epoch,
                    const std::function<void(const std::string& key, const storage::v1::ShownJob& shown)>& visit,
                    kv::Damage& damage);
  // Records of the slot were lost: watching clients are told everything anew.
  void BeginAnew(kv::WriteBatch& batch);

  // The job is shown in another state than before. Returns the revision of that.
  int64_t Show(const std::string& key, uint64_t state, Random& random, kv::WriteBatch& batch);
  int64_t Delete(const std::string& key, const std::string& uid, Random& random, kv::WriteBatch& batch);

  watch::WatchPosition position() const { return {record_.incarnation(), record_.revision()}; }
  // Whether everything that was changed after `since` is known.
  bool Knows(const watch::WatchPosition& since) const;
  const std::deque<Deletion>& deletions() const { return deletions_; }  // Oldest first.

 private:
  int64_t Advance(Random& random);

  const uint32_t slot_;
  storage::v1::SlotWatch record_;
  int64_t least_ = 1;  // No revision is below.
  std::deque<Deletion> deletions_;
};

}  // namespace basalt::jobsvc
