// Target: records of queuesvc that an earlier process may have left, and a run that begins with them.
#include "tests/fuzz/queuesvc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt::fuzz;  // NOLINT: one function.
  Input input(data, size, ServiceWords());
  QueuesvcRun(input).Run(ServiceRun::Begins::kWithRecords);
  return 0;
}
