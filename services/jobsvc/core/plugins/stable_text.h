#pragma once

// Short texts derived from content. They are the same on every machine and in every version, because names in
// Kubernetes and hashes in a Job's status depend on them (test vectors in stable_text_test.cc). Not for secrets.
#include <cstdint>
#include <string>
#include <string_view>

namespace basalt::jobsvc {

uint64_t StableHash(std::string_view content);

// Returns 16 hexadecimal digits.
std::string ContentHash(std::string_view content);

// Returns 12 characters of [0-9a-z], which replace upstream's random ones (job spec W28).
std::string StableSuffix(std::string_view content);

}  // namespace basalt::jobsvc
