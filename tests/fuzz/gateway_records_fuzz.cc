// Target: saved assignments of earlier leaders. A gateway continues from any record that it can read.
#include "tests/fuzz/gateway.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt::fuzz;  // NOLINT: one function.
  Input input(data, size, ServiceWords());
  const auto saved = input.Make<basalt::storage::v1::AssignmentRecord>();
  GatewayRun(input, GatewayRun::About::kRecords).Run(saved);
  return 0;
}
