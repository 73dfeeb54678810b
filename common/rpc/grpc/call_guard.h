#pragma once

// Identifies the caller of a server with TLS, and decides whether the caller may call. gRPC asks the guard for every
// call before any handler gets the call (Credentials::ForServer); services whose requests state a member ask it again
// for that member (MemberCheck). Any thread; calls may be repeated. Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/identity/denied.h"
#include "common/identity/identity.h"
#include "common/obs/metrics.h"
#include "common/time/token_bucket.h"

namespace basalt::rpc {

class Credentials;
class OpenStreams;
class Users;

// A refused call, for metrics and the log. It has nothing of the request's contents.
struct RefusedCall {
  std::string_view path;    // "/basalt.job.v1.JobService/SubmitJob"; may name no RPC of ours.
  std::string_view role;    // "user" for a user of Kubernetes. Empty if the client has no identity.
  std::string_view client;  // The URI of the identity or the user. Empty if the client has none.
  std::string_view reason;  // "identity", "denied", "role", "member", "right", "rate" or "unknown".
  std::string_view why;     // A text for people.
};

class CallGuard {
 public:
  // `on_refused` runs on any thread. `denied` is the list of the process, which SetDenied changes. Without `users`,
  // clients are members, operators and readers alone.
  CallGuard(identity::IdentityRules rules, std::shared_ptr<identity::DeniedList> denied,
            std::function<void(const RefusedCall&)> on_refused, std::shared_ptr<Users> users = nullptr);
  ~CallGuard();

  // Returns whether the client may call the RPC of that path. UNAUTHENTICATED: the client has no identity and no valid
  // token of a user, and the message states why. PERMISSION_DENIED names the role and the RPC. UNIMPLEMENTED: no row of
  // identity::AllRights names the RPC, which may be one of a newer release. The rights of a user on the object of the
  // request are not checked here (UserAccess). `user_token` is as the client has sent it; empty if there is none.
  absl::Status CheckCall(const grpc::AuthContext& context, std::string_view path, std::string_view user_token) const;

  // Counts and logs a user's call that was refused for that reason, and returns `why`.
  absl::Status RefuseUser(const absl::Status& why, std::string_view user, std::string_view path,
                          std::string_view reason) const;

  // Null if the server takes no users.
  const std::shared_ptr<Users>& users() const { return users_; }

  // Returns the identity that the client's certificate states. UNAUTHENTICATED: it states no valid one.
  absl::StatusOr<identity::Identity> ClientOf(const grpc::AuthContext& context) const;

  // Returns whether the client may state that it is `member`: its role is the service's, and its name the replica's. A
  // mapped certificate stands for every replica of its role. PERMISSION_DENIED names both.
  absl::Status CheckMember(const identity::Identity& client, const gateway::v1::Member& member,
                           std::string_view path) const;

  // Replaces the denied URIs. From now on clients whose certificate has one of them cannot call, their open streams
  // end, and this process makes no new connection to such a server. One thread at a time.
  void SetDenied(identity::DeniedUris uris);

  // The server of the guard records its streams there.
  OpenStreams& streams() const { return *streams_; }

 private:
  absl::StatusOr<identity::Identity> IdentityOf(const grpc::AuthContext& context,
                                                const std::vector<std::string>& uris) const;
  absl::Status Refuse(const absl::Status& status, const identity::Identity* client, std::string_view path,
                      std::string_view reason) const;
  absl::Status CheckUser(const absl::Status& no_identity, std::string_view path, std::string_view user_token) const;

  const identity::IdentityRules rules_;
  const std::function<void(const RefusedCall&)> on_refused_;
  const std::shared_ptr<identity::DeniedList> denied_;
  const std::shared_ptr<Users> users_;
  const std::unique_ptr<OpenStreams> streams_;
};

// Makes the guard of a process, which counts and logs its refusals. Null if `credentials` is null or without TLS.
// `metrics` may be null, and outlives the guard. `user_rate` limits the calls of one user of Kubernetes; without it,
// users cannot call.
std::shared_ptr<CallGuard> MakeCallGuard(const std::shared_ptr<const Credentials>& credentials, obs::Metrics* metrics,
                                         const std::optional<TokenBucketOptions>& user_rate = std::nullopt);

// Requires: `service` is one of the three services.
identity::Role RoleOf(gateway::v1::ServiceKind service);

// Compares the members that the requests of one call state with the certificate of the call. Without a guard every
// member passes. `path` outlives the check.
class MemberCheck {
 public:
  MemberCheck(std::shared_ptr<const CallGuard> guard, const grpc::ServerContextBase& context, std::string_view path);
  // Returns the errors of CallGuard::CheckMember and ClientOf. May be repeated.
  absl::Status operator()(const gateway::v1::Member& member) const;
  // True if the certificate names one replica, so that only a member of that name passes the check.
  bool names_one() const { return guard_ != nullptr && client_.ok() && !client_->replica.empty(); }

 private:
  std::shared_ptr<const CallGuard> guard_;
  absl::StatusOr<identity::Identity> client_;
  std::string_view path_;
};

}  // namespace basalt::rpc
