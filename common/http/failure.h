#pragma once

// Why an exchange failed, where a person can do something about it: the name stands at the beginning of the words of
// the status that OnEnd hears, and travels in it.
#include <string_view>

#include "absl/status/status.h"

namespace basalt::http {

enum class Failure {
  kNone,                  // Or nothing that has a name.
  kResolve,               // The name of the server is not known.
  kConnect,               // Nobody listens there, or it cannot be reached.
  kProxy,                 // The proxy, not the server.
  kCertificateAuthority,  // The server's certificate is signed by nobody that we trust.
  kCertificateExpired,
  kCertificateNotYetValid,
  kCertificateName,      // It is another host's.
  kCertificateOther,     // It is not good for another reason.
  kOwnCertificate,       // Our client certificate or its key cannot be used, or the server refused it.
  kAuthorityUnreadable,  // The file or text of whom we trust.
  kTls,                  // No common version or cipher, or no TLS at all.
  kCredentials,          // There is no token or client certificate to show.
  kVanished,             // The connection was cut since nothing came on it any more.
  kLate,                 // It had not gone out by its `send_by`: too much was waiting, or this process stood still.
};

// "certificate: expired" and the like; empty for kNone.
std::string_view NameOf(Failure failure);

// "<name>: <text>", and the failure in it.
absl::Status FailureStatus(absl::StatusCode code, Failure failure, std::string_view text);
Failure FailureOf(const absl::Status& status);

// Of a request that has not gone out by its `send_by`.
absl::Status LateStatus();

}  // namespace basalt::http
