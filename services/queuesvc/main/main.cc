// queuesvc: owns queues, their state and their counts.
#include <cstdint>

#include "absl/flags/flag.h"
#include "common/watch/watch_hub.h"
#include "services/queuesvc/main/parts.h"

ABSL_FLAG(uint32_t, max_watches, basalt::watch::WatchHub::kMaxWatches,
          "how many watches of clients a replica tells of its queues; one more is refused");

ABSL_FLAG(bool, publish_counts, true, "whether the status of each queue has the counts of its pod groups");

int main(int argc, char** argv) {
  const auto make_parts = [](basalt::obs::Metrics& metrics, basalt::obs::Health&) {
    basalt::queuesvc::QueueControllerOptions options;
    options.publish_counts = absl::GetFlag(FLAGS_publish_counts);
    return basalt::queuesvc::MakePartsWith(metrics, options, absl::GetFlag(FLAGS_max_watches));
  };
  return basalt::shell::RunService(argc, argv, "queuesvc", basalt::gateway::v1::SERVICE_KIND_QUEUE, make_parts);
}
