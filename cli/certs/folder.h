#pragma once

// Certificates of a suite in a folder, for machines where neither cert-manager nor Kubernetes issues them:
//
//   DIR/authority/ca.crt, ca.key              the authority; ca.key belongs on no machine of the suite
//   DIR/authority/next/, old/                 the authority that follows, or was there before, while one is exchanged
//   DIR/ROLE/REPLICA/tls.crt, tls.key, ca.crt what --tls_cert_file, --tls_key_file and --tls_ca_file name
//
// Files and folders belong to the user who makes them. DIR/ROLE/REPLICA is a link to a folder beside it, and is
// replaced as a whole: a process that reads the files anew finds a certificate with its key. Keys are readable by their
// user alone. One thread; two programs must not change the same folder at a time.
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
  int replicas = 1;  // Of each service.
  int gateways = 1;
};
// Makes what is missing: an authority, and certificates for each process of a suite (gateway-0, jobsvc-0 and so on), an
// operator "operator" and a reader "reader". A certificate that has ended is replaced. The answer: how many
// certificates were made. INVALID_ARGUMENT: trust domain, cluster or lifetimes.
absl::StatusOr<int> InitSuite(const std::string& dir, const SuiteShape& shape, absl::Time now,
                              const Lifetimes& lifetimes);

// A certificate of that identity, in place of one that is there.
absl::Status IssueInto(const std::string& dir, const identity::Identity& identity, absl::Time now,
                       const Lifetimes& lifetimes);

// New certificates for all identities in the folder. The answer: how many. INVALID_ARGUMENT names the file that cannot
// be read, such as that of the authority, or says that the authority ends before the certificates.
absl::StatusOr<int> RotateCertificates(const std::string& dir, absl::Time now, const Lifetimes& lifetimes);

// An authority is exchanged in three steps, between which every process has to read its files anew: all believe both
// authorities, all have certificates of the new one, all believe the new one alone.
enum class AuthorityStep : uint8_t { kBelieveBoth, kIssueByNext, kForgetOld };
absl::StatusOr<int> RotateAuthority(const std::string& dir, AuthorityStep step, absl::Time now,
                                    const Lifetimes& lifetimes);

// The files of a process as a Secret of Kubernetes, which all pods of a role mount.
struct CertificateSecret {
  std::string name;  // basalt-ROLE-tls
  std::string certificate_pem, key_pem, authorities_pem;
};
// New certificates for a suite in pods of `ns`, signed by the authority of the folder, which is made where it is
// missing. The gateways and each service have one certificate, which all their pods share: the certificate states the
// service account basalt-ROLE, which --identity_mapping maps to the role. The folder has nothing but the authority
// afterwards. INVALID_ARGUMENT: the trust domain or the lifetimes.
absl::StatusOr<std::vector<CertificateSecret>> MakeSecrets(const std::string& dir, const std::string& trust_domain,
                                                           const std::string& ns, absl::Time now,
                                                           const Lifetimes& lifetimes);

struct ShownCertificate {
  std::string file;
  std::string identity;  // The URI; of an authority its subject; "-": the file cannot be read.
  absl::Time end = absl::InfinitePast();
  std::string problem;  // Empty: the files can be used together.
};
// All certificates below `path`, or the one that it is, ordered by file.
absl::StatusOr<std::vector<ShownCertificate>> ShowCertificates(const std::string& path);

}  // namespace basalt::cli
