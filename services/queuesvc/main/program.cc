// queuesvc: owns queues, their state and their counts.
#include "services/queuesvc/main/program.h"

#include <cstdint>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "services/queuesvc/main/parts.h"

ABSL_DECLARE_FLAG(uint32_t, max_watches);

ABSL_FLAG(bool, publish_counts, true, "whether the status of each queue has the counts of its pod groups");

namespace basalt::queuesvc {

int Main(int argc, char** argv) {
  const auto make_parts = [](obs::Metrics& metrics, obs::Health&) {
    QueueControllerOptions options;
    options.publish_counts = absl::GetFlag(FLAGS_publish_counts);
    return MakePartsWith(metrics, options, absl::GetFlag(FLAGS_max_watches));
  };
  return shell::RunService(argc, argv, "queuesvc", gateway::v1::SERVICE_KIND_QUEUE, make_parts);
}

}  // namespace basalt::queuesvc
