#pragma once

// A process checks its certificate by these functions before gRPC gets it, so that a wrong file is named when the
// process starts and not at the first handshake. Pure but for ReadSmallFile.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::identity {

// INVALID_ARGUMENT names the file: it cannot be read, or has more than a MiB.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

struct CertificateFacts {
  std::string subject;                     // "CN=jobsvc-0,O=basalt".
  std::vector<std::string> common_names;   // Kubernetes takes the only one for the name of a user,
  std::vector<std::string> organizations;  // and these for the groups of the user.
  std::vector<std::string> uris;           // Of the alternative names of the subject.
  absl::Time not_before;
  absl::Time not_after;
};

// The facts of the first certificate in the text. INVALID_ARGUMENT: there is none, or it cannot be read.
absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem);

// INVALID_ARGUMENT: the key cannot be read, or is not that of the first certificate.
absl::Status CheckKey(std::string_view certificate_pem, std::string_view key_pem);

// How many certificates the text has. INVALID_ARGUMENT: none, or one of them cannot be read.
absl::StatusOr<int> CountCertificates(std::string_view pem);

}  // namespace basalt::identity
