// pgsvc: owns pod groups, of jobs and of plain pods.
#include "services/pgsvc/main/parts.h"

int main(int argc, char** argv) {
  return basalt::shell::RunService(argc, argv, "pgsvc", basalt::gateway::v1::SERVICE_KIND_POD_GROUP,
                                   basalt::pgsvc::MakeParts);
}
