#pragma once

// The identity of a process or a tool, as its certificate states it: a URI among the alternative names of the
// certificate's subject (SPIFFE). Pure.
//
//   spiffe://<trust domain>/cluster/<cluster>/role/<role>/<replica>
//
// Certificates of other issuers state identities of another form, such as ns/<namespace>/sa/<account> of a service
// mesh. IdentityRules maps such identities to roles of the suite, by configuration.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace basalt::identity {

enum class Role : uint8_t { kGateway, kJobsvc, kPgsvc, kQueuesvc, kOperator, kReader };
inline constexpr Role kRoles[] = {Role::kGateway,  Role::kJobsvc,   Role::kPgsvc,
                                  Role::kQueuesvc, Role::kOperator, Role::kReader};

// Returns "gateway", "jobsvc", "pgsvc", "queuesvc", "operator" or "reader".
std::string_view NameOf(Role role);
std::optional<Role> RoleNamed(std::string_view name);

struct Identity {
  std::string trust_domain;  // Is a DNS name.
  std::string cluster;       // Is a DNS label.
  Role role = Role::kReader;
  std::string replica;  // Names the pod of a service, or a person or tool. Is a DNS name.
  friend bool operator==(const Identity&, const Identity&) = default;
};

std::string UriOf(const Identity& identity);
// INVALID_ARGUMENT names the part of the URI and the rule.
absl::StatusOr<Identity> ParseUri(std::string_view uri);

// Decides which identities a process accepts. Confined to one thread, or constant.
class IdentityRules {
 public:
  struct Mapping {
    std::string path;  // The path of a URI of the trust domain: "ns/basalt-system/sa/basalt-jobsvc".
    Role role = Role::kReader;
  };

  IdentityRules(std::string trust_domain, std::string cluster, std::vector<Mapping> mappings = {});

  // Parses "PATH=ROLE", a value of --identity_mapping. INVALID_ARGUMENT names the text and the rule.
  static absl::StatusOr<Mapping> ParseMapping(std::string_view text);

  // Returns the only identity among the URIs of a certificate. The replica of a mapped identity is empty, since such a
  // certificate stands for every replica of its role. UNAUTHENTICATED: no URI or more than one is in the trust domain,
  // or the identity belongs to another cluster (the message names both clusters).
  absl::StatusOr<Identity> IdentityOf(const std::vector<std::string>& uris) const;

  const std::string& trust_domain() const { return trust_domain_; }
  const std::string& cluster() const { return cluster_; }

 private:
  const std::string trust_domain_;
  const std::string cluster_;
  const std::vector<Mapping> mappings_;
};

}  // namespace basalt::identity
