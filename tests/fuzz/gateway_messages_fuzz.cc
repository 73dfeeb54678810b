// Target: messages and requests of replicas to the gateway.
#include "tests/fuzz/gateway.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt::fuzz;  // NOLINT: one function.
  Input input(data, size, ServiceWords());
  GatewayRun(input, GatewayRun::About::kMessages).Run({});
  return 0;
}
