#pragma once

// Certificates of a test's own, made when it runs. Any thread.
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
  // As OpenSSL's configuration has them: "IP:127.0.0.1,DNS:kubernetes". Empty = none.
  std::string alternative_names = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes";
  std::string usages;                     // "serverAuth,clientAuth", also as OpenSSL has them. Empty = no bound.
  std::string request;                    // PKCS#10 as DER: the certificate is for that key. Empty = a new key.
  bool authority = false;                 // It may sign others.
  absl::Duration from = -absl::Hours(1);  // Seen from now.
  absl::Duration until = absl::Hours(1);
};

// Signed by `issuer`, or by itself. Without a key where the spec has a request.
Certificate MakeCertificate(const CertificateSpec& spec, const std::optional<Certificate>& issuer = std::nullopt);

}  // namespace basalt::http::testing
