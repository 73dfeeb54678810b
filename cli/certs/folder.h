#pragma once

// Certificates of a suite in a folder, for machines where neither cert-manager nor Kubernetes issues them:
//
//   DIR/authority/ca.crt, ca.key              the authority; ca.key belongs on no machine of the suite
//   DIR/authority/next/, old/                 the next, or the previous, authority, while one is exchanged
//   DIR/ROLE/REPLICA/tls.crt, tls.key, ca.crt the files for --tls_cert_file, --tls_key_file and --tls_ca_file
//
// Files and folders belong to the user who makes them. DIR/ROLE/REPLICA is a link to a folder beside the link, and is
// replaced as a whole: a process that reads the files anew finds a certificate with its key. Only the user who made a
// key can read it. One thread; two programs must not change the same folder at a time.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/identity/identity.h"

namespace basalt::cli {

struct Lifetimes {
  absl::Duration certificate = absl::Hours(24 * 90);
  absl::Duration authority = absl::Hours(24 * 3650);
};

// How many processes a suite has, and the names in their identities.
struct SuiteShape {
  std::string trust_domain;
  std::string cluster;
  int replicas = 1;  // Number of replicas of each service.
  int gateways = 1;
};
// Makes the missing files: an authority, and certificates for each process of a suite (gateway-0, jobsvc-0 and so on),
// an operator "operator" and a reader "reader". A certificate that has ended is replaced. Returns how many certificates
// were made. INVALID_ARGUMENT if the trust domain, the cluster or the lifetimes are invalid.
absl::StatusOr<int> InitSuite(const std::string& dir, const SuiteShape& shape, absl::Time now,
                              const Lifetimes& lifetimes);

// Makes a certificate of this identity. An existing one is replaced.
absl::Status IssueInto(const std::string& dir, const identity::Identity& identity, absl::Time now,
                       const Lifetimes& lifetimes);

// Makes new certificates for all identities in the folder, and returns how many. INVALID_ARGUMENT names the file that
// cannot be read, such as the authority's, or states that the authority ends before the certificates.
absl::StatusOr<int> RotateCertificates(const std::string& dir, absl::Time now, const Lifetimes& lifetimes);

// An authority is exchanged in three steps. After the first, all processes trust both authorities; after the second,
// all have certificates of the new one; after the third, all trust the new one alone. Between two steps every process
// has to read its files anew.
enum class AuthorityStep : uint8_t { kBelieveBoth, kIssueByNext, kForgetOld };
absl::StatusOr<int> RotateAuthority(const std::string& dir, AuthorityStep step, absl::Time now,
                                    const Lifetimes& lifetimes);

// The files of a process as a Secret of Kubernetes, which all pods of a role mount.
struct CertificateSecret {
  std::string name;  // basalt-ROLE-tls
  std::string certificate_pem, key_pem, authorities_pem;
};
// Makes new certificates for a suite in pods of `ns`, signed by the authority of the folder. The authority is made if
// it is missing. The gateways have one certificate and each service has one, which all their pods share. The
// certificate states the service account basalt-ROLE, which --identity_mapping maps to the role. Only the authority is
// written to the folder. INVALID_ARGUMENT if the trust domain or the lifetimes are invalid.
absl::StatusOr<std::vector<CertificateSecret>> MakeSecrets(const std::string& dir, const std::string& trust_domain,
                                                           const std::string& ns, absl::Time now,
                                                           const Lifetimes& lifetimes);

struct ShownCertificate {
  std::string file;
  std::string identity;  // The URI, or the subject of an authority. "-" if the file cannot be read.
  absl::Time end = absl::InfinitePast();
  std::string problem;  // Empty if the files can be used together.
};
// Returns all certificates below the folder `path`, ordered by file. If `path` is a file, returns its certificate.
absl::StatusOr<std::vector<ShownCertificate>> ShowCertificates(const std::string& path);

}  // namespace basalt::cli
