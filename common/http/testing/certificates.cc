#include "common/http/testing/certificates.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

#include "common/base/freed.h"

namespace basalt::http::testing {
namespace {

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Request = std::unique_ptr<X509_REQ, Freed<X509_REQ_free>>;

std::string TextOf(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

std::string PemOf(EVP_PKEY& key) {
  const Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(out.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(out);
}

void AddName(X509_NAME* name, const char* field, const std::string& value) {
  if (value.empty()) return;
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                             0);
}

void AddExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) std::abort();
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

Certificate MakeCertificate(const CertificateSpec& spec, const std::optional<Certificate>& issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Cert cert(X509_new());
  X509_set_version(cert.get(), 2);
  BIGNUM* serial = BN_new();
  BN_rand(serial, 64, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY);
  BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert.get()));
  BN_free(serial);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), static_cast<long>(absl::ToInt64Seconds(spec.from)));
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), static_cast<long>(absl::ToInt64Seconds(spec.until)));
  if (spec.request.empty()) {
    X509_set_pubkey(cert.get(), key.get());
  } else {
    const auto* der = reinterpret_cast<const unsigned char*>(spec.request.data());
    const Request request(d2i_X509_REQ(nullptr, &der, static_cast<long>(spec.request.size())));
    if (request == nullptr) std::abort();
    X509_set_pubkey(cert.get(), X509_REQ_get0_pubkey(request.get()));
  }
  X509_NAME* subject = X509_get_subject_name(cert.get());
  AddName(subject, "O", spec.organisation);
  AddName(subject, "CN", spec.common_name);

  Cert issuer_cert;
  Key issuer_key;
  if (issuer.has_value()) {
    const Bio cert_text(BIO_new_mem_buf(issuer->cert_pem.data(), -1));
    const Bio key_text(BIO_new_mem_buf(issuer->key_pem.data(), -1));
    issuer_cert.reset(PEM_read_bio_X509(cert_text.get(), nullptr, nullptr, nullptr));
    issuer_key.reset(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  }
  X509* const signer = issuer_cert != nullptr ? issuer_cert.get() : cert.get();
  X509_set_issuer_name(cert.get(), X509_get_subject_name(signer));
  AddExtension(cert.get(), signer, NID_basic_constraints, spec.authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!spec.alternative_names.empty()) AddExtension(cert.get(), signer, NID_subject_alt_name, spec.alternative_names);
  if (!spec.usages.empty()) AddExtension(cert.get(), signer, NID_ext_key_usage, spec.usages);
  X509_sign(cert.get(), issuer_key != nullptr ? issuer_key.get() : key.get(), EVP_sha256());

  const Bio cert_out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(cert_out.get(), cert.get());
  return {TextOf(cert_out), spec.request.empty() ? PemOf(*key) : ""};
}

}  // namespace basalt::http::testing
