#include "services/queuesvc/control/queue_controller.h"

#include <utility>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"

namespace basalt::queuesvc {
namespace {

constexpr std::string_view kMetricPrefix = "volcano_queue_pod_group_";

}  // namespace

QueueController::QueueController(runtime::Context& context, obs::Metrics* metrics, QueueControllerOptions options)
    : context_(context), metrics_(metrics), options_(options) {}

absl::StatusOr<std::vector<runtime::KnownObject>> QueueController::OpenSlot(uint32_t slot) {
  entries_.Open(slot);
  if (options_.create_default_queues) {
    for (const std::string_view name : {kube::kRootQueue, kube::kDefaultQueue}) {
      if (SlotOf(name) == slot) context_.Wake(name);
    }
  }
  for (const auto& [name, queue] : queues_) {
    if (SlotOf(name) == slot) context_.Wake(name);
  }
  return std::vector<runtime::KnownObject>();
}

void QueueController::CloseSlot(uint32_t slot) {
  for (const std::string& name : entries_.KeysOf(slot)) RemoveMetrics(name);
  entries_.Close(slot);
}

void QueueController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  if (object.has_pod_group()) {
    const kube::v1::PodGroup& group = object.pod_group();
    entries_.FindOrMake(routing_key).pod_groups.Set(group.meta().uid(), group.phase());
  } else if (object.has_queue()) {
    OnShared(std::string(kube::kWatchQueues), object, false);  // The answer to a write of ours.
  }
}

void QueueController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  if (Entry* const entry = entries_.Find(routing_key); entry != nullptr) entry->pod_groups.Erase(gone.uid);
}

void QueueController::OnShared(const std::string&, const kube::v1::Object& object, bool gone) {
  if (!object.has_queue()) return;
  const kube::v1::Queue& queue = object.queue();
  const std::string& name = queue.meta().name();
  const bool owned = Owns(name);
  const auto known = queues_.find(name);
  if (known != queues_.end() && known->second.meta().resource_version() > queue.meta().resource_version()) return;
  if (gone) {
    if (known != queues_.end() && known->second.meta().uid() == queue.meta().uid()) queues_.erase(known);
    if (owned) RemoveMetrics(name);  // Else the series are another worker's.
  } else {
    queues_[name] = queue;
  }
  if (owned) context_.Wake(name);
}

void QueueController::Decide(std::string_view, kv::WriteBatch&) {}

void QueueController::Act(std::string_view key) {
  const std::string name(key);
  Entry& entry = entries_.FindOrMake(key);
  ShowMetrics(name, entry.pod_groups.counts());
  if (entry.write_in_flight) return;
  if (entry.retry.Blocks(context_.ApiNow())) return context_.WakeAt(name, entry.retry.until());
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) {
    const bool is_default = key == kube::kRootQueue || key == kube::kDefaultQueue;
    if (options_.create_default_queues && is_default) return CreateQueue(name, entry);
    if (entry.pod_groups.total() == 0) entries_.Erase(key);
    return;
  }
  if (queue->second.meta().deletion_ms() != 0) return;
  if (key != kube::kRootQueue && queue->second.parent().empty()) return SetParent(queue->second, entry);
  Publish(queue->second, entry);
}

void QueueController::CreateQueue(const std::string& name, Entry& entry) {
  json::object body;
  body["apiVersion"] = json::string(kube::kSchedulingApiVersion.data(), kube::kSchedulingApiVersion.size());
  body["kind"] = "Queue";
  body["metadata"] = json::object{{"name", name}};
  body["spec"] = json::object{{"weight", 1}, {"reclaimable", name != kube::kRootQueue}};
  auto request = kube::WriteOf(kube::kQueues, "", name);
  request.mutable_create()->set_body(ToText(body));
  Send(name, entry, std::move(request));
}

void QueueController::SetParent(const kube::v1::Queue& queue, Entry& entry) {
  auto request = kube::WriteOf(kube::kQueues, "", queue.meta().name());
  // A merge patch works on a queue without a spec, too (weakness Q10).
  const json::object body{{"spec", json::object{{"parent", "root"}}}};
  kube::SetMergePatch(ToText(body), queue.meta().uid(), request).set_resource_version(queue.meta().resource_version());
  Send(queue.meta().name(), entry, std::move(request));
}

void QueueController::Publish(const kube::v1::Queue& queue, Entry& entry) {
  const QueueState state = ParseQueueState(queue.state());
  if (state == QueueState::kInvalid) {
    obs::LogWarning("queue state is invalid", {{"queue", queue.meta().name()}, {"state", queue.state()}});
    return;
  }
  const QueueState next = NextState(state, QueueAction::kSync, entry.pod_groups.total()).next;
  const queue::v1::PodGroupCounts* counts = options_.publish_counts ? &entry.pod_groups.counts() : nullptr;
  if (!StatusDiffers(queue, next, counts)) return;
  const absl::Time now = context_.ApiNow();
  if (StillWaits(now, entry.next_publish)) return context_.WakeAt(queue.meta().name(), entry.next_publish);
  entry.next_publish = now + options_.publish_interval;
  auto request = kube::WriteOf(kube::kQueues, "", queue.meta().name());
  request.set_subresource("status");
  gateway::v1::Patch& patch = *request.mutable_patch();
  patch.set_type(gateway::v1::Patch::TYPE_APPLY);
  patch.set_field_manager("basalt-queue");
  patch.set_force(true);  // The state has one rightful owner (weakness Q8).
  patch.set_body(StatusApplyBody(queue.meta().name(), next, counts));
  Send(queue.meta().name(), entry, std::move(request));
}

void QueueController::Send(const std::string& name, Entry& entry, gateway::v1::WriteRequest request) {
  entry.write_in_flight = true;
  context_.Write(name, std::move(request), [this, name](runtime::WriteOutcome outcome) {
    Entry* const written = entries_.Find(name);
    if (written == nullptr) return;
    written->write_in_flight = false;
    if (outcome.kind == runtime::WriteOutcome::Kind::kDone || runtime::IsNameTaken(outcome)) {
      return written->retry.Succeed();
    }
    // Everything here is derived from state again: a lost answer or a conflict is simply looked at once more.
    written->next_publish = absl::InfinitePast();
    written->retry.Fail(context_.ApiNow(), context_.random());
    context_.WakeAt(name, written->retry.until());
    obs::LogWarning("write of a queue failed", {{"queue", name},
                                                {"reason", outcome.error.reason()},
                                                {"error", outcome.error.message()},
                                                {"status", outcome.status.ToString()}});
  });
}

void QueueController::ShowMetrics(const std::string& name, const queue::v1::PodGroupCounts& counts) {
  if (metrics_ == nullptr || queues_.count(name) == 0) return;
  const std::pair<std::string_view, int32_t> values[] = {{"inqueue", counts.inqueue()},
                                                         {"pending", counts.pending()},
                                                         {"running", counts.running()},
                                                         {"unknown", counts.unknown()},
                                                         {"completed", counts.completed()}};
  for (const auto& [phase, value] : values) {
    metrics_
        ->GetGauge(std::string(kMetricPrefix) + std::string(phase) + "_count", "Pod groups of the queue by phase.",
                   {{"queue_name", name}})
        .Set(value);
  }
}

void QueueController::RemoveMetrics(const std::string& name) {
  if (metrics_ == nullptr) return;
  for (const std::string_view phase : {"inqueue", "pending", "running", "unknown", "completed"}) {
    metrics_->Remove(std::string(kMetricPrefix) + std::string(phase) + "_count", {{"queue_name", name}});
  }
}

std::vector<queue::v1::Queue> QueueController::List() const {
  std::vector<queue::v1::Queue> all;
  for (const auto& [name, queue] : queues_) {
    if (!Owns(name)) continue;
    queue::v1::Queue& row = all.emplace_back();
    *row.mutable_object() = queue;
    const Entry* const entry = entries_.Find(name);
    if (entry != nullptr) *row.mutable_pod_groups() = entry->pod_groups.counts();
  }
  return all;
}

}  // namespace basalt::queuesvc
