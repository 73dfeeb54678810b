#pragma once

// The series of one queue: upstream's counts of pod groups (queue spec 7.1), its state, and how much of its capability
// is in use. The worker that owns the queue has them, and they go with the object. Confined to the worker's loop.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "common/obs/metrics.h"

namespace basalt::queuesvc {

class QueueSeries {
 public:
  // `metrics` outlives the series.
  QueueSeries(obs::Metrics& metrics, std::string queue);
  ~QueueSeries();
  QueueSeries(const QueueSeries&) = delete;
  QueueSeries& operator=(const QueueSeries&) = delete;

  // Updates the series; those of state and use only if the queue has another version than at the last call.
  void Show(const kube::v1::Queue& queue, const queue::v1::PodGroupCounts& counts);

 private:
  void ShowUse(const kube::v1::Queue& queue);

  obs::Metrics& metrics_;
  const std::string queue_;
  std::array<obs::Gauge*, 5> phases_;
  std::array<obs::Gauge*, 4> states_;
  std::map<std::string, obs::Gauge*> in_use_;  // By resource.
  int64_t shown_version_ = -1;                 // The version of the queue at the last Show().
};

// The number of pod groups that name a queue of KAI's.
class KaiQueueSeries {
 public:
  // `metrics` outlives the series.
  KaiQueueSeries(obs::Metrics& metrics, std::string queue);
  ~KaiQueueSeries();
  KaiQueueSeries(const KaiQueueSeries&) = delete;
  KaiQueueSeries& operator=(const KaiQueueSeries&) = delete;

  void Show(size_t pod_groups) { pod_groups_.Set(static_cast<double>(pod_groups)); }

 private:
  obs::Metrics& metrics_;
  const std::string queue_;
  obs::Gauge& pod_groups_;
};

}  // namespace basalt::queuesvc
