#include "gateway/health/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"
#include "common/http/failure.h"

namespace basalt::gateway {

Problem ProblemOf(const absl::Status& status) {
  const std::string why(ToStd(status.message()));
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
      return UnauthorizedProblem(why);
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
      return {"failing", why, "look at the API server's own log and at /readyz?verbose of it"};
    default:
      break;
  }
  // The text does not decide: a TLS library's message also stands in connection resets.
  switch (http::FailureOf(status)) {
    case http::Failure::kOwnCertificate:
    case http::Failure::kCredentials:
      return UnauthorizedProblem(why);
    case http::Failure::kCertificateExpired:
      return {"untrusted", why, "renew the API server's serving certificate; nothing has to be restarted here"};
    case http::Failure::kCertificateAuthority:
    case http::Failure::kCertificateNotYetValid:
    case http::Failure::kCertificateName:
    case http::Failure::kCertificateOther:
    case http::Failure::kAuthorityUnreadable:
    case http::Failure::kTls:
      return {"untrusted", why,
              "make certificate-authority of the kubeconfig (or ca.crt of the service account) the authority that "
              "signed the API server's certificate, and the server's name one that the certificate has"};
    default:
      return {"unreachable", why, "see that the API server runs and that its address in the kubeconfig is right"};
  }
}

Problem UnauthorizedProblem(std::string_view message) {
  return {"unauthorized", std::string(message),
          "the token or client certificate is expired, revoked or another cluster's: put a new one into the files that "
          "the kubeconfig names (a service account's token is read again by itself); nothing has to be restarted"};
}

Problem ForbiddenWatch(std::string_view resource, std::string_view message) {
  return {"forbidden", std::string(message),
          fmt::format("grant list and watch on {} to the gateway's account; see deploy/rbac/gateway.yaml", resource)};
}

Problem AbsentWatch(std::string_view resource, std::string_view our_version, absl::Span<const std::string> served) {
  if (served.empty()) {
    return {"absent", fmt::format("the cluster does not serve {0}: its definition is missing", resource),
            "kubectl apply -f deploy/crds if it is wanted; it is looked for again by itself"};
  }
  for (const std::string& version : served) {
    if (version != our_version) continue;
    return {"absent", fmt::format("the cluster serves {} of the group, but not {}", our_version, resource),
            "kubectl apply -f deploy/crds if it is wanted; it is looked for again by itself"};
  }
  return {"version",
          fmt::format("the cluster serves the group of {} as {}, not as {}", resource, fmt::join(served, ", "),
                      our_version),
          fmt::format("install a definition that serves {} too; deploy/crds has one", our_version)};
}

bool IsBoundByNamespace(std::string_view resource) {
  return resource == "secrets" || resource == "configmaps" || resource == "services" ||
         resource == "networkpolicies.networking.k8s.io";
}

bool IsOfUsers(std::string_view resource) {
  return resource == "tokenreviews.authentication.k8s.io" || resource == "subjectaccessreviews.authorization.k8s.io";
}

Problem ForbiddenWrite(std::string_view verb, std::string_view resource, std::string_view message) {
  if (IsBoundByNamespace(resource)) {
    return {"forbidden", std::string(message),
            "kubectl apply -n NAMESPACE -f deploy/rbac/plugins, in the namespace of the job"};
  }
  if (IsOfUsers(resource)) return {"forbidden", std::string(message), "kubectl apply -f deploy/rbac/users"};
  return {"forbidden", std::string(message),
          fmt::format("grant {} on {} to the gateway's account; see deploy/rbac/gateway.yaml", verb, resource)};
}

}  // namespace basalt::gateway
