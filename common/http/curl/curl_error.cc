#include "common/http/curl/curl_error.h"

#include <fmt/format.h>
#include <openssl/x509_vfy.h>

#include "common/http/proxy.h"

namespace basalt::http::internal {
namespace {

Failure OfCertificate(long verify_result) {
  switch (verify_result) {
    case X509_V_ERR_UNSPECIFIED:  // libcurl itself compares the name, after it has set this result for the rest.
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Failure::kCertificateName;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Failure::kCertificateExpired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Failure::kCertificateNotYetValid;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
      return Failure::kCertificateAuthority;
    default:
      return Failure::kCertificateOther;
  }
}

}  // namespace

Failure FailureOfCode(CURLcode code, long verify_result, std::string_view words) {
  const auto say = [words](std::string_view part) { return words.find(part) != std::string_view::npos; };
  // A server that refuses our certificate sends an alert when the handshake is over on our side.
  if (say("alert") && (say("certificate") || say("unknown ca"))) return Failure::kOwnCertificate;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return Failure::kResolve;
    case CURLE_COULDNT_CONNECT:
      return Failure::kConnect;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return Failure::kProxy;
    case CURLE_PEER_FAILED_VERIFICATION:
      return OfCertificate(verify_result);
    case CURLE_SSL_CERTPROBLEM:
      return Failure::kOwnCertificate;
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return Failure::kAuthorityUnreadable;
    case CURLE_SSL_CONNECT_ERROR:
      // The authority has the name that we trust but another key, as that of a cluster that was made anew.
      if (say("asn1 encoding routines") || say("rsa routines") || say("elliptic curve routines")) {
        return Failure::kCertificateAuthority;
      }
      // A server that shuts down accepts connections a moment longer than it answers on them.
      if (say("SSL_ERROR_SYSCALL") || say("Connection reset") || say("unexpected eof")) return Failure::kConnect;
      return Failure::kTls;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return say("timed out") ? Failure::kVanished : Failure::kNone;
    default:
      return Failure::kNone;
  }
}

absl::Status ErrorOf(CURL* easy, CURLcode code, std::string_view words, bool cut, const Request& request,
                     std::string_view base_url) {
  long request_bytes = 0;
  long verify_result = 0;
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
  curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verify_result);
  const Failure failure = cut ? Failure::kVanished : FailureOfCode(code, verify_result, words);
  const bool sent = request_bytes != 0 && failure != Failure::kOwnCertificate;
  return FailureStatus(sent ? absl::StatusCode::kUnknown : absl::StatusCode::kUnavailable, failure,
                       fmt::format("{} {}: {}", request.method, WithoutUser(base_url),
                                   words.empty() ? curl_easy_strerror(code) : words));
}

}  // namespace basalt::http::internal
