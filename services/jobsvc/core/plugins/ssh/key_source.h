#pragma once

// The source of the ssh plugin's key pairs, which is injected so that tests and simulation are exact.
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class SshKeySource {
 public:
  virtual ~SshKeySource() = default;
  // Thread-safe. May take a tenth of a second: do not call it on a loop that has anything else to do. `seed` is only
  // for deterministic doubles. INTERNAL if the library failed.
  virtual absl::StatusOr<SshKeyPair> MakeSshKeyPair(std::string_view seed) = 0;
};

// RSA-2048 from the operating system's randomness. Ignores the seed: a key that follows from a job's UID is no secret.
std::unique_ptr<SshKeySource> MakeRsaKeySource();

// Texts of the right form without a key in them, the same for the same seed. For tests and simulation.
std::unique_ptr<SshKeySource> MakeFakeKeySource();

}  // namespace basalt::jobsvc
