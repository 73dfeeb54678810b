#pragma once

// Reads and checks certificates. A process checks its certificate before gRPC gets it, so that a message names a wrong
// file when the process starts and not at the first handshake. Pure, except for ReadSmallFile.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::identity {

// INVALID_ARGUMENT names the file if it cannot be read or has more than a MiB.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

struct CertificateFacts {
  std::string subject;                     // "CN=jobsvc-0,O=basalt".
  std::vector<std::string> common_names;   // Kubernetes uses the only one as the name of a user.
  std::vector<std::string> organizations;  // Kubernetes uses them as the groups of a user.
  std::vector<std::string> uris;           // The URIs among the alternative names of the subject.
  absl::Time not_before;
  absl::Time not_after;
};

// Returns the facts of the first certificate in the text. INVALID_ARGUMENT: the text has none, or it cannot be read.
absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem);

// INVALID_ARGUMENT: the key cannot be read, or does not belong to the first certificate.
absl::Status CheckKey(std::string_view certificate_pem, std::string_view key_pem);

// Counts the certificates of the text. INVALID_ARGUMENT: the text has none, or one of them cannot be read.
absl::StatusOr<int> CountCertificates(std::string_view pem);

}  // namespace basalt::identity
