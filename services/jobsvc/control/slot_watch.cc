#include "services/jobsvc/control/slot_watch.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// More changes than a slot sees in one epoch.
constexpr int kEpochShift = 24;

}  // namespace

absl::Status SlotWatch::Load(const kv::KvStore& store, int64_t epoch,
                             const std::function<void(const std::string&, const storage::v1::ShownJob&)>& visit,
                             kv::Damage& damage) {
  BASALT_ASSIGN_OR_RETURN(record_, ReadSlotWatch(store, slot_, &damage));
  deletions_.clear();
  // Revisions of an earlier owner, or process, that these records know nothing of are not given again.
  least_ = std::max(int64_t{1}, epoch << kEpochShift);
  const auto load = [&](std::string key, const storage::v1::ShownJob& shown) {
    if (shown.deleted()) {
      deletions_.push_back({shown.revision(), std::move(key), shown.uid()});
    } else {
      visit(key, shown);
    }
  };
  BASALT_RETURN_IF_ERROR(ForEachShownJob(store, slot_, load, &damage));
  std::sort(deletions_.begin(), deletions_.end(),
            [](const Deletion& a, const Deletion& b) { return a.revision < b.revision; });
  return absl::OkStatus();
}

void SlotWatch::BeginAnew(kv::WriteBatch& batch) {
  record_.Clear();
  deletions_.clear();
  DropWatchRecords(slot_, batch);
}

int64_t SlotWatch::Advance(Random& random) {
  while (record_.incarnation() == 0) record_.set_incarnation(random.Next());
  record_.set_revision(std::max(record_.revision() + 1, least_));
  return record_.revision();
}

int64_t SlotWatch::Show(const std::string& key, uint64_t state, Random& random, kv::WriteBatch& batch) {
  const int64_t revision = Advance(random);
  std::erase_if(deletions_, [&](const Deletion& deletion) { return deletion.key == key; });
  storage::v1::ShownJob shown;
  shown.set_revision(revision);
  shown.set_state(state);
  batch.Put(kv::Family::kAux, ShownJobKey(slot_, key), shown.SerializeAsString());
  batch.Put(kv::Family::kAux, SlotWatchKey(slot_), record_.SerializeAsString());
  return revision;
}

int64_t SlotWatch::Delete(const std::string& key, const std::string& uid, Random& random, kv::WriteBatch& batch) {
  const int64_t revision = Advance(random);
  std::erase_if(deletions_, [&](const Deletion& deletion) { return deletion.key == key; });
  deletions_.push_back({revision, key, uid});
  if (deletions_.size() > kMaxDeletions) {
    record_.set_forgotten(deletions_.front().revision);
    batch.Delete(kv::Family::kAux, ShownJobKey(slot_, deletions_.front().key));
    deletions_.pop_front();
  }
  storage::v1::ShownJob shown;
  shown.set_revision(revision);
  shown.set_deleted(true);
  shown.set_uid(uid);
  batch.Put(kv::Family::kAux, ShownJobKey(slot_, key), shown.SerializeAsString());
  batch.Put(kv::Family::kAux, SlotWatchKey(slot_), record_.SerializeAsString());
  return revision;
}

bool SlotWatch::Knows(const watch::WatchPosition& since) const {
  return since.incarnation == record_.incarnation() && since.revision >= record_.forgotten() &&
         since.revision <= record_.revision();
}

}  // namespace basalt::jobsvc
