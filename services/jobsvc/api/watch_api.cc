// What this replica tells of changes to the jobs of its slots.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/kube/object_key.h"
#include "common/runtime/watch_part.h"
#include "common/watch/watch_hub.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/job_watch.h"

namespace basalt::jobsvc {

using job::v1::WatchPartResponse;
using watch::WatchHub;
using watch::WatchPosition;

namespace {

WatchHub::Message MakeMessage(JobController& controller, const JobEntry& entry) {
  return std::make_shared<job::v1::Job>(ToMessage(controller, entry));
}

// What a deletion is told with.
WatchHub::Message MakeDeletedMessage(const std::string& key, const std::string& uid) {
  auto message = std::make_shared<job::v1::Job>();
  kube::v1::ObjectMeta& meta = *message->mutable_object()->mutable_meta();
  const auto [ns, name] = kube::SplitKey(key);
  meta.set_namespace_(std::string(ns));
  meta.set_name(std::string(name));
  meta.set_uid(uid);
  return message;
}

// What there is of the slot after a revision, oldest first; the controller's part of a page.
WatchHub::Snapshot SnapshotOf(JobController& controller, uint32_t slot, const watch::RevisionLog& log, int64_t since,
                              const WatchHub::Subscription& subscription) {
  WatchHub::Snapshot snapshot;
  WatchPosition position = log.position();
  for (const std::string& key : controller.entries().KeysOf(slot)) {
    const JobEntry* entry = controller.Find(key);
    if (entry == nullptr || !entry->job || !subscription.Wants(key)) continue;
    // One that no pass has looked at yet has no revision: it is told by its first.
    if (entry->shown_revision == 0) snapshot.unpublished = true;
    if (entry->shown_revision <= since) continue;
    position.revision = entry->shown_revision;
    snapshot.items.push_back(
        {position, key, /*deleted=*/false, [&controller, entry] { return MakeMessage(controller, *entry); }});
  }
  for (const watch::RevisionLog::Deletion& deletion : log.deletions()) {
    // Who knows nothing needs no deletions.
    if (since == 0 || deletion.revision <= since || !subscription.Wants(deletion.key)) continue;
    position.revision = deletion.revision;
    snapshot.items.push_back({position, deletion.key, /*deleted=*/true,
                              [&deletion] { return MakeDeletedMessage(deletion.key, deletion.uid); }});
  }
  std::stable_sort(snapshot.items.begin(), snapshot.items.end(),
                   [](const auto& a, const auto& b) { return a.position.revision < b.position.revision; });
  return snapshot;
}

// On the loop of the slot.
void FillSlot(JobController& controller, WatchHub& hub, const WatchHub::SubscriptionPtr& subscription, uint32_t slot) {
  const std::optional<WatchPosition> since = hub.Since(subscription, slot);
  if (!since) return;
  const watch::RevisionLog* log = controller.WatchOf(slot);
  if (log == nullptr || !controller.context().IsReady(slot)) return hub.Refuse(subscription, slot);
  const bool reset = since->revision != 0 && !log->Knows(*since);
  hub.Fill(subscription, slot, log->position(), reset,
           SnapshotOf(controller, slot, *log, reset ? 0 : since->revision, *subscription));
}

}  // namespace

void PublishChanges(JobController& controller, WatchHub& hub) {
  controller.SetListener([&controller, &hub](const ShownChange& change) {
    switch (change.kind) {
      case ShownChange::Kind::kShown:
        // The sentence that tells what a job waits for is only made for those who watch.
        hub.Publish(change.slot, change.position, change.key, [&] { return MakeMessage(controller, *change.entry); });
        break;
      case ShownChange::Kind::kGone:
        hub.PublishDeleted(change.slot, change.position, change.key,
                           [&] { return MakeDeletedMessage(change.key, change.uid); });
        break;
      case ShownChange::Kind::kUnseen:
        hub.DropUnpublished(change.slot, change.key);
        break;
      case ShownChange::Kind::kClosed:
        hub.Close(change.slot);
        break;
    }
  });
}

std::unique_ptr<rpc::Feed<WatchPartResponse>> JobApi::WatchPart(const job::v1::WatchPartRequest& request,
                                                                std::function<void()> notify) {
  return runtime::MakeWatchPart<JobWatchMessages, JobController>(workers_, hub_, request, FillSlot, std::move(notify));
}

}  // namespace basalt::jobsvc
