#include "services/jobsvc/testing/conformance/allocations.h"

#include <cstdlib>
#include <new>

namespace {

int64_t allocations = 0;

}  // namespace

// Libraries may mix these forms: one frees what another one has allocated.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace basalt::jobsvc::testing {

int64_t Allocations() { return allocations; }

}  // namespace basalt::jobsvc::testing
