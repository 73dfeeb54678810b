// jobsvc: the controller of Volcano Jobs.
#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "common/shell/service_process.h"
#include "services/jobsvc/main/parts.h"

ABSL_FLAG(absl::Duration, event_interval, absl::Minutes(5), "the least time between two writes of one Event");

int main(int argc, char** argv) {
  const auto make_parts = [](basalt::obs::Metrics& metrics, basalt::obs::Health&) {
    basalt::jobsvc::JobControllerOptions options;
    options.event_interval = absl::GetFlag(FLAGS_event_interval);
    return basalt::jobsvc::MakePartsWith(metrics, options);
  };
  return basalt::shell::RunService(argc, argv, "jobsvc", basalt::gateway::v1::SERVICE_KIND_JOB, make_parts);
}
