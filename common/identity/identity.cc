#include "common/identity/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"

namespace basalt::identity {
namespace {

constexpr std::string_view kScheme = "spiffe://";

absl::Status Unauthenticated(std::string message) {
  return MakeStatus(absl::StatusCode::kUnauthenticated, std::move(message));
}

absl::Status Wrong(std::string_view uri, std::string_view part, std::string_view rule) {
  return Invalid(fmt::format("identity '{}': {} has to be {}", Excerpt(uri), part, rule));
}

}  // namespace

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kGateway:
      return "gateway";
    case Role::kJobsvc:
      return "jobsvc";
    case Role::kPgsvc:
      return "pgsvc";
    case Role::kQueuesvc:
      return "queuesvc";
    case Role::kOperator:
      return "operator";
    case Role::kReader:
      return "reader";
  }
  return "reader";
}

std::optional<Role> RoleNamed(std::string_view name) {
  for (const Role role : kRoles) {
    if (NameOf(role) == name) return role;
  }
  return std::nullopt;
}

std::string UriOf(const Identity& identity) {
  return fmt::format("{}{}/cluster/{}/role/{}/{}", kScheme, identity.trust_domain, identity.cluster,
                     NameOf(identity.role), identity.replica);
}

absl::StatusOr<Identity> ParseUri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return Wrong(uri, "its scheme", "spiffe");
  const std::vector<std::string> parts = absl::StrSplit(ToAbsl(uri.substr(kScheme.size())), '/');
  if (parts.size() != 6 || parts[1] != "cluster" || parts[3] != "role") {
    return Wrong(uri, "its form", "spiffe://<trust domain>/cluster/<cluster>/role/<role>/<replica>");
  }
  const std::optional<Role> role = RoleNamed(parts[4]);
  if (!kube::IsDnsSubdomain(parts[0])) return Wrong(uri, "the trust domain", "a DNS name");
  if (!kube::IsDnsLabel(parts[2])) return Wrong(uri, "the cluster", "a DNS label");
  if (!role) return Wrong(uri, "the role", "one of gateway, jobsvc, pgsvc, queuesvc, operator and reader");
  if (!kube::IsDnsSubdomain(parts[5])) return Wrong(uri, "the replica", "a DNS name");
  return Identity{.trust_domain = parts[0], .cluster = parts[2], .role = *role, .replica = parts[5]};
}

IdentityRules::IdentityRules(std::string trust_domain, std::string cluster, std::vector<Mapping> mappings)
    : trust_domain_(std::move(trust_domain)), cluster_(std::move(cluster)), mappings_(std::move(mappings)) {}

absl::StatusOr<IdentityRules::Mapping> IdentityRules::ParseMapping(std::string_view text) {
  const size_t equals = text.rfind('=');
  const std::optional<Role> role = equals == std::string_view::npos ? std::nullopt : RoleNamed(text.substr(equals + 1));
  const std::string_view path = text.substr(0, equals);
  if (!role || path.empty() || path.front() == '/') {
    return Invalid(
        fmt::format("'{}' has to be PATH=ROLE, like ns/basalt-system/sa/basalt-jobsvc=jobsvc", Excerpt(text)));
  }
  return Mapping{.path = std::string(path), .role = *role};
}

absl::StatusOr<Identity> IdentityRules::IdentityOf(const std::vector<std::string>& uris) const {
  const std::string ours = fmt::format("{}{}/", kScheme, trust_domain_);
  std::vector<std::string_view> found;
  for (const std::string& uri : uris) {
    if (uri.starts_with(ours)) found.push_back(uri);
  }
  if (found.size() != 1) {
    return Unauthenticated(fmt::format("the certificate has {} identities of trust domain {}, and has to have one",
                                       found.size(), trust_domain_));
  }
  const std::string_view path = found.front().substr(ours.size());
  const auto mapping =
      std::find_if(mappings_.begin(), mappings_.end(), [path](const Mapping& it) { return it.path == path; });
  if (mapping != mappings_.end()) {
    return Identity{.trust_domain = trust_domain_, .cluster = cluster_, .role = mapping->role, .replica = ""};
  }
  absl::StatusOr<Identity> identity = ParseUri(found.front());
  if (!identity.ok()) return Unauthenticated(std::string(ToStd(identity.status().message())));
  if (identity->cluster != cluster_) {
    return Unauthenticated(
        fmt::format("the certificate is of cluster {}, this process of cluster {}", identity->cluster, cluster_));
  }
  return identity;
}

}  // namespace basalt::identity
