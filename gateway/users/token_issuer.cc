#include "gateway/users/token_issuer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/obs/log.h"

namespace basalt::gateway {
namespace {

constexpr char kAuthorityPath[] = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
constexpr int kMostQuestions = 1000;
constexpr char kAuthenticated[] = "system:authenticated";

absl::Status Unknown(std::string_view why) { return MakeStatus(absl::StatusCode::kUnauthenticated, why); }

void SetTime(absl::Time time, google::protobuf::Timestamp& stamp) { stamp.set_seconds(absl::ToUnixSeconds(time)); }

}  // namespace

TokenIssuer::TokenIssuer(Loop& loop, http::Client& client, obs::Metrics& metrics, UserKeys keys,
                         TokenIssuerOptions options)
    : loop_(loop),
      client_(client),
      keys_(std::move(keys)),
      options_(std::move(options)),
      reviews_(loop, client, metrics, options_.reviews) {
  ReadAuthority();
}

TokenIssuer::~TokenIssuer() { loop_.Cancel(timer_); }

absl::StatusOr<v1::UserClaims> TokenIssuer::UserOfCertificate(const std::string& chain_pem, absl::Time& until) const {
  BASALT_RETURN_IF_ERROR(keys_.check_certificate(chain_pem));
  BASALT_ASSIGN_OR_RETURN(const identity::CertificateFacts facts, identity::ReadCertificate(chain_pem));
  if (facts.common_names.size() != 1 || facts.common_names.front().empty()) {
    return Unknown("the certificate names no user: Kubernetes takes its common name for that");
  }
  v1::UserClaims claims;
  claims.set_user(facts.common_names.front());
  for (const std::string& group : facts.organizations) claims.add_groups(group);
  // The API server gives this group to every user whom it authenticates.
  const bool is_there =
      std::find(facts.organizations.begin(), facts.organizations.end(), kAuthenticated) != facts.organizations.end();
  if (!is_there) claims.add_groups(kAuthenticated);
  until = std::min(until, facts.not_after);
  return claims;
}

absl::StatusOr<v1::LogInResponse> TokenIssuer::IssueToken(v1::UserClaims claims, absl::Time until) const {
  if (keys_.is_denied(claims.user())) {
    return MakeStatus(absl::StatusCode::kPermissionDenied, "the user is denied (--denied_identities_file)");
  }
  claims.set_cluster(keys_.cluster);
  SetTime(keys_.now(), *claims.mutable_issue_time());
  SetTime(until, *claims.mutable_expire_time());
  v1::LogInResponse response;
  absl::StatusOr<std::string> token = keys_.sign(claims);
  if (absl::IsInvalidArgument(token.status())) {
    // The files are no concern of the user.
    return MakeStatus(absl::StatusCode::kUnavailable, "this gateway has no certificate that can sign; try again");
  }
  BASALT_RETURN_IF_ERROR(token.status());
  response.set_token(*std::move(token));
  *response.mutable_expire_time() = claims.expire_time();
  response.set_user(claims.user());
  obs::LogInfo("a user has logged in", {{"user", identity::UriOfUser(claims.user())}});
  return response;
}

void TokenIssuer::LogIn(const v1::LogInRequest& request, const std::string& chain_pem, const std::string& host,
                        rpc::Done<v1::LogInResponse> done) {
  if (!keys_.allow(host)) {
    return done(MakeStatus(absl::StatusCode::kResourceExhausted,
                           "too many clients of this host log in (--user_rate); come again later"));
  }
  const absl::Time until = keys_.now() + options_.token_lifetime;
  if (!request.kubernetes_token().empty()) {
    return reviews_.ReviewToken(request.kubernetes_token(),
                                [this, until, done = std::move(done)](absl::StatusOr<v1::UserClaims> claims) mutable {
                                  if (!claims.ok()) return done(claims.status());
                                  done(IssueToken(*std::move(claims), until));
                                });
  }
  if (chain_pem.empty()) return done(Unknown("the client shows neither a certificate nor a token of Kubernetes"));
  absl::Time end = until;
  absl::StatusOr<v1::UserClaims> claims = UserOfCertificate(chain_pem, end);
  if (!claims.ok()) return done(claims.status());
  done(IssueToken(*std::move(claims), end));
}

void TokenIssuer::ReviewAccess(const v1::ReviewAccessRequest& request, rpc::Done<v1::ReviewAccessResponse> done) {
  if (request.questions_size() > kMostQuestions) {
    return done(Invalid(fmt::format("questions: has {}, and may have {}", request.questions_size(), kMostQuestions)));
  }
  absl::StatusOr<v1::UserClaims> claims = keys_.verify(request.token());
  if (!claims.ok()) return done(claims.status());
  // Tokens of one user differ only in their times, which must not make the reviews' cache miss.
  claims->clear_issue_time();
  claims->clear_expire_time();
  reviews_.ReviewAccess(*claims, {request.questions().begin(), request.questions().end()}, std::move(done));
}

void TokenIssuer::ReadAuthority() {
  KubeCall call{
      .target = kAuthorityPath, .user_agent = options_.reviews.user_agent, .timeout = options_.reviews.timeout};
  reading_ = StartKubeCall(client_, std::move(call), [this](const KubeAnswer& answer) {
    absl::Status status;
    if (answer.outcome != KubeAnswer::Outcome::kDone) {
      status = MakeStatus(absl::StatusCode::kUnavailable, answer.why);
    } else {
      const absl::StatusOr<json::value> map = ParseJson(answer.body);
      const json::value* const data = map.ok() ? Find(*map, "data") : nullptr;
      const std::string_view pem = data == nullptr ? std::string_view() : FindString(*data, "client-ca-file");
      if (pem.empty()) {
        status = MakeStatus(absl::StatusCode::kNotFound, "the ConfigMap has no client-ca-file");
      } else if (pem != authority_) {
        absl::StatusOr<std::shared_ptr<const identity::Authorities>> read = identity::Authorities::FromPem(pem);
        status = read.status();
        if (read.ok()) keys_.set_authorities(*std::move(read));
        authority_ = status.ok() ? std::string(pem) : authority_;
      }
    }
    const std::string said(ToStd(status.message()));
    if (std::exchange(said_, said) != said && !status.ok()) {
      obs::LogWarning("the client authority of the cluster cannot be read: users log in by tokens alone",
                      {{"config_map", "kube-system/extension-apiserver-authentication"},
                       {"why", said},
                       {"cure", "apply deploy/rbac/users"}});
    }
    timer_ = loop_.RunAfter(status.ok() ? options_.authority_refresh : options_.authority_retry,
                            [this] { ReadAuthority(); });
  });
}

}  // namespace basalt::gateway
