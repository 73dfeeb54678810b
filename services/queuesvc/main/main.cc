// queuesvc: owns queues, their state and their counts.
#include "services/queuesvc/main/parts.h"

int main(int argc, char** argv) {
  return basalt::shell::RunService(argc, argv, "queuesvc", basalt::gateway::v1::SERVICE_KIND_QUEUE,
                                   basalt::queuesvc::MakeParts);
}
