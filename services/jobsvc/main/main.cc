// jobsvc: the controller of Volcano Jobs.
#include "common/shell/service_process.h"
#include "services/jobsvc/main/parts.h"

int main(int argc, char** argv) {
  return basalt::shell::RunService(argc, argv, "jobsvc", basalt::gateway::v1::SERVICE_KIND_JOB,
                                   &basalt::jobsvc::MakeParts);
}
