#include "services/queuesvc/control/kai_queues.h"

#include <utility>

#include "common/kube/object_key.h"

namespace basalt::queuesvc {

void KaiQueues::See(std::string_view key, kube::v1::Object&& object) {
  Entry& entry = entries_.FindOrMake(key);
  if (object.has_kai_pod_group()) {
    entry.group_uids.insert(object.kai_pod_group().meta().uid());
  } else {
    entry.queue = std::move(*object.mutable_kai_queue());
  }
  if (metrics_ == nullptr) return;
  if (entry.series == nullptr)
    entry.series = std::make_unique<KaiQueueSeries>(*metrics_, std::string(kube::SplitKey(key).name));
  entry.series->Show(entry.group_uids.size());
}

void KaiQueues::Forget(std::string_view key, std::string_view uid) {
  Entry* const entry = entries_.Find(key);
  if (entry == nullptr) return;
  if (const auto group = entry->group_uids.find(uid); group != entry->group_uids.end()) entry->group_uids.erase(group);
  if (entry->queue && entry->queue->meta().uid() == uid) entry->queue.reset();
  if (entry->series != nullptr) entry->series->Show(entry->group_uids.size());
  if (!entry->queue && entry->group_uids.empty()) entries_.Erase(key);
}

std::optional<queue::v1::Queue> KaiQueues::Find(std::string_view key) const {
  const Entry* const entry = entries_.Find(key);
  if (entry == nullptr) return std::nullopt;
  queue::v1::Queue message;
  queue::v1::KaiQueue& kai = *message.mutable_kai();
  if (entry->queue) {
    *kai.mutable_object() = *entry->queue;
  } else {
    kai.mutable_object()->mutable_meta()->set_name(std::string(kube::SplitKey(key).name));
  }
  kai.set_pod_groups(static_cast<int64_t>(entry->group_uids.size()));
  return message;
}

}  // namespace basalt::queuesvc
