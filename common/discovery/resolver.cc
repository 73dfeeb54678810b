#include "common/discovery/resolver.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "common/base/status.h"

namespace basalt::discovery {
namespace {

class SystemResolver final : public Resolver {
 public:
  explicit SystemResolver(Loop& loop) : loop_(loop), thread_(MakeThreadLoop("resolver")) {}
  ~SystemResolver() override { *alive_ = false; }

  void Resolve(HostPort name, Done done) override {
    thread_->Post([this, alive = alive_, name = std::move(name), done = std::move(done)]() mutable {
      auto found = LookUp(name);
      loop_.Post([alive = std::move(alive), found = std::move(found), done = std::move(done)]() mutable {
        if (*alive) done(std::move(found));
      });
    });
  }

 private:
  Loop& loop_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Is read and written on `loop_` only.
  const std::unique_ptr<Loop> thread_;                                // Is the last member, so that it ends first.
};

}  // namespace

absl::StatusOr<std::vector<std::string>> LookUp(const HostPort& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = getaddrinfo(name.host.c_str(), nullptr, &hints, &first); error != 0) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("{} cannot be looked up: {}", name.host,
                                  error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)));
  }
  std::set<std::string> found;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    char host[NI_MAXHOST];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) == 0) {
      found.insert(ToText({host, name.port}));
    }
  }
  freeaddrinfo(first);
  if (found.empty()) return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{} has no address", name.host));
  return std::vector<std::string>(found.begin(), found.end());
}

std::unique_ptr<Resolver> MakeSystemResolver(Loop& loop) { return std::make_unique<SystemResolver>(loop); }

}  // namespace basalt::discovery
