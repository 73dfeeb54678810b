#include "gateway/server/trouble.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"

namespace basalt::gateway {
namespace {

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Trouble Untrusted(std::string_view why) {
  const std::string_view cure =
      Contains(why, "expired")
          ? "renew the API server's serving certificate; nothing has to be restarted here"
          : "make certificate-authority of the kubeconfig (or ca.crt of the service account) the authority that signed "
            "the API server's certificate, and the server's name one that the certificate has";
  return {"untrusted", std::string(why), std::string(cure)};
}

}  // namespace

Trouble TroubleOf(const absl::Status& status) {
  const std::string why(ToStd(status.message()));
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
      return UnauthorizedTrouble(why);
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
      return {"failing", why, "look at the API server's own log and at /readyz?verbose of it"};
    default:
      break;
  }
  // The names of common/http's failures, and what curl itself says.
  if (Contains(why, "certificate: our own") || Contains(why, "credentials: none")) return UnauthorizedTrouble(why);
  const bool reached = !Contains(why, "connection: ");  // By name not reached, whatever the TLS library says besides.
  for (const std::string_view word : {"certificate", "SSL", "TLS", "tls: "}) {
    if (reached && Contains(why, word)) return Untrusted(why);
  }
  return {"unreachable", why, "see that the API server runs and that its address in the kubeconfig is right"};
}

Trouble UnauthorizedTrouble(std::string_view message) {
  return {"unauthorized", std::string(message),
          "the token or client certificate is expired, revoked or another cluster's: put a new one into the files that "
          "the kubeconfig names (a service account's token is read again by itself); nothing has to be restarted"};
}

Trouble ForbiddenWatch(std::string_view resource, std::string_view message) {
  return {"forbidden", std::string(message),
          fmt::format("grant list and watch on {} to the gateway's account; see deploy/rbac/gateway.yaml", resource)};
}

Trouble AbsentWatch(std::string_view resource, std::string_view our_version, absl::Span<const std::string> served) {
  if (served.empty()) {
    return {"absent", fmt::format("the cluster does not serve {}", resource),
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

bool IsMissingRight(const v1::KubeError& error) {
  // RBAC's own sentence: `pods is forbidden: User "x" cannot create resource "pods" in API group "" …`.
  return error.code() == 403 && Contains(error.message(), "User \"") && Contains(error.message(), "\" cannot ") &&
         Contains(error.message(), " resource \"");
}

Trouble ForbiddenWrite(std::string_view verb, std::string_view resource, std::string_view message) {
  return {"forbidden", std::string(message),
          fmt::format("grant {} on {} to the gateway's account; see deploy/rbac/gateway.yaml", verb, resource)};
}

}  // namespace basalt::gateway
