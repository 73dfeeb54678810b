#include "common/rpc/grpc/call_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/process_clock.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/open_streams.h"
#include "common/rpc/grpc/refused_calls.h"
#include "common/rpc/grpc/users.h"

namespace basalt::rpc {

namespace {

absl::Status NoRpc(std::string_view path) {
  return MakeStatus(absl::StatusCode::kUnimplemented, fmt::format("there is no RPC {} here", Excerpt(path)));
}

}  // namespace

CallGuard::CallGuard(identity::IdentityRules rules, std::shared_ptr<identity::DeniedList> denied,
                     std::function<void(const RefusedCall&)> on_refused, std::shared_ptr<Users> users)
    : rules_(std::move(rules)),
      on_refused_(std::move(on_refused)),
      denied_(std::move(denied)),
      users_(std::move(users)),
      streams_(std::make_unique<OpenStreams>(
          [list = denied_](const std::vector<std::string>& uris) { return list->Has(uris); })) {}

CallGuard::~CallGuard() = default;

absl::Status CallGuard::Refuse(const absl::Status& status, const identity::Identity* client, std::string_view path,
                               std::string_view reason) const {
  const std::string uri = client == nullptr ? "" : identity::UriOf(*client);
  on_refused_({.path = path,
               .role = client == nullptr ? "" : identity::NameOf(client->role),
               .client = uri,
               .reason = reason,
               .why = ToStd(status.message())});
  return status;
}

absl::StatusOr<identity::Identity> CallGuard::ClientOf(const grpc::AuthContext& context) const {
  return IdentityOf(context, UrisOf(context));
}

absl::StatusOr<identity::Identity> CallGuard::IdentityOf(const grpc::AuthContext& context,
                                                         const std::vector<std::string>& uris) const {
  if (!context.IsPeerAuthenticated()) {
    return MakeStatus(absl::StatusCode::kUnauthenticated, "the client has no certificate");
  }
  return rules_.IdentityOf(uris);
}

void CallGuard::SetDenied(identity::DeniedUris uris) {
  denied_->Set(std::move(uris));
  streams_->EndDenied();
}

absl::Status CallGuard::RefuseUser(const absl::Status& why, std::string_view user, std::string_view path,
                                   std::string_view reason) const {
  const std::string uri = user.empty() ? "" : identity::UriOfUser(user);
  on_refused_(
      {.path = path, .role = user.empty() ? "" : "user", .client = uri, .reason = reason, .why = ToStd(why.message())});
  return why;
}

absl::Status CallGuard::CheckUser(const absl::Status& no_identity, std::string_view path,
                                  std::string_view user_token) const {
  const identity::Right* const right = identity::FindRight(path);
  using Kind = identity::UserRight::Kind;
  if (right != nullptr && right->users.kind == Kind::kAnybody) return absl::OkStatus();
  if (user_token.empty()) return RefuseUser(no_identity, "", path, "identity");
  const absl::StatusOr<gateway::v1::UserClaims> user = users_->Verify(user_token);
  if (!user.ok()) {
    const std::string named = ClaimsIn(user_token).user();
    const bool is_denied = !named.empty() && users_->IsDenied(named);
    return RefuseUser(user.status(), is_denied ? named : "", path, is_denied ? "denied" : "identity");
  }
  if (right == nullptr) return RefuseUser(NoRpc(path), user->user(), path, "unknown");
  // Checked before anything of the request is read.
  if (!users_->AllowCall(identity::UriOfUser(user->user()), ProcessNow())) {
    return RefuseUser(MakeStatus(absl::StatusCode::kResourceExhausted,
                                 "the user makes too many calls (--user_rate); come again later"),
                      user->user(), path, "rate");
  }
  if (right->users.kind != Kind::kNone) return absl::OkStatus();
  return RefuseUser(MakeStatus(absl::StatusCode::kPermissionDenied,
                               fmt::format("users may not call {} (docs/security.md)", Excerpt(path))),
                    user->user(), path, "role");
}

absl::Status CallGuard::CheckCall(const grpc::AuthContext& context, std::string_view path,
                                  std::string_view user_token) const {
  const std::vector<std::string> uris = UrisOf(context);
  const absl::StatusOr<identity::Identity> client = IdentityOf(context, uris);
  if (!client.ok() && users_ != nullptr) return CheckUser(client.status(), path, user_token);
  if (!client.ok()) return Refuse(client.status(), nullptr, path, "identity");
  if (denied_->Has(uris)) {
    return Refuse(MakeStatus(absl::StatusCode::kUnauthenticated, "the identity is denied (--denied_identities_file)"),
                  &*client, path, "denied");
  }
  if (identity::MayCall(client->role, path)) return absl::OkStatus();
  if (identity::FindRight(path) == nullptr) return Refuse(NoRpc(path), &*client, path, "unknown");
  return Refuse(
      MakeStatus(absl::StatusCode::kPermissionDenied, fmt::format("role {} may not call {} (docs/security.md)",
                                                                  identity::NameOf(client->role), Excerpt(path))),
      &*client, path, "role");
}

absl::Status CallGuard::CheckMember(const identity::Identity& client, const gateway::v1::Member& member,
                                    std::string_view path) const {
  const bool is_replica = client.replica.empty() || client.replica == member.replica();
  const bool is_service = member.service() == gateway::v1::SERVICE_KIND_JOB ||
                          member.service() == gateway::v1::SERVICE_KIND_POD_GROUP ||
                          member.service() == gateway::v1::SERVICE_KIND_QUEUE;
  if (is_service && client.role == RoleOf(member.service()) && is_replica) return absl::OkStatus();
  const std::string_view service = is_service ? identity::NameOf(RoleOf(member.service())) : "no service";
  return Refuse(MakeStatus(absl::StatusCode::kPermissionDenied,
                           fmt::format("the request is one of {} '{}', and the certificate is that of {} '{}'", service,
                                       Excerpt(member.replica()), identity::NameOf(client.role), client.replica)),
                &client, path, "member");
}

std::shared_ptr<CallGuard> MakeCallGuard(const std::shared_ptr<const Credentials>& credentials, obs::Metrics* metrics,
                                         const std::optional<TokenBucketOptions>& user_rate) {
  if (credentials == nullptr || credentials->rules() == nullptr) return nullptr;
  auto refused = std::make_shared<RefusedCalls>(metrics);
  std::shared_ptr<Users> users;
  if (user_rate.has_value()) {
    const bool takes_certificates = credentials->self()->role == identity::Role::kGateway;
    users = std::make_shared<Users>(*credentials->rules(), credentials->denied(), takes_certificates, *user_rate);
  }
  return std::make_shared<CallGuard>(
      *credentials->rules(), credentials->denied(),
      [refused = std::move(refused)](const RefusedCall& call) { refused->Record(call, absl::Now()); },
      std::move(users));
}

identity::Role RoleOf(gateway::v1::ServiceKind service) {
  switch (service) {
    case gateway::v1::SERVICE_KIND_JOB:
      return identity::Role::kJobsvc;
    case gateway::v1::SERVICE_KIND_POD_GROUP:
      return identity::Role::kPgsvc;
    default:
      return identity::Role::kQueuesvc;
  }
}

MemberCheck::MemberCheck(std::shared_ptr<const CallGuard> guard, const grpc::ServerContextBase& context,
                         std::string_view path)
    : guard_(std::move(guard)),
      client_(guard_ == nullptr ? absl::StatusOr<identity::Identity>(identity::Identity())
                                : guard_->ClientOf(*context.auth_context())),
      path_(path) {}

absl::Status MemberCheck::operator()(const gateway::v1::Member& member) const {
  if (guard_ == nullptr) return absl::OkStatus();
  BASALT_RETURN_IF_ERROR(client_.status());
  return guard_->CheckMember(*client_, member, path_);
}

}  // namespace basalt::rpc
