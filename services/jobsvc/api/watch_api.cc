// What this replica tells of changes to the jobs of its slots.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/slot_set.h"
#include "common/kube/object_key.h"
#include "common/watch/watch_hub.h"
#include "common/watch/watch_token.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"

namespace basalt::jobsvc {

using job::v1::WatchPartResponse;
using watch::Published;
using watch::WatchEvent;
using watch::WatchHub;
using watch::WatchPosition;

namespace {

WatchPartResponse::Type TypeOf(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::kState:
      return WatchPartResponse::TYPE_STATE;
    case WatchEvent::Type::kDeleted:
      return WatchPartResponse::TYPE_DELETED;
    case WatchEvent::Type::kSynced:
      return WatchPartResponse::TYPE_SYNCED;
    case WatchEvent::Type::kReset:
      return WatchPartResponse::TYPE_RESET;
    case WatchEvent::Type::kProgress:
      return WatchPartResponse::TYPE_PROGRESS;
    case WatchEvent::Type::kMoved:
      return WatchPartResponse::TYPE_MOVED;
  }
  return WatchPartResponse::TYPE_UNSPECIFIED;
}

void ToResponse(const WatchEvent& event, WatchPartResponse* response) {
  response->set_type(TypeOf(event.type));
  if (event.published != nullptr) {
    response->mutable_job()->CopyFrom(*event.published->message);
    *response->mutable_position() = watch::ToMessage(event.published->slot, event.published->position);
  }
  for (const auto& [slot, position] : event.positions) *response->add_positions() = watch::ToMessage(slot, position);
  for (const uint32_t slot : event.slots) response->add_slots(slot);
}

class LocalPart final : public rpc::Feed<WatchPartResponse> {
 public:
  LocalPart(std::shared_ptr<WatchHub> hub, std::shared_ptr<WatchHub::Subscription> subscription)
      : hub_(std::move(hub)), subscription_(std::move(subscription)) {}
  ~LocalPart() override { hub_->Unsubscribe(subscription_); }
  bool Take(WatchPartResponse* response) override {
    const std::optional<WatchEvent> event = hub_->Take(subscription_);
    if (event) ToResponse(*event, response);
    return event.has_value();
  }
  std::optional<absl::Status> End() override { return std::nullopt; }
  void Tick() override { hub_->WantProgress(subscription_); }

 private:
  const std::shared_ptr<WatchHub> hub_;
  const std::shared_ptr<WatchHub::Subscription> subscription_;
};

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

// What is to be told of the slot at first, oldest first.
WatchHub::Snapshot SnapshotOf(JobController& controller, uint32_t slot, const watch::RevisionLog& log, int64_t since,
                              const WatchHub::Subscription& subscription) {
  WatchHub::Snapshot snapshot;
  WatchPosition position = log.position();
  for (const std::string& key : controller.entries().KeysOf(slot)) {
    const JobEntry* entry = controller.Find(key);
    if (entry == nullptr || !entry->job || !subscription.Wants(key)) continue;
    // One that no pass has looked at yet has no revision: it is told by its first.
    if (entry->shown_revision == 0) snapshot.unpublished.push_back(key);
    if (entry->shown_revision <= since) continue;
    position.revision = entry->shown_revision;
    snapshot.published.push_back({slot, position, key, /*deleted=*/false, MakeMessage(controller, *entry)});
  }
  for (const watch::RevisionLog::Deletion& deletion : log.deletions()) {
    // Who knows nothing needs no deletions.
    if (since == 0 || deletion.revision <= since || !subscription.Wants(deletion.key)) continue;
    position.revision = deletion.revision;
    snapshot.published.push_back(
        {slot, position, deletion.key, /*deleted=*/true, MakeDeletedMessage(deletion.key, deletion.uid)});
  }
  std::stable_sort(snapshot.published.begin(), snapshot.published.end(),
                   [](const Published& a, const Published& b) { return a.position.revision < b.position.revision; });
  return snapshot;
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
  const size_t workers = workers_.count();
  auto subscription = hub_->Subscribe(request.namespace_(), request.name(), workers, std::move(notify));
  const auto since = std::make_shared<std::map<uint32_t, WatchPosition>>();
  for (const watch::v1::SlotPosition& position : request.since()) {
    (*since)[position.slot()] = watch::PositionOf(position);
  }
  const SlotSet slots = SlotSet::FromBytes(request.slots());
  for (size_t worker = 0; worker < workers; ++worker) {
    workers_.OnWorker(worker, [hub = hub_, subscription, since, slots, worker, workers](JobController& controller) {
      for (const uint32_t slot : SlotsOf(slots, worker, workers)) {
        const watch::RevisionLog* log = controller.WatchOf(slot);
        if (log == nullptr || !controller.context().IsReady(slot)) {
          hub->Refuse(subscription, slot);
          continue;
        }
        const auto known = since->find(slot);
        const bool reset = known != since->end() && !log->Knows(known->second);
        const WatchPosition from =
            known == since->end() || reset ? WatchPosition{log->position().incarnation, 0} : known->second;
        hub->Begin(subscription, slot, from, log->position(), reset,
                   SnapshotOf(controller, slot, *log, from.revision, *subscription));
      }
      hub->PartDone(subscription);
    });
  }
  return std::make_unique<LocalPart>(hub_, std::move(subscription));
}

}  // namespace basalt::jobsvc
