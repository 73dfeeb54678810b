#pragma once

// Where the ssh plugin's key pairs come from: injected, so that tests and simulation are exact.
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class SshKeySource {
 public:
  virtual ~SshKeySource() = default;
  // Thread-safe. May take a tenth of a second: not to be called on a loop that has anything else to do. `seed` is for
  // deterministic doubles only. INTERNAL: the library failed.
  virtual absl::StatusOr<SshKeyPair> MakeSshKeyPair(std::string_view seed) = 0;
};

// RSA-2048 from the operating system's randomness, whatever the seed: a key that follows from a job's UID is no secret.
std::unique_ptr<SshKeySource> MakeRsaKeySource();

// Texts in the right form that hold no key at all, the same for the same seed. For tests and simulation.
std::unique_ptr<SshKeySource> MakeFakeKeySource();

}  // namespace basalt::jobsvc
