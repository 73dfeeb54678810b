#pragma once

// The session of a user of Kubernetes with the suite: proves the user's identity to a gateway, and adds the token that
// the gateway answers to all calls. The proof is sent to gateways alone. Blocking; one thread, but channels that are
// made may be used by any. Heavy (gRPC): include it in .cc files only.
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
  // A token is renewed when it counts for less than this.
  static constexpr absl::Duration kMargin = absl::Minutes(1);

  // Requires: CheckKubeUser of the user.
  UserSession(KubeUser user, std::unique_ptr<rpc::UserCredentials> credentials)
      : user_(std::move(user)), credentials_(std::move(credentials)) {}

  // Fetches a new token if the token counts for less than a minute after `now`. The gateways, named as for --gateway,
  // are asked in turn. OK if the token counts at `now`, even if a new one could not be had. UNAVAILABLE if no gateway
  // answers. UNAUTHENTICATED if the gateways refuse the user, or there is no proof (ProofOf). INVALID_ARGUMENT if a
  // file or `gateways` cannot be used.
  absl::Status LogIn(const std::string& gateways, absl::Time now);
  // Makes the next LogIn fetch a new token, since a server has refused this one.
  void Forget() { expires_ = absl::InfinitePast(); }

  // Returns credentials for channels to servers of these roles (a mask of identity::Only). Requires: LogIn.
  std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const {
    return credentials_->ForChannel(servers);
  }

  // The user and the end of the token, by the gateway's last answer.
  const std::string& user() const { return name_; }
  absl::Time expires() const { return expires_; }

 private:
  absl::Status LogInNow(const std::string& gateways);

  const KubeUser user_;
  const std::unique_ptr<rpc::UserCredentials> credentials_;
  std::string name_;
  absl::Time expires_ = absl::InfinitePast();
};

// Returns the reason why the gateway at this address has not logged the user in. Pure.
std::string RefusalText(const std::string& address, const grpc::Status& status);

}  // namespace basalt::cli
