#include <fmt/format.h>

#include "services/jobsvc/core/plugins/ssh/key_source.h"
#include "services/jobsvc/core/plugins/stable_text.h"

namespace basalt::jobsvc {
namespace {

class FakeKeySource : public SshKeySource {
 public:
  absl::StatusOr<SshKeyPair> MakeSshKeyPair(std::string_view seed) override {
    const std::string content = ContentHash(seed);
    return SshKeyPair{fmt::format("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", content),
                      fmt::format("ssh-rsa {}\n", content)};
  }
};

}  // namespace

std::unique_ptr<SshKeySource> MakeFakeKeySource() { return std::make_unique<FakeKeySource>(); }

}  // namespace basalt::jobsvc
