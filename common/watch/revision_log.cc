#include "common/watch/revision_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace basalt::watch {

namespace {

// A slot has fewer than 2^24 changes in one epoch.
constexpr int kEpochShift = 24;

}  // namespace

// Revisions begin above those of earlier epochs, so that no revision is used again which an earlier owner or process
// used and which is missing in these records.
RevisionLog::RevisionLog(State state, std::vector<Deletion> deletions, int64_t epoch)
    : state_(state),
      deletions_(std::make_move_iterator(deletions.begin()), std::make_move_iterator(deletions.end())),
      least_(std::max(int64_t{1}, epoch << kEpochShift)) {
  std::sort(deletions_.begin(), deletions_.end(),
            [](const Deletion& a, const Deletion& b) { return a.revision < b.revision; });
}

void RevisionLog::BeginAnew() {
  state_ = {};
  deletions_.clear();
}

int64_t RevisionLog::Advance(const std::string& key, Random& random) {
  while (state_.incarnation == 0) state_.incarnation = random.Next();
  state_.revision = std::max(state_.revision + 1, least_);
  std::erase_if(deletions_, [&](const Deletion& deletion) { return deletion.key == key; });
  return state_.revision;
}

int64_t RevisionLog::Publish(const std::string& key, Random& random) { return Advance(key, random); }

RevisionLog::Deleted RevisionLog::Delete(const std::string& key, const std::string& uid, Random& random) {
  Deleted deleted{Advance(key, random), std::nullopt};
  deletions_.push_back({deleted.revision, key, uid});
  if (deletions_.size() > kMaxDeletions) {
    state_.forgotten = deletions_.front().revision;
    deleted.forgotten_key = std::move(deletions_.front().key);
    deletions_.pop_front();
  }
  return deleted;
}

bool RevisionLog::Knows(const WatchPosition& since) const {
  return since.incarnation == state_.incarnation && since.revision >= state_.forgotten &&
         since.revision <= state_.revision;
}

}  // namespace basalt::watch
