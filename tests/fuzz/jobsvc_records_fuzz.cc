// Records of jobsvc as a process before this one may have left them, and what follows.
#include "tests/fuzz/jobsvc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt::fuzz;  // NOLINT: one function.
  Input input(data, size, ServiceWords());
  JobsvcRun(input).Run(ServiceRun::Begins::kWithRecords);
  return 0;
}
