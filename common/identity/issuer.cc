#include "common/identity/issuer.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <cstring>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/identity/openssl.h"

namespace basalt::identity {
namespace {

using openssl::Bio;
using openssl::Cert;
using openssl::Extension;
using openssl::Key;
using openssl::Number;

absl::Status Refused() {
  char text[200] = "";
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return MakeStatus(absl::StatusCode::kInternal, fmt::format("OpenSSL refuses: {}", text));
}

// The issuer signs the subject. Both are the same certificate for an authority.
struct Parties {
  X509* subject;
  X509* issuer;
};

bool AddExtension(const Parties& parties, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, parties.issuer, parties.subject, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(parties.subject, extension.get(), -1) == 1;
}

bool SetTime(ASN1_TIME* field, absl::Time time) { return ASN1_TIME_set(field, absl::ToTimeT(time)) != nullptr; }

// Returns a certificate without a signature, and with a random serial number.
Cert Draft(EVP_PKEY& key, const std::string& name, const Validity& validity) {
  Cert cert(X509_new());
  const Number number(BN_new());
  const bool made = cert != nullptr && number != nullptr && X509_set_version(cert.get(), X509_VERSION_3) == 1 &&
                    BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                    BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(cert.get())) != nullptr &&
                    SetTime(X509_getm_notBefore(cert.get()), validity.from) &&
                    SetTime(X509_getm_notAfter(cert.get()), validity.until) && X509_set_pubkey(cert.get(), &key) == 1;
  if (!made) return nullptr;
  X509_NAME* const subject = X509_get_subject_name(cert.get());
  const auto add = [subject](const char* field, const std::string& value) {
    return X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
  };
  return add("O", "basalt") && add("CN", name) ? std::move(cert) : nullptr;
}

// Returns the alternative names. A client of a process's pages may compare a host name. The hosts are unknown here, so
// the certificate has the role's name instead.
std::string NamesOf(Role role, std::string_view uri) {
  const bool is_tool = role == Role::kOperator || role == Role::kReader;
  return is_tool ? fmt::format("URI:{}", uri) : fmt::format("URI:{},DNS:{}", uri, NameOf(role));
}

absl::StatusOr<KeyPair> ToPem(X509& cert, EVP_PKEY& key) {
  const Bio cert_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(cert_text.get(), &cert) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Refused();
  }
  return KeyPair{.certificate_pem = openssl::TextOf(cert_text), .key_pem = openssl::TextOf(key_text)};
}

}  // namespace

absl::StatusOr<KeyPair> MakeAuthority(const std::string& name, const Validity& validity) {
  const Key key(EVP_EC_gen("P-256"));
  const Cert cert = key == nullptr ? nullptr : Draft(*key, name, validity);
  if (cert == nullptr) return Refused();
  X509_set_issuer_name(cert.get(), X509_get_subject_name(cert.get()));
  const Parties parties{.subject = cert.get(), .issuer = cert.get()};
  const bool made = AddExtension(parties, NID_basic_constraints, "critical,CA:TRUE") &&
                    AddExtension(parties, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    AddExtension(parties, NID_subject_key_identifier, "hash") &&
                    X509_sign(cert.get(), key.get(), EVP_sha256()) != 0;
  if (!made) return Refused();
  return ToPem(*cert, *key);
}

namespace {

absl::StatusOr<KeyPair> Sign(const KeyPair& authority, const std::string& name, const std::string& alternative_names,
                             const Validity& validity) {
  BASALT_RETURN_IF_ERROR(CheckKey(authority.certificate_pem, authority.key_pem));
  BASALT_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(authority.certificate_pem));
  if (facts.not_after < validity.until) {
    return Invalid(fmt::format(
        "the authority ends at {}, before the certificate: exchange the authority, or let the certificate be valid "
        "for fewer days",
        absl::FormatTime(absl::RFC3339_sec, facts.not_after, absl::UTCTimeZone())));
  }
  const Cert issuer = openssl::FirstCertificate(authority.certificate_pem);
  const Key issuer_key = openssl::PrivateKey(authority.key_pem);
  const Key key(EVP_EC_gen("P-256"));
  constexpr size_t kMostCommonName = 64;  // RFC 5280, ub-common-name.
  const Cert cert = key == nullptr ? nullptr : Draft(*key, name.substr(0, kMostCommonName), validity);
  if (cert == nullptr) return Refused();
  X509_set_issuer_name(cert.get(), X509_get_subject_name(issuer.get()));
  const Parties parties{.subject = cert.get(), .issuer = issuer.get()};
  const bool made = AddExtension(parties, NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(parties, NID_key_usage, "critical,digitalSignature") &&
                    AddExtension(parties, NID_ext_key_usage, "serverAuth,clientAuth") &&
                    AddExtension(parties, NID_subject_key_identifier, "hash") &&
                    AddExtension(parties, NID_authority_key_identifier, "keyid:always") &&
                    AddExtension(parties, NID_subject_alt_name, alternative_names) &&
                    X509_sign(cert.get(), issuer_key.get(), EVP_sha256()) != 0;
  if (!made) return Refused();
  return ToPem(*cert, *key);
}

}  // namespace

absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const Identity& identity, const Validity& validity) {
  return Sign(authority, fmt::format("{} {}", NameOf(identity.role), identity.replica),
              NamesOf(identity.role, UriOf(identity)), validity);
}

absl::StatusOr<KeyPair> IssueShared(const KeyPair& authority, Role role, std::string_view uri,
                                    const Validity& validity) {
  // A comma would begin another name.
  if (uri.find_first_of(",\n") != std::string_view::npos) {
    return Invalid(fmt::format("'{}' is no URI of a certificate", Excerpt(uri)));
  }
  return Sign(authority, std::string(NameOf(role)), NamesOf(role, uri), validity);
}

}  // namespace basalt::identity
