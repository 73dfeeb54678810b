#pragma once

// A user of Kubernetes at the suite: proves to a gateway who the user is, and has the calls carry the token of the
// suite that the gateway answers. What proves the user goes to gateways alone. Blocking; one thread, but for channels
// that are made. Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connect/kube_user.h"
#include "common/rpc/grpc/user_credentials.h"

namespace basalt::cli {

class UserSession {
 public:
  // A token is renewed when it counts for less than that.
  static constexpr absl::Duration kMargin = absl::Minutes(1);

  // Requires: CheckKubeUser of the user.
  UserSession(KubeUser user, std::unique_ptr<rpc::UserCredentials> credentials)
      : user_(std::move(user)), credentials_(std::move(credentials)) {}

  // OK: the token counts at `now`, for a minute more where that can be had; for a new one the gateways are asked in
  // turn, as --gateway names them. UNAVAILABLE: none of them answers. UNAUTHENTICATED: they refuse the user, or there
  // is no proof (ProofOf). INVALID_ARGUMENT: a file or `gateways` cannot be used.
  absl::Status LogIn(const std::string& gateways, absl::Time now);
  // A server does not take the token: LogIn gets another one.
  void Forget() { expires_ = absl::InfinitePast(); }

  // For calls to servers of these roles (a mask of identity::Only), after LogIn.
  std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const {
    return credentials_->ForChannel(servers);
  }

  // What the gateway has answered last.
  const std::string& user() const { return name_; }
  absl::Time expires() const { return expires_; }

 private:
  absl::Status LogInNow(const std::string& gateways);

  const KubeUser user_;
  const std::unique_ptr<rpc::UserCredentials> credentials_;
  std::string name_;
  absl::Time expires_ = absl::InfinitePast();
};

// Why the gateway at that address has not logged the user in. Pure.
std::string RefusalText(const std::string& address, const grpc::Status& status);

}  // namespace basalt::cli
