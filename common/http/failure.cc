#include "common/http/failure.h"

#include <fmt/format.h>

#include "common/base/status.h"

namespace basalt::http {
namespace {

constexpr char kPayload[] = "basalt.dev/http-failure";
constexpr Failure kLast = Failure::kLate;

}  // namespace

std::string_view NameOf(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return "";
    case Failure::kResolve:
      return "connection: unknown host";
    case Failure::kConnect:
      return "connection: refused or unreachable";
    case Failure::kProxy:
      return "connection: proxy";
    case Failure::kCertificateAuthority:
      return "certificate: unknown authority";
    case Failure::kCertificateExpired:
      return "certificate: expired";
    case Failure::kCertificateNotYetValid:
      return "certificate: not valid yet";
    case Failure::kCertificateName:
      return "certificate: wrong host name";
    case Failure::kCertificateOther:
      return "certificate: not acceptable";
    case Failure::kOwnCertificate:
      return "certificate: our own cannot be used";
    case Failure::kAuthorityUnreadable:
      return "certificate: authority cannot be read";
    case Failure::kTls:
      return "tls: handshake";
    case Failure::kCredentials:
      return "credentials: none";
    case Failure::kVanished:
      return "connection: silent";
    case Failure::kLate:
      return "late";
  }
  return "";
}

absl::Status FailureStatus(absl::StatusCode code, Failure failure, std::string_view text) {
  if (failure == Failure::kNone) return MakeStatus(code, text);
  absl::Status status = MakeStatus(code, fmt::format("{}: {}", NameOf(failure), text));
  status.SetPayload(kPayload, absl::Cord(std::to_string(static_cast<int>(failure))));
  return status;
}

Failure FailureOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return Failure::kNone;
  const std::string text(*payload);
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    if (text == std::to_string(i)) return static_cast<Failure>(i);
  }
  return Failure::kNone;
}

absl::Status LateStatus() {
  return FailureStatus(absl::StatusCode::kUnavailable, Failure::kLate, "it had not gone out in time");
}

}  // namespace basalt::http
