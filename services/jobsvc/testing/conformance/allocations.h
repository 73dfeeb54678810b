#pragma once

// Returns how often this process has allocated with operator new. Linked by one test alone, which has one thread.
#include <cstdint>

namespace basalt::jobsvc::testing {

int64_t Allocations();

}  // namespace basalt::jobsvc::testing
