#pragma once

// The reasons of failed exchanges about which a person can do something. The status that OnEnd gets contains the
// Failure, and its message begins with the Failure's name.
#include <string_view>

#include "absl/status/status.h"

namespace basalt::http {

enum class Failure {
  kNone,                  // The exchange did not fail, or the failure has no name.
  kResolve,               // The name of the server cannot be resolved.
  kConnect,               // The server does not listen, or cannot be reached.
  kProxy,                 // The proxy failed, not the server.
  kCertificateAuthority,  // The server's certificate is signed by no authority that we trust.
  kCertificateExpired,
  kCertificateNotYetValid,
  kCertificateName,      // The server's certificate belongs to another host.
  kCertificateOther,     // The server's certificate is not good for another reason.
  kOwnCertificate,       // Our client certificate or its key cannot be used, or the server refused the certificate.
  kAuthorityUnreadable,  // The file or text of the authorities that we trust cannot be read.
  kTls,                  // The server has no common version or cipher with us, or no TLS at all.
  kCredentials,          // The client has no token or client certificate to send.
  kVanished,             // The connection was cut since nothing came on it any more.
  kLate,                 // The request had not gone out by its `send_by`: too many waited, or this process stood still.
};

// Returns "certificate: expired" and the like. Empty for kNone.
std::string_view NameOf(Failure failure);

// Returns a status with the message "<name>: <text>" that contains the failure.
absl::Status FailureStatus(absl::StatusCode code, Failure failure, std::string_view text);
Failure FailureOf(const absl::Status& status);

// Returns the status of a request that has not gone out by its `send_by`.
absl::Status LateStatus();

}  // namespace basalt::http
