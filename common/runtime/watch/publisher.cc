#include "common/runtime/watch/publisher.h"

#include <utility>

#include "common/base/status_macros.h"

namespace basalt::runtime {

absl::Status Publisher::Open(const kv::KvStore& store, uint32_t slot, int64_t epoch, const VisitShown& visit,
                             kv::Damage& damage) {
  BASALT_ASSIGN_OR_RETURN(watch::RevisionLog log, LoadRevisions(store, slot, epoch, visit, damage));
  logs_.insert_or_assign(slot, std::move(log));
  return absl::OkStatus();
}

absl::Status Publisher::OpenOrBeginAnew(kv::KvStore& store, uint32_t slot, int64_t epoch, const VisitShown& visit,
                                        kv::Damage& damage) {
  std::vector<std::pair<std::string, storage::v1::PublishedObject>> shown;
  const auto collect = [&](const std::string& key, const storage::v1::PublishedObject& record) {
    shown.emplace_back(key, record);
  };
  BASALT_RETURN_IF_ERROR(Open(store, slot, epoch, collect, damage));
  if (damage.empty()) {
    for (const auto& [key, record] : shown) visit(key, record);
    return absl::OkStatus();
  }
  kv::WriteBatch batch;
  BeginAnew(slot, batch);
  return store.Write(batch);
}

void Publisher::BeginAnew(uint32_t slot, kv::WriteBatch& batch) {
  DropWatchRecords(slot, batch);
  logs_.at(slot).BeginAnew();
}

void Publisher::Close(uint32_t slot) {
  std::erase_if(changes_, [slot](const ShownChange& change) { return change.slot == slot; });
  logs_.erase(slot);
  if (listener_) listener_({.kind = ShownChange::Kind::kClosed, .slot = slot});
}

const watch::RevisionLog* Publisher::LogOf(uint32_t slot) const {
  const auto it = logs_.find(slot);
  return it == logs_.end() ? nullptr : &it->second;
}

void Publisher::PublishIfChanged(uint32_t slot, const std::string& key, uint64_t state, const Identity& identity,
                                 Shown& shown, kv::WriteBatch& batch) {
  const auto log = logs_.find(slot);
  if (log == logs_.end()) return;
  const bool is_owed = std::exchange(shown.is_owed, false);
  if (state == shown.state && shown.revision != 0 && !is_owed) return;
  storage::v1::PublishedObject published;
  published.set_state(state);
  published.set_uid(identity.uid);
  published.set_resource_version(identity.resource_version);
  shown.state = state;
  shown.revision = RecordPublished(slot, key, std::move(published), log->second, random_, batch);
  changes_.push_back({.kind = ShownChange::Kind::kShown, .slot = slot, .position = log->second.position(), .key = key});
}

void Publisher::PublishEnd(uint32_t slot, const std::string& key, const std::string& uid, Shown& shown,
                           kv::WriteBatch& batch) {
  shown.is_owed = false;
  if (std::exchange(shown.revision, 0) == 0) {
    changes_.push_back({.kind = ShownChange::Kind::kUnseen, .slot = slot, .key = key});
    return;
  }
  const auto log = logs_.find(slot);
  if (log == logs_.end()) return;
  RecordDeleted(slot, key, uid, log->second, random_, batch);
  changes_.push_back(
      {.kind = ShownChange::Kind::kGone, .slot = slot, .position = log->second.position(), .key = key, .uid = uid});
}

void Publisher::NotifyListeners() {
  for (const ShownChange& change : std::exchange(changes_, {})) {
    if (listener_) listener_(change);
  }
}

}  // namespace basalt::runtime
