// Target: messages of the gateway to pgsvc and calls of clients and other replicas, on an empty disk.
#include "tests/fuzz/pgsvc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt::fuzz;  // NOLINT: one function.
  Input input(data, size, ServiceWords());
  PgsvcRun(input).Run(ServiceRun::Begins::kEmpty);
  return 0;
}
