#pragma once

// Makes certificates for a test while the test runs. Any thread.
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace basalt::http::testing {

struct Certificate {
  std::string cert_pem, key_pem;
};

struct CertificateSpec {
  std::string common_name = "test";
  std::string organisation;
  // The names in the form of OpenSSL's configuration: "IP:127.0.0.1,DNS:kubernetes". Empty if there are none.
  std::string alternative_names = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes";
  std::string usages;      // "serverAuth,clientAuth", in the form of OpenSSL. Empty means no restriction.
  std::string request;     // PKCS#10 as DER, with the key of the certificate. Empty means a new key.
  bool authority = false;  // Whether the certificate may sign others.
  // The certificate is valid from now + `from` until now + `until`.
  absl::Duration from = -absl::Hours(1);
  absl::Duration until = absl::Hours(1);
};

// Returns a certificate that is signed by `issuer`, or by itself. Has no key if the spec has a request.
Certificate MakeCertificate(const CertificateSpec& spec, const std::optional<Certificate>& issuer = std::nullopt);

}  // namespace basalt::http::testing
