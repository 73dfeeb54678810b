#include "common/identity/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <ctime>
#include <fstream>
#include <memory>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/openssl.h"

namespace basalt::identity {
namespace {

using openssl::Bio;
using openssl::Cert;
using openssl::Key;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

absl::StatusOr<Cert> FirstCertificate(std::string_view pem) {
  Cert cert = openssl::FirstCertificate(pem);
  ERR_clear_error();
  if (cert == nullptr) return Invalid("no certificate in PEM can be read");
  return cert;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm utc = {};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return absl::InfinitePast();
  return absl::FromTM(utc, absl::UTCTimeZone());
}

std::string SubjectOf(const X509& cert) {
  const Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(&cert), 0, XN_FLAG_RFC2253);
  return openssl::TextOf(bio);
}

// Returns the values of a field of the subject's name, in their order.
std::vector<std::string> SubjectFields(const X509& cert, int nid) {
  std::vector<std::string> values;
  X509_NAME* const name = X509_get_subject_name(&cert);
  for (int i = X509_NAME_get_index_by_NID(name, nid, -1); i >= 0; i = X509_NAME_get_index_by_NID(name, nid, i)) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i)));
    if (size < 0) continue;
    values.emplace_back(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
    OPENSSL_free(text);
  }
  return values;
}

}  // namespace

std::vector<std::string> openssl::UrisOf(const X509& cert) {
  std::vector<std::string> uris;
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&cert, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return uris;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return uris;
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  constexpr std::streamsize kMost = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(kMost), '\0');
  if (!file.read(text.data(), kMost).eof() || file.bad()) {
    return Invalid(fmt::format("{}: cannot be read, or has more than {} bytes", path, kMost));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem) {
  BASALT_ASSIGN_OR_RETURN(const Cert cert, FirstCertificate(pem));
  return CertificateFacts{.subject = SubjectOf(*cert),
                          .common_names = SubjectFields(*cert, NID_commonName),
                          .organizations = SubjectFields(*cert, NID_organizationName),
                          .uris = openssl::UrisOf(*cert),
                          .not_before = TimeOf(X509_get0_notBefore(cert.get())),
                          .not_after = TimeOf(X509_get0_notAfter(cert.get()))};
}

absl::Status CheckKey(std::string_view certificate_pem, std::string_view key_pem) {
  BASALT_ASSIGN_OR_RETURN(const Cert cert, FirstCertificate(certificate_pem));
  const Key key = openssl::PrivateKey(key_pem);
  const bool is_readable = key != nullptr;
  const bool is_of_certificate = is_readable && X509_check_private_key(cert.get(), key.get()) == 1;
  ERR_clear_error();
  if (!is_readable) return Invalid("no private key in PEM without a password can be read");
  return is_of_certificate ? absl::OkStatus() : Invalid("the private key is not that of the certificate");
}

absl::StatusOr<int> CountCertificates(std::string_view pem) {
  const Bio bio = openssl::Open(pem);
  int count = 0;
  while (Cert(PEM_read_bio_X509(bio.get(), nullptr, openssl::NoPassword, nullptr)) != nullptr) ++count;
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0) return Invalid("no certificate in PEM can be read");
  if (!is_at_end) return Invalid("certificate " + std::to_string(count + 1) + " cannot be read");
  return count;
}

}  // namespace basalt::identity
