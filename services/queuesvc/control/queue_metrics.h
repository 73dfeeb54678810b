#pragma once

#include <string>

#include "basalt/queue/v1/queue.pb.h"
#include "common/obs/metrics.h"

namespace basalt::queuesvc {

// The series of queues, by upstream's names (queue spec 7.1). A queue's are its owner's to show and to remove. Any
// thread.
class QueueMetrics {
 public:
  // May be null, and outlives it.
  explicit QueueMetrics(obs::Metrics* metrics) : metrics_(metrics) {}

  void Show(const std::string& queue, const queue::v1::PodGroupCounts& counts);
  void Remove(const std::string& queue);

 private:
  obs::Metrics* const metrics_;
};

}  // namespace basalt::queuesvc
