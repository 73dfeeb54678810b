#pragma once

// Says who calls a server with TLS, and whether the caller may. gRPC asks the guard for every call before any handler
// sees the call (Credentials::ForServer); services whose requests state a member ask it again for that member
// (MemberCheck). Any thread. Heavy (gRPC): only in .cc files.
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

// A call that was refused, for metrics and the log; nothing in it is of the request's contents.
struct RefusedCall {
  std::string_view path;    // "/basalt.job.v1.JobService/SubmitJob"; it may name no RPC of ours.
  std::string_view role;    // "user": one of Kubernetes. Empty: the client has no identity.
  std::string_view client;  // The URI of the identity or the user; empty: the client has none.
  std::string_view reason;  // "identity", "denied", "role", "member", "right", "rate" or "unknown".
  std::string_view why;     // In words.
};

class CallGuard {
 public:
  // `on_refused` runs on any thread. `denied`: the list of the process, which SetDenied changes. `users`: null: clients
  // are members, operators and readers alone.
  CallGuard(identity::IdentityRules rules, std::shared_ptr<identity::DeniedList> denied,
            std::function<void(const RefusedCall&)> on_refused, std::shared_ptr<Users> users = nullptr);
  ~CallGuard();

  // Whether the client may call the RPC of that path. UNAUTHENTICATED: the client has no identity and no token of a
  // user that counts, and the message says why. PERMISSION_DENIED names the role and the RPC. UNIMPLEMENTED: no row of
  // identity::AllRights names the RPC, which may be one of a newer release. What a user may do to the object of the
  // request is not asked here (UserAccess). `user_token`: as the client has sent it; empty: none.
  absl::Status CheckCall(const grpc::AuthContext& context, std::string_view path, std::string_view user_token) const;

  // Counts and logs a call of a user that was refused for that reason, and returns `why`.
  absl::Status RefuseUser(const absl::Status& why, std::string_view user, std::string_view path,
                          std::string_view reason) const;

  // Null: no users.
  const std::shared_ptr<Users>& users() const { return users_; }

  // The identity that the certificate of the client states. UNAUTHENTICATED: it states none that counts.
  absl::StatusOr<identity::Identity> ClientOf(const grpc::AuthContext& context) const;

  // Whether the client may state that it is `member`: its role is the service's, and its name the replica's; a mapped
  // certificate stands for every replica of its role. PERMISSION_DENIED names both.
  absl::Status CheckMember(const identity::Identity& client, const gateway::v1::Member& member,
                           std::string_view path) const;

  // Clients whose certificate has one of these URIs call nothing from now on, and their open streams end; this process
  // makes no new connection to such a server. Replaces the URIs of before. One thread at a time.
  void SetDenied(identity::DeniedUris uris);

  // The server of the guard puts its streams there.
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

// The guard of a process, which counts and logs what it refuses. Null: `credentials` are null or without TLS. `metrics`
// may be null, and outlives the guard. `user_rate`: of the calls of one user of Kubernetes; none: users do not call.
std::shared_ptr<CallGuard> MakeCallGuard(const std::shared_ptr<const Credentials>& credentials, obs::Metrics* metrics,
                                         const std::optional<TokenBucketOptions>& user_rate = std::nullopt);

// Requires: `service` is one of the three services.
identity::Role RoleOf(gateway::v1::ServiceKind service);

// Compares the members that the requests of one call state with the certificate of the call. Without a guard every
// member is right. `path` outlives the check.
class MemberCheck {
 public:
  MemberCheck(std::shared_ptr<const CallGuard> guard, const grpc::ServerContextBase& context, std::string_view path);
  // The errors are those of CallGuard::CheckMember and ClientOf.
  absl::Status operator()(const gateway::v1::Member& member) const;
  // True: the certificate names one replica, and only a member of that name passes the check.
  bool names_one() const { return guard_ != nullptr && client_.ok() && !client_->replica.empty(); }

 private:
  std::shared_ptr<const CallGuard> guard_;
  absl::StatusOr<identity::Identity> client_;
  std::string_view path_;
};

}  // namespace basalt::rpc
