#include "services/queuesvc/control/queue_metrics.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace basalt::queuesvc {
namespace {

struct Phase {
  std::string_view name;
  int32_t (queue::v1::PodGroupCounts::*count)() const;
};

constexpr std::array<Phase, 5> kPhases = {{{"inqueue", &queue::v1::PodGroupCounts::inqueue},
                                           {"pending", &queue::v1::PodGroupCounts::pending},
                                           {"running", &queue::v1::PodGroupCounts::running},
                                           {"unknown", &queue::v1::PodGroupCounts::unknown},
                                           {"completed", &queue::v1::PodGroupCounts::completed}}};

std::string NameOf(const Phase& phase) { return fmt::format("volcano_queue_pod_group_{}_count", phase.name); }

}  // namespace

void QueueMetrics::Show(const std::string& queue, const queue::v1::PodGroupCounts& counts) {
  if (metrics_ == nullptr) return;
  for (const Phase& phase : kPhases) {
    metrics_->GetGauge(NameOf(phase), "Pod groups of the queue by phase.", {{"queue_name", queue}})
        .Set((counts.*phase.count)());
  }
}

void QueueMetrics::Remove(const std::string& queue) {
  if (metrics_ == nullptr) return;
  for (const Phase& phase : kPhases) metrics_->Remove(NameOf(phase), {{"queue_name", queue}});
}

}  // namespace basalt::queuesvc
