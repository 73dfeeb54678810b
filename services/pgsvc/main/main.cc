// pgsvc: owns pod groups, of jobs and of plain pods.
#include <cstdint>

#include "absl/flags/flag.h"
#include "common/watch/watch_hub.h"
#include "services/pgsvc/main/parts.h"

ABSL_FLAG(uint32_t, max_watches, basalt::watch::WatchHub::kMaxWatches,
          "how many watches of clients a replica tells of its pod groups; one more is refused");

int main(int argc, char** argv) {
  const auto make_parts = [](basalt::obs::Metrics& metrics, basalt::obs::Health&) {
    return basalt::pgsvc::MakePartsWith(metrics, absl::GetFlag(FLAGS_max_watches));
  };
  return basalt::shell::RunService(argc, argv, "pgsvc", basalt::gateway::v1::SERVICE_KIND_POD_GROUP, make_parts);
}
