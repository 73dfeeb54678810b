#pragma once

// Objects of OpenSSL that free themselves, and functions for PEM texts. Only .cc files of this folder include this.
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/freed.h"

namespace basalt::identity::openssl {

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;

inline Bio Open(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

inline std::string TextOf(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

// Replaces OpenSSL's callback, which would ask at the terminal for the password of a key.
inline int NoPassword(char*, int, int, void*) { return -1; }

inline Cert FirstCertificate(std::string_view pem) {
  const Bio bio = Open(pem);
  return Cert(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
}

// Returns the URIs among the alternative names of the subject.
std::vector<std::string> UrisOf(const X509& cert);

inline Key PrivateKey(std::string_view pem) {
  const Bio bio = Open(pem);
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
}

}  // namespace basalt::identity::openssl
