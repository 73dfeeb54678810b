#include "services/jobsvc/testing/conformance/allocations.h"

#include <cstdlib>
#include <new>

namespace {

int64_t allocations = 0;

}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace basalt::jobsvc::testing {

int64_t Allocations() { return allocations; }

}  // namespace basalt::jobsvc::testing
