#include "services/queuesvc/control/queue_metrics.h"

#include <limits>
#include <string_view>
#include <utility>

#include "common/kube/quantity.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {
namespace {

struct Phase {
  std::string_view metric;
  int32_t (queue::v1::PodGroupCounts::*count)() const;
};

constexpr std::array<Phase, 5> kPhases = {
    {{"volcano_queue_pod_group_inqueue_count", &queue::v1::PodGroupCounts::inqueue},
     {"volcano_queue_pod_group_pending_count", &queue::v1::PodGroupCounts::pending},
     {"volcano_queue_pod_group_running_count", &queue::v1::PodGroupCounts::running},
     {"volcano_queue_pod_group_unknown_count", &queue::v1::PodGroupCounts::unknown},
     {"volcano_queue_pod_group_completed_count", &queue::v1::PodGroupCounts::completed}}};
constexpr std::array<std::string_view, 4> kStates = {"Open", "Closing", "Closed", "Unknown"};
constexpr char kState[] = "basalt_queue_state";
constexpr char kInUse[] = "basalt_queue_capability_in_use_ratio";
constexpr char kKaiPodGroups[] = "basalt_kai_queue_pod_groups";

// Exact to thousandths, unless that many do not fit in an int64_t.
double ToDouble(const kube::Quantity& amount) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1000;
  if (amount >= kube::Quantity::OfInt(kMost)) return static_cast<double>(amount.Value());
  return static_cast<double>(amount.MilliValue()) / 1000;
}

obs::Labels LabelsOf(const std::string& queue) { return {{"queue_name", queue}}; }

obs::Labels LabelsOf(const std::string& queue, std::string_view label, std::string_view value) {
  return {{"queue_name", queue}, {std::string(label), std::string(value)}};
}

}  // namespace

QueueSeries::QueueSeries(obs::Metrics& metrics, std::string queue) : metrics_(metrics), queue_(std::move(queue)) {
  for (size_t i = 0; i < kPhases.size(); ++i) {
    phases_[i] = &metrics_.GetGauge(kPhases[i].metric,
                                    "Pod groups of the queue in the phase that the name of the metric states.",
                                    LabelsOf(queue_));
  }
  for (size_t i = 0; i < kStates.size(); ++i) {
    states_[i] = &metrics_.GetGauge(kState, "1 for the state in which the queue is, 0 for each other.",
                                    LabelsOf(queue_, "state", kStates[i]));
  }
}

QueueSeries::~QueueSeries() {
  for (const Phase& phase : kPhases) metrics_.Remove(phase.metric, LabelsOf(queue_));
  for (const std::string_view state : kStates) metrics_.Remove(kState, LabelsOf(queue_, "state", state));
  for (const auto& [resource, gauge] : in_use_) metrics_.Remove(kInUse, LabelsOf(queue_, "resource", resource));
}

void QueueSeries::Show(const kube::v1::Queue& queue, const queue::v1::PodGroupCounts& counts) {
  for (size_t i = 0; i < kPhases.size(); ++i) phases_[i]->Set((counts.*kPhases[i].count)());
  if (queue.meta().resource_version() == shown_version_) return;
  shown_version_ = queue.meta().resource_version();
  for (size_t i = 0; i < kStates.size(); ++i) states_[i]->Set(queue.state() == kStates[i] ? 1 : 0);
  ShowUse(queue);
}

void QueueSeries::ShowUse(const kube::v1::Queue& queue) {
  std::map<std::string, obs::Gauge*> shown;
  for (const kube::v1::KeyValue& pair : queue.capability()) {
    const kube::Quantity most = kube::Quantity::Parse(pair.value()).value_or(kube::Quantity());
    if (most <= kube::Quantity()) continue;
    obs::Gauge*& gauge = shown[pair.key()];
    const auto known = in_use_.find(pair.key());
    gauge = known != in_use_.end()
                ? known->second
                : &metrics_.GetGauge(kInUse, "Share of the capability of the queue that is allocated.",
                                     LabelsOf(queue_, "resource", pair.key()));
    const kube::Quantity allocated = AmountOf(queue.allocated(), pair.key());
    gauge->Set(ToDouble(allocated) / ToDouble(most));
  }
  for (const auto& [resource, gauge] : in_use_) {
    if (!shown.contains(resource)) metrics_.Remove(kInUse, LabelsOf(queue_, "resource", resource));
  }
  in_use_ = std::move(shown);
}

KaiQueueSeries::KaiQueueSeries(obs::Metrics& metrics, std::string queue)
    : metrics_(metrics),
      queue_(std::move(queue)),
      pod_groups_(
          metrics.GetGauge(kKaiPodGroups, "Pod groups that name the queue of KAI's scheduler.", LabelsOf(queue_))) {}

KaiQueueSeries::~KaiQueueSeries() { metrics_.Remove(kKaiPodGroups, LabelsOf(queue_)); }

}  // namespace basalt::queuesvc
